// SPDX-License-Identifier: Apache-2.0
#include "agent/source/replay.hpp"

namespace hintier {

namespace {

// Recordings have gaps of hours; rules that wait do so for less.
constexpr int most_ticks = 36'000;

constexpr std::size_t most_ahead = 1'000'000;

} // namespace

Replay::Replay(const World::Config& world, const Planner::Config& rules, std::vector<Root> roots,
               Told told)
    : world_(world, std::move(roots)), planner_(rules), speech_(world_, planner_),
      told_(std::move(told)) {}

void Replay::feed(const Recorded& recorded) {
    if (const auto* event = std::get_if<RecordedEvent>(&recorded)) {
        ++counts_.events;
        advance(event->event.time);
        apply(event->get());
    } else {
        const Words& words = std::get<Words>(recorded);
        ++counts_.words;
        advance(words.time);
        const bool root_there = words.root < world_.roots().size();
        if (!root_there || !speech_.hear(words)) ++counts_.refused;
    }
    carry_out();
}

void Replay::finish(Nanos more) {
    advance(now_ + more);
}

// `seen` events carry times of long ago: time does not go back for them.
void Replay::advance(Nanos to) {
    if (now_ == 0ns) {
        now_ = to;
        return;
    }
    for (int i = 0; i < most_ticks && now_ + tick <= to; ++i) {
        now_ += tick;
        planner_.tick(world_, now_);
        carry_out();
    }
    now_ = std::max(now_, to);
}

void Replay::apply(const Event& event) {
    const Change change = world_.apply(event);
    if (change.kind == Change::Kind::none) return;
    if (change.kind == Change::Kind::opened) {
        ++counts_.opened;
        counts_.opened_fetched += ahead_.erase(world_.object(change.object).id);
    }
    planner_.observe(world_, change, event.time, event.kind == EventKind::seen);
}

void Replay::carry_out() {
    if (planner_.plan.empty()) return;
    const Plan plan = std::move(planner_.plan);
    planner_.plan = Plan();
    if (told_) told_(plan, now_);
    for (const Advice& advice : plan.advice) {
        ++counts_.reasons[static_cast<std::size_t>(advice.reason)];
        if (advice.verb == Advice::Verb::leave) continue;
        if (advice.verb == Advice::Verb::classify) {
            ++counts_.classified;
            continue;
        }
        ++counts_.fetched;
        if (ahead_.size() < most_ahead) ahead_.insert(advice.object);
    }
    for (const Reap& reap : plan.reap) {
        ++counts_.reasons[static_cast<std::size_t>(reap.reason)];
        ++counts_.reaped;
        Event gone;
        gone.kind = EventKind::unlinked;
        gone.time = now_;
        gone.file = reap.place.file;
        apply(gone);
        planner_.unlinked(world_, reap);
    }
}

} // namespace hintier
