// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/values.hpp"

#include <gtest/gtest.h>

#include "agent/plan/liveness.hpp"

namespace hintier {
namespace {

constexpr auto mode_fast = ValueConfig::Mode::fast;
constexpr auto mode_wear = ValueConfig::Mode::wear;

// One group of which so much is known that nothing is shrunk: `hazard` of them are read in bin 4,
// none at any other age.
Hazard one_bump(double hazard, Hazard::Group group) {
    Hazard h({.kappa = 1, .prior = 1e-12});
    for (unsigned bin = 0; bin < age_bins; ++bin)
        h.enter(group, bin, 1e5);
    for (int i = 0; i < hazard * 1e5; ++i)
        h.read(group, age_edges[4]);
    return h;
}

TEST(Values, IndexIsTheBestRateOfReads) {
    const auto group = Hazard::group({});
    const ValueTable table = make_values(one_bump(0.4, group), {.mode = mode_fast});
    const auto& row = table.rows[group];
    // From bin k up to the end of bin 4, 15 s each; those that are read there leave half-way.
    EXPECT_NEAR(row.clean[4], 0.4 / (15 * 0.8), 1e-4);
    EXPECT_NEAR(row.clean[0], 0.4 / (4 * 15 + 15 * 0.8), 1e-4);
    EXPECT_NEAR(row.clean[5], 0, 1e-4);
    EXPECT_EQ(row.clean, row.dirty) << "everything is destaged: dirty is worth no more";
    EXPECT_NEAR(row.promise[0], 0.4, 1e-4);
    EXPECT_NEAR(row.promise[5], 0, 1e-4);
}

TEST(Values, TiersGetThemByGroupsAndWhatNobodyClassifiedAsTheMean) {
    const auto group = Hazard::group({.turn = 2});
    const ValueTable table = make_values(one_bump(0.4, group), {.mode = mode_fast});
    const auto rows = tier_rows(table);
    ASSERT_EQ(rows.size(), Hazard::groups + 1);
    EXPECT_NEAR(rows[tier_group(group)].clean[4], table.rows[group].clean[4] * 1e9, 1);
    EXPECT_GT(rows[tier_group(group)].clean[4], rows[0].clean[4]);
    double sum = 0;
    for (const auto& row : table.rows)
        sum += row.dirty[4];
    EXPECT_NEAR(rows[0].dirty[4], sum / Hazard::groups * 1e9, 1);
    EXPECT_EQ(rows[tier_group(group)].drop, 0U);
}

TEST(Values, WearPaysForWhatADestageCosts) {
    const auto group = Hazard::group({});
    const ValueTable table =
        make_values(one_bump(0.4, group), {.mode = mode_wear, .price = 0.05, .hit = 0.1});
    const auto& row = table.rows[group];
    // Dirty: after bin 4 nobody reads it and nothing is paid, before a program's price is.
    EXPECT_NEAR(row.clean[4], 0.1 * 0.4 / (15 * 0.8), 1e-4);
    EXPECT_NEAR(row.dirty[4], (0.05 + 0.1 * 0.4) / (15 * 0.8), 1e-4);
}

TEST(Values, DropsWhatIsBelowThePriceAndNothingElse) {
    const auto group = Hazard::group({});
    const Hazard hazard = one_bump(0.04, group);
    const auto drop = [&](ValueConfig config, unsigned bin) {
        return make_values(hazard, config).rows[group].drop[bin];
    };
    EXPECT_TRUE(drop({.mode = mode_wear, .price = 0.05}, 0));
    EXPECT_FALSE(drop({.mode = mode_wear, .price = 0.03}, 0));
    EXPECT_TRUE(drop({.mode = mode_wear, .price = 0.03}, 5)) << "its time has passed";
    EXPECT_FALSE(drop({.mode = mode_fast, .price = 0.05}, 0));
    EXPECT_FALSE(drop({.mode = mode_wear, .price = 0.05, .keep = Keep::all}, 0));
}

TEST(Values, KeepsWhatManyShare) {
    for (const auto kind : {GroupKey::old, GroupKey::forked, GroupKey::shared}) {
        const auto group = Hazard::group({.kind = kind});
        const Hazard hazard = one_bump(0.01, group);
        const auto drop = [&](Keep keep) {
            return make_values(hazard, {.mode = mode_wear, .keep = keep}).rows[group].drop[0];
        };
        EXPECT_FALSE(drop(Keep::all));
        EXPECT_EQ(drop(Keep::forked), kind == GroupKey::old);
        EXPECT_EQ(drop(Keep::shared), kind != GroupKey::shared);
        EXPECT_TRUE(drop(Keep::nothing));
    }
}

TEST(LivenessRule, MakesATableWhenItIsTimeForOne) {
    LivenessRule rule({.table_every = 4s});
    EXPECT_NE(rule.tick(10s), nullptr);
    EXPECT_EQ(rule.tick(13s), nullptr);
    EXPECT_NE(rule.tick(14s), nullptr);
}

TEST(LivenessRule, DropsNothingBeforeItHasSeenEnough) {
    LivenessRule::Config config;
    config.values.mode = mode_wear;
    config.warm_reads = 10;
    config.warm_ages = 3;
    LivenessRule rule(config);
    Nanos now = 1000s;
    const auto read_all = [&](Liveness::Use use) {
        for (Liveness::Index i = 0; i < 10; ++i) {
            const Liveness::Touch chain[] = {{i, use}};
            rule.request(now, chain);
        }
    };
    read_all(Liveness::Use::written);
    EXPECT_FALSE(rule.drops(now));
    now += 100s;
    read_all(Liveness::Use::read); // all at an age of 100 s: watched for 300 s it must have
    EXPECT_FALSE(rule.drops(now));
    EXPECT_FALSE(rule.drops(1299s));
    EXPECT_TRUE(rule.drops(1300s));
    for (const auto& row : rule.tick(1299s)->rows)
        for (const bool drop : row.drop)
            EXPECT_FALSE(drop);
}

TEST(LivenessRule, DropsNothingWhileTheGuardForbidsIt) {
    LivenessRule::Config config;
    config.values.mode = mode_wear;
    config.warm_reads = 0;
    config.warm_ages = 0;
    config.guard.enough = 100;
    LivenessRule rule(config);
    Nanos now = 1000s;
    for (Liveness::Index i = 0; i < 100; ++i) {
        const Liveness::Touch chain[] = {{i, Liveness::Use::written}};
        rule.request(now, chain);
        rule.dropped(i, i + 7'000);
    }
    EXPECT_TRUE(rule.drops(now));
    for (Liveness::Index i = 0; i < 100; ++i) {
        now += 1s; // of one chain, all at once would be one event
        rule.asked(i + 7'000, now);
    }
    EXPECT_FALSE(rule.drops(now));
    EXPECT_TRUE(rule.drops(now + config.guard.pause));
}

TEST(LivenessRule, RefusesNonsense) {
    LivenessRule::Config config;
    EXPECT_TRUE(config.validate());
    config.values.price = 2;
    EXPECT_FALSE(config.validate());
    config = {};
    config.table_every = 0s;
    EXPECT_FALSE(config.validate());
    config = {};
    config.model.shared = 2;
    EXPECT_FALSE(config.validate());
}

} // namespace
} // namespace hintier
