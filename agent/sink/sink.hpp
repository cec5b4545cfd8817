// SPDX-License-Identifier: Apache-2.0
// Where hints go.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "agent/base/result.hpp"
#include "hintier/ioctl.h"

namespace hintier {

struct SinkCounts {
    std::uint64_t sent = 0;
    std::uint64_t refused = 0;
    std::uint64_t batches = 0;
    std::uint64_t tables = 0; // of values, counted for each tier
    std::array<std::uint64_t, HINTIER_VERB_UNPIN + 1> by_verb{};
};

class HintSink {
public:
    virtual ~HintSink() = default;
    // In order. Hints that are refused are counted and passed over; an error tells of the first
    // of them, or that the tier is gone (ENODEV).
    virtual Result<void> send(std::uint32_t tier, std::span<hintier_hint> hints) = 0;
    // Has a value table rule on every tier that hints went to. An error tells of the first of those
    // that refuse it.
    virtual Result<void> rule(const hintier_values& values) = 0;
    virtual void forget(std::uint32_t tier) = 0; // it has been removed
    virtual bool bound(std::uint32_t tier) const = 0;
    const SinkCounts& counts() const { return counts_; }

protected:
    SinkCounts counts_;
};

} // namespace hintier
