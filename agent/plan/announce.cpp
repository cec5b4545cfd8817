// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/announce.hpp"

namespace hintier {

Result<void> AnnounceRule::Config::validate() const {
    if (most < 1 || most > 65'536) return failure("most is from 1 to 65536 blocks");
    return {};
}

std::size_t AnnounceRule::announced(const World& world, std::uint32_t root,
                                    const std::vector<std::uint64_t>& objects, std::uint32_t in_ms,
                                    Plan& plan) {
    if (!config_.enabled) return 0;
    const std::size_t budget = most();
    std::size_t there = 0;
    for (const std::uint64_t id : objects) {
        if (there == budget) break;
        const ObjectIndex index = world.find(id);
        if (index == no_object) continue;
        const Object& object = world.object(index);
        bool any = false;
        for (const Place& place : object.places) { // one for each rank
            if (place.root != root) continue;
            plan.advice.push_back({.verb = Advice::Verb::fetch,
                                   .group = world.roots()[root].group,
                                   .reason = Reason::announced,
                                   .depth = object.depth,
                                   .object = id,
                                   .place = place,
                                   .deadline_ms = in_ms});
            any = true;
        }
        there += any ? 1 : 0;
    }
    fetched_ += there;
    return there;
}

} // namespace hintier
