// SPDX-License-Identifier: Apache-2.0
// Carries a plan out: files to ranges to hints, in one batch for each tier; unlinks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/daemon/complaints.hpp"
#include "agent/layout/layout.hpp"
#include "agent/plan/planner.hpp"
#include "agent/sink/sink.hpp"

namespace hintier {

class Executor {
public:
    struct Counts {
        std::uint64_t classified = 0; // files
        std::uint64_t fetched = 0;
        std::uint64_t led = 0;      // told in the order in which they will be read
        std::uint64_t left = 0;     // not fetched: computing them again is faster
        std::uint64_t loads = 0;    // files that somebody wants to read whole
        std::uint64_t unmapped = 0; // no place on the device yet
        std::uint64_t off_tier = 0; // on no tier (or it is gone)
        std::uint64_t vanished = 0; // files that were gone when their turn came
        std::uint64_t unlinked = 0;
        std::uint64_t not_unlinked = 0;
    };

    // `unlinked` hears of each file that has been removed.
    // `first_cookie` differs from those of daemons before.
    Executor(Planner& planner, Layout& layout, RootDirs& dirs, HintSink& sink,
             const std::vector<Root>& roots, bool dry_run, std::uint64_t first_cookie,
             std::function<void(const Reap&)> unlinked)
        : planner_(planner), layout_(layout), dirs_(dirs), sink_(sink), roots_(roots),
          dry_run_(dry_run), unlinked_(std::move(unlinked)),
          first_cookie_(first_cookie & ((1ULL << reason_shift) - 1)), cookie_(first_cookie_),
          last_hints_(max_last_hints) {}

    // Empties the plan.
    void carry_out(Nanos now);
    // Has the ranges fetched; bytes asked for.
    std::uint64_t load(const FileRanges& file, std::uint8_t klass, std::uint32_t in_ms, Nanos now);

    const Counts& counts() const { return counts_; }
    // Did this daemon ask for the fetch with this cookie, and for which reason? One before it may
    // have: none.
    Reason fetched_for(std::uint64_t cookie) const;
    // The last hint for the object; of many objects, not of all.
    struct LastHint {
        std::uint64_t object = 0;
        Reason reason = Reason::none;
        Advice::Verb verb = Advice::Verb::classify;
        Nanos at{};
    };
    LastHint last_hint(std::uint64_t object) const;

private:
    static constexpr std::size_t max_last_hints = 65'536;
    static constexpr unsigned reason_shift = 56; // of a cookie: the rest is a number

    std::uint64_t next_cookie(Reason reason) {
        return ++cookie_ | static_cast<std::uint64_t>(reason) << reason_shift;
    }
    void prepare(const Advice& advice, Nanos now);
    void send(Nanos now);
    void rule(const ValueTable& table, Nanos how_long, Nanos now);
    void reap(const Reap& reap, Nanos now);

    Planner& planner_;
    Layout& layout_;
    RootDirs& dirs_;
    HintSink& sink_;
    const std::vector<Root>& roots_;
    bool dry_run_;
    std::function<void(const Reap&)> unlinked_;
    std::uint64_t first_cookie_;
    std::uint64_t cookie_;
    std::unordered_map<std::uint32_t, std::vector<hintier_hint>> hints_; // by tier; keep their room
    Complaints complaints_;
    Counts counts_;
    // An object's has one place: of those that share it, the last.
    std::vector<LastHint> last_hints_;
};

// One range of a file as a hint; everything but the verb's own members.
hintier_hint to_hint(const Advice& advice, const Range& range, std::uint64_t cookie);

} // namespace hintier
