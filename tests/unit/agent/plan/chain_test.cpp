// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/chain.hpp"

#include <gtest/gtest.h>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

using test::Builder;

// A chain 1 … n that has been written and looked up once, a minute ago.
Builder chain(std::uint64_t n) {
    Builder b;
    for (std::uint64_t i = 1; i <= n; ++i)
        b.write(i, 10 + i);
    b.now += 1s;
    for (std::uint64_t i = 1; i <= n; ++i)
        b.lookup(i);
    b.now += 1min;
    return b;
}

std::vector<std::uint64_t> fetched(const Plan& plan) {
    std::vector<std::uint64_t> objects;
    for (const Advice& advice : plan.advice) {
        EXPECT_EQ(advice.verb, Advice::Verb::sequence);
        objects.push_back(advice.object);
    }
    return objects;
}

TEST(Chain, SecondLookupFetchesItAndTheRestInOrder) {
    Builder b = chain(5);
    ChainRule rule({.window = 10});
    Plan plan;
    rule.observe(b.world, b.lookup(1), b.now, b.restore, plan);
    EXPECT_TRUE(plan.empty()) << "one root is shared by all";
    rule.observe(b.world, b.lookup(2), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{2, 3, 4, 5}));
    EXPECT_EQ(plan.advice.front().reason, Reason::chain_asked);
    plan.clear();
    rule.observe(b.world, b.lookup(3), b.now, b.restore, plan);
    EXPECT_TRUE(plan.empty()) << "asked for already";
}

TEST(Chain, FirstOpenFetchesWhatFollows) {
    Builder b = chain(4);
    ChainRule rule({});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{2, 3, 4}));
}

TEST(Chain, ReaderIsToldToBeginAnewOnlyWhenItDoes) {
    Builder b = chain(6);
    ChainRule rule({.window = 2});
    Plan plan;
    const auto restarts = [&] {
        std::vector<bool> all;
        for (const Advice& advice : plan.advice) {
            EXPECT_EQ(advice.reader, b.pid);
            all.push_back(advice.restart);
        }
        plan.clear();
        return all;
    };
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(restarts(), (std::vector<bool>{true, false}));
    rule.observe(b.world, b.open(2, 12), b.now, b.restore, plan);
    EXPECT_EQ(restarts(), (std::vector<bool>{false}));
    rule.observe(b.world, b.open(3, 13), b.now, b.restore, plan);
    rule.observe(b.world, b.open(4, 14), b.now, b.restore, plan);
    EXPECT_EQ(restarts(), (std::vector<bool>{false, false}))
        << "the whole of what was told is read";
    for (std::uint64_t i = 21; i <= 23; ++i)
        b.write(i, 10 + i);
    b.now += 1s;
    for (std::uint64_t i = 21; i <= 23; ++i)
        b.lookup(i);
    b.now += 1s;
    rule.observe(b.world, b.open(5, 15), b.now, b.restore, plan);
    rule.observe(b.world, b.open(6, 16), b.now, b.restore, plan);
    plan.clear();
    rule.observe(b.world, b.open(21, 31), b.now, b.restore, plan);
    EXPECT_EQ(restarts(), (std::vector<bool>{true, false}));
}

TEST(Chain, RootOfAChainContinuesNothing) {
    Builder b = chain(3);
    ChainRule rule({.trigger = 1});
    Plan plan;
    rule.observe(b.world, b.lookup(1), b.now, b.restore, plan);
    ASSERT_FALSE(plan.advice.empty());
    EXPECT_EQ(plan.advice.front().object, 1U);
    EXPECT_TRUE(plan.advice.front().restart) << "of before there is none, and none was told";
}

TEST(Chain, FetchesToFastWhenToldTo) {
    Builder b = chain(3);
    ChainRule rule({.to_fast = true});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    ASSERT_EQ(plan.advice.size(), 2U);
    EXPECT_EQ(plan.advice.front().verb, Advice::Verb::fetch);
}

TEST(Chain, WindowSlidesWithTheReader) {
    Builder b = chain(6);
    ChainRule rule({.window = 2});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{2, 3}));
    plan.clear();
    rule.observe(b.world, b.open(2, 12), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{4}));
}

