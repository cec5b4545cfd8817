// SPDX-License-Identifier: Apache-2.0
// Hints to /dev/hintier: one descriptor for each tier, bound when the first hint for it comes.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "agent/base/fd.hpp"
#include "agent/sink/sink.hpp"

namespace hintier {

class IoctlSink final : public HintSink {
public:
    using NodeOf = std::function<Result<std::string>(std::uint32_t)>; // device number → path

    // Only whoever may write to a tier may `rule` it.
    enum class Show : std::uint8_t { readable, writable };

    IoctlSink(NodeOf node_of, Show show) : node_of_(std::move(node_of)), show_(show) {}

    Result<void> send(std::uint32_t tier, std::span<hintier_hint> hints) override;
    Result<void> rule(const hintier_values& values) override;
    void forget(std::uint32_t tier) override { bound_.erase(tier); }
    bool bound(std::uint32_t tier) const override { return bound_.contains(tier); }

private:
    Result<int> bind(std::uint32_t tier);

    NodeOf node_of_;
    Show show_;
    std::unordered_map<std::uint32_t, Fd> bound_;
};

// Of enum hintier_reason, for messages.
const char* reason_text(std::uint32_t reason);

} // namespace hintier
