// SPDX-License-Identifier: Apache-2.0
//
// Budgets: what is granted, kept, owed, and when one is over.

#include <gtest/gtest.h>

#include "budget.h"

namespace hintier::test {
namespace {

constexpr u64 GB = 1000000000, HOUR = 3600 * 1000, DAY = 24 * HOUR;

TEST(Budget, BeginsWithAnHoursWorthAndCountsFromThen) {
    ht_budget b{};
    EXPECT_FALSE(ht_budget_tell(&b, 24, 500 * GB, 77));
    EXPECT_EQ(b.left, s64(GB));
    EXPECT_FALSE(ht_budget_tell(&b, 24, 501 * GB, 77));
    EXPECT_EQ(b.left, 0);
    EXPECT_TRUE(ht_budget_tell(&b, 24, 501 * GB + 1, 77));
}

TEST(Budget, GivesItsLimitInADay) {
    for (const u32 limit : {1U, 7U, 54U, HT_BUDGET_MAX}) {
        ht_budget b{};
        const s64 begin = s64(limit * GB / 24);
        u64 spent = 0;
        ht_budget_tell(&b, limit, 0, 0);
        // In 86,400 steps, each of which spends what it gives: rounding loses at most a byte each.
        for (u64 second = 1; second <= DAY / 1000; second++) {
            ht_budget_tell(&b, limit, spent, second * 1000);
            spent += u64(b.left - begin);
            EXPECT_FALSE(b.over);
        }
        EXPECT_NEAR(double(spent), double(limit * GB), 86400.0) << limit;
    }
}

TEST(Budget, KeepsADayAndOwesADayAtMost) {
    ht_budget b{};
    ht_budget_tell(&b, 10, 0, 0);
    EXPECT_FALSE(ht_budget_tell(&b, 10, 0, 40 * DAY));
    EXPECT_EQ(b.left, s64(10 * GB));
    EXPECT_TRUE(ht_budget_tell(&b, 10, 5000 * GB, 40 * DAY));
    EXPECT_EQ(b.left, -s64(10 * GB));
    EXPECT_TRUE(ht_budget_tell(&b, 10, 5000 * GB, 42 * DAY)) << "of two days one counts";
    EXPECT_EQ(b.left, 0);
    EXPECT_FALSE(ht_budget_tell(&b, 10, 5000 * GB, 43 * DAY));
}

TEST(Budget, IsOverUntilAMinutesWorthIsThere) {
    ht_budget b{};
    const u64 a_minute = DAY / 1440;
    ht_budget_tell(&b, 1440, 0, 0);
    EXPECT_TRUE(ht_budget_tell(&b, 1440, 61 * GB, 0));
    EXPECT_TRUE(ht_budget_tell(&b, 1440, 61 * GB, a_minute)) << "nothing owed, and nothing there";
    EXPECT_EQ(b.left, 0);
    EXPECT_TRUE(ht_budget_tell(&b, 1440, 61 * GB, 2 * a_minute - 1));
    EXPECT_FALSE(ht_budget_tell(&b, 1440, 61 * GB, 2 * a_minute + 1));
    EXPECT_FALSE(ht_budget_tell(&b, 1440, 62 * GB, 2 * a_minute + 1))
        << "less than a minute's is left";
}

TEST(Budget, ANewLimitCountsFromNowOnAndNoneForgetsAll) {
    ht_budget b{};
    ht_budget_tell(&b, 24, 0, 0);
    EXPECT_TRUE(ht_budget_tell(&b, 24, 9 * GB, 0));
    EXPECT_TRUE(ht_budget_tell(&b, 48, 9 * GB, 0)) << "what is owed is owed";
    EXPECT_FALSE(ht_budget_tell(&b, 0, 9 * GB, 0));
    EXPECT_EQ(b.left, 0);
    EXPECT_FALSE(ht_budget_tell(&b, 24, 10 * GB, 5));
    EXPECT_EQ(b.left, s64(GB));
}

} // namespace
} // namespace hintier::test
