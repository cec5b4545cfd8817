// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/score.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hintier {
namespace {

TEST(Score, ANewRuleHasItsWholeBudget) {
    const Score score;
    EXPECT_EQ(score.useful(), 1);
    EXPECT_EQ(score.of(100, 0.5), 100U);
}

TEST(Score, LateIsStillUseful) {
    Score score;
    score.count(HINTIER_FETCH_LATE, 300);
    EXPECT_EQ(score.useful(), 1);
}

TEST(Score, AWrongRuleIsLeftASmallShare) {
    Score score;
    score.count(HINTIER_FETCH_UNUSED, 400);
    EXPECT_LT(score.useful(), 0.05);
    EXPECT_EQ(score.of(1600, 0.5), 100U);
    EXPECT_EQ(score.of(3, 0.5), 1U) << "never nothing";
}

TEST(Score, HalfWrongIsHalfThrottled) {
    Score score;
    for (int i = 0; i < 2000; ++i) {
        score.count(i % 8 < 3 ? HINTIER_FETCH_TIMELY : HINTIER_FETCH_UNUSED);
    }
    EXPECT_NEAR(score.useful(), 0.375, 0.05);
    EXPECT_NEAR(score.share(0.5), 0.5, 0.2);
}

TEST(Score, ComesBackWhenItIsRightAgain) {
    Score score;
    score.count(HINTIER_FETCH_UNUSED, 100'000);
    EXPECT_LT(score.share(0.5), 0.1);
    score.count(HINTIER_FETCH_TIMELY, 300);
    EXPECT_EQ(score.share(0.5), 1);
}

// Whatever happens: shares are shares, and a good outcome never lowers the score.
TEST(Score, IsMonotonousAndBounded) {
    std::mt19937 random(3);
    Score score;
    for (int i = 0; i < 10'000; ++i) {
        const double before = score.useful();
        const auto how = static_cast<hintier_fetch>(random() % HINTIER_FETCHES);
        score.count(how);
        EXPECT_GE(score.useful(), 0);
        EXPECT_LE(score.useful(), 1);
        EXPECT_GE(score.share(0.5), 1.0 / 16);
        EXPECT_LE(score.share(0.5), 1);
        const bool good = how == HINTIER_FETCH_TIMELY || how == HINTIER_FETCH_LATE;
        EXPECT_GE(score.useful(), good ? before : 0);
    }
}

} // namespace
} // namespace hintier
