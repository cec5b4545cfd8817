// SPDX-License-Identifier: Apache-2.0
// What `top` shows: how two looks at the tiers and at the agent differ, as one document. The screen
// is drawn from that document alone, so that --json says all there is to see.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/cli/command.hpp"
#include "agent/cli/stats.hpp"

namespace hintier::cli {

struct NamedTier {
    std::string name;
    TierStats stats;
};

struct Look {
    std::uint64_t at_ns = 0; // CLOCK_MONOTONIC
    std::vector<NamedTier> tiers;
    Json agent; // its status; null when it does not answer
};

// Bytes a day that may be programmed; 0: nobody said.
struct WearBudget {
    std::uint64_t fast = 0;
    std::uint64_t bulk = 0;
};

Json top_report(const Look& before, const Look& now, const WearBudget& budget);
std::string top_text(const Json& report);

} // namespace hintier::cli
