// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/reaper.hpp"

#include <gtest/gtest.h>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

using test::Builder;

// Objects 1 … n of one session, written and then left for a minute.
Builder session(std::uint64_t n, bool reap = true) {
    Builder b({}, reap);
    for (std::uint64_t i = 1; i <= n; ++i)
        b.write(i, 10 + i);
    b.now += 1min;
    return b;
}

std::vector<std::uint64_t> order(const Plan& plan) {
    std::vector<std::uint64_t> objects;
    for (const Reap& reap : plan.reap)
        objects.push_back(reap.object);
    return objects;
}

TEST(Reaper, TailOfTheChainFirst) {
    Builder b = session(4);
    ReaperRule rule({.enabled = true});
    Plan plan;
    EXPECT_EQ(rule.session_ended(b.world, 0, {1, 2, 3, 4}, b.now).value(), 4U);
    rule.tick(b.world, b.now, plan);
    EXPECT_EQ(order(plan), (std::vector<std::uint64_t>{4, 3, 2, 1}));
    EXPECT_EQ(plan.reap.front().place.file, Builder::file(14));
    EXPECT_EQ(plan.reap.front().reason, Reason::session_ended);
}

TEST(Reaper, NamesOnlyWhatTheModelKnows) {
    Builder b = session(2);
    ReaperRule rule({.enabled = true});
    Plan plan;
    EXPECT_EQ(rule.session_ended(b.world, 0, {1, 77, 2, 88}, b.now).value(), 2U);
    rule.tick(b.world, b.now, plan);
    EXPECT_EQ(order(plan), (std::vector<std::uint64_t>{2, 1}));
}

TEST(Reaper, RecentlyTouchedWaitsAndThenGoes) {
    Builder b = session(2);
    ReaperRule rule({.enabled = true});
    Plan plan;
    b.open(1, 11); // 30 s of quiet from here
    b.now += 1s;
    ASSERT_TRUE(rule.session_ended(b.world, 0, {1, 2}, b.now));
    rule.tick(b.world, b.now, plan);
    EXPECT_EQ(order(plan), (std::vector<std::uint64_t>{2}));
    plan.clear();
    rule.tick(b.world, b.now += 28s, plan);
    EXPECT_TRUE(plan.empty());
    rule.tick(b.world, b.now += 1s, plan);
    EXPECT_EQ(order(plan), (std::vector<std::uint64_t>{1}));
}

TEST(Reaper, TouchedAfterItsEndIsAliveAgain) {
    Builder b = session(2);
    ReaperRule rule({.enabled = true});
    Plan plan;
    b.lookup(2);
    ASSERT_TRUE(rule.session_ended(b.world, 0, {1, 2}, b.now));
    b.now += 1s;
    b.lookup(1);
    b.lookup(2);
    rule.tick(b.world, b.now, plan);
    rule.tick(b.world, b.now += 1min, plan);
    EXPECT_TRUE(plan.empty());
    EXPECT_EQ(rule.let_off(), 2U);
    EXPECT_EQ(rule.waiting(), 0U);
}

TEST(Reaper, NeverFasterThanItsRateHoweverItTicks) {
    for (const Nanos tick : {Nanos(10ms), Nanos(100ms), Nanos(400ms)}) {
        Builder b = session(1500);
        ReaperRule rule({.enabled = true, .rate = 500});
        Plan plan;
        std::vector<std::uint64_t> all(1500);
        for (std::uint64_t i = 0; i < 1500; ++i)
            all[i] = i + 1;
        for (int i = 0; i < 100; ++i)
            rule.tick(b.world, b.now += tick, plan); // nothing to do yet
        ASSERT_TRUE(rule.session_ended(b.world, 0, all, b.now));
        const Nanos begin = b.now;
        while (b.now - begin < 2s)
            rule.tick(b.world, b.now += tick, plan);
        EXPECT_LE(plan.reap.size(), 1001U) << tick.count();
        EXPECT_GE(plan.reap.size(), 990U) << tick.count();
    }
}

TEST(Reaper, OffOrNotOnThisRootRefuses) {
    Builder b = session(1);
    EXPECT_FALSE(ReaperRule({}).session_ended(b.world, 0, {1}, b.now));
    Builder other = session(1, false);
    EXPECT_FALSE(ReaperRule({.enabled = true}).session_ended(other.world, 0, {1}, other.now));
}

TEST(Reaper, ListIsBounded) {
    Builder b = session(3);
    ReaperRule rule({.enabled = true, .max_waiting = 2});
    EXPECT_FALSE(rule.session_ended(b.world, 0, {1, 2, 3}, b.now));
    EXPECT_TRUE(rule.session_ended(b.world, 0, {1, 2}, b.now));
    EXPECT_FALSE(rule.session_ended(b.world, 0, {3}, b.now));
}

TEST(Reaper, LongSilentSessionsTailFirst) {
    Builder b = session(3);
    ReaperRule rule({.enabled = true, .silent_after = 10min});
    Plan plan;
    rule.tick(b.world, b.now, plan);
    EXPECT_TRUE(plan.empty());
    b.write(50, 60);
    rule.tick(b.world, b.now += 9min, plan);
    EXPECT_EQ(order(plan), (std::vector<std::uint64_t>{3, 2, 1}));
    EXPECT_EQ(plan.reap.front().reason, Reason::long_silent);
}

TEST(Reaper, SilenceOnRootsThatMustNotBeReaped) {
    Builder b = session(3, false);
    ReaperRule rule({.enabled = true, .silent_after = 1min});
    Plan plan;
    rule.tick(b.world, b.now += 1h, plan);
    EXPECT_TRUE(plan.empty());
}

TEST(Reaper, WhatCouldNotBeUnlinkedIsNotNamedAgain) {
    Builder b = session(1);
    ReaperRule rule({.enabled = true, .silent_after = 1min});
    Plan plan;
    rule.tick(b.world, b.now += 1h, plan);
    ASSERT_EQ(plan.reap.size(), 1U);
    rule.refused(plan.reap.front());
    plan.clear();
    rule.tick(b.world, b.now += 1h, plan);
    EXPECT_TRUE(plan.empty());
}

TEST(Reaper, StopLetsEverythingOff) {
    Builder b = session(3);
    ReaperRule rule({.enabled = true});
    Plan plan;
    ASSERT_TRUE(rule.session_ended(b.world, 0, {1, 2, 3}, b.now));
    EXPECT_EQ(rule.stop(), 3U);
    rule.tick(b.world, b.now, plan);
    EXPECT_TRUE(plan.empty());
}

TEST(Reaper, ConfigIsChecked) {
    EXPECT_TRUE(ReaperRule::Config().validate());
    EXPECT_FALSE(ReaperRule::Config{.rate = 501}.validate());
    EXPECT_FALSE(ReaperRule::Config{.rate = 0}.validate());
    EXPECT_FALSE((ReaperRule::Config{.quiet = 30s, .silent_after = 29s}.validate()));
}

} // namespace
} // namespace hintier
