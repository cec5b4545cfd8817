// SPDX-License-Identifier: Apache-2.0
//
// The engine's choices: which slot is free, what is destaged or evicted next, and when.

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "host/small_map.hpp"

namespace hintier::test {
namespace {

constexpr u32 N = SmallMap::SLOTS;

// Slots 0 … on these lists, in this order; the rest is free.
SmallMap with(u32 dirty, u32 clean) {
    SmallMap m;
    for (u32 slot = 0; slot < N; slot++) {
        m.slot(slot).extent = slot < dirty + clean ? slot : HT_NIL;
        ht_engine_append(&m.engine, slot,
                         slot < dirty           ? HT_LIST_DIRTY
                         : slot < dirty + clean ? HT_LIST_CLEAN
                                                : HT_LIST_FREE);
    }
    m.engine.tune.spread = 0;
    m.engine.tune.reserve = 125; // one slot of eight
    return m;
}

ht_work next(SmallMap& m, u32* slot, ht_situation now = {}) {
    *slot = HT_NIL;
    return ht_engine_next(&m.engine, &now, slot);
}

TEST(Engine, ListsKeepOrderAndCount) {
    SmallMap m;
    ht_engine& e = m.engine;
    for (const u32 slot : {3U, 1U, 4U, 0U})
        ht_engine_append(&e, slot, HT_LIST_CLEAN);
    ht_engine_remove(&e, 4); // in the middle
    ht_engine_remove(&e, 3); // the head
    ht_engine_remove(&e, 0); // the tail
    EXPECT_EQ(e.head[HT_LIST_CLEAN], 1U);
    EXPECT_EQ(e.tail[HT_LIST_CLEAN], 1U);
    EXPECT_EQ(e.count[HT_LIST_CLEAN], 1U);
    ht_engine_remove(&e, 1);
    EXPECT_EQ(e.head[HT_LIST_CLEAN], HT_NIL);
    EXPECT_EQ(e.tail[HT_LIST_CLEAN], HT_NIL);
    ht_engine_remove(&e, 1); // on no list: nothing happens
    EXPECT_EQ(e.count[HT_LIST_CLEAN], 0U);
    ht_engine_move(&e, 1, HT_LIST_DIRTY); // its owner places it
    EXPECT_EQ(e.count[HT_LIST_DIRTY], 0U);
}

TEST(Engine, FreeSlotsLeaveInTheOrderTheyCame) {
    SmallMap m = with(0, 0);
    for (u32 slot = 0; slot < N; slot++)
        EXPECT_EQ(ht_engine_take(&m.engine, false), slot);
    EXPECT_EQ(ht_engine_take(&m.engine, false), HT_NIL);
}

TEST(Engine, FreeSlotsLeaveSideBySide) {
    SmallMap m = with(0, 0);
    std::vector<u32> freed;
    for (u32 slot = 0; slot < N; slot++)
        ASSERT_EQ(ht_engine_take(&m.engine, false), slot);
    for (const u32 slot : {5U, 2U, 4U, 3U, 0U})
        ht_engine_append(&m.engine, slot, HT_LIST_FREE);
    for (u32 slot; (slot = ht_engine_take(&m.engine, false)) != HT_NIL;)
        freed.push_back(slot);
    EXPECT_EQ(freed, (std::vector<u32>{5, 2, 3, 4, 0})) << "the oldest, and what is free behind it";
}

TEST(Engine, ThoseWhoCanWaitLeaveTheReserve) {
    SmallMap m = with(0, 0);
    const u32 reserve = ht_engine_reserve(&m.engine);
    ASSERT_GE(reserve, 1U);
    u32 taken = 0;
    while (ht_engine_take(&m.engine, true) != HT_NIL)
        taken++;
    EXPECT_EQ(taken, N - reserve);
    EXPECT_NE(ht_engine_take(&m.engine, false), HT_NIL) << "a write gets it";
}

TEST(Engine, DestagesBetweenItsMarks) {
    SmallMap m = with(6, 0);
    m.engine.tune.high = 70; // of 8 slots: above 5.6
    m.engine.tune.low = 40;  // down to 3.2
    u32 slot, destaged = 0;
    while (next(m, &slot) == HT_WORK_SHED) {
        EXPECT_EQ(slot, destaged) << "oldest first";
        destaged++;
        ht_engine_append(&m.engine, slot, HT_LIST_CLEAN);
    }
    EXPECT_EQ(destaged, 3U);
    EXPECT_EQ(next(m, &slot), HT_WORK_NONE) << "below the high mark nothing starts";
}

TEST(Engine, DropsOnlyUnderPressureAndWhenAllowed) {
    SmallMap m = with(7, 0);
    m.engine.tune.high = 70;
    u32 slot;
    EXPECT_EQ(next(m, &slot), HT_WORK_SHED);
    ht_engine_append(&m.engine, slot, HT_LIST_DIRTY);
    ht_situation now{};
    now.drain = true;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_DESTAGE) << "whoever flushes wants to keep it";
    ht_engine_append(&m.engine, slot, HT_LIST_DIRTY);
    m.engine.tune.drop = 0;
    EXPECT_EQ(next(m, &slot), HT_WORK_DESTAGE);
}

TEST(Engine, DrainsToTheLast) {
    SmallMap m = with(3, 0);
    u32 slot;
    ht_situation now{};
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE);
    now.drain = true;
    for (u32 i = 0; i < 3; i++) {
        EXPECT_EQ(next(m, &slot, now), HT_WORK_DESTAGE);
        ht_engine_append(&m.engine, slot, HT_LIST_CLEAN);
    }
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE);
}

