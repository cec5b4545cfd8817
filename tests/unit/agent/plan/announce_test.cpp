// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/announce.hpp"

#include <gtest/gtest.h>

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
    EXPECT_EQ(rule.announced(b.world, 0, {3, 4, 9, 1}, 250, b.now, b.restore, plan).there, 2U);
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
    EXPECT_EQ(rule.announced(b.world, 0, {1}, 0, b.now, b.restore, plan).there, 1U);
    EXPECT_EQ(plan.advice.size(), 2U);
    EXPECT_EQ(rule.announced(b.world, 1, {1}, 0, b.now, b.restore, plan).there,
              0U); // below another root
}

TEST(Announce, LeavesWhatIsFasterToCompute) {
    test::Builder b;
    for (std::uint64_t id : {1, 2}) {
        (void)b.write(id, 10 + id);
    }
    (void)b.write(1, 21); // of another rank
    b.restore.told(0, 1ULL << 40, 1s, b.now);
    AnnounceRule rule({});
    Plan plan;
    const auto heard = rule.announced(b.world, 0, {1, 2, 9}, 0, b.now, b.restore, plan);
    EXPECT_EQ(heard.there, 2U);
    EXPECT_TRUE(heard.left);
    EXPECT_EQ(rule.fetched(), 0U);
    ASSERT_EQ(plan.advice.size(), 2U);
    for (const Advice& advice : plan.advice) {
        EXPECT_EQ(advice.verb, Advice::Verb::leave);
        EXPECT_EQ(advice.reason, Reason::dearer);
    }
}

TEST(Announce, IsBoundedAndCanBeOff) {
    test::Builder b;
    for (std::uint64_t id : {1, 2, 3}) {
        (void)b.write(id, 10 + id);
    }
    Plan plan;
    EXPECT_EQ(AnnounceRule({.enabled = true, .most = 2})
                  .announced(b.world, 0, {1, 2, 3}, 0, b.now, b.restore, plan)
                  .there,
              2U);
    plan.clear();
    EXPECT_EQ(AnnounceRule({.enabled = false})
                  .announced(b.world, 0, {1}, 0, b.now, b.restore, plan)
                  .there,
              0U);
    EXPECT_TRUE(plan.empty());
    EXPECT_FALSE((AnnounceRule::Config{.enabled = true, .most = 0}.validate()));
}

} // namespace
} // namespace hintier
