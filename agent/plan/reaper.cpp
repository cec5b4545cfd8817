// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/reaper.hpp"

#include <algorithm>
#include <tuple>

namespace hintier {

namespace {

// What the first tick may use, and what the longest pause between two leaves to use.
constexpr Nanos first_share = 100ms;
constexpr Nanos most_share = 1s;

// How often the coldest are looked at, and how many of them.
constexpr Nanos sweep_every = 1s;
constexpr std::size_t sweep_most = 1000;

constexpr std::size_t refused_most = 10'000;

} // namespace

Result<void> ReaperRule::Config::validate() const {
    if (rate < 1 || rate > 500) return failure("rate is from 1 to 500 files a second");
    if (quiet < 0ns) return failure("quiet must not be negative");
    if (silent_after != 0ns && silent_after < quiet) {
        return failure("silent_after is 0 (off) or at least `quiet`");
    }
    if (max_waiting < 1 || max_waiting > 16'000'000) {
        return failure("max_waiting is from 1 to 16000000");
    }
    return {};
}

Result<std::size_t> ReaperRule::session_ended(const World& world, std::uint32_t root,
                                              const std::vector<std::uint64_t>& objects,
                                              Nanos now) {
    if (!config_.enabled) return failure("the reaper is not enabled (rules.reaper)", EPERM);
    if (!world.roots()[root].reap) {
        return failure(world.roots()[root].path + " is not a root with reap = true", EPERM);
    }
    if (objects.size() >
        config_.max_waiting - std::min<std::size_t>(config_.max_waiting, waiting())) {
        return failure("too many files wait to be removed; try again later", EAGAIN);
    }
    std::size_t known = 0;
    for (auto id = objects.rbegin(); id != objects.rend(); ++id) {
        const ObjectIndex index = world.find(*id);
        if (index == no_object || world.object(index).places.empty()) continue;
        doomed_.push_back({*id, root, Reason::session_ended, now, {}});
        ++known;
    }
    return known;
}

void ReaperRule::tick(const World& world, Nanos now, Plan& plan) {
    if (!config_.enabled) return;
    find_silent(world, now);

    // What one tick leaves of the rate is not for the next: else a pause would end in a burst.
    const Nanos since = ticked_ == 0ns ? now - first_share : ticked_;
    paid_ = std::max({paid_, since, now - most_share});
    ticked_ = now;
    while (!quieting_.empty() && quieting_.front().due <= now && take_token(now)) {
        const Doomed doomed = quieting_.front();
        quieting_.pop_front();
        settle(world, doomed, now, plan);
    }
    while (!doomed_.empty() && take_token(now)) {
        const Doomed doomed = doomed_.front();
        doomed_.pop_front();
        settle(world, doomed, now, plan);
    }
}

void ReaperRule::settle(const World& world, Doomed doomed, Nanos now, Plan& plan) {
    switch (judge(world, doomed, now)) {
    case Verdict::reap:
        reap(world, doomed, plan);
        break;
    case Verdict::wait:
        doomed.due = world.object(world.find(doomed.object)).touched + config_.quiet;
        quieting_.push_back(doomed);
        break;
    case Verdict::let_off:
        ++let_off_;
        break;
    }
}

std::size_t ReaperRule::stop() {
    const std::size_t n = waiting();
    doomed_.clear();
    quieting_.clear();
    let_off_ += n;
    return n;
}

void ReaperRule::refused(const Reap& reap) {
    if (refused_.size() >= refused_most) {
        refused_.clear();
    }
    refused_.insert(reap.object);
}

ReaperRule::Verdict ReaperRule::judge(const World& world, const Doomed& doomed, Nanos now) const {
    const ObjectIndex index = world.find(doomed.object);
    if (index == no_object) return Verdict::let_off;
    const Object& object = world.object(index);
    if (object.touched > doomed.told) return Verdict::let_off;
    return now - object.touched < config_.quiet ? Verdict::wait : Verdict::reap;
}

// All files of the object below its root.
void ReaperRule::reap(const World& world, const Doomed& doomed, Plan& plan) {
    const Object& object = world.object(world.find(doomed.object));
    for (const Place& place : object.places) {
        if (place.root == doomed.root && world.roots()[place.root].reap) {
            plan.reap.push_back({doomed.reason, object.id, place, object.name});
        }
    }
}

bool ReaperRule::take_token(Nanos now) {
    const Nanos price = Nanos(1s) / config_.rate;
    if (paid_ + price > now) return false;
    paid_ += price;
    return true;
}

// Sessions without an end: chains whose objects nobody has touched for `silent_after`.
void ReaperRule::find_silent(const World& world, Nanos now) {
    if (config_.silent_after == 0ns || now - swept_ < sweep_every || !doomed_.empty()) return;
    swept_ = now;
    std::vector<ObjectIndex> silent;
    ObjectIndex index = world.coldest();
    for (std::size_t n = 0; n < sweep_most && index != no_object; ++n) {
        const Object& object = world.object(index);
        if (now - object.touched >= config_.silent_after && !refused_.contains(object.id)) {
            silent.push_back(index);
        }
        index = world.next_coldest(index);
    }
    deepest_first(world, silent);
    (void)doom(world, silent, Reason::long_silent, now);
}

std::size_t ReaperRule::not_worth(const World& world, std::vector<ObjectIndex> objects, Nanos now) {
    // Those of before are dealt with first: nobody is named twice.
    if (!config_.enabled || waiting() > 0) return 0;
    std::erase_if(objects,
                  [&](ObjectIndex one) { return refused_.contains(world.object(one).id); });
    if (objects.size() > config_.max_waiting) objects.resize(config_.max_waiting);
    deepest_first(world, objects);
    return doom(world, objects, Reason::not_worth, now);
}

// Within a chain that is its tail first. Where no chain is known, the tail is what was written
// last.
void ReaperRule::deepest_first(const World& world, std::vector<ObjectIndex>& objects) {
    std::sort(objects.begin(), objects.end(), [&](ObjectIndex a, ObjectIndex b) {
        const Object& x = world.object(a);
        const Object& y = world.object(b);
        return std::tie(x.depth, x.touched, x.id) > std::tie(y.depth, y.touched, y.id);
    });
}

std::size_t ReaperRule::doom(const World& world, const std::vector<ObjectIndex>& objects,
                             Reason reason, Nanos now) {
    std::size_t doomed = 0;
    for (const ObjectIndex one : objects) {
        const Object& object = world.object(one);
        for (const Place& place : object.places) {
            if (world.roots()[place.root].reap) {
                doomed_.push_back({object.id, place.root, reason, now, {}});
                ++doomed;
                break;
            }
        }
    }
    return doomed;
}

} // namespace hintier
