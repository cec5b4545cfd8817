// SPDX-License-Identifier: Apache-2.0
// The tiers and what they count, from the generic netlink family (see hintier/netlink.h).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <hintier/netlink.h>
#include <sys/types.h>

#include "agent/cli/fail.hpp"

struct nlmsghdr;

namespace hintier::cli {

struct IoCount {
    std::uint8_t op = 0;
    std::uint8_t outcome = 0;
    std::uint8_t klass = 0;
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
};

using Histogram = std::array<std::uint64_t, HINTIER_LATENCY_BUCKETS>;

struct IoLatency {
    std::uint8_t op = 0;
    std::uint8_t outcome = 0;
    Histogram buckets{};
};

// Bytes that FETCHes have asked for, by how they ended.
struct FetchCount {
    bool by_source = false; // which is a source; else a class
    std::uint8_t which = 0;
    std::array<std::uint64_t, HINTIER_FETCHES> bytes{};
};

struct TierStats {
    dev_t id = 0;
    std::array<std::uint8_t, 16> uuid{};
    std::uint32_t mode = 0;
    std::uint64_t bytes = 0;
    std::uint32_t extent_bytes = 0;
    std::uint64_t slots = 0;
    std::uint64_t free = 0;
    std::uint64_t dirty = 0;
    std::uint64_t clean = 0;
    std::uint64_t pinned = 0;   // extents
    std::uint64_t lost = 0;     // bytes
    std::uint32_t over = 0;     // HINTIER_OVER_*: budgets that are spent
    std::int64_t fast_left = 0; // bytes of budgets; below 0: owed
    std::int64_t bulk_left = 0;
    std::vector<IoCount> io;
    std::vector<IoLatency> latency;
    std::vector<FetchCount> fetches;
    std::array<std::uint64_t, HINTIER_COUNTERS> counters{};
};

// All tiers of this machine.
Result<std::vector<TierStats>> read_stats();

// One message of the family. Attributes that this build does not know are skipped.
Result<TierStats> parse_stats(nlmsghdr* message);

// The upper edge of the bucket that holds the quantile, in ns; 0 when nothing was counted.
std::uint64_t quantile(const Histogram& buckets, double share);

// Counters of a tier summed over what does not matter: bytes by op and outcome.
std::uint64_t bytes_of(const TierStats& stats, hintier_op op, hintier_outcome outcome);
std::uint64_t bytes_of(const TierStats& stats, hintier_op op);

std::string op_name(unsigned op);
std::string outcome_name(unsigned outcome);
std::string class_name(unsigned klass);
std::string mode_name(unsigned mode);
std::string fetch_name(unsigned fetch);
std::string counter_name(unsigned counter);
// The class of that name; -1 when there is none.
int class_number(std::string_view name);

std::string uuid_text(const std::array<std::uint8_t, 16>& uuid);

} // namespace hintier::cli
