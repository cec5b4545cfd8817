// SPDX-License-Identifier: Apache-2.0
#include "agent/model/hazard.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hintier {
namespace {

TEST(Age, BinsBeginAtTheirEdges) {
    EXPECT_EQ(age_bin(0), 0U);
    EXPECT_EQ(age_bin(14.9), 0U);
    EXPECT_EQ(age_bin(15), 1U);
    EXPECT_EQ(age_bin(150), 10U);
    EXPECT_EQ(age_bin(1e9), age_bins - 1);
    for (unsigned k = 0; k < age_bins; ++k)
        EXPECT_EQ(age_bin(age_edges[k]), k);
}

TEST(Hazard, GroupsAreNumberedAndNamedBackAgain) {
    std::set<unsigned> seen;
    for (unsigned g = 0; g < Hazard::groups; ++g) {
        const GroupKey key = Hazard::key(static_cast<Hazard::Group>(g));
        EXPECT_LT(key.turn, GroupKey::turns);
        EXPECT_LT(key.size, GroupKey::sizes);
        EXPECT_LT(key.kind, GroupKey::kinds);
        seen.insert(Hazard::group(key));
    }
    EXPECT_EQ(seen.size(), Hazard::groups);
}

TEST(Hazard, WithoutDataItIsThePrior) {
    const Hazard hazard({.kappa = 100, .prior = 0.001});
    for (const auto& curve : hazard.curves())
        EXPECT_NEAR(curve[0], 0.001, 1e-12);
}

// 1,000 objects entered, 300 were read; kappa 1,000: each level is half data, half its parent.
TEST(Hazard, ShrinksStepByStep) {
    Hazard hazard({.kappa = 1000, .prior = 0.1});
    const GroupKey seen{.turn = 2, .size = 1, .kind = GroupKey::old};
    hazard.enter(Hazard::group(seen), 0, 1000);
    for (int i = 0; i < 300; ++i)
        hazard.read(Hazard::group(seen), 5);
    const auto curves = hazard.curves();
    const double all = (0.3 + 0.1) / 2;
    const double kind = (0.3 + all) / 2;
    const double turn = (0.3 + kind) / 2;
    EXPECT_NEAR(curves[Hazard::group(seen)][0], (0.3 + turn) / 2, 1e-12);
    GroupKey other = seen;
    other.size = 3; // nothing seen of it: what is known of the turn
    EXPECT_NEAR(curves[Hazard::group(other)][0], turn, 1e-12);
    other.turn = 4;
    EXPECT_NEAR(curves[Hazard::group(other)][0], kind, 1e-12);
    other.kind = GroupKey::tail;
    EXPECT_NEAR(curves[Hazard::group(other)][0], all, 1e-12);
    other.ended = true;
    EXPECT_NEAR(curves[Hazard::group(other)][0], 0.1, 1e-12);
}

TEST(Hazard, AgesNobodyReachedFallWithTheThirdPower) {
    Hazard hazard({.kappa = 1, .prior = 1e-9});
    const auto group = Hazard::group({});
    hazard.enter(group, 20, 1e5);
    for (int i = 0; i < 1000; ++i)
        hazard.read(group, age_edges[20]);
    const auto curves = hazard.curves();
    EXPECT_NEAR(curves[group][20], 0.01, 1e-5);
    const auto beyond = [&](unsigned bin, double hazard_before) {
        const double ratio = age_edges[bin - 1] / age_edges[bin];
        return hazard_before / age_width(bin - 1) * age_width(bin) * ratio * ratio * ratio;
    };
    EXPECT_NEAR(curves[group][21], beyond(21, 0.01), 1e-5);
    EXPECT_NEAR(curves[group][22], beyond(22, beyond(21, 0.01)), 1e-5);
}

TEST(Hazard, OldObservationsFade) {
    Hazard hazard({.memory_s = 100});
    hazard.enter(0, 0, 1000);
    hazard.fade(100);
    EXPECT_NEAR(hazard.entered(0, 0), 1000 / 2.718281828, 1e-3);
    Hazard keeps({});
    keeps.enter(0, 0, 1000);
    keeps.fade(1e6);
    EXPECT_EQ(keeps.entered(0, 0), 1000);
}

TEST(Hazard, RefusesNonsense) {
    EXPECT_FALSE(Hazard::Config{.kappa = 0}.validate());
    EXPECT_FALSE(Hazard::Config{.prior = 0}.validate());
    EXPECT_FALSE(Hazard::Config{.prior = 1}.validate());
    EXPECT_FALSE(Hazard::Config{.memory_s = -1}.validate());
    EXPECT_TRUE(Hazard::Config{}.validate());
}

} // namespace
} // namespace hintier
