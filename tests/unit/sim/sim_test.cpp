// SPDX-License-Identifier: Apache-2.0
//
// A part of what `make crash` explores, with the sanitizers. A failure names its seed, and the
// command that repeats it; seeds that once failed are named below.

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "sim/history.hpp"

namespace hintier::sim {
namespace {

class Histories : public testing::TestWithParam<uint64_t> {};

TEST_P(Histories, LoseNothingAtAnyCut) {
    constexpr uint64_t EACH = 6;
    Totals totals;
    for (uint64_t seed = GetParam() * EACH; seed < (GetParam() + 1) * EACH; seed++) {
        Violation violation;
        EXPECT_TRUE(explore(seed + 1, options_of(seed + 1), plan_of(seed + 1), totals, violation))
            << "crash_sim --seed " << violation.seed << " --until " << violation.until
            << (violation.cut ? " --cut" : "") << " -v: " << violation.what;
    }
    EXPECT_GT(totals.crash_points, 300 * EACH);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Histories, testing::Range<uint64_t>(0, 16));

// Work that was not done proves nothing.
TEST(Histories, DoTheWorkThatTheyAreMeantToDo) {
    for (const uint8_t mode :
         {HINTIER_MODE_WRITEBACK, HINTIER_MODE_WRITETHROUGH, HINTIER_MODE_WRITEAROUND}) {
        Options options;
        options.mode = mode;
        options.errors = true;
        Totals totals;
        Violation violation;
        EXPECT_TRUE(
            explore(1, options, {.steps = 40000, .every = 40001, .sparse = 200}, totals, violation))
            << violation.what;
        const Sim::Counts& n = totals.counts;
        EXPECT_GT(totals.crash_points, 100U);
        EXPECT_GT(n.home, 100U);
        EXPECT_GT(n.fast, 10U);
        EXPECT_GT(n.valid_fills, 0U);
        EXPECT_GT(n.commits, 100U);
        EXPECT_GT(n.failed_commits, 0U);
        EXPECT_GT(n.parted, 0U) << "fast was never given up";
        EXPECT_GT(n.cuts, 0U);
        EXPECT_GT(n.reloads, 0U);
        if (mode == HINTIER_MODE_WRITEBACK) {
            EXPECT_GT(n.clean_destages, 50U);
            EXPECT_GT(n.destages, n.clean_destages) << "no destage was overtaken by a write";
            EXPECT_GT(n.padded, 50U);
            EXPECT_GT(n.discards, 20U);
            EXPECT_GT(n.evictions, 10U);
            EXPECT_GT(n.intents, 10U);
            EXPECT_GT(n.drops, 10U);
            EXPECT_GT(n.lost, 10U) << "nothing lost was asked for";
        }
        if (mode == HINTIER_MODE_WRITETHROUGH) {
            EXPECT_GT(n.tees, 50U);
        }
    }
}

} // namespace
} // namespace hintier::sim
