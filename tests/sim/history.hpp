// SPDX-License-Identifier: Apache-2.0
//
// Histories: what a seed stands for, cuts at the steps of one, and the shortest one that fails.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/sim.hpp"

namespace hintier::sim {

struct Step {
    uint64_t number; // its place in the whole history; also what it writes is called so
    uint64_t dice;
};

using Steps = std::vector<Step>;

// A seed is a configuration, and steps without end.
Options options_of(uint64_t seed);
std::string describe(const Options& options);
// key=value of describe(); false if there is no such key.
bool set_option(Options& options, const std::string& key, uint32_t value);
Steps steps_of(uint64_t seed, uint64_t from, uint64_t to);

// Where to cut: at each step from `every` on, and before that at one step in `sparse` (0: none).
struct Plan {
    uint64_t steps = 0, every = 0, sparse = 0;
};
Plan plan_of(uint64_t seed);

struct Violation {
    uint64_t seed = 0;
    uint64_t until = 0; // the step after which the cut, or the check, failed
    bool cut = false;   // else the history itself fails
    std::string what;
};

struct Totals {
    uint64_t histories = 0, steps = 0, crash_points = 0, violations = 0;
    Sim::Counts counts;

    void add(const Totals& other);
};

// Runs the history of a seed; true if nothing failed.
bool explore(uint64_t seed, const Options& options, const Plan& plan, Totals& totals,
             Violation& ret);

// What is wrong after these steps, or after a cut behind them; empty if nothing is.
std::string replay_steps(const Options& options, const Steps& steps, const Violation& violation,
                         bool verbose = false);

// Leaves out steps as long as the rest still fails; ret_what: how.
Steps shrink(const Options& options, const Violation& violation, std::string& ret_what);

} // namespace hintier::sim
