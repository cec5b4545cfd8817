// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/worth.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

using test::Builder;

// Drops whatever the table says from the first one on.
WorthRule::Config eager(double price = 0.5) {
    WorthRule::Config config;
    config.enabled = config.drop = true;
    config.liveness.values.price = price;
    config.liveness.warm_reads = config.liveness.warm_ages = 0;
    return config;
}

class WorthTest : public testing::Test {
protected:
    void open_rule(const WorthRule::Config& config, bool reap = true) {
        rule = std::make_unique<WorthRule>(config);
        b = std::make_unique<Builder>(World::Config(), reap);
    }
    void see(const Change& change) { rule->observe(b->world, change, b->now); }
    void write(std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t i = first; i <= last; ++i) {
            see(b->write(i, 10 + i));
            b->now += 1ms;
        }
    }
    // As vLLM does: looks all up, then opens them.
    void read(std::uint64_t first, std::uint64_t last, bool found = true) {
        for (std::uint64_t i = first; i <= last; ++i)
            see(b->lookup(i, found));
        for (std::uint64_t i = first; found && i <= last; ++i)
            see(b->open(i, 10 + i));
    }
    void tick(Nanos after) {
        b->now += after;
        rule->tick(b->world, b->now, reaper, plan);
        reaper.tick(b->world, b->now, plan);
    }
    ObjectIndex index(std::uint64_t id) const { return b->world.find(id); }
    const Liveness& model() const { return rule->liveness().model(); }

    std::unique_ptr<WorthRule> rule;
    std::unique_ptr<Builder> b;
    ReaperRule reaper{{.enabled = true}};
    Plan plan;
};

// The daemon stops and starts: the files are found again, and the first table is the one that the
// daemon before would have made, over all files and with the same word on each.
TEST_F(WorthTest, ARestartGivesTheSameTable) {
    WorthRule::Config config = eager();
    config.values = true;
    config.liveness.warm_reads = 10;
    config.liveness.warm_ages = 1;
    open_rule(config);
    rule->keep();
    Memories kept;
    std::map<std::uint32_t, SessionMemory> sessions;
    std::map<std::uint64_t, ObjectMemory> objects;
    const auto keep = [&] {
        const Memories changed = rule->changed(b->world);
        for (const ObjectMemory& one : changed.objects)
            objects[one.id] = one;
        for (const SessionMemory& one : changed.sessions)
            sessions[one.number] = one;
    };
    for (std::uint64_t chat = 0; chat < 12; ++chat) {
        const std::uint64_t first = 1 + 100 * chat;
        for (std::uint64_t turn = 0; turn <= chat % 4; ++turn) {
            const std::uint64_t fresh = first + 3 * turn;
            if (turn > 0) read(first, fresh - 1);
            read(fresh, fresh, false); // the first one that misses follows them
            write(fresh, fresh + 2);
            tick(20s);
            keep();
        }
    }
    tick(10s);
    keep();
    ASSERT_TRUE(rule->liveness().warm(b->now));
    const std::unique_ptr<WorthRule> old = std::move(rule);
    const std::unique_ptr<Builder> world = std::move(b);
    ASSERT_TRUE(plan.values);

    open_rule(config);
    b->now = world->now + 1s;
    const LivenessRule& learned = old->liveness();
    ASSERT_TRUE(rule->restore(learned.model().hazard().counts(), learned.watched_s(world->now)));
    for (const auto& [id, one] : objects)
        kept.objects.push_back(one);
    for (const auto& [number, one] : sessions)
        kept.sessions.push_back(one);
    rule->restore(b->now, kept);
    for (const auto& [id, one] : objects) {
        Event seen{.kind = EventKind::seen, .file = Builder::file(10 + id)};
        seen.parent = Builder::file(2);
        const Change change = b->apply(seen, test::file_name(id));
        rule->recall(b->world, change.object);
    }
    EXPECT_EQ(rule->recalled(), objects.size());
    EXPECT_TRUE(rule->liveness().warm(b->now)) << "nothing is to be watched again";
    plan.clear();
    tick(0s);
    Plan unused;
    world->now = b->now;
    old->tick(world->world, world->now, reaper, unused);
    ASSERT_TRUE(plan.values);
    const ValueTable& now = *rule->liveness().table();
    const ValueTable& then = *learned.table();
    for (std::size_t g = 0; g < Hazard::groups; ++g) {
        EXPECT_EQ(now.rows[g].dirty, then.rows[g].dirty) << g;
        EXPECT_EQ(now.rows[g].clean, then.rows[g].clean) << g;
        EXPECT_EQ(now.rows[g].promise, then.rows[g].promise) << g;
        EXPECT_EQ(now.rows[g].drop, then.rows[g].drop) << g;
    }
    for (const auto& [id, one] : objects) {
        const auto after = rule->judge(b->world, index(id), b->now);
        const auto before = old->judge(world->world, world->world.find(id), b->now);
        ASSERT_TRUE(after && before) << id;
        EXPECT_EQ(after->group, before->group) << id;
        EXPECT_DOUBLE_EQ(after->idle_s, before->idle_s) << id;
        EXPECT_EQ(after->chance, before->chance) << id;
    }
    // And a chat goes on: another turn of its session, whose blocks are read at their age.
    const double reads = model().hazard().reads();
    read(1, 3);
    read(4, 4, false);
    write(4, 6);
    tick(20s);
    EXPECT_EQ(model().hazard().reads(), reads + 3);
    EXPECT_EQ(Hazard::key(model().group(index(4))).turn, GroupKey::turn_of(1, false));
}

