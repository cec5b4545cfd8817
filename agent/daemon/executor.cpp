// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/executor.hpp"

#include <fmt/core.h>

#include "agent/daemon/unlink.hpp"

namespace hintier {

namespace {

// Of no fetch: these have a reason in their highest byte. One sequence a reader.
constexpr std::uint64_t sequence_cookie = 1ULL << 32;

} // namespace

hintier_hint to_hint(const Advice& advice, const Range& range, std::uint64_t cookie) {
    hintier_hint hint{};
    hint.klass = advice.klass;
    hint.group = advice.group;
    hint.source = static_cast<std::uint16_t>(advice.reason);
    hint.offset = range.offset;
    hint.length = range.length;
    hint.object = advice.object;
    hint.depth = advice.depth;
    switch (advice.verb) {
    case Advice::Verb::classify:
        hint.verb = HINTIER_VERB_CLASSIFY;
        break;
    case Advice::Verb::fetch:
        hint.verb = HINTIER_VERB_FETCH;
        hint.cookie = cookie;
        hint.deadline_ms = advice.deadline_ms;
        break;
    case Advice::Verb::sequence:
        hint.verb = HINTIER_VERB_SEQUENCE;
        hint.cookie = sequence_cookie | advice.reader;
        hint.flags = advice.restart ? HINTIER_FLAG_RESTART : 0;
        hint.depth = 0; // as much as helps
        break;
    case Advice::Verb::leave:
        break;
    }
    return hint;
}

void Executor::carry_out(Nanos now) {
    Plan& plan = planner_.plan;
    if (plan.empty()) return;
    for (const Advice& advice : plan.advice) {
        prepare(advice, now);
    }
    send(now);
    if (plan.values) rule(*plan.values, plan.values_for, now);
    for (const Reap& one : plan.reap) {
        reap(one, now);
    }
    plan.clear();
    dirs_.close_all();
}

std::uint64_t Executor::load(const FileRanges& file, std::uint8_t klass, std::uint32_t in_ms,
                             Nanos now) {
    Advice advice;
    advice.verb = Advice::Verb::fetch;
    advice.klass = klass;
    advice.reason = Reason::load_asked;
    advice.deadline_ms = in_ms;
    std::uint64_t bytes = 0;
    for (const Range& range : file.ranges) {
        hints_[file.tier].push_back(to_hint(advice, range, next_cookie(advice.reason)));
        bytes += range.length;
    }
    ++counts_.loads;
    send(now);
    return bytes;
}

Reason Executor::fetched_for(std::uint64_t cookie) const {
    const std::uint64_t number = cookie & ((1ULL << reason_shift) - 1);
    if (number <= first_cookie_ || number > cookie_) return Reason::none;
    const std::uint64_t reason = cookie >> reason_shift;
    return reason < static_cast<std::uint64_t>(Reason::count) ? static_cast<Reason>(reason)
                                                              : Reason::none;
}

Executor::LastHint Executor::last_hint(std::uint64_t object) const {
    const LastHint& last = last_hints_[object % max_last_hints];
    return last.object == object ? last : LastHint();
}

void Executor::prepare(const Advice& advice, Nanos now) {
    last_hints_[advice.object % max_last_hints] = {advice.object, advice.reason, advice.verb, now};
    if (advice.verb == Advice::Verb::leave) {
        ++counts_.left;
        return;
    }
    const auto found = layout_.find(advice.place.file, advice.place.root);
    if (!found) {
        const Error& error = found.error();
        if (error.code == ESTALE || error.code == ENOENT) {
            ++counts_.vanished;
        } else {
            ++counts_.off_tier;
            complaints_.say("layout",
                            fmt::format("{}: {}", roots_[advice.place.root].path, error.text), now);
        }
        return;
    }
    const FileRanges& file = **found;
    std::vector<hintier_hint>& hints = hints_[file.tier];
    const std::size_t first = hints.size();
    for (const Range& range : file.ranges) {
        hints.push_back(to_hint(advice, range, next_cookie(advice.reason)));
        if (hints.size() > first + 1) hints.back().flags &= ~HINTIER_FLAG_RESTART;
    }
    switch (advice.verb) {
    case Advice::Verb::classify:
        ++counts_.classified;
        if (!file.complete) {
            ++counts_.unmapped;
            planner_.classify.unmapped(advice, now);
        }
        break;
    case Advice::Verb::fetch:
        ++counts_.fetched;
        break;
    case Advice::Verb::sequence:
        ++counts_.led;
        break;
    case Advice::Verb::leave:
        break;
    }
}

void Executor::send(Nanos now) {
    for (auto& [tier, hints] : hints_) {
        if (hints.empty()) continue;
        if (auto sent = sink_.send(tier, hints); !sent) {
            complaints_.say("hints",
                            fmt::format("tier {}: {}", device_text(tier), sent.error().text), now);
        }
        hints.clear();
    }
}

void Executor::rule(const ValueTable& table, Nanos how_long, Nanos now) {
    const std::vector<hintier_value_row> rows = tier_rows(table);
    hintier_values values{};
    values.rows = reinterpret_cast<std::uintptr_t>(rows.data());
    values.groups = static_cast<std::uint32_t>(rows.size());
    const auto most = std::chrono::milliseconds(HINTIER_VALUES_MAX_MS);
    values.ttl_ms = static_cast<std::uint32_t>(
        std::min(std::chrono::duration_cast<std::chrono::milliseconds>(how_long), most).count());
    for (unsigned k = 0; k < age_bins; ++k)
        values.edges_ms[k] = static_cast<std::uint32_t>(age_edges[k] * 1000);
    if (auto sent = sink_.rule(values); !sent) complaints_.say("values", sent.error().text, now);
}

void Executor::reap(const Reap& reap, Nanos now) {
    const Root& root = roots_[reap.place.root];
    const std::string name = root.adapter->file_name(reap.name);
    if (dry_run_) {
        log::info("would unlink {} below {}: {}", name, root.path, describe(reap.reason));
        planner_.reaper.refused(reap);
        return;
    }
    const auto dir = dirs_.open(reap.place.root, reap.place.file.device);
    const auto done =
        dir ? unlink_below(*dir, reap.place, name) : Result<void>(Failure(dir.error()));
    if (done) {
        ++counts_.unlinked;
        layout_.forget(reap.place.file);
        unlinked_(reap);
        return;
    }
    ++counts_.not_unlinked;
    planner_.reaper.refused(reap);
    if (done.error().code != ESTALE && done.error().code != ENOENT) {
        complaints_.say("unlink",
                        fmt::format("{} below {}: {}", name, root.path, done.error().text), now);
    }
}

} // namespace hintier