TEST(Chain, TellsSeveralAtOnceToWhoGoesOn) {
    Builder b = chain(16);
    ChainRule rule({.window = 8});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan).size(), 8U);
    plan.clear();
    rule.observe(b.world, b.open(2, 12), b.now, b.restore, plan);
    EXPECT_TRUE(plan.empty()) << "seven are left";
    rule.observe(b.world, b.open(3, 13), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{10, 11}));
    plan.clear();
    rule.observe(b.world, b.open(4, 14), b.now, b.restore, plan);
    EXPECT_TRUE(plan.empty());
    rule.observe(b.world, b.open(12, 22), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{13})) << "at once to who leaves the way";
}

TEST(Chain, DeepReadersAreLeftAlone) {
    Builder b = chain(4);
    for (std::uint32_t tid = 1; tid <= 8; ++tid) {
        b.tid = tid;
        b.open(4, 14);
    }
    ChainRule rule({.deep_readers = 8});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_TRUE(plan.empty());
    EXPECT_EQ(rule.left_alone(), 1U);
    ChainRule all({.deep_readers = 0});
    all.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(plan.advice.size(), 3U);
}

TEST(Chain, ObjectsWithoutAFileAreSteppedOver) {
    Builder b = chain(4);
    b.unlink(3, 13);
    ChainRule rule({});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{2, 4}));
}

TEST(Chain, NotOpenedIsForgottenAndMayBeFetchedAgain) {
    Builder b = chain(3);
    ChainRule rule({.forget_after = 10s});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    plan.clear();
    rule.tick(b.now += 11s);
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(plan.advice.size(), 2U);
}

TEST(Chain, PausesWhenMostFetchesWereOfNoUse) {
    Builder b = chain(3);
    ChainRule rule({.min_useful = 50, .pause = 60s});
    Plan plan;
    for (int i = 0; i < 64; ++i) {
        rule.outcome(i % 3 ? HINTIER_FETCH_UNUSED : HINTIER_FETCH_TIMELY, b.now);
    }
    EXPECT_TRUE(rule.paused(b.now));
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_TRUE(plan.empty());
    b.now += 60s;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_FALSE(plan.empty());
    for (int i = 0; i < 64; ++i) {
        rule.outcome(i % 2 ? HINTIER_FETCH_LATE : HINTIER_FETCH_CANCELLED, b.now);
    }
    EXPECT_FALSE(rule.paused(b.now));
}

TEST(Chain, LoopOfLinksEnds) {
    Builder b;
    for (std::uint64_t i : {1, 2, 3, 1, 2, 3}) {
        b.write(i, 10 + i);
        b.lookup(i);
    }
    ChainRule rule({.window = 100});
    Plan plan;
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_LE(plan.advice.size(), 3U);
}

TEST(Chain, LeavesWhatIsFasterToCompute) {
    Builder b = chain(4);
    ChainRule rule({});
    Plan plan;
    b.restore.told(0, 1ULL << 40, 1s, b.now);
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    ASSERT_EQ(plan.advice.size(), 1U);
    EXPECT_EQ(plan.advice[0].verb, Advice::Verb::leave);
    EXPECT_EQ(plan.advice[0].reason, Reason::dearer);
    EXPECT_EQ(plan.advice[0].object, 2U) << "so that explain can say it of this file";
    EXPECT_EQ(rule.fetched(), 0U);
    EXPECT_EQ(b.restore.skipped(), 1U);
    plan.clear();
    b.restore.sample(0, b.now);
    b.restore.sample(1ULL << 41, b.now + 1s); // the drives are faster than that
    rule.observe(b.world, b.open(1, 11), b.now, b.restore, plan);
    EXPECT_EQ(fetched(plan), (std::vector<std::uint64_t>{2, 3, 4}));
}

TEST(Chain, ConfigIsChecked) {
    EXPECT_TRUE(ChainRule::Config().validate());
    EXPECT_FALSE(ChainRule::Config{.window = 0}.validate());
    EXPECT_FALSE(ChainRule::Config{.deep_readers = 65}.validate());
    EXPECT_FALSE(ChainRule::Config{.min_useful = 101}.validate());
}

} // namespace
} // namespace hintier
