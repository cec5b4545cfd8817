// SPDX-License-Identifier: Apache-2.0
// Says what would be hinted, one line each, and touches nothing.
#pragma once

#include <functional>
#include <string>

#include "agent/sink/sink.hpp"

namespace hintier {

class DryRunSink final : public HintSink {
public:
    using Say = std::function<void(const std::string&)>;

    explicit DryRunSink(Say say) : say_(std::move(say)) {}

    Result<void> send(std::uint32_t tier, std::span<hintier_hint> hints) override;
    Result<void> rule(const hintier_values& values) override;
    void forget(std::uint32_t) override {}
    bool bound(std::uint32_t) const override { return false; }

private:
    Say say_;
};

} // namespace hintier
