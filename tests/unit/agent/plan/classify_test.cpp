// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/classify.hpp"

#include <gtest/gtest.h>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

using test::Builder;

TEST(Classify, NewFileAtOnceWithGroupObjectAndDepth) {
    Builder b;
    ClassifyRule rule({});
    Plan plan;
    rule.observe(b.world, b.write(1, 10), b.now, false, plan);
    rule.observe(b.world, b.write(2, 11), b.now, false, plan);
    ASSERT_EQ(plan.advice.size(), 2U);
    const Advice& second = plan.advice.back();
    EXPECT_EQ(second.verb, Advice::Verb::classify);
    EXPECT_EQ(second.klass, HINTIER_CLASS_KV);
    EXPECT_EQ(second.group, 3);
    EXPECT_EQ(second.object, 2U);
    EXPECT_EQ(second.depth, 1U);
    EXPECT_EQ(second.place.file, Builder::file(11));
    EXPECT_EQ(second.reason, Reason::new_file);
}

TEST(Classify, WithoutAPlaceIsTriedAgainAFewTimes) {
    Builder b;
    ClassifyRule rule({.remap_after = 35s, .remap_tries = 2});
    Plan plan;
    rule.observe(b.world, b.write(1, 10), b.now, false, plan);
    for (int tries = 0; tries < 3; ++tries) {
        ASSERT_EQ(plan.advice.size(), 1U) << tries;
        rule.unmapped(plan.advice.front(), b.now);
        plan.clear();
        b.now += 34s;
        rule.tick(b.world, b.now, plan);
        EXPECT_TRUE(plan.empty());
        b.now += 1s;
        rule.tick(b.world, b.now, plan);
    }
    EXPECT_TRUE(plan.empty());
    EXPECT_EQ(rule.given_up(), 1U);
    EXPECT_EQ(rule.waiting(), 0U);
}

// What is advised by a probe; `placed`: so many of them have their place.
std::size_t probe(ClassifyRule& rule, const Builder& b, std::size_t placed = 1000) {
    Plan plan;
    rule.probe(b.world, plan);
    for (std::size_t i = placed; i < plan.advice.size(); ++i)
        rule.unmapped(plan.advice[i], b.now);
    return plan.advice.size();
}

TEST(Classify, TriesTheOldestUntilItHasItsPlaceAndThenThoseBehindIt) {
    Builder b;
    ClassifyRule rule({});
    Plan plan;
    for (std::uint64_t i = 1; i <= 40; ++i)
        rule.observe(b.world, b.write(i, 10 + i), b.now, false, plan);
    for (const Advice& advice : plan.advice)
        rule.unmapped(advice, b.now);
    b.now += 1s;
    EXPECT_EQ(probe(rule, b, 0), 1U);
    EXPECT_FALSE(rule.placed());
    EXPECT_EQ(rule.waiting(), 40U) << "a probe is no try";
    EXPECT_EQ(probe(rule, b), 1U);
    EXPECT_TRUE(rule.placed());
    const std::size_t more = probe(rule, b, 3);
    EXPECT_GT(more, 3U);
    EXPECT_FALSE(rule.placed());
    EXPECT_EQ(rule.waiting(), 36U);
    plan.clear();
    rule.probe(b.world, plan);
    ASSERT_EQ(plan.advice.size(), 1U);
    EXPECT_EQ(plan.advice.front().object, 5U) << "they keep their order";
}

TEST(Classify, WhatWasProbedIsStillTriedInItsTime) {
    Builder b;
    ClassifyRule rule({.remap_after = 35s, .remap_tries = 1});
    Plan plan;
    rule.observe(b.world, b.write(1, 10), b.now, false, plan);
    rule.unmapped(plan.advice.front(), b.now);
    for (int second = 1; second < 35; ++second) {
        b.now += 1s;
        EXPECT_EQ(probe(rule, b, 0), 1U);
    }
    b.now += 1s;
    plan.clear();
    rule.tick(b.world, b.now, plan);
    ASSERT_EQ(plan.advice.size(), 1U);
    rule.unmapped(plan.advice.front(), b.now);
    EXPECT_EQ(rule.given_up(), 1U);
    EXPECT_EQ(rule.waiting(), 0U);
}

TEST(Classify, WhatIsWrittenInPlaceIsNotProbed) {
    Builder b;
    ClassifyRule rule({});
    Plan plan;
    Event create{.kind = EventKind::opened, .created = true, .writing = true};
    create.file = Builder::file(10);
    rule.observe(b.world, b.apply(create, test::file_name(1)), b.now, false, plan);
    EXPECT_EQ(probe(rule, b), 0U);
    EXPECT_EQ(rule.waiting(), 1U);
}

TEST(Classify, FileWrittenInPlaceWaits) {
    Builder b;
    ClassifyRule rule({});
    Plan plan;
    Event create{.kind = EventKind::opened, .created = true, .writing = true};
    create.file = Builder::file(10);
    rule.observe(b.world, b.apply(create, test::file_name(1)), b.now, false, plan);
    EXPECT_TRUE(plan.empty());
    b.now += 35s;
    rule.tick(b.world, b.now, plan);
    ASSERT_EQ(plan.advice.size(), 1U);
    EXPECT_EQ(plan.advice.front().reason, Reason::mapped_late);
}

TEST(Classify, GoneMeanwhileIsNothing) {
    Builder b;
    ClassifyRule rule({});
    Plan plan;
    rule.observe(b.world, b.write(1, 10), b.now, false, plan);
    rule.unmapped(plan.advice.front(), b.now);
    plan.clear();
    b.unlink(1, 10);
    b.now += 1min;
    rule.tick(b.world, b.now, plan);
    EXPECT_TRUE(plan.empty());
}

TEST(Classify, FilesFromBeforeComeAtARate) {
    Builder b;
    ClassifyRule rule({.catch_up = 100});
    Plan plan;
    for (std::uint64_t i = 1; i <= 50; ++i) {
        const Change seen =
            b.apply({.kind = EventKind::seen, .file = Builder::file(i)}, test::file_name(i));
        rule.observe(b.world, seen, b.now, true, plan);
    }
    EXPECT_TRUE(plan.empty());
    EXPECT_EQ(rule.waiting(), 50U);
    rule.tick(b.world, b.now, plan);
    EXPECT_EQ(plan.advice.size(), 10U);
    b.now += 100ms;
    rule.tick(b.world, b.now, plan);
    EXPECT_EQ(plan.advice.size(), 20U);
    for (int i = 0; i < 3; ++i)
        rule.tick(b.world, b.now += 100ms, plan);
    EXPECT_EQ(plan.advice.size(), 50U);
}

TEST(Classify, Off) {
    Builder b;
    ClassifyRule rule({.enabled = false});
    Plan plan;
    rule.observe(b.world, b.write(1, 10), b.now, false, plan);
    EXPECT_TRUE(plan.empty());
}

} // namespace
} // namespace hintier
