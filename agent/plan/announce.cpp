// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/announce.hpp"

namespace hintier {

Result<void> AnnounceRule::Config::validate() const {
    if (most < 1 || most > 65'536) return failure("most is from 1 to 65536 blocks");
    return {};
}

AnnounceRule::Outcome AnnounceRule::announced(const World& world, std::uint32_t root,
                                              const std::vector<std::uint64_t>& objects,
                                              std::uint32_t in_ms, Nanos now, RestoreRule& restore,
                                              Plan& plan) {
    if (!config_.enabled) return {};
    const std::size_t budget = most();
    const bool left = restore.dearer(world, root, now);
    std::size_t there = 0;
    for (const std::uint64_t id : objects) {
        if (there == budget) break;
        const ObjectIndex index = world.find(id);
        if (index == no_object) continue;
        const Object& object = world.object(index);
        bool any = false;
        for (const Place& place : object.places) { // one for each rank
            if (place.root != root) continue;
            any = true;
            if (left) {
                plan.advice.push_back(leave(object));
                break;
            }
            plan.advice.push_back({.verb = Advice::Verb::fetch,
                                   .group = world.roots()[root].group,
                                   .reason = Reason::announced,
                                   .depth = object.depth,
                                   .object = id,
                                   .place = place,
                                   .deadline_ms = in_ms});
        }
        there += any ? 1 : 0;
    }
    if (!left) fetched_ += there;
    return {there, left};
}

} // namespace hintier
