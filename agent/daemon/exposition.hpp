// SPDX-License-Identifier: Apache-2.0
// Prometheus' text format, version 0.0.4: families of samples, each told once.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace hintier {

class Exposition {
public:
    enum class Type { counter, gauge, histogram };
    using Label = std::pair<std::string_view, std::string_view>;
    using Labels = std::initializer_list<Label>;

    // The samples that follow are of it. Of a counter the name ends in _total.
    void family(std::string_view name, Type type, std::string_view help);
    void sample(Labels labels, double value) { sample("", labels, value); }
    // `suffix`: _bucket, _count of a histogram.
    void sample(std::string_view suffix, Labels labels, double value);

    void one(std::string_view name, Type type, std::string_view help, double value) {
        family(name, type, help);
        sample({}, value);
    }

    const std::string& text() const { return text_; }

private:
    std::string text_;
    std::string name_;
};

} // namespace hintier
