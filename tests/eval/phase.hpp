// SPDX-License-Identifier: Apache-2.0
//
// Does the agent see what a server is at? The replay's server, which knows, on a device that is
// two numbers and a latency; its file events and calls go through the daemon's World.
#pragma once

#include <array>

#include "agent/model/phase.hpp"
#include "qemu/replay/trace.hpp"

namespace hintier::eval {

struct PhaseOptions {
    double compute_tokens_per_s = 64000; // of prompts
    double output_tokens_per_s = 40;     // of each request that is decoded
    std::uint64_t memory_tokens = 3'000'000;
    double read_gbps = 7.0;
    double write_gbps = 3.3;
    bool calls = false;   // the agent hears of the calls of an inference library
    double load_s = 20;   // a model is read first, by requests of nobody
    double until_s = 600; // of the trace
};

struct PhaseOutcome {
    // Seconds: what it was, by row, and what it was taken for.
    std::array<std::array<double, phase_count>, phase_count> seconds{};
    std::uint64_t changes = 0; // to phases that last, for `lasting_s` and more
    std::uint64_t seen = 0;    // of them, taken for what they are within `seen_within_s`
    double seen_s_median = 0;  // after so long
    double seen_s_99 = 0;

    // Files alone cannot tell decode from idle: `rest`, both are one.
    double right(bool rest) const;
};

inline constexpr double lasting_s = 0.05;
inline constexpr double seen_within_s = 0.2;

PhaseOutcome run_phase(const replay::Trace& trace, const PhaseOptions& options);

} // namespace hintier::eval