TEST(Engine, WindowsBoundDestagesAndReadsNarrowThem) {
    SmallMap m = with(5, 0);
    u32 slot;
    ht_situation now{};
    now.drain = true;
    now.destaging = m.engine.tune.window;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE);
    now.destaging = m.engine.tune.window_busy;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_DESTAGE);
    ht_engine_append(&m.engine, slot, HT_LIST_DIRTY);
    now.reads_wait = true;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE);
    now = {};
    now.drain = now.full = true;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE) << "no transfer can start";
}

// A burst of reads began at tick 100 of a clock at which nobody had read before.
SmallMap in_a_burst(u32 dirty, ht_situation* ret) {
    SmallMap m = with(dirty, 0);
    m.engine.tune.high = 50;
    m.engine.tune.low = 40;
    u32 slot;
    *ret = {};
    ret->quiet = 20;
    ret->tick = 50;
    ht_lull_look(&m.engine.lull, ret->quiet, ret->read_at, ret->tick);
    ret->tick = ret->read_at = 100;
    EXPECT_EQ(next(m, &slot, *ret), HT_WORK_WAIT);
    return m;
}

TEST(Engine, DestagesInLulls) {
    ht_situation now{};
    SmallMap m = in_a_burst(5, &now);
    u32 slot;
    now.tick += now.quiet - 1;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_WAIT);
    now.tick++;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_SHED) << "or a destage";
    ht_engine_append(&m.engine, slot, HT_LIST_CLEAN);
    now.read_at = now.tick;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_WAIT);
    for (u32 i = 0; i < 101 * now.quiet; i++) {
        now.read_at = ++now.tick;
        ht_lull_look(&m.engine.lull, now.quiet, now.read_at, now.tick);
    }
    EXPECT_EQ(next(m, &slot, now), HT_WORK_SHED) << "readers that never pause";
}

TEST(Engine, DestagesInBurstsWhenItMust) {
    ht_situation now{};
    u32 slot;
    SmallMap full = in_a_burst(7, &now);
    ht_engine_append(&full.engine, ht_engine_take(&full.engine, false), HT_LIST_DIRTY);
    EXPECT_EQ(next(full, &slot, now), HT_WORK_SHED) << "no slot is free";

    SmallMap drained = in_a_burst(5, &now);
    now.drain = true;
    EXPECT_EQ(next(drained, &slot, now), HT_WORK_DESTAGE) << "somebody waits for it";

    SmallMap idle = with(1, 0);
    now = {};
    now.quiet = 20;
    now.tick = now.read_at = 100;
    EXPECT_EQ(next(idle, &slot, now), HT_WORK_NONE) << "there is nothing to wait for";
}

TEST(Engine, KeepsRoomForTheNextBurst) {
    SmallMap m = with(6, 0);
    m.engine.tune.high = 99;
    m.engine.tune.low = 98;
    ht_situation now{};
    u32 slot;
    now.quiet = 20;
    now.tick = 1000;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE);
    m.engine.lull.room = 2;
    m.engine.lull.room_at = now.tick;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_SHED) << "one is the reserve, two are kept";
    ht_engine_append(&m.engine, slot, HT_LIST_CLEAN);
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE);
    m.engine.lull.room = 1000;
    EXPECT_EQ(next(m, &slot, now), HT_WORK_NONE) << "a quarter at most";
}

TEST(Engine, EvictsOnlyWhenThePoolIsShort) {
    SmallMap roomy = with(0, 3), tight = with(0, N);
    u32 slot;
    EXPECT_EQ(next(roomy, &slot), HT_WORK_NONE);
    EXPECT_EQ(next(tight, &slot), HT_WORK_EVICT);
    EXPECT_EQ(slot, 0U);
}

TEST(Engine, WhatWasReadGetsASecondChance) {
    SmallMap m = with(0, N);
    m.slot(0).touched = m.slot(1).touched = 1;
    u32 slot;
    EXPECT_EQ(next(m, &slot), HT_WORK_EVICT);
    EXPECT_EQ(slot, 2U);
    EXPECT_EQ(m.slot(0).touched, 0) << "a second, not a third";

    SmallMap all = with(0, N);
    for (u32 i = 0; i < N; i++)
        all.slot(i).touched = 1;
    EXPECT_EQ(next(all, &slot), HT_WORK_EVICT) << "there is always one";
}

