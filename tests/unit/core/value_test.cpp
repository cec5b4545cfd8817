// SPDX-License-Identifier: Apache-2.0
//
// The value table: what is a good one, how long it rules, and in which order slots leave by it.

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "host/small_map.hpp"
#include "value.h"

namespace hintier::test {
namespace {

hintier_values good() {
    hintier_values head{};
    head.groups = 4;
    head.ttl_ms = 1000;
    for (u32 bin = 0; bin < HINTIER_AGE_BINS; bin++)
        head.edges_ms[bin] = bin * 10000;
    return head;
}

TEST(Value, EachThingThatIsWrongIsRefused) {
    hintier_values head = good();
    EXPECT_EQ(ht_values_refusal(&head), 0);
    const std::vector<void (*)(hintier_values&)> wrong = {
        [](auto& h) { h.flags = 1; },        [](auto& h) { h.reserved = 1; },
        [](auto& h) { h.groups = 0; },       [](auto& h) { h.groups = HINTIER_GROUPS + 1; },
        [](auto& h) { h.ttl_ms = 0; },       [](auto& h) { h.ttl_ms = HINTIER_VALUES_MAX_MS + 1; },
        [](auto& h) { h.edges_ms[0] = 1; },  [](auto& h) { h.edges_ms[7] = h.edges_ms[6]; },
        [](auto& h) { h.edges_ms[39] = 0; },
    };
    for (size_t i = 0; i < wrong.size(); i++) {
        head = good();
        wrong[i](head);
        EXPECT_EQ(ht_values_refusal(&head), -EINVAL) << i;
    }
    hintier_value_row row{};
    row.drop = (1ULL << HINTIER_AGE_BINS) - 1;
    EXPECT_EQ(ht_value_row_refusal(&row), 0);
    row.drop++;
    EXPECT_EQ(ht_value_row_refusal(&row), -EINVAL);
}

TEST(Value, AgesHaveBinsAndTablesALife) {
    auto values = std::make_unique<ht_values>();
    const hintier_values head = good();
    memset(values->rows, 0xff, sizeof(values->rows));
    ht_values_begin(values.get(), &head, 0xfffffff0U);
    EXPECT_EQ(ht_value_bin(values.get(), 0), 0U);
    EXPECT_EQ(ht_value_bin(values.get(), 9), 0U);
    EXPECT_EQ(ht_value_bin(values.get(), 10), 1U);
    EXPECT_EQ(ht_value_bin(values.get(), 389), 38U);
    EXPECT_EQ(ht_value_bin(values.get(), 390), 39U);
    EXPECT_EQ(ht_value_bin(values.get(), 65535), 39U);
    EXPECT_EQ(ht_value(values.get(), false, 3, 0), 0xffffffffU);
    EXPECT_EQ(ht_value(values.get(), true, 4, 39), 0U) << "a group without a row";
    EXPECT_TRUE(ht_values_rule(values.get(), 0xfffffff0U));
    EXPECT_TRUE(ht_values_rule(values.get(), 983));
    EXPECT_FALSE(ht_values_rule(values.get(), 984));
    EXPECT_FALSE(ht_values_rule(nullptr, 0));
}

// Eight slots, each with the extent of its number.
struct Valued {
    SmallMap m;
    ht_pins pins{};
    std::unique_ptr<ht_values> values = std::make_unique<ht_values>();
    ht_situation now{};