TEST_F(WorthTest, OffItLearnsNothing) {
    open_rule({});
    write(1, 4);
    tick(1min);
    EXPECT_EQ(model().requests(), 0U);
    EXPECT_FALSE(rule->judge(b->world, index(1), b->now));
}

TEST_F(WorthTest, MakesRequestsOutFromEventsOfOneProcess) {
    WorthRule::Config config;
    config.enabled = true;
    open_rule(config);
    write(1, 4);
    tick(3s);
    EXPECT_EQ(model().requests(), 1U);
    b->now += 97s;
    for (std::uint64_t i = 1; i <= 5; ++i)
        see(b->lookup(i, i <= 4)); // up to the first miss, which is written next
    for (std::uint64_t i = 1; i <= 4; ++i)
        see(b->open(i, 10 + i));
    write(5, 6);
    tick(3s);
    EXPECT_EQ(model().requests(), 2U);
    EXPECT_EQ(model().sessions(), 1U) << "the second is the first one's next turn";
    EXPECT_EQ(model().hazard().reads(), 4);
    EXPECT_NEAR(model().hazard().mean_read_age(), 100, 1);
    EXPECT_EQ(model().depth(index(4)), 3U);
    EXPECT_EQ(Hazard::key(model().group(index(6))).turn, GroupKey::turn_of(1, false));
}

// Blocks that the server's memory held are not looked up; the chain has them all the same.
TEST_F(WorthTest, FillsInWhatTheServerHeld) {
    WorthRule::Config config;
    config.enabled = true;
    open_rule(config);
    write(1, 4);
    tick(1min);
    see(b->lookup(3));
    see(b->lookup(4));
    tick(3s);
    EXPECT_EQ(model().sessions(), 1U);
    EXPECT_EQ(model().hazard().reads(), 2);
    EXPECT_EQ(model().depth(index(4)), 3U);
}

TEST_F(WorthTest, ATwoSecondPauseEndsARequestAndTwoProcessesHaveTwo) {
    WorthRule::Config config;
    config.enabled = true;
    open_rule(config);
    write(1, 2);
    b->pid = 200;
    write(11, 12);
    b->pid = 100;
    b->now += 5s;
    write(21, 22);
    tick(3s);
    EXPECT_EQ(model().requests(), 3U);
    EXPECT_EQ(model().sessions(), 3U);
}