TEST(Engine, WhatItsOwnerIsDoneWithGoesFirst) {
    SmallMap m = with(5, 0);
    u32 slot;
    ht_engine_hurry(&m.engine, 3);
    EXPECT_EQ(next(m, &slot), HT_WORK_DESTAGE);
    EXPECT_EQ(slot, 3U);
    ht_engine_append(&m.engine, slot, HT_LIST_CLEAN);
    EXPECT_EQ(next(m, &slot), HT_WORK_NONE) << "the others are in no hurry";
    ht_engine_hurry(&m.engine, 3);
    EXPECT_EQ(next(m, &slot), HT_WORK_NONE) << "a clean one needs no destage";

    ht_engine_hurry(&m.engine, 1);
    ht_engine_hurry(&m.engine, 1); // said twice
    ht_engine_hurry(&m.engine, 2);
    ht_engine_move(&m.engine, 2, HT_LIST_EMPTY); // and discarded
    EXPECT_EQ(next(m, &slot), HT_WORK_DESTAGE);
    EXPECT_EQ(slot, 1U);
    EXPECT_EQ(next(m, &slot), HT_WORK_NONE) << "nobody is done with the others";
}

// Five eighths of old runs go home early; each old one is looked at once.
TEST(Engine, SpreadsOldDirtySlotsOverBothDevices) {
    SmallMap m = with(N - 1, 0);
    m.engine.tune.high = 99;
    m.engine.tune.low = 98;
    m.engine.tune.reserve = 1;
    m.engine.tune.spread = 25; // the two youngest stay as they are
    std::set<u32> destaged;
    u32 slot;
    while (next(m, &slot) == HT_WORK_DESTAGE) {
        destaged.insert(slot);
        ht_engine_append(&m.engine, slot, HT_LIST_CLEAN);
    }
    for (u32 i = 0; i < N - 1; i++)
        EXPECT_EQ(destaged.count(i),
                  i < N - 3 && ht_hash(i >> m.engine.run_shift) >> 29 < 5 ? 1U : 0U)
            << i;
    EXPECT_FALSE(destaged.empty());
    EXPECT_EQ(ht_engine_dirty(&m.engine), N - 1 - destaged.size());
}

// Over bulk's budget only what makes room goes home.
TEST(Engine, SpreadsNothingOverBulksBudget) {
    SmallMap m = with(N - 1, 0);
    m.engine.tune.high = 99;
    m.engine.tune.low = 98;
    m.engine.tune.reserve = 1;
    m.engine.tune.spread = 25;
    ht_situation now{};
    u32 slot;
    now.bulk_over = true;
    EXPECT_EQ(ht_engine_next(&m.engine, &now, &slot), HT_WORK_NONE);
    now.drain = true;
    EXPECT_EQ(ht_engine_next(&m.engine, &now, &slot), HT_WORK_DESTAGE);
    ht_engine_append(&m.engine, slot, HT_LIST_DIRTY);
    now.drain = false;
    m.engine.tune.high = 50;
    EXPECT_EQ(ht_engine_next(&m.engine, &now, &slot), HT_WORK_SHED) << "or a destage";
}

TEST(Tunables, AreFoundByNameAndBounded) {
    ht_tunables tune{};
    ht_tunables_init(&tune);
    EXPECT_EQ(ht_tunable_set(&tune, "no such", 1), -ENOENT);
    EXPECT_EQ(ht_tunable_set(&tune, "", 1), -ENOENT);
    std::set<std::string> seen;
    const struct ht_tunable* t;
    for (u32 i = 0; (t = ht_tunable(i)); i++) {
        EXPECT_TRUE(seen.insert(t->key).second) << t->key;
        const u32 initial = ht_tunable_get(&tune, t);
        EXPECT_GE(initial, t->min) << t->key;
        EXPECT_LE(initial, t->max) << t->key;
        EXPECT_EQ(ht_tunable_set(&tune, t->key, t->max), 0) << t->key;
        EXPECT_EQ(ht_tunable_get(&tune, t), t->max) << t->key;
        EXPECT_EQ(ht_tunable_set(&tune, t->key, u64{t->max} + 1), -ERANGE) << t->key;
        EXPECT_EQ(ht_tunable_set(&tune, t->key, (1ULL << 32) + t->min), -ERANGE) << t->key;
        if (t->min) {
            EXPECT_EQ(ht_tunable_set(&tune, t->key, t->min - 1), -ERANGE) << t->key;
        }
        EXPECT_EQ(ht_tunable_get(&tune, t), t->max) << "a refused value changes nothing";
    }
    EXPECT_GE(seen.size(), 9U);
}

} // namespace
} // namespace hintier::test
