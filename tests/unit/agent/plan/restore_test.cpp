// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/restore.hpp"

#include <gtest/gtest.h>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

constexpr std::uint64_t gb = 1'000'000'000;

TEST(RestoreRate, IsToldUntilItIsSeenAndFades) {
    RestoreRate rate({.rate = 1'000'000'000, .half_life = 10s});
    EXPECT_EQ(rate.time_for(2'000'000'000), 2s);
    rate.sample(0, 100s);
    rate.sample(4'000'000'000, 101s);
    EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 4e9);
    rate.sample(4'000'000'000, 111s); // nothing for one half-life
    EXPECT_NEAR(rate.bytes_per_second(), 2.5e9, 1);
    rate.sample(4'000'000'000, 1000s);
    EXPECT_NEAR(rate.bytes_per_second(), 1e9, 1) << "nothing was read: what was told";
}

TEST(RestoreRate, ALightLoadSaysNoLessThanHalfOfWhatWasTold) {
    RestoreRate rate({.rate = 1'000'000'000, .half_life = 10s});
    for (int i = 0; i < 200; ++i)
        rate.sample(static_cast<std::uint64_t>(i) * 1000, 100s + i * 1s);
    EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 0.5e9);
}

TEST(RestoreRate, CountersThatStartAgainAreNoRate) {
    RestoreRate rate({.rate = 1'000'000'000, .half_life = 10s});
    rate.sample(5'000'000'000, 100s);
    rate.sample(10, 101s); // the tier was made anew
    EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 1e9);
    rate.sample(10, 101s); // no time has passed
    EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 1e9);
    EXPECT_FALSE((RestoreConfig{.rate = 0}.validate()));
}

World world_of(std::uint64_t recompute) {
    Root root{.path = "/kv", .adapter = find_adapter("vllm-fs")};
    root.recompute = recompute;
    return {World::Config(), {root, {.path = "/other", .adapter = root.adapter}}};
}

TEST(RestoreRule, WhatIsNotKnownIsNeverFaster) {
    const World world = world_of(0);
    RestoreRule rule({.rate = gb});
    EXPECT_FALSE(rule.dearer(world, 0, 1000s));
    EXPECT_EQ(rule.recompute(world, 0, 1000s), 0);
    EXPECT_EQ(rule.skipped(), 0U);
}

TEST(RestoreRule, GoesByTheMeasuredRate) {
    const World world = world_of(2 * gb);
    RestoreRule rule({.rate = gb, .half_life = 10s});
    EXPECT_TRUE(rule.dearer(world, 0, 1000s));
    EXPECT_FALSE(rule.dearer(world, 1, 1000s)) << "nothing is known of the other root's server";
    rule.sample(0, 1000s);
    rule.sample(3 * gb, 1001s);
    EXPECT_FALSE(rule.dearer(world, 0, 1001s)) << "the drives are faster than that";
    EXPECT_EQ(rule.skipped(), 1U);
}

TEST(RestoreRule, LearnsFromTheServersQuestions) {
    const World world = world_of(0);
    RestoreRule rule({.rate = gb});
    rule.told(1, 400'000'000, 100ms, 1000s);
    EXPECT_DOUBLE_EQ(rule.recompute(world, 1, 1000s), 4e9);
    EXPECT_EQ(rule.recompute(world, 0, 1000s), 0);
    rule.told(1, 800'000'000, 100ms, 1001s);
    EXPECT_DOUBLE_EQ(rule.recompute(world, 1, 1001s), 5e9) << "a quarter of the way";
    EXPECT_TRUE(rule.dearer(world, 1, 1001s));
    EXPECT_FALSE(rule.dearer(world, 1, 1001s + RestoreRule::word_holds + 1s)) << "long ago";
    rule.told(1, 100'000, 100ms, 5000s);
    EXPECT_DOUBLE_EQ(rule.recompute(world, 1, 5000s), 1e6) << "what was forgotten has no weight";
}

TEST(RestoreRule, WordsWithoutSenseTeachNothing) {
    const World world = world_of(0);
    RestoreRule rule({.rate = gb});
    rule.told(0, 0, 1s, 1000s);
    rule.told(0, 100, 0ns, 1000s);
    rule.told(0, 100, -1s, 1000s);
    EXPECT_EQ(rule.recompute(world, 0, 1000s), 0);
}

TEST(RestoreRule, TheOperatorsWordIsAboveTheServers) {
    const World world = world_of(gb / 2);
    RestoreRule rule({.rate = gb});
    rule.told(0, 10 * gb, 1s, 1000s);
    EXPECT_DOUBLE_EQ(rule.recompute(world, 0, 1000s), gb / 2.0);
    EXPECT_FALSE(rule.dearer(world, 0, 1000s));
}

TEST(RestoreRule, OneInSixteenIsTriedAllTheSame) {
    const World world = world_of(2 * gb);
    RestoreRule rule({.rate = gb});
    unsigned tried = 0;
    for (unsigned i = 0; i < 10 * RestoreRule::trial; ++i)
        tried += !rule.dearer(world, 0, 1000s);
    EXPECT_EQ(tried, 10U);
    EXPECT_EQ(rule.skipped(), 10U * (RestoreRule::trial - 1));
}

TEST(RestoreRule, CanBeOff) {
    const World world = world_of(2 * gb);
    RestoreRule rule({.rate = gb, .skip = false});
    EXPECT_FALSE(rule.dearer(world, 0, 1000s));
}

} // namespace
} // namespace hintier
