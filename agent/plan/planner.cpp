// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/planner.hpp"

namespace hintier {

std::string_view describe(Reason reason) {
    switch (reason) {
    case Reason::none:
        return "nothing yet";
    case Reason::new_file:
        return "a new KV file";
    case Reason::mapped_late:
        return "a KV file that now has its place";
    case Reason::found_at_start:
        return "a KV file from before the agent's start";
    case Reason::chain_asked:
        return "the objects before it in its chain were looked up";
    case Reason::chain_opened:
        return "the object before it in its chain was opened";
    case Reason::session_ended:
        return "its session has ended";
    case Reason::long_silent:
        return "nobody has touched it for long";
    case Reason::announced:
        return "its server said that it will read it";
    case Reason::load_asked:
        return "somebody said that the file will be read";
    case Reason::not_worth:
        return "it is too unlikely to be read again to be worth a program on bulk";
    case Reason::regrouped:
        return "it ages like others than before";
    case Reason::dearer:
        return "computing it again is faster than reading it";
    case Reason::count:
        break;
    }
    return "unknown";
}

std::string_view describe(Advice::Verb verb) {
    switch (verb) {
    case Advice::Verb::classify:
        return "classify";
    case Advice::Verb::fetch:
        return "fetch";
    case Advice::Verb::sequence:
        return "sequence";
    case Advice::Verb::leave:
        return "leave";
    }
    return "unknown";
}

void Planner::observe(const World& world, const Change& change, Nanos now, bool at_start) {
    const std::size_t first = plan.advice.size();
    if (at_start && change.kind == Change::Kind::appeared) worth.recall(world, change.object);
    classify.observe(world, change, now, at_start, plan);
    worth.group(world, plan, first);
    chain.observe(world, change, now, restore, plan);
    if (!at_start) worth.observe(world, change, now);
}

void Planner::tick(const World& world, Nanos now) {
    const std::size_t first = plan.advice.size();
    classify.tick(world, now, plan);
    worth.group(world, plan, first);
    worth.tick(world, now, reaper, plan);
    reaper.tick(world, now, plan);
    chain.tick(now);
}

void Planner::probe(const World& world) {
    const std::size_t first = plan.advice.size();
    classify.probe(world, plan);
    worth.group(world, plan, first);
}

void Planner::unlinked(const World& world, const Reap& reap) {
    if (reap.reason == Reason::not_worth) worth.dropped(world, reap.object);
}

} // namespace hintier
