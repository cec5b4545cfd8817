// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/chain.hpp"

#include <algorithm>

namespace hintier {

namespace {

// Outcomes that make a judgement.
constexpr std::uint32_t enough_outcomes = 64;

} // namespace

Result<void> ChainRule::Config::validate() const {
    if (trigger < 1) return failure("trigger must be more than 0");
    if (window < 1 || window > 4096) return failure("window is from 1 to 4096 objects");
    if (deep_readers > 64) return failure("deep_readers is at most 64");
    if (readers_within <= 0ns) return failure("readers_within must be more than 0");
    if (forget_after <= 0ns) return failure("forget_after must be more than 0");
    if (min_useful > 100) return failure("min_useful is a percentage");
    if (pause < 0ns) return failure("pause must not be negative");
    return {};
}

void ChainRule::observe(const World& world, const Change& change, Nanos now, RestoreRule& restore,
                        Plan& plan) {
    if (!config_.enabled) return;
    const bool asked = change.kind == Change::Kind::asked && change.run >= config_.trigger;
    const bool opened = change.kind == Change::Kind::opened;
    if (opened) {
        ahead_.erase(world.object(change.object).id);
    }
    if ((!asked && !opened) || ahead_.size() >= window() || paused(now)) return;

    // What was looked up will be read too; what was opened is being read already.
    const ObjectIndex first = asked ? change.object : world.after(change.object);
    if (first == no_object) return;
    if (config_.deep_readers &&
        world.readers(change.pid, now - config_.readers_within) >= config_.deep_readers) {
        ++left_alone_;
        return;
    }
    const Object& object = world.object(first);
    if (!object.places.empty() && restore.dearer(world, object.places.front().root, now)) {
        plan.advice.push_back(leave(object));
        return;
    }
    fetch_from(world, change.pid, first, asked ? Reason::chain_asked : Reason::chain_opened, now,
               plan);
}

void ChainRule::fetch_from(const World& world, std::uint32_t pid, ObjectIndex first, Reason reason,
                           Nanos now, Plan& plan) {
    ObjectIndex index = first;
    const std::uint32_t most = window();
    // Who goes on as told is told of several more at once, not of one at each step.
    const bool told = ahead_.contains(world.object(first).id);
    if (told && ahead_.size() + std::max(1U, most / 4) > most) return;
    Lead& lead = leads_[pid];
    bool restart = !told && !(lead.last && world.object(first).before == lead.last);
    lead.at = now;
    for (std::uint32_t step = 0; step < most && index != no_object; ++step) {
        const Object& object = world.object(index);
        if (ahead_.size() >= most) return;
        if (!object.places.empty() && ahead_.try_emplace(object.id, now).second) {
            const Place& place = object.places.front();
            plan.advice.push_back(
                {.verb = config_.to_fast ? Advice::Verb::fetch : Advice::Verb::sequence,
                 .group = world.roots()[place.root].group,
                 .reason = reason,
                 .depth = object.depth,
                 .object = object.id,
                 .place = place,
                 .reader = pid,
                 .restart = restart});
            restart = false;
            lead.last = object.id;
            ++fetched_;
        }
        index = world.after(index);
    }
}

void ChainRule::tick(Nanos now) {
    if (now - forgot_ < config_.forget_after / 4) return;
    forgot_ = now;
    std::erase_if(ahead_, [&](const auto& one) { return now - one.second > config_.forget_after; });
    std::erase_if(leads_,
                  [&](const auto& one) { return now - one.second.at > config_.forget_after; });
}

void ChainRule::outcome(hintier_fetch how, Nanos now) {
    score_.count(how);
    const bool useful = how == HINTIER_FETCH_TIMELY || how == HINTIER_FETCH_LATE;
    ++(useful ? useful_ : useless_);
    const std::uint32_t all = useful_ + useless_;
    if (all < enough_outcomes) return;
    if (useful_ * 100 < all * config_.min_useful) {
        paused_until_ = now + config_.pause;
    }
    useful_ = useless_ = 0;
}

} // namespace hintier
