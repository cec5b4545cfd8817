// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/announce.hpp"

#include <gtest/gtest.h>

#include "agent/plan/restore.hpp"
#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

TEST(Announce, FetchesWhatIsThereInTheOrderGiven) {
    test::Builder b;
    for (std::uint64_t id : {1, 2, 3}) {
        (void)b.write(id, 10 + id);
    }
    (void)b.lookup(4, false); // a name without a file
    AnnounceRule rule({});
    Plan plan;
    EXPECT_EQ(rule.announced(b.world, 0, {3, 4, 9, 1}, 250, plan), 2U);
    ASSERT_EQ(plan.advice.size(), 2U);
    EXPECT_EQ(plan.advice[0].object, 3U);
    EXPECT_EQ(plan.advice[0].verb, Advice::Verb::fetch);
    EXPECT_EQ(plan.advice[0].deadline_ms, 250U);
    EXPECT_EQ(plan.advice[0].reason, Reason::announced);
    EXPECT_EQ(plan.advice[0].group, 3U);
    EXPECT_EQ(plan.advice[1].object, 1U);
}

TEST(Announce, TakesTheFilesOfAllRanks) {
    test::Builder b;
    (void)b.write(1, 11);
    (void)b.write(1, 12);
    AnnounceRule rule({});
    Plan plan;
    EXPECT_EQ(rule.announced(b.world, 0, {1}, 0, plan), 1U);
    EXPECT_EQ(plan.advice.size(), 2U);
    EXPECT_EQ(rule.announced(b.world, 1, {1}, 0, plan), 0U); // below another root
}

TEST(Announce, IsBoundedAndCanBeOff) {
    test::Builder b;
    for (std::uint64_t id : {1, 2, 3}) {
        (void)b.write(id, 10 + id);
    }
    Plan plan;
    EXPECT_EQ(AnnounceRule({.enabled = true, .most = 2}).announced(b.world, 0, {1, 2, 3}, 0, plan),
              2U);
    plan.clear();
    EXPECT_EQ(AnnounceRule({.enabled = false}).announced(b.world, 0, {1}, 0, plan), 0U);
    EXPECT_TRUE(plan.empty());
    EXPECT_FALSE((AnnounceRule::Config{.enabled = true, .most = 0}.validate()));
}

TEST(RestoreRate, IsToldUntilItIsSeenAndFades) {
    RestoreRate rate({.rate = 1'000'000'000, .half_life = 10s});
    EXPECT_EQ(rate.time_for(2'000'000'000), 2s);
    rate.sample(0, 100s);
    rate.sample(4'000'000'000, 101s);
    EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 4e9);
    rate.sample(4'000'000'000, 111s); // nothing for one half-life
    EXPECT_NEAR(rate.bytes_per_second(), 2e9, 1);
    rate.sample(4'000'000'000, 1000s);
    EXPECT_DOUBLE_EQ(rate.bytes_per_second(), 0.5e9); // never below half of what was told
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

} // namespace
} // namespace hintier
