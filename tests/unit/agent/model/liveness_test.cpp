// SPDX-License-Identifier: Apache-2.0
#include "agent/model/liveness.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace hintier {
namespace {

using Index = Liveness::Index;
using Use = Liveness::Use;

class LivenessTest : public testing::Test {
protected:
    // Blocks that the model does not know yet are written, the others read.
    void say(std::vector<Index> blocks) {
        std::vector<Liveness::Touch> chain;
        for (const Index block : blocks)
            chain.push_back({block, model.known(block) ? Use::read : Use::written});
        model.request(now, chain);
    }
    GroupKey key(Index block) const { return Hazard::key(model.group(block)); }

    Liveness model{{}};
    Nanos now = 1000s;
};

TEST_F(LivenessTest, ASessionGoesOnTurnByTurn) {
    say({1, 2, 3});
    EXPECT_EQ(key(3).turn, GroupKey::turn_of(0, false));
    EXPECT_EQ(key(3).size, GroupKey::size_of(3));
    EXPECT_EQ(key(3).kind, unsigned{GroupKey::fresh});
    say({1, 2, 3, 4});
    EXPECT_EQ(key(4).turn, GroupKey::turn_of(1, false));
    EXPECT_EQ(key(4).kind, unsigned{GroupKey::fresh});
    EXPECT_EQ(key(3).turn, GroupKey::turn_of(1, false)) << "used again";
    EXPECT_EQ(key(3).kind, unsigned{GroupKey::old});
    say({1, 2, 3, 4, 5});
    EXPECT_EQ(key(5).turn, GroupKey::turn_of(2, false));
    EXPECT_EQ(model.depth(5), 4U);
}

TEST_F(LivenessTest, AnEditIsANewSessionAndAFork) {
    say({1, 2, 3, 4});
    say({1, 2, 5, 6});
    EXPECT_EQ(key(6).turn, GroupKey::turn_of(0, true));
    EXPECT_EQ(key(2).kind, unsigned{GroupKey::old}) << "its second successor is not known yet";
    say({1, 2, 7});
    EXPECT_EQ(key(2).kind, unsigned{GroupKey::forked});
    say({1, 2, 8});
    say({1, 2, 9});
    EXPECT_EQ(key(2).kind, unsigned{GroupKey::shared});
}

TEST_F(LivenessTest, OneCommonObjectMakesNoFork) {
    say({1, 2});
    say({1, 3});
    EXPECT_EQ(key(3).turn, GroupKey::turn_of(0, false));
}

TEST_F(LivenessTest, APartialTailIsAKindOfItsOwn) {
    const Liveness::Touch chain[] = {{1, Use::written}, {2, Use::written, true}};
    model.request(now, chain);
    EXPECT_EQ(key(1).kind, unsigned{GroupKey::fresh});
    EXPECT_EQ(key(2).kind, unsigned{GroupKey::tail});
}

TEST_F(LivenessTest, CountsWhoEntersAnAgeAndWhoIsReadAtIt) {
    say({1, 2, 3, 4});
    const auto group = model.group(4);
    EXPECT_EQ(model.hazard().entered(group, 0), 4);
    EXPECT_EQ(model.hazard().entered(group, 1), 0);
    now += 20s;
    model.advance(now);
    EXPECT_EQ(model.hazard().entered(group, 1), 4);
    model.advance(now);
    EXPECT_EQ(model.hazard().entered(group, 1), 4) << "once";

    const Liveness::Touch chain[] = {{1, Use::held}, {2, Use::read}};
    model.request(now, chain); // an edit: 3 and 4 stay behind
    EXPECT_EQ(model.hazard().read_in(group, 1), 1) << "held: no read of the tier";
    EXPECT_EQ(model.hazard().reads(), 1);
    EXPECT_DOUBLE_EQ(model.hazard().mean_read_age(), 20);
    now += 12s;
    model.advance(now);
    EXPECT_EQ(model.hazard().entered(group, 2), 2) << "1 and 2 have been used since";
}

TEST_F(LivenessTest, AnEndMovesWhatTheSessionUsedLast) {
    say({1, 2, 3});
    say({1, 4, 5});
    std::vector<Index> moved;
    now += 60s;
    const Index chain[] = {1, 2, 3};
    model.ended(now, chain, moved);
    EXPECT_EQ(moved, (std::vector<Index>{2, 3})) << "another session has used 1 since";
    EXPECT_TRUE(key(2).ended);
    EXPECT_FALSE(key(1).ended);
    moved.clear();
    model.ended(now, chain, moved);
    EXPECT_TRUE(moved.empty()) << "told twice";
    say({1, 2, 3, 6});
    EXPECT_FALSE(key(3).ended) << "it has come back";
}

// A sub-agent begins at its parent's head, and ends before it.
TEST_F(LivenessTest, AHeadLivesUntilItsMakerAndItsLastUserHaveEnded) {
    say({1, 2, 3});
    say({1, 2, 4});
    std::vector<Index> moved;
    const Index forked[] = {1, 2, 4};
    model.ended(now, forked, moved);
    EXPECT_EQ(moved, (std::vector<Index>{4}));
    EXPECT_FALSE(key(1).ended);
    EXPECT_FALSE(key(3).ended);
    moved.clear();
    const Index parent[] = {1, 2, 3};
    model.ended(now, parent, moved);
    EXPECT_EQ(moved, (std::vector<Index>{1, 2, 3})) << "those used last by the fork among them";
}

TEST_F(LivenessTest, AHeadLivesWhileAForkDoes) {
    say({1, 2, 3});
    say({1, 2, 4});
    std::vector<Index> moved;
    const Index parent[] = {1, 2, 3};
    model.ended(now, parent, moved);
    EXPECT_EQ(moved, (std::vector<Index>{3}));
    moved.clear();
    const Index forked[] = {1, 2, 4};
    model.ended(now, forked, moved);
    EXPECT_EQ(moved, (std::vector<Index>{1, 2, 4}));
    say({1, 2, 4, 5});
    EXPECT_FALSE(key(1).ended) << "it has come back";
    moved.clear();
    const Index again[] = {1, 2, 4, 5};
    model.ended(now, again, moved);
    EXPECT_EQ(moved.size(), 4U);
}

TEST_F(LivenessTest, WhatFollowsALostObjectIsAnOrphan) {
    say({1, 2, 3});
    EXPECT_FALSE(model.orphaned(3));
    model.lost(1);
    EXPECT_TRUE(model.orphaned(3));
    EXPECT_FALSE(model.orphaned(1));
    say({1, 2, 3});
    EXPECT_FALSE(model.orphaned(3)) << "made again";
    model.lost(2);
    say({4, 5});
    EXPECT_FALSE(model.orphaned(5));
}

TEST_F(LivenessTest, AForgottenIndexMayMeanAnotherObject) {
    say({1, 2, 3});
    model.forget(3);
    EXPECT_FALSE(model.known(3));
    now += 20s;
    model.advance(now);
    say({7, 3});
    EXPECT_EQ(model.depth(3), 1U);
    EXPECT_EQ(model.hazard().reads(), 0);
}

// The clock counts from the machine's start: that is no time for what is known to fade in.
TEST_F(LivenessTest, WhatWasLearnedBeforeARestartIsNotOldByTheClock) {
    say({1, 2, 3});
    Liveness again{{}};
    ASSERT_TRUE(again.restore(model.hazard().counts()));
    again.advance(1'000'000s);
    EXPECT_EQ(again.hazard().entered(model.group(1), 0), 3);
    again.advance(1'005'000s);
    EXPECT_NEAR(again.hazard().entered(model.group(1), 0), 3 * std::exp(-1), 1e-9);
}

// Chats that grow, fork and end, in a model that goes on and in one that is made anew halfway from
// what the first one has said of itself: afterwards nobody can tell them apart.
TEST_F(LivenessTest, GoesOnAfterARestartAsIfThereHadBeenNone) {
    Liveness::Config config;
    config.hazard.memory_s = 0; // else when old observations fade depends on the start
    Liveness whole(config), again(config);
    std::mt19937 random(7);
    std::vector<std::vector<Index>> chats;
    std::map<std::uint32_t, SessionMemory> sessions;
    Index next = 0;
    bool restarted = false;
    const auto step = [&] {
        std::vector<Index> chain;
        std::size_t chat = random() % (chats.size() + 1);
        if (chat < chats.size()) {
            chain = chats[chat];
            if (random() % 4 == 0) chain.resize(chain.size() / 2), chat = chats.size(); // a fork
        }
        const std::size_t held = chain.size();
        for (unsigned more = 1 + random() % 5; more > 0; --more)
            chain.push_back(next++);
        std::vector<Liveness::Touch> touches;
        for (std::size_t i = 0; i < chain.size(); ++i)
            touches.push_back({chain[i], i < held ? Use::read : Use::written});
        now += std::chrono::seconds(random() % 90);
        std::vector<Index> moved;
        const bool ends = random() % 8 == 0;
        for (Liveness* one : {&whole, &again}) {
            if (one == &again && !restarted) continue;
            one->request(now, touches);
            if (ends) one->ended(now, chain, moved);
        }
        if (const auto memory = whole.memory(chain.back()))
            sessions[memory->second.number] = memory->second;
        if (chat == chats.size()) chats.emplace_back();
        chats[chat] = chain;
    };
    for (int i = 0; i < 300; ++i)
        step();

    whole.advance(now += 40s);
    Memories before;
    std::vector<Index> indices;
    for (Index index = 0; index < next; ++index) {
        if (!whole.known(index)) continue;
        const auto memory = whole.memory(index);
        ASSERT_TRUE(memory);
        before.objects.push_back(memory->first);
        before.objects.back().id = index + 1ULL;
    }
    for (const auto& [number, session] : sessions)
        before.sessions.push_back(session);
    ASSERT_TRUE(again.restore(whole.hazard().counts()));
    const std::size_t objects = before.objects.size();
    again.restore(now, before);
    EXPECT_EQ(before.objects.size(), objects);
    for (const ObjectMemory& one : before.objects)
        again.recall(static_cast<Index>(one.id - 1), one);
    restarted = true;

    for (int i = 0; i < 300; ++i)
        step();
    whole.advance(now += 500s);
    again.advance(now);
    EXPECT_EQ(again.hazard().counts(), whole.hazard().counts());
    for (Index index = 0; index < next; ++index) {
        ASSERT_EQ(again.known(index), whole.known(index)) << index;
        if (!whole.known(index)) continue;
        EXPECT_EQ(again.group(index), whole.group(index)) << index;
        EXPECT_EQ(again.depth(index), whole.depth(index)) << index;
    }
}

// What a damaged file says is taken for what it can be, or not at all.
TEST_F(LivenessTest, MemoriesWithoutSenseAreRemoved) {
    std::mt19937_64 random(3);
    const auto number = [&] { return static_cast<std::uint32_t>(random() >> (random() % 64)); };
    const double times[] = {0,
                            -1e300,
                            1e300,
                            std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::infinity(),
                            1000};
    for (int round = 0; round < 300; ++round) {
        Liveness again{{.max_requests = 1000}};
        Memories before;
        for (int i = 0; i < 20; ++i) {
            before.sessions.push_back({number(), number(), number(), random() % 2 == 0});
            before.objects.push_back({random() % 8, times[random() % 6], number(), number(),
                                      number(), number(), static_cast<std::uint8_t>(random()),
                                      random() % 2 == 0});
        }
        again.restore(now, before);
        for (const ObjectMemory& one : before.objects) {
            EXPECT_LE(one.used_s, in_seconds(now));
            again.recall(static_cast<Index>(one.id), one);
        }
        std::vector<Liveness::Touch> chain;
        std::vector<Index> all, moved;
        for (Index index = 0; index < 8; ++index) {
            chain.push_back({index, again.known(index) ? Use::read : Use::written});
            all.push_back(index);
        }
        again.request(now + 1s, chain);
        again.ended(now + 2s, all, moved);
        EXPECT_TRUE(again.memory(7));
        EXPECT_LE(again.sessions(), 1001U);
    }
}

TEST_F(LivenessTest, RememberedRequestsAndSessionsAreBounded) {
    Liveness::Config config;
    config.max_requests = 10;
    Liveness bounded(config);
    for (Index i = 0; i < 100; ++i) {
        const Liveness::Touch chain[] = {{i, Use::written}};
        bounded.request(now += 1s, chain);
        EXPECT_LE(bounded.requests(), 11U);
        EXPECT_LE(bounded.sessions(), 11U);
    }
    const Liveness::Touch old[] = {{0, Use::read}, {1000, Use::written}};
    bounded.request(now, old); // its session is forgotten: a new one, and no harm
    EXPECT_EQ(bounded.depth(1000), 1U);
}

} // namespace
} // namespace hintier
