// SPDX-License-Identifier: Apache-2.0
//
// Reading ahead: from where, and when not.

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "ahead.h"
#include "host/small_map.hpp"

namespace hintier::test {
namespace {

constexpr u32 X = 9; // an extent
constexpr u32 S = 2; // a slot

struct Ahead : SmallMap {
    using SmallMap::SmallMap;
    bool ask(u32 from = 0, u32 to = 16, bool from_home = false) {
        memset(&ret, 0xee, sizeof(ret));
        return ht_ahead_begin(&map, &shard, X, from, to, from_home, &ret);
    }
    ht_ahead ret{};
};

TEST(Ahead, WithoutASlotAllComesFromHome) {
    Ahead m;
    EXPECT_TRUE(m.ask());
    EXPECT_EQ(m.ret.slot, HT_NIL);
    EXPECT_EQ(m.ret.units[0], 0);
    EXPECT_EQ(m.ret.act, 0U);
}

TEST(Ahead, WhatTheSlotHoldsComesFromThereAndHoldsIt) {
    Ahead m;
    m.write(X, S, 16, 32); // units 2 and 3
    EXPECT_TRUE(m.ask(3, 16));
    EXPECT_EQ(m.ret.slot, S);
    EXPECT_EQ(m.ret.units[0], 1 << 3);
    EXPECT_EQ(m.map.slots[S].readers, 1);
    EXPECT_TRUE(m.ask(4, 16)) << "none of it";
    EXPECT_EQ(m.ret.slot, HT_NIL);
    EXPECT_EQ(m.map.slots[S].readers, 1);
}

TEST(Ahead, OnlyWhatIsCleanMayComeFromHomeInstead) {
    Ahead m;
    m.write(X, S, 0, 16);
    m.destage(S);
    m.write(X, S, 16, 32);
    EXPECT_TRUE(m.ask(0, 16, true));
    EXPECT_EQ(m.ret.units[0], 0xc) << "the dirty ones are on fast alone";
}

TEST(Ahead, NotWhileAWriteIsInFlight) {
    Ahead m;
    m.write(X, S, 0, 16);
    const ht_request w = SmallMap::request(HT_REQ_WRITE, X, 0, 8);
    const ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    EXPECT_FALSE(m.ask()) << "to the slot";
    m.end(w, a);
    EXPECT_TRUE(m.ask());

    Ahead around(HINTIER_MODE_WRITEAROUND);
    const ht_answer b = around.begin(w);
    ASSERT_EQ(b.verdict, HT_DO_HOME);
    EXPECT_FALSE(around.ask()) << "to the home";
    around.end(w, b);
    EXPECT_TRUE(around.ask());
}

TEST(Ahead, NotWhileADiscardMayChangeTheHome) {
    Ahead m;
    ht_hold hold{};
    hold.first = X - 1;
    hold.last = X;
    ht_hold_add(&m.map, &hold);
    EXPECT_FALSE(m.ask());
    ht_hold_remove(&hold);
    EXPECT_TRUE(m.ask());
}

TEST(Ahead, NotWhatIsLostAndNotWithoutFast) {
    Ahead m;
    m.write(X, S, 0, 16);
    ht_mark_volatile(&m.map, S, 0, 16, 2);
    ht_dropped dropped{};
    ht_drop(&m.map, &m.shard, S, 0, 16, ht_lost_take(&m.map), &dropped);
    ASSERT_EQ(dropped.units, 2U);
    EXPECT_FALSE(m.ask());

    Ahead gone;
    gone.write(X, S, 0, 16);
    gone.map.mode = HINTIER_MODE_BYPASS;
    EXPECT_FALSE(gone.ask());
}

TEST(Ahead, NotWhileTheSlotMovesOrIsStuck) {
    for (const ht_slot_state state : {HT_SLOT_DESTAGE, HT_SLOT_FILL, HT_SLOT_TRIM, HT_SLOT_STUCK}) {
        Ahead m;
        m.write(X, S, 0, 16);
        m.map.slots[S].state = state;
        EXPECT_FALSE(m.ask()) << state;
        EXPECT_EQ(m.map.slots[S].readers, 0);
    }
}

TEST(Ahead, NotWhereTheMediumHasFailed) {
    Ahead m;
    m.write(X, S, 0, 16);
    const ht_request read = SmallMap::request(HT_REQ_READ, X, 0, 8);
    const ht_answer a = m.begin(read);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    u32 act;
    EXPECT_FALSE(ht_slot_failed(&m.map, &read, S, true, &act)) << "it was dirty";
    m.end(read, a, false);
    EXPECT_FALSE(m.ask());
    EXPECT_EQ(m.map.slots[S].readers, 0);
}

TEST(Ahead, IsAUseOfWhatWasFetched) {
    Ahead m;
    m.write(X, S, 0, 16);
    m.map.slots[S].flags |= HT_F_FETCHED;
    m.map.slots[S].fetch = 5;
    EXPECT_TRUE(m.ask());
    EXPECT_EQ(m.ret.act, HT_ACT_FETCH);
    EXPECT_EQ(m.ret.fetch, 5U);
    EXPECT_TRUE(m.ask());
    EXPECT_EQ(m.ret.act, 0U) << "once";
}

} // namespace
} // namespace hintier::test
