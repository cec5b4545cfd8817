// SPDX-License-Identifier: Apache-2.0
// The rules together: what they see, when they are asked, and the plan they fill.
#pragma once

#include "agent/plan/announce.hpp"
#include "agent/plan/chain.hpp"
#include "agent/plan/classify.hpp"
#include "agent/plan/reaper.hpp"
#include "agent/plan/restore.hpp"
#include "agent/plan/worth.hpp"

namespace hintier {

class Planner {
public:
    struct Config {
        ClassifyRule::Config classify;
        ReaperRule::Config reaper;
        ChainRule::Config chain;
        AnnounceRule::Config announce;
        WorthRule::Config worth;
        RestoreConfig restore;
    };

    explicit Planner(const Config& config)
        : classify(config.classify), reaper(config.reaper), chain(config.chain),
          announce(config.announce), worth(config.worth), restore(config.restore) {}

    // `at_start`: the change tells of something that was there before the agent.
    void observe(const World& world, const Change& change, Nanos now, bool at_start = false);
    void tick(const World& world, Nanos now);
    void probe(const World& world); // classify.placed() when that is carried out
    // A file of the plan has been unlinked, and the world has heard of it.
    void unlinked(const World& world, const Reap& reap);

    Plan plan;
    ClassifyRule classify;
    ReaperRule reaper;
    ChainRule chain;
    AnnounceRule announce;
    WorthRule worth;
    RestoreRule restore;
};

} // namespace hintier
