// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/classify.hpp"

namespace hintier {

namespace {

// Files probed at once, when one before them had its place: they hold up no event for long.
constexpr std::size_t probed_at_once = 16;

} // namespace

Result<void> ClassifyRule::Config::validate() const {
    if (remap_after <= 0ns) return failure("remap_after must be more than 0");
    if (remap_tries > 100) return failure("remap_tries is at most 100");
    if (max_waiting < 1 || max_waiting > 10'000'000) {
        return failure("max_waiting is from 1 to 10000000");
    }
    if (catch_up < 1) return failure("catch_up must be more than 0");
    return {};
}

void ClassifyRule::advise(const World& world, ObjectIndex index, const FileId& file, Reason reason,
                          Plan& plan) {
    const Object& object = world.object(index);
    for (const Place& place : object.places) {
        if (place.file == file) {
            plan.advice.push_back({.verb = Advice::Verb::classify,
                                   .group = world.roots()[place.root].group,
                                   .reason = reason,
                                   .depth = object.depth,
                                   .object = object.id,
                                   .place = place});
            return;
        }
    }
}

void ClassifyRule::observe(const World& world, const Change& change, Nanos now, bool at_start,
                           Plan& plan) {
    if (!config_.enabled) return;
    switch (change.kind) {
    case Change::Kind::appeared:
        if (!at_start) {
            advise(world, change.object, change.file, Reason::new_file, plan);
        } else if (waiting() < config_.max_waiting) {
            found_.push_back(change.file);
        } else {
            ++given_up_;
        }
        break;
    case Change::Kind::started:
    case Change::Kind::rewritten:
        // Being written in place: there is nothing to see before the writer is through.
        if (waiting() < config_.max_waiting) {
            late_.push_back({now + config_.remap_after, change.file, 1});
        } else {
            ++given_up_;
        }
        break;
    default:
        break;
    }
}

void ClassifyRule::tick(const World& world, Nanos now, Plan& plan) {
    put_back();
    while (!late_.empty() && late_.front().due <= now) {
        try_oldest(world, plan);
    }

    const Nanos each = Nanos(1s) / config_.catch_up;
    caught_up_ = std::max(caught_up_, now - Nanos(100ms));
    while (!found_.empty() && caught_up_ + each <= now) {
        caught_up_ += each;
        const FileId file = found_.front();
        found_.pop_front();
        const ObjectIndex index = world.find(file);
        if (index != no_object) {
            advise(world, index, file, Reason::found_at_start, plan);
        }
    }
}

void ClassifyRule::try_oldest(const World& world, Plan& plan) {
    const Late late = late_.front();
    late_.pop_front();
    const ObjectIndex index = world.find(late.file);
    if (index == no_object) return;
    tried_[late.file] = late;
    advise(world, index, late.file, Reason::mapped_late, plan);
}

void ClassifyRule::put_back() {
    tried_.clear();
    late_.insert(late_.begin(), missed_.begin(), missed_.end());
    missed_.clear();
}

void ClassifyRule::probe(const World& world, Plan& plan) {
    put_back();
    const std::size_t most = placed_ ? probed_at_once : 1;
    while (tried_.size() < most && !late_.empty() && late_.front().complete) {
        try_oldest(world, plan);
    }
    placed_ = !tried_.empty();
}

void ClassifyRule::unmapped(const Advice& advice, Nanos now) {
    const auto tried = tried_.find(advice.place.file);
    if (tried != tried_.end() && tried->second.due > now) { // it was probed
        missed_.push_back(tried->second);
        placed_ = false;
        return;
    }
    const bool first = tried == tried_.end();
    const std::uint32_t tries = first ? 1 : tried->second.tries + 1;
    if (tries > config_.remap_tries || waiting() >= config_.max_waiting) {
        ++given_up_;
        return;
    }
    const bool complete =
        first ? advice.reason == Reason::new_file || advice.reason == Reason::found_at_start
              : tried->second.complete;
    late_.push_back({now + config_.remap_after, advice.place.file, tries, complete});
}

} // namespace hintier
