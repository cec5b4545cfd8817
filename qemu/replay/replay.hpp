// SPDX-License-Identifier: Apache-2.0
//
// A run against real files: the server's state machine on one thread with the clock, 16 writers,
// 16 readers and one thread for what ended sessions leave behind.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "qemu/replay/plan.hpp"
#include "qemu/replay/server.hpp"
#include "qemu/replay/tier.hpp"

namespace hintier::replay {

struct RunOptions {
    Tier::Options tier;
    OperatingPoint point;
    double dilation = 4;
    unsigned writers = 16;
    unsigned readers = 16;
    double ttft_limit_ms = 1000;
    std::string agent_socket; // empty: this program unlinks the files of ended sessions itself
    std::string at_mark;      // shell command run at the plan's mark
};

// Throws when the run cannot go on. Progress goes to standard output, one line a modelled minute.
nlohmann::ordered_json run(const Plan& plan, const RunOptions& options);

} // namespace hintier::replay