TEST_F(WorthTest, WhatIsNotWorthItGoesToTheReaperTailFirst) {
    open_rule(eager());
    write(1, 3);
    tick(40s);
    ASSERT_EQ(plan.reap.size(), 3U);
    EXPECT_EQ(plan.reap.front().object, 3U);
    EXPECT_EQ(plan.reap.back().object, 1U);
    EXPECT_EQ(plan.reap.front().reason, Reason::not_worth);
    EXPECT_EQ(rule->given_up(), 3U);
    const auto judged = rule->judge(b->world, index(3), b->now);
    ASSERT_TRUE(judged);
    EXPECT_TRUE(judged->drop);
    EXPECT_LT(judged->chance, 0.5);
}

TEST_F(WorthTest, LearnsWithoutDroppingUnlessTold) {
    WorthRule::Config config = eager();
    config.drop = false;
    open_rule(config);
    write(1, 3);
    tick(40s);
    tick(10s);
    EXPECT_TRUE(plan.empty());
    const auto judged = rule->judge(b->world, index(1), b->now);
    ASSERT_TRUE(judged);
    EXPECT_FALSE(judged->drop);
}

TEST_F(WorthTest, OnlyBelowARootThatAllowsIt) {
    open_rule(eager(), false);
    write(1, 3);
    tick(40s);
    tick(10s);
    EXPECT_TRUE(plan.empty());
    EXPECT_EQ(rule->given_up(), 0U);
}

TEST_F(WorthTest, WhatFastNoLongerHasAloneStays) {
    WorthRule::Config config = eager();
    config.until = 60s;
    open_rule(config);
    write(1, 3);
    b->now += 70s;
    write(11, 12);
    tick(31s);
    ASSERT_EQ(plan.reap.size(), 2U);
    EXPECT_EQ(plan.reap[0].object, 12U);
    EXPECT_EQ(plan.reap[1].object, 11U);
}

TEST_F(WorthTest, WhatIsReadOftenEnoughStays) {
    open_rule(eager(0.05));
    for (int turn = 0; turn < 40; ++turn) {
        turn == 0 ? write(1, 60) : read(1, 60);
        b->now += 40s;
        rule->tick(b->world, b->now, reaper, plan);
    }
    const auto judged = rule->judge(b->world, index(1), b->now);
    ASSERT_TRUE(judged);
    EXPECT_GT(judged->chance, 0.2);
    EXPECT_FALSE(judged->drop);
}

// Dropped files that are looked up again and again: the promise is broken, nothing more is dropped.
TEST_F(WorthTest, TheGuardCountsLookupsOfWhatIsGone) {
    WorthRule::Config config = eager();
    config.liveness.guard.enough = 200;
    open_rule(config);
    write(1, 200);
    tick(40s);
    tick(10s);
    ASSERT_TRUE(rule->liveness().drops(b->now));
    for (std::uint64_t i = 1; i <= 200; ++i) {
        see(b->unlink(i, 10 + i));
        rule->dropped(b->world, i);
    }
    for (std::uint64_t i = 1; i <= 200; ++i) {
        b->now += 1s;
        read(i, i, false);
    }
    EXPECT_EQ(rule->liveness().guard().lost(), 200U);
    EXPECT_EQ(rule->liveness().guard().trips(), 1U);
    EXPECT_FALSE(rule->liveness().drops(b->now));
    EXPECT_TRUE(rule->liveness().drops(b->now + 10min));
}

