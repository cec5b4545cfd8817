// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/tier_metrics.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "agent/daemon/tiers.hpp"
#include "agent/layout/device.hpp"

namespace hintier {

namespace {

using Type = Exposition::Type;

constexpr std::string_view op_names[HINTIER_OPS] = {"read", "write", "discard", "flush"};
constexpr std::string_view outcome_names[HINTIER_OUTCOMES] = {"fast",   "home", "stage", "joined",
                                                              "bypass", "lost", "error"};
constexpr std::string_view class_names[HINTIER_CLASSES] = {"other", "weights",    "expert",
                                                           "kv",    "checkpoint", "stream"};

// Counters of one family stand side by side.
struct Counter {
    hintier_counter counter;
    std::string_view name;
    std::string_view label; // its name; empty: none
    std::string_view value;
    std::string_view help;
};

constexpr Counter counters[] = {
    {HINTIER_C_FAST_WRITE_BYTES, "hintier_tier_programmed_bytes_total", "device", "fast",
     "Bytes written to a device, metadata and background work included"},
    {HINTIER_C_BULK_WRITE_BYTES, "hintier_tier_programmed_bytes_total", "device", "bulk", ""},
    {HINTIER_C_META_WRITE_BYTES, "hintier_tier_metadata_bytes_total", "", "",
     "Of the bytes programmed on fast, metadata"},
    {HINTIER_C_ADMITTED, "hintier_tier_extents_admitted_total", "by", "write",
     "Extents that got a slot"},
    {HINTIER_C_PROMOTED, "hintier_tier_extents_admitted_total", "by", "read_or_fetch", ""},
    {HINTIER_C_EVICTED, "hintier_tier_extents_evicted_total", "", "",
     "Clean extents that lost their slot"},
    {HINTIER_C_DESTAGED_BYTES, "hintier_tier_destaged_bytes_total", "", "",
     "Dirty bytes that went home"},
    {HINTIER_C_DROPPED_DIRTY_BYTES, "hintier_tier_dropped_bytes_total", "why", "discard",
     "Dirty bytes that were forgotten, never written to bulk"},
    {HINTIER_C_DROPPED_VOLATILE_BYTES, "hintier_tier_dropped_bytes_total", "why", "volatile", ""},
    {HINTIER_C_DROPS_REFUSED, "hintier_tier_drops_refused_total", "", "",
     "Drops that became destages because the lost map was full"},
    {HINTIER_C_DISCARDED_BYTES, "hintier_tier_discarded_bytes_total", "", "", "Bytes discarded"},
    {HINTIER_C_COMMITS, "hintier_tier_commits_total", "", "", "Metadata commits"},
    {HINTIER_C_HINTS, "hintier_tier_hints_total", "", "", "Hints taken"},
    {HINTIER_C_HINTS_REFUSED, "hintier_tier_hints_refused_total", "", "", "Hints refused"},
    {HINTIER_C_FETCH_TIMELY, "hintier_tier_fetches_total", "outcome", "timely",
     "Fetches that have ended"},
    {HINTIER_C_FETCH_LATE, "hintier_tier_fetches_total", "outcome", "late", ""},
    {HINTIER_C_FETCH_UNUSED, "hintier_tier_fetches_total", "outcome", "unused", ""},
    {HINTIER_C_FETCH_CANCELLED, "hintier_tier_fetches_total", "outcome", "cancelled", ""},
    {HINTIER_C_WAITED_SLOT, "hintier_tier_writes_without_slot_total", "", "",
     "Writes that went home because no slot was free"},
    {HINTIER_C_ERRORS_FAST, "hintier_tier_device_errors_total", "device", "fast",
     "Requests that a device failed"},
    {HINTIER_C_ERRORS_BULK, "hintier_tier_device_errors_total", "device", "bulk", ""},
    {HINTIER_C_SLOTS_RETIRED, "hintier_tier_slots_retired_total", "", "",
     "Slots given up for good because fast failed there"},
    {HINTIER_C_STAGED_BYTES, "hintier_tier_staged_bytes_total", "", "",
     "Bytes read ahead into RAM"},
    {HINTIER_C_STAGE_UNUSED_BYTES, "hintier_tier_stage_unused_bytes_total", "", "",
     "Of these, left or overwritten before they were read"},
    {HINTIER_C_PADDED_BYTES, "hintier_tier_padded_bytes_total", "", "",
     "Bytes written home again, so that bulk gets whole indirection units"},
};

void tell_states(Exposition& to, const std::vector<TierStats>& tiers) {
    to.family("hintier_tier_info", Type::gauge, "A tier, and its mode");
    for (const TierStats& one : tiers) {
        to.sample({{"tier", device_text(one.tier.device)}, {"mode", mode_text(one.tier.mode)}}, 1);
    }
    to.family("hintier_tier_size_bytes", Type::gauge, "Size of the tier device");
    for (const TierStats& one : tiers) {
        to.sample({{"tier", device_text(one.tier.device)}}, static_cast<double>(one.tier.bytes));
    }
    to.family("hintier_tier_slots", Type::gauge, "Slots of fast by what they hold");
    for (const TierStats& one : tiers) {
        const std::string tier = device_text(one.tier.device);
        to.sample({{"tier", tier}, {"state", "free"}}, static_cast<double>(one.tier.free));
        to.sample({{"tier", tier}, {"state", "dirty"}}, static_cast<double>(one.tier.dirty));
        to.sample({{"tier", tier}, {"state", "clean"}}, static_cast<double>(one.tier.clean));
    }
    to.family("hintier_tier_slot_bytes", Type::gauge, "Size of a slot");
    for (const TierStats& one : tiers) {
        to.sample({{"tier", device_text(one.tier.device)}},
                  static_cast<double>(one.tier.extent_bytes));
    }
    to.family("hintier_tier_lost_bytes", Type::gauge,
              "Dropped while volatile, and not written or discarded since");
    for (const TierStats& one : tiers) {
        to.sample({{"tier", device_text(one.tier.device)}}, static_cast<double>(one.tier.lost));
    }
    to.family("hintier_tier_budget_left_bytes", Type::gauge,
              "Left of what may be programmed a day; below 0: owed; 0 without a budget");
    for (const TierStats& one : tiers) {
        const std::string tier = device_text(one.tier.device);
        to.sample({{"tier", tier}, {"device", "fast"}}, static_cast<double>(one.tier.fast_left));
        to.sample({{"tier", tier}, {"device", "bulk"}}, static_cast<double>(one.tier.bulk_left));
    }
    to.family("hintier_tier_over_budget", Type::gauge, "1: the budget is spent");
    for (const TierStats& one : tiers) {
        const std::string tier = device_text(one.tier.device);
        to.sample({{"tier", tier}, {"device", "fast"}}, one.tier.over & HINTIER_OVER_FAST ? 1 : 0);
        to.sample({{"tier", tier}, {"device", "bulk"}}, one.tier.over & HINTIER_OVER_BULK ? 1 : 0);
    }
}

void tell_counters(Exposition& to, const std::vector<TierStats>& tiers) {
    std::string_view family;
    for (const Counter& counter : counters) {
        if (counter.name != family) to.family(counter.name, Type::counter, counter.help);
        family = counter.name;
        for (const TierStats& one : tiers) {
            const std::string tier = device_text(one.tier.device);
            const auto value = static_cast<double>(one.counters[counter.counter]);
            if (counter.label.empty())
                to.sample({{"tier", tier}}, value);
            else
                to.sample({{"tier", tier}, {counter.label, counter.value}}, value);
        }
    }
}

// Only what this version has names for.
bool known(const TierStats::Io& io) {
    return io.op < HINTIER_OPS && io.outcome < HINTIER_OUTCOMES && io.klass < HINTIER_CLASSES;
}

void tell_io(Exposition& to, const std::vector<TierStats>& tiers, bool bytes) {
    for (const TierStats& one : tiers) {
        for (const TierStats::Io& io : one.io) {
            if (!known(io)) continue;
            to.sample({{"tier", device_text(one.tier.device)},
                       {"op", op_names[io.op]},
                       {"outcome", outcome_names[io.outcome]},
                       {"class", class_names[io.klass]}},
                      static_cast<double>(bytes ? io.bytes : io.count));
        }
    }
}

void tell_latency(Exposition& to, const std::vector<TierStats>& tiers) {
    to.family("hintier_tier_latency_seconds", Type::histogram,
              "Time of requests; sums are not kept");
    for (const TierStats& one : tiers) {
        const std::string tier = device_text(one.tier.device);
        for (const TierStats::Latency& latency : one.latency) {
            if (latency.op >= HINTIER_OPS || latency.outcome >= HINTIER_OUTCOMES) continue;
            const std::string_view op = op_names[latency.op];
            const std::string_view outcome = outcome_names[latency.outcome];
            std::uint64_t below = 0;
            for (std::size_t b = 0; b < latency.buckets.size(); ++b) {
                below += latency.buckets[b];
                const bool last = b + 1 == latency.buckets.size(); // it takes all above
                const std::string edge =
                    last ? "+Inf"
                         : fmt::format("{}", std::ldexp(1.0, static_cast<int>(b) + 9) / 1e9);
                to.sample("_bucket",
                          {{"tier", tier}, {"op", op}, {"outcome", outcome}, {"le", edge}},
                          static_cast<double>(below));
            }
            to.sample("_count", {{"tier", tier}, {"op", op}, {"outcome", outcome}},
                      static_cast<double>(below));
        }
    }
}

} // namespace

void tell_tiers(Exposition& to, const std::vector<TierStats>& tiers) {
    tell_states(to, tiers);
    to.family("hintier_tier_requests_total", Type::counter,
              "Requests by operation, by where they were served, and by class of the data");
    tell_io(to, tiers, false);
    to.family("hintier_tier_request_bytes_total", Type::counter, "Bytes of these requests");
    tell_io(to, tiers, true);
    tell_latency(to, tiers);
    tell_counters(to, tiers);
}

} // namespace hintier
