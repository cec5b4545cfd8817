// SPDX-License-Identifier: Apache-2.0
//
// A device with a volatile write cache, sector by sector. A power cut keeps, of each sector, what
// was durable or any one of the values written since.

#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace hintier::test {

template <typename Value>
class Disk {
public:
    Disk(size_t sectors, bool cached, Value fill = {})
        : cached_(cached), durable_(sectors, fill), current_(sectors, fill) {}

    const Value& read(uint64_t sector) const { return current_.at(sector); }

    void write(uint64_t sector, const Value& value, bool fua = false) {
        current_.at(sector) = value;
        if (cached_ && !fua) {
            pending_[sector].push_back(value);
        } else {
            durable_[sector] = value;
            pending_.erase(sector);
        }
    }

    void flush() {
        for (const auto& [sector, values] : pending_)
            durable_[sector] = values.back();
        pending_.clear();
    }

    void cut(std::mt19937_64& random) {
        for (const auto& [sector, values] : pending_)
            if (const size_t kept = random() % (values.size() + 1))
                durable_[sector] = values[kept - 1];
        pending_.clear();
        current_ = durable_;
    }

private:
    bool cached_;
    std::vector<Value> durable_, current_;
    std::map<uint64_t, std::vector<Value>> pending_;
};

} // namespace hintier::test
