// SPDX-License-Identifier: Apache-2.0
// The kernel's side of the conversation, over generic netlink: which tiers there are, what they
// count, what happens to them. Works without the module too, and tells when it comes and goes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "agent/base/result.hpp"
#include "hintier/netlink.h"

struct nlmsghdr;

namespace hintier {

struct TierInfo {
    std::uint32_t device = 0; // kernel number
    std::array<std::uint8_t, 16> uuid{};
    std::uint32_t mode = 0; // enum hintier_mode
    std::uint64_t bytes = 0;
    std::uint32_t extent_bytes = 0;
    std::uint64_t slots = 0;
    std::uint64_t free = 0;
    std::uint64_t dirty = 0;
    std::uint64_t clean = 0;
    std::uint64_t lost = 0;     // bytes
    std::uint32_t over = 0;     // HINTIER_OVER_*
    std::int64_t fast_left = 0; // bytes of budgets; below 0: owed
    std::int64_t bulk_left = 0;
};

struct TierStats {
    struct Io {
        std::uint8_t op = 0;
        std::uint8_t outcome = 0;
        std::uint8_t klass = 0;
        std::uint64_t count = 0;
        std::uint64_t bytes = 0;
    };
    struct Latency {
        std::uint8_t op = 0;
        std::uint8_t outcome = 0;
        std::array<std::uint64_t, HINTIER_LATENCY_BUCKETS> buckets{};
    };
    TierInfo tier;
    std::array<std::uint64_t, HINTIER_COUNTERS> counters{};
    std::vector<Io> io; // what is not zero
    std::vector<Latency> latency;
};

struct TierEvent {
    std::uint32_t type = 0; // enum hintier_event
    std::uint32_t device = 0;
    std::uint64_t seq = 0;
    std::array<std::uint64_t, 4> args{};
};

// A message of the module's family; false when it is none of these.
bool parse_tier_stats(nlmsghdr* message, TierStats& stats);
bool parse_tier_event(nlmsghdr* message, TierEvent& event);

class TierEventSink {
public:
    virtual ~TierEventSink() = default;
    virtual void tier_event(const TierEvent& event) = 0;
    virtual void module_changed() = 0; // the netlink family has come or gone
    virtual void events_lost() = 0;    // the socket's buffer was full: look at everything again
};

class KernelSource {
public:
    static Result<std::unique_ptr<KernelSource>> open();
    ~KernelSource();

    int fd() const;
    void drain(TierEventSink& sink); // never blocks

    // Looks for the module's family and joins its events. ENOENT: the module is not loaded.
    Result<void> find_module();
    // Both ask the kernel and wait for its answer, which it gives at once.
    Result<std::vector<TierInfo>> tiers();
    Result<std::vector<TierStats>> stats();

private:
    KernelSource();

    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace hintier
