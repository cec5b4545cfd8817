// SPDX-License-Identifier: Apache-2.0
//
// What one run does, worked out on the host: requests, their blocks and the ends of sessions, in
// a compact binary form, so that the guest spends no instructions on JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qemu/replay/sessions.hpp"
#include "qemu/replay/trace.hpp"

namespace hintier::replay {

struct PlanRequest {
    std::uint32_t arrival_ms;
    std::uint32_t input_tokens;
    std::uint32_t first; // index into Plan::blocks
    std::uint32_t count; // full blocks
};

struct PlanEnd {
    std::uint32_t at_ms;
    SessionId session;
    std::uint32_t first; // index into Plan::dead
    std::uint32_t count;
};

struct Plan {
    std::uint32_t length_ms = 0;   // requests arrive before this
    std::uint32_t mark_ms = 0;     // figures count from here on
    std::uint32_t block_limit = 0; // every block id is below it
    std::vector<PlanRequest> requests;
    std::vector<BlockId> blocks;
    std::vector<PlanEnd> ends;
    std::vector<BlockId> dead;

    std::span<const BlockId> blocks_of(const PlanRequest& r) const {
        return {blocks.data() + r.first, r.count};
    }
    std::span<const BlockId> dead_of(const PlanEnd& e) const {
        return {dead.data() + e.first, e.count};
    }
};

struct PlanOptions {
    std::uint32_t length_ms = 15 * 60'000;
    std::uint32_t mark_ms = 5 * 60'000;
    bool ends = true;
    std::uint32_t notice_ms = 60'000;
};

Plan make_plan(const Trace& trace, const PlanOptions& options);

// Both throw std::runtime_error; load_plan checks every index, so a plan can be trusted after it.
void save_plan(const Plan& plan, const std::string& path);
Plan load_plan(const std::string& path);

} // namespace hintier::replay