// What is classified carries the model's group, and is classified again when that has changed.
TEST_F(WorthTest, TiersHearOfGroupsOnceTheyChange) {
    WorthRule::Config config;
    config.enabled = config.values = true;
    open_rule(config);
    write(1, 3);
    plan.advice.push_back({.group = 3, .object = 1});
    plan.advice.push_back({.group = 3, .object = 2});
    rule->group(b->world, plan, 1);
    EXPECT_EQ(plan.advice[0].group, 3U) << "not asked for";
    EXPECT_EQ(plan.advice[1].group, tier_group(Hazard::group({}))) << "no request is known yet";
    plan.clear();

    tick(3s);
    ASSERT_EQ(plan.advice.size(), 3U);
    for (const Advice& advice : plan.advice) {
        EXPECT_EQ(advice.reason, Reason::regrouped);
        EXPECT_EQ(advice.group, tier_group(model().group(index(advice.object))));
    }
    plan.clear();
    tick(3s);
    EXPECT_TRUE(plan.advice.empty());

    read(1, 3);
    tick(3s);
    EXPECT_EQ(plan.advice.size(), 3U) << "they are old ones of its next turn";
    plan.clear();
    rule->ended(b->world, {1, 2, 3}, b->now);
    tick(1s);
    EXPECT_EQ(plan.advice.size(), 3U);
}

TEST_F(WorthTest, TiersGetATableOnceItSaysSomething) {
    WorthRule::Config config;
    config.enabled = config.values = true;
    config.liveness.warm_ages = 0;
    config.liveness.warm_reads = 20;
    open_rule(config);
    write(1, 20);
    tick(11s);
    EXPECT_FALSE(plan.values);
    read(1, 20);
    tick(11s);
    ASSERT_TRUE(plan.values);
    EXPECT_EQ(plan.values_for, 30s);
    EXPECT_FALSE(plan.empty());
    plan.clear();
    EXPECT_FALSE(plan.values);
    tick(1s);
    EXPECT_FALSE(plan.values) << "not yet again";
}

TEST_F(WorthTest, AnEndedSessionIsJudgedAsSuch) {
    WorthRule::Config config;
    config.enabled = true;
    open_rule(config);
    write(1, 3);
    tick(20s);
    EXPECT_FALSE(Hazard::key(model().group(index(2))).ended);
    rule->ended(b->world, {1, 2, 3, 77}, b->now);
    EXPECT_TRUE(Hazard::key(model().group(index(2))).ended);
}

// Any events in any order, in a world too small for them, so that it gives indices to others.
TEST_F(WorthTest, SurvivesAnyEventsAndForgottenObjects) {
    std::mt19937_64 random(5);
    WorthRule::Config config = eager(0.3);
    config.values = true;
    config.liveness.model.max_requests = 50;
    config.liveness.table_every = 20s;
    rule = std::make_unique<WorthRule>(config);
    b = std::make_unique<Builder>(World::Config{.max_objects = 40, .max_names = 20});
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t id = 1 + random() % 200;
        b->pid = 100 + static_cast<std::uint32_t>(random() % 3);
        b->now += Nanos(random() % 400'000'000);
        switch (random() % 7) {
        case 0:
            see(b->write(id, 10 + id));
            break;
        case 1:
            see(b->lookup(id, random() % 2));
            break;
        case 2:
            see(b->open(id, 10 + id));
            break;
        case 3:
            see(b->unlink(id, 10 + id));
            break;
        case 4:
            rule->dropped(b->world, id);
            break;
        case 5:
            rule->ended(b->world, {id, id + 1, id + 2}, b->now);
            break;
        default:
            rule->tick(b->world, b->now, reaper, plan);
            reaper.tick(b->world, b->now, plan);
        }
        if (const ObjectIndex at = index(id); at != no_object) {
            if (const auto judged = rule->judge(b->world, at, b->now)) {
                EXPECT_GE(judged->chance, 0);
                EXPECT_LE(judged->chance, 1);
            }
        }
    }
    EXPECT_LE(model().requests(), 51U);
}

TEST(Worth, RefusesNonsense) {
    WorthRule::Config config;
    EXPECT_TRUE(config.validate());
    config.drop = true;
    EXPECT_FALSE(config.validate()) << "without enabled";
    config = {};
    config.values = true;
    EXPECT_FALSE(config.validate()) << "without enabled";
    config = {};
    config.pause = 0s;
    EXPECT_FALSE(config.validate());
    config = {};
    config.until = 0s;
    EXPECT_FALSE(config.validate());
    config = {};
    config.liveness.values.price = -1;
    EXPECT_FALSE(config.validate());
}

} // namespace
} // namespace hintier
