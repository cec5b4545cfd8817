// SPDX-License-Identifier: Apache-2.0
#include "agent/model/hazard.hpp"

#include <gtest/gtest.h>

#include <cmath>
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

// All is pooled to the prior, then a level down: the parent's hazards times how much more is read
// than they say, so far as it is seen, and half-way to what is seen at that age.
TEST(Hazard, ShrinksStepByStep) {
    Hazard hazard({.kappa = 1000, .reads = 1, .prior = 0.1});
    const GroupKey seen{.turn = 2, .size = 1, .kind = GroupKey::old};
    hazard.enter(Hazard::group(seen), 0, 1000);
    for (int i = 0; i < 300; ++i)
        hazard.read(Hazard::group(seen), 5);
    const auto curves = hazard.curves();
    const auto below = [](double parent) {
        const double ratio = (300 + 1) / (1000 * parent + 1);
        return (300 + 1000 * ratio * parent) / 2000;
    };
    const double all = (0.3 + 0.1) / 2;
    const double kind = below(all);
    const double turn = below(kind);
    EXPECT_NEAR(curves[Hazard::group(seen)][0], below(turn), 1e-12);
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

// What is seen at young ages says something of the old ones that nobody of the group has reached.
TEST(Hazard, AGroupThatIsReadMoreIsSoAtAllAges) {
    Hazard hazard({.kappa = 1e4, .reads = 1, .prior = 1e-6});
    const auto busy = Hazard::group({.turn = 4}), idle = Hazard::group({.turn = 1});
    for (const auto group : {busy, idle}) {
        for (const unsigned bin : {2U, 8U})
            hazard.enter(group, bin, 1e4);
    }
    for (int i = 0; i < 900; ++i)
        hazard.read(busy, age_edges[2]);
    for (int i = 0; i < 100; ++i)
        hazard.read(idle, age_edges[2]);
    for (int i = 0; i < 500; ++i) // of both as much, at this age
        hazard.read(i % 2 ? busy : idle, age_edges[8]);
    const auto curves = hazard.curves();
    EXPECT_GT(curves[busy][8], curves[idle][8] * 1.2);
}

// Objects read together are one event: 16 at a time say less of their group than as many one by
// one.
TEST(Hazard, ReadsOfOneRequestAreOneEvent) {
    const auto learned = [](double together) {
        Hazard hazard({.kappa = 100, .reads = 1, .prior = 0.001});
        const auto all = Hazard::group({.size = 0}), few = Hazard::group({.size = 1});
        hazard.enter(all, 0, 1e5);
        hazard.enter(few, 0, 100);
        for (int i = 0; i < 1008; ++i)
            hazard.read(all, 5);
        for (int i = 0; i < 16; ++i)
            hazard.read(few, 5);
        for (double left = 1024; left > 0; left -= together)
            hazard.together(together);
        return hazard.curves()[few][0];
    };
    EXPECT_GT(learned(1), 0.05);
    EXPECT_GT(learned(1), learned(16) * 1.5);
    EXPECT_GT(learned(16), 0.01) << "which is what all are read at";
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
    Hazard keeps({.memory_s = 0});
    keeps.enter(0, 0, 1000);
    keeps.fade(1e6);
    EXPECT_EQ(keeps.entered(0, 0), 1000);
}

TEST(Hazard, IsKeptAndTakesOnlyWhatItGave) {
    Hazard hazard({});
    hazard.enter(3, 2, 100);
    for (int i = 0; i < 40; ++i)
        hazard.read(3, age_edges[2]);
    hazard.together(40);
    Hazard again({});
    auto counts = hazard.counts();
    ASSERT_TRUE(again.restore(counts));
    EXPECT_EQ(again.curves(), hazard.curves());
    EXPECT_EQ(again.mean_read_age(), hazard.mean_read_age());
    EXPECT_EQ(again.burst(), 40);
    for (const double odd : {-1.0, std::nan(""), HUGE_VAL, 1e300}) {
        counts[7] = odd;
        EXPECT_FALSE(again.restore(counts)) << odd;
    }
    counts.pop_back();
    EXPECT_FALSE(again.restore(counts));
    EXPECT_EQ(again.curves(), hazard.curves()) << "and is as it was";
}

TEST(Hazard, RefusesNonsense) {
    EXPECT_FALSE(Hazard::Config{.kappa = 0}.validate());
    EXPECT_FALSE(Hazard::Config{.reads = 0}.validate());
    EXPECT_FALSE(Hazard::Config{.prior = 0}.validate());
    EXPECT_FALSE(Hazard::Config{.prior = 1}.validate());
    EXPECT_FALSE(Hazard::Config{.memory_s = -1}.validate());
    EXPECT_TRUE(Hazard::Config{}.validate());
}

} // namespace
} // namespace hintier
