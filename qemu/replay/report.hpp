// SPDX-License-Identifier: Apache-2.0
//
// Figures of one run. All times are modelled (un-dilated) milliseconds; all counts are of the part
// of the run that begins at the plan's mark.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "qemu/replay/server.hpp"

namespace hintier::replay {

// What was done to files.
struct Counts {
    std::uint64_t stored = 0;
    std::uint64_t store_skipped = 0; // the file was there already
    std::uint64_t loaded = 0;
    std::uint64_t load_missing = 0;
    std::uint64_t loaded_wrong = 0;
    std::uint64_t looked_up = 0;
    std::uint64_t removed = 0;
    std::uint64_t told_dead = 0;    // blocks named to the agent
    std::uint64_t told_unknown = 0; // of these, unknown to it
    Time busy = 0;                  // compute
    Time at = 0;                    // when these were taken
    double cpu_ns = 0;              // machine time that was not idle, undilated

    Counts since(const Counts& mark) const;
    // What the agent unlinks for us costs as much as what we unlink.
    std::uint64_t object_operations() const {
        return stored + loaded + removed + told_dead - told_unknown;
    }
};

struct Report {
    std::uint64_t block_bytes = kObjectBytes; // on the tier
    Counts counts;
    Time latest_event = 0; // how late the server's thread came to an arrival, at worst
    std::uint64_t dram_peak_blocks = 0;
    std::uint64_t reap_postponed = 0;
    std::uint64_t dead_left = 0; // files of ended sessions that are still there
};

// Nearest-rank percentile; 0 of nothing.
double percentile_ms(std::vector<Time> times, double share);

nlohmann::ordered_json to_json(const Plan& plan, const std::vector<Outcome>& outcomes,
                               const Report& report, double ttft_limit_ms);

// One line for people: how far it is and how it goes.
std::string progress_line(const Plan& plan, const std::vector<Outcome>& outcomes, Time now,
                          const Counts& counts);

double cpu_busy_ns(); // since boot, from /proc/stat; 0 where there is none

} // namespace hintier::replay
