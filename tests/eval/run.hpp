// SPDX-License-Identifier: Apache-2.0
//
// One load on one tier under one policy.
#pragma once

#include "agent/plan/liveness.hpp"
#include "tests/eval/tier.hpp"

namespace hintier::eval {

enum class Policy : std::uint8_t { lru, values };

struct Options {
    Policy policy = Policy::lru;
    LivenessRule::Config rule;
    double fast_share = .05; // of the load's unique blocks
    double ends_after = -1;  // s after its last request a session is told to have ended; <0: never
    double lead = 0;         // s before it comes a request is announced
    double stage_rate = 41;  // blocks a second staged for it: 36 MB each at 1.5 GB/s
};

struct Part {
    std::uint64_t reads = 0; // of blocks that were written before
    std::uint64_t fast = 0;
    std::uint64_t bulk = 0;
    std::uint64_t lost = 0;
    std::uint64_t staged = 0; // of `bulk`
    std::uint64_t usable = 0; // neither lost nor after a lost one in its request
    std::uint64_t created = 0;
    Tier::Counts tier;
};

inline double ratio(std::uint64_t part, std::uint64_t whole) {
    return whole ? double(part) / double(whole) : 0;
}
// Shares of reads: from fast, or staged before they came; not lost; nor after a lost one.
inline double fast_of(const Part& part) {
    return ratio(part.fast + part.staged, part.reads);
}
inline double served_of(const Part& part) {
    return 1 - ratio(part.lost, part.reads);
}
inline double usable_of(const Part& part) {
    return ratio(part.usable, part.reads);
}
// Blocks written to bulk for each that was created.
inline double x_of(const Part& part) {
    return ratio(part.tier.bulk_writes, part.created);
}

struct Outcome {
    Part warm, tune, report; // see Load::tune_until
    std::uint32_t guard_trips = 0;
    double promised = 0; // reads of dropped blocks, by the model
    std::uint64_t ghosts_read = 0;
};

Outcome run(const Load& load, const Options& options);

// Belady's choice with the future known, over writes and reads; never more than it must on bulk.
Outcome run_oracle(const Load& load, double fast_share);

} // namespace hintier::eval