    Valued() {
        const hintier_values head = good();
        ht_values_begin(values.get(), &head, 0);
        m.engine.pins = &pins;
        m.engine.tune.reserve = 500;
        m.engine.tune.spread = 0;
        for (u32 group = 0; group < 4; group++)
            for (u32 bin = 0; bin < HINTIER_AGE_BINS; bin++) {
                values->rows[group].clean[bin] = 1000 * group + 100 - bin;
                values->rows[group].dirty[bin] = 1000 - 100 * group;
            }
    }
    void rule() { ht_engine_rule(&m.engine, values.get()); }
    void put(u32 slot, ht_list list, u8 group, u16 used = 0) {
        m.slot(slot).extent = slot;
        m.slot(slot).group = group;
        m.slot(slot).used = used;
        ht_engine_append(&m.engine, slot, list);
    }
    u32 next(ht_work wanted) {
        u32 slot = HT_NIL;
        ht_work work;
        while ((work = ht_engine_next(&m.engine, &now, &slot)) == HT_WORK_SORT)
            ;
        EXPECT_EQ(work, wanted);
        return slot;
    }
    std::vector<u32> victims(size_t n) {
        std::vector<u32> all;
        while (n--)
            all.push_back(next(HT_WORK_EVICT));
        return all;
    }
};

TEST(Values, TheLowestGoesFirst) {
    Valued t;
    t.put(0, HT_LIST_CLEAN, 3); // from before there was a table
    t.put(1, HT_LIST_CLEAN, 3);
    t.rule();
    t.put(2, HT_LIST_CLEAN, 2);
    t.put(3, HT_LIST_CLEAN, 1);
    t.put(4, HT_LIST_CLEAN, 2);
    t.put(5, HT_LIST_CLEAN, 0);
    EXPECT_EQ(ht_engine_clean(&t.m.engine), 6U);
    EXPECT_EQ(t.victims(6), (std::vector<u32>{5, 3, 2, 4, 0, 1}));
    EXPECT_EQ(ht_engine_clean(&t.m.engine), 0U);
    EXPECT_EQ(ht_engine_any_clean(&t.m.engine), HT_NIL);
}

TEST(Values, AgeCounts) {
    Valued t;
    t.values->rows[1].clean[0] = 5; // is worth more when it is older
    t.rule();
    t.now.second = 20;
    t.put(0, HT_LIST_CLEAN, 0, 0);  // bin 2: 98
    t.put(1, HT_LIST_CLEAN, 1, 0);  // bin 2: 1098
    t.put(2, HT_LIST_CLEAN, 1, 20); // bin 0: 5, behind it in the same list
    t.put(3, HT_LIST_CLEAN, 2, 20); // bin 0: 2100
    EXPECT_EQ(t.victims(1), (std::vector<u32>{0}));
    EXPECT_EQ(t.victims(3), (std::vector<u32>{2, 1, 3})) << "once its list's turn came";
}

TEST(Values, WhatWasReadIsYoungAgain) {
    Valued t;
    t.rule();
    t.now.second = 390;
    t.put(0, HT_LIST_CLEAN, 1, 0);
    t.put(1, HT_LIST_CLEAN, 1, 0);
    t.m.slot(0).touched = 1;
    EXPECT_EQ(t.next(HT_WORK_EVICT), 1U);
    EXPECT_EQ(t.m.slot(0).used, 390U);
    EXPECT_FALSE(t.m.slot(0).touched);
}

TEST(Values, TheDeepestOfThoseAlikeGoesFirst) {
    Valued t;
    t.rule();
    for (u32 slot = 0; slot < 4; slot++) {
        t.put(slot, HT_LIST_CLEAN, 1);
        t.m.slot(slot).depth = u8(slot == 2 ? 9 : slot);
    }
    EXPECT_EQ(t.victims(4), (std::vector<u32>{2, 3, 1, 0}));
}

TEST(Values, WhatIsLeftOfALostObjectGoesBeforeAllElse) {
    for (const bool ruled : {false, true}) {
        Valued t;
        if (ruled) t.rule();
        t.now.second = 20;
        u32 none;
        ht_engine_next(&t.m.engine, &t.now, &none);
        for (u32 slot = 0; slot < 6; slot++)
            t.m.slot(slot).object = slot == 2 || slot > 3 ? 77 : 0;
        t.put(0, HT_LIST_CLEAN, 0, 10);
        t.put(1, HT_LIST_CLEAN, 3, 10);
        t.put(2, HT_LIST_CLEAN, 3, 10);
        t.put(3, HT_LIST_DIRTY, 3, 10);
        t.put(4, HT_LIST_CLEAN, 3, 20); // not before it was lost: written again
        ht_engine_lost(&t.m.engine, 3, 77);
        ht_engine_lost(&t.m.engine, 3, 0); // no object
        t.put(5, HT_LIST_CLEAN, 3, 10);    // destaged only now
        EXPECT_EQ(t.m.engine.count[HT_LIST_DEAD], 2U);
        EXPECT_EQ(ht_engine_clean(&t.m.engine), 5U);
        EXPECT_EQ(t.victims(5), (std::vector<u32>{2, 5, 0, 1, 4})) << ruled;
    }
}

TEST(Values, PinnedOnesStay) {
    Valued t;
    t.rule();
    t.put(0, HT_LIST_CLEAN, 0);
    t.put(1, HT_LIST_CLEAN, 3);
    t.m.engine.tune.pins = t.m.engine.tune.pins_one = 90;
    ASSERT_EQ(ht_engine_pin(&t.m.engine, 1, 0, 1, 100), 0);
    EXPECT_EQ(t.next(HT_WORK_EVICT), 1U);
    ht_engine_unpin_all(&t.m.engine, 1);
    EXPECT_EQ(t.next(HT_WORK_EVICT), 0U);
}

TEST(Values, AGroupThatChangesChangesTheList) {
    Valued t;
    t.rule();
    t.put(0, HT_LIST_CLEAN, 1);
    t.put(1, HT_LIST_CLEAN, 2);
    t.m.slot(0).group = 3;
    ht_engine_regroup(&t.m.engine, 0);
    EXPECT_EQ(t.victims(2), (std::vector<u32>{1, 0}));
    t.put(2, HT_LIST_DIRTY, 1);
    ht_engine_regroup(&t.m.engine, 2); // no list of a group
    EXPECT_EQ(t.m.engine.count[HT_LIST_DIRTY], 1U);
}

TEST(Values, OfTheDirtyTheLowestGoesAndIsDroppedIfTheTableSaysSo) {
    Valued t;
    t.rule();
    t.m.engine.tune.high = 1;
    t.m.engine.tune.low = 0;
    t.values->rows[2].drop = 1;
    t.put(0, HT_LIST_DIRTY, 1); // 900
    t.put(1, HT_LIST_DIRTY, 2); // 800
    t.put(2, HT_LIST_DIRTY, 3); // 700
    EXPECT_EQ(t.next(HT_WORK_DESTAGE), 2U);
    EXPECT_EQ(t.next(HT_WORK_SHED), 1U);
    EXPECT_EQ(t.next(HT_WORK_DESTAGE), 0U);
}

TEST(Values, WhatIsDoneIsDroppedWhateverTheTableSays) {
    Valued t;
    t.rule();
    t.m.engine.tune.high = 1;
    t.m.engine.tune.low = 0;
    t.put(0, HT_LIST_DIRTY, 1);
    t.m.slot(0).flags |= HT_F_DONE;
    EXPECT_EQ(t.next(HT_WORK_SHED), 0U);
}

TEST(Values, ATableThatHasRunOutDropsNothingAndTheOldestGoes) {
    Valued t;
    t.rule();
    t.now.second = 100;
    t.put(0, HT_LIST_CLEAN, 0, 50);
    t.put(1, HT_LIST_CLEAN, 3, 10);
    t.put(2, HT_LIST_CLEAN, 1, 90);
    t.put(3, HT_LIST_CLEAN, 1, 95);
    t.put(4, HT_LIST_DIRTY, 0, 0);
    t.m.engine.tune.high = 1;
    t.values->rows[0].drop = ~0ULL >> 24;
    t.now.now = 1000;
    EXPECT_EQ(t.victims(4), (std::vector<u32>{1, 0, 2, 3}));
    t.put(5, HT_LIST_CLEAN, 2, 99);
    EXPECT_EQ(t.m.slot(5).list, HT_LIST_CLEAN);
    EXPECT_EQ(t.next(HT_WORK_EVICT), 5U);
    EXPECT_EQ(t.next(HT_WORK_DESTAGE), 4U) << "volatile or not";
}

} // namespace
} // namespace hintier::test
