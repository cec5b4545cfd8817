// SPDX-License-Identifier: Apache-2.0
//
// Volatile units and the lost map: what is marked, what a drop does, what ends a loss.

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "host/small_map.hpp"

namespace hintier::test {
namespace {

constexpr u32 X = 9; // an extent
constexpr u32 S = 2; // a slot

ht_request read(u32 from, u32 to) {
    return SmallMap::request(HT_REQ_READ, X, from, to);
}
ht_request write(u32 from, u32 to) {
    return SmallMap::request(HT_REQ_WRITE, X, from, to);
}
ht_request discard(u32 from, u32 to) {
    return SmallMap::request(HT_REQ_DISCARD, X, from, to);
}

// ---- marks (R11, R12) -----------------------------------------------------------------------

TEST(Volatile, OnlyDirtyUnitsAreMarked) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.destage(S);
    m.map.epoch = 2;
    m.write(X, S, 16, 32); // units 2 and 3
    ht_mark_volatile(&m.map, S, 0, 16, 3);
    EXPECT_EQ(m.bits(S, HT_VOLATILE), 0xc);
}

TEST(Volatile, NothingIsMarkedThatWasWrittenSinceItsFileWasMapped) {
    SmallMap m;
    m.map.epoch = 5;
    m.write(X, S, 0, 16);
    for (const u64 epoch : {0U, 4U, 5U}) {
        ht_mark_volatile(&m.map, S, 0, 16, epoch);
        EXPECT_EQ(m.bits(S, HT_VOLATILE), 0) << epoch;
    }
    ht_mark_volatile(&m.map, S, 0, 16, 6);
    EXPECT_EQ(m.bits(S, HT_VOLATILE), 0x3);

    m.map.epoch = 6;
    m.write(X, S, 64, 72); // another unit of the same slot
    ht_mark_volatile(&m.map, S, 0, 16, 6);
    EXPECT_EQ(m.bits(S, HT_VOLATILE), 0x3) << "the slot is stamped anew";
}

TEST(Volatile, AWriteOrDiscardClearsTheMark) {
    SmallMap m;
    m.write(X, S, 0, 32);
    ht_mark_volatile(&m.map, S, 0, 16, 2);
    ASSERT_EQ(m.bits(S, HT_VOLATILE), 0xf);
    const ht_request w = write(2, 3); // a part of unit 0
    const ht_answer a = m.begin(w);
    EXPECT_EQ(m.bits(S, HT_VOLATILE), 0xe) << "at once, not when it ends";
    m.end(w, a);
    m.begin(discard(8, 16));
    EXPECT_EQ(m.bits(S, HT_VOLATILE), 0xc);
    m.write(X, S, 8, 24);
    EXPECT_EQ(m.bits(S, HT_VOLATILE), 0x8);
    m.destage(S);
    EXPECT_EQ(m.bits(S, HT_VOLATILE), 0) << "a clean unit needs none";
}

TEST(Volatile, MarksAreNotRecorded) {
    SmallMap m;
    m.write(X, S, 0, 16);
    ht_mark_volatile(&m.map, S, 0, 16, 2);
    ht_record record{};
    m.commit(S, &record);
    SmallMap again;
    ASSERT_EQ(ht_record_load(&again.map, S, &record, HT_TRUST_ALL), HT_OK);
    EXPECT_EQ(again.bits(S, HT_DIRTY), 0x3);
    EXPECT_EQ(again.bits(S, HT_VOLATILE), 0);
}

// ---- drops (R10) ----------------------------------------------------------------------------

TEST(Drop, TakesVolatileUnitsAndNoOthers) {
    SmallMap m;
    m.write(X, S, 0, 32);
    ht_mark_volatile(&m.map, S, 1, 2, 2);
    ht_mark_volatile(&m.map, S, 3, 4, 2);
    ht_dropped d{};
    ht_drop(&m.map, &m.shard, S, 0, 16, ht_lost_take(&m.map), &d);
    EXPECT_TRUE(d.took);
    EXPECT_EQ(d.units, 2U);
    EXPECT_TRUE(d.act & HT_ACT_LOST);
    EXPECT_EQ(m.bits(S, HT_VALID), 0x5);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 0x5);
    EXPECT_EQ(m.lost(X), 0xa);
}

TEST(Drop, KeepsWhatCannotBeRecorded) {
    SmallMap m;
    for (u32 i = 0; i < SmallMap::LOST; i++) {
        m.write(X + i, i, 0, 8);
        EXPECT_EQ(m.drop(i).units, 1U);
    }
    m.write(X + 20, 6, 0, 8);
    ASSERT_EQ(ht_lost_take(&m.map), HT_NIL);
    EXPECT_EQ(m.drop(6).units, 0U);
    EXPECT_EQ(m.bits(6, HT_VALID), 0x1) << "to be destaged";

    u32 act = 0;
    EXPECT_FALSE(ht_done(&m.map, 6, &act)) << "dead, whatever can be recorded now";
    m.write(X + 21, 5, 0, 8);
    EXPECT_TRUE(ht_done(&m.map, 5, &act)) << "nobody called it volatile: home, and soon";

    m.write(X, 7, 8, 16);
    EXPECT_EQ(m.drop(7).units, 1U) << "an extent that has an entry needs none";
    EXPECT_EQ(m.lost(X), 0x3);
}

TEST(Drop, LeavesWhatIsInMotion) {
    SmallMap m;
    m.write(X, S, 0, 32);
    ht_mark_volatile(&m.map, S, 0, 16, 2);
    const ht_request w = write(24, 32);
    const ht_answer a = m.begin(w);
    EXPECT_EQ(m.drop(S).units, 0U) << "a write is in flight";
    m.end(w, a);

    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_EQ(m.drop(S).units, 0U) << "it is being destaged";
    ht_destage_finish(&m.map, &move, false, &clean);

    ht_request home = SmallMap::request(HT_REQ_WRITE, X + SmallMap::EXTENTS / 2, 0, 8);
    home.no_admit = true;
    const ht_answer b = m.begin(home);
    ASSERT_EQ(b.verdict, HT_DO_HOME);
    EXPECT_EQ(m.drop(S).units, 0U) << "R5: that might be its own home";
    m.end(home, b);

    m.map.mode = HINTIER_MODE_BYPASS;
    EXPECT_EQ(m.drop(S).units, 0U) << "it cannot be recorded any more";
    m.map.mode = HINTIER_MODE_WRITEBACK;
    EXPECT_EQ(m.drop(S).units, 4U);
}

TEST(Drop, FreesTheSlotOnceThatIsRecorded) {
    SmallMap m;
    m.write(X, S, 0, 16);
    EXPECT_TRUE(m.drop(S).act & HT_ACT_FREE) << "never recorded: at once";
    EXPECT_EQ(m.lost(X), 0x3);

    m.write(X, S, 0, 16);
    m.commit(S);
    const ht_dropped d = m.drop(S);
    EXPECT_FALSE(d.act & HT_ACT_FREE);
    EXPECT_TRUE(d.act & HT_ACT_RECORD);
    EXPECT_EQ(ht_lookup(&m.map, X), S);
    EXPECT_EQ(m.commit(S), HT_ACT_FREE);
    EXPECT_EQ(m.lost(X), 0x3);
}

// ---- what is lost ---------------------------------------------------------------------------

SmallMap with_lost_units(u16 dropped = 0x3) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.drop(S, 0, 16);
    EXPECT_EQ(m.lost(X), dropped);
    return m;
}

TEST(Lost, ReadsFailExactlyThere) {
    SmallMap m = with_lost_units();
    ht_answer a = m.begin(read(0, 128));
    EXPECT_EQ(a.verdict, HT_DO_LOST);
    EXPECT_EQ(a.to, 16U);
    a = m.begin(read(9, 12));
    EXPECT_EQ(a.verdict, HT_DO_LOST);
    EXPECT_EQ(a.to, 12U);
    EXPECT_EQ(m.begin(read(16, 128)).verdict, HT_DO_HOME);

    m.write(X, S, 64, 72); // a slot without them changes nothing
    EXPECT_EQ(m.begin(read(0, 128)).verdict, HT_DO_LOST);
    a = m.begin(read(16, 128));
    EXPECT_EQ(a.verdict, HT_DO_HOME);
    EXPECT_EQ(a.to, 64U);
    ht_request from_home = read(0, 128);
    from_home.from_home = true;
    EXPECT_EQ(m.begin(from_home).verdict, HT_DO_LOST);
}

TEST(Lost, AReadEndsWhereALostUnitBegins) {
    SmallMap m;
    m.write(X, S, 64, 72);
    m.drop(S, 8, 9);
    const ht_answer a = m.begin(read(0, 128));
    EXPECT_EQ(a.verdict, HT_DO_HOME);
    EXPECT_EQ(a.to, 64U);
}

TEST(Lost, PartsOfUnitsCannotBeWritten) {
    SmallMap m = with_lost_units();
    EXPECT_EQ(m.begin(write(1, 3)).verdict, HT_DO_LOST);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_ZEROES, X, 9, 10)).verdict, HT_DO_LOST);
    EXPECT_EQ(m.begin(write(17, 18)).verdict, HT_DO_HOME) << "its neighbour can";
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_ADMIT) << "a whole one too";
    ht_admit(&m.map, S, X, HT_SLOT_LIVE);
    EXPECT_EQ(m.begin(write(1, 3)).verdict, HT_DO_LOST);
}

TEST(Lost, NoFillBringsItsStaleHomeToFast) {
    SmallMap m = with_lost_units();
    ht_move move{};
    EXPECT_FALSE(ht_fill_begin(&m.map, &m.shard, 5, X, 0, 16, &move));
    EXPECT_FALSE(ht_fill_begin(&m.map, &m.shard, 5, X, 8, 16, &move));
}

TEST(Lost, AWriteToASlotEndsItWhenItsRecordIsDurable) {
    SmallMap m = with_lost_units();
    m.commit_lost();
    m.write(X, S, 0, 8);
    EXPECT_EQ(m.begin(read(0, 8)).verdict, HT_DO_FAST) << "what a slot holds is not lost";
    m.slot(S).readers = 0;
    EXPECT_EQ(m.lost(X), 0x2);
    m.map.lost.changed[0] = m.map.lost.changed[1] = 0;
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    EXPECT_EQ(m.map.lost.changed[0] + m.map.lost.changed[1], 0) << "the disk must still say lost";
    EXPECT_TRUE(ht_record_publish(&m.map, S, &record) & HT_ACT_LOST);
    EXPECT_EQ(m.map.lost.changed[0] + m.map.lost.changed[1], 1);
}

TEST(Lost, WhatIsDroppedAgainBeforeItsRecordIsDurableStaysLost) {
    SmallMap m = with_lost_units();
    m.write(X, S, 0, 8);
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    m.drop(S);
    EXPECT_FALSE(ht_record_publish(&m.map, S, &record) & HT_ACT_LOST);
    EXPECT_EQ(m.lost(X), 0x3);
}

TEST(Lost, ADestageEndsItToo) {
    SmallMap m = with_lost_units();
    m.write(X, S, 0, 8);
    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_TRUE(ht_destage_finish(&m.map, &move, true, &clean) & HT_ACT_LOST);
    u32 act = 0;
    ASSERT_TRUE(ht_forget(&m.map, S, &act));
    EXPECT_EQ(m.lost(X), 0x2) << "the other one is still lost";
    EXPECT_EQ(m.begin(read(0, 8)).verdict, HT_DO_HOME);
}

TEST(Lost, AWriteHomeEndsItWhenItHasSucceeded) {
    SmallMap m = with_lost_units();
    ht_request w = write(0, 8);
    w.no_admit = true;
    ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_HOME);
    EXPECT_EQ(m.begin(read(0, 8)).verdict, HT_DO_LOST) << "it is in flight";
    EXPECT_EQ(m.end(w, a, false), 0U);
    EXPECT_EQ(m.begin(read(0, 8)).verdict, HT_DO_LOST) << "it has failed";
    a = m.begin(w);
    EXPECT_TRUE(m.end(w, a) & HT_ACT_LOST);
    EXPECT_EQ(m.begin(read(0, 8)).verdict, HT_DO_HOME);
    EXPECT_EQ(m.lost(X), 0x2);
}

TEST(Lost, ADiscardEndsItAtOnce) {
    SmallMap m = with_lost_units();
    EXPECT_TRUE(m.begin(discard(8, 16)).act & HT_ACT_LOST);
    EXPECT_EQ(m.lost(X), 0x1);
    EXPECT_EQ(m.begin(write(9, 10)).verdict, HT_DO_HOME);
}

TEST(Lost, WithFastGoneItStaysAndCannotBeWritten) {
    SmallMap m = with_lost_units();
    m.map.mode = HINTIER_MODE_BYPASS;
    EXPECT_EQ(m.begin(read(0, 16)).verdict, HT_DO_LOST);
    const ht_answer a = m.begin(write(0, 32));
    EXPECT_EQ(a.verdict, HT_DO_LOST) << "R14: on disk it would stay lost";
    EXPECT_EQ(a.to, 16U);
    EXPECT_EQ(m.begin(write(16, 32)).verdict, HT_DO_HOME);
    m.begin(discard(0, 16));
    EXPECT_EQ(m.lost(X), 0x3);
}

// ---- on disk --------------------------------------------------------------------------------

TEST(LostMap, AnEntryIsFreeOnceItIsEmptyOnDisk) {
    SmallMap m = with_lost_units();
    m.commit_lost();
    const u32 entry = ht_lost_find(&m.map, X);
    ASSERT_NE(entry, HT_NIL);
    EXPECT_EQ(m.map.lost.used, 1U);
    m.begin(discard(0, 16));
    EXPECT_EQ(ht_lost_find(&m.map, X), entry) << "on disk it still has it";

    ht_lost_record record{};
    ht_lost_gather(&m.map, entry, &record);
    EXPECT_FALSE(record.used);
    m.write(X, S, 0, 8);
    m.drop(S);
    EXPECT_FALSE(ht_lost_publish(&m.map, entry)) << "it has got a unit again";
    m.begin(discard(0, 16));
    EXPECT_FALSE(ht_lost_publish(&m.map, entry)) << "and what is durable may say so";
    ht_lost_gather(&m.map, entry, &record);
    EXPECT_TRUE(ht_lost_publish(&m.map, entry));
    ht_lost_give(&m.map, entry);
    EXPECT_EQ(m.map.lost.used, 0U);
    EXPECT_EQ(ht_lost_find(&m.map, X), HT_NIL);
}

TEST(LostMap, AFailedWriteIsTriedAgain) {
    SmallMap m = with_lost_units();
    const u32 entry = ht_lost_find(&m.map, X);
    ht_lost_record record{};
    m.map.lost.changed[ht_lost_sector(&m.map, entry)] = 0;
    ht_lost_gather(&m.map, entry, &record);
    ht_lost_revert(&m.map, entry);
    EXPECT_EQ(m.map.lost.changed[ht_lost_sector(&m.map, entry)], 1);
    m.begin(discard(0, 16));
    EXPECT_FALSE(ht_lost_publish(&m.map, entry));
}

class Reloaded : public testing::Test {
protected:
    static ht_lost_record lost(u32 extent, u16 units) {
        ht_lost_record r{};
        r.used = true;
        r.extent = extent;
        r.lost[0] = units;
        return r;
    }
    static ht_record record(u16 valid, u16 dirty) {
        ht_record r{};
        r.used = true;
        r.extent = X;
        r.valid[0] = valid;
        r.dirty[0] = dirty;
        return r;
    }
    // What is lost of X after these two were found on disk.
    u16 load(const ht_record& r, const ht_lost_record& l, ht_trust trust) {
        ht_lost_reset(&m.map);
        EXPECT_EQ(ht_record_load(&m.map, S, &r, trust), HT_OK);
        EXPECT_EQ(ht_lost_load(&m.map, 0, &l), HT_OK);
        return m.lost(X);
    }
    SmallMap m;
};

TEST_F(Reloaded, WhatARecordClaimsIsNotLost) {
    EXPECT_EQ(load(record(0x7, 0x1), lost(X, 0xf), HT_TRUST_ALL), 0x8);
    // Its claims may go: the map must not say lost for ever.
    EXPECT_EQ(m.map.lost.bits[0], 0x8);
    EXPECT_EQ(m.map.lost.changed[0], 1);
}

TEST_F(Reloaded, VoidCleanUnitsAreAtHome) {
    EXPECT_EQ(load(record(0x7, 0x1), lost(X, 0xf), HT_TRUST_DIRTY), 0x8);
}

TEST_F(Reloaded, DirtyUnitsThatAreGivenUpAreLostAgain) {
    EXPECT_EQ(load(record(0x7, 0x1), lost(X, 0xf), HT_TRUST_NONE), 0x9);
}

TEST_F(Reloaded, ImpossibleEntriesAreRefused) {
    ht_lost_reset(&m.map);
    ht_lost_record l = lost(X, 1);
    EXPECT_EQ(ht_lost_load(&m.map, 0, &l), HT_OK);
    EXPECT_EQ(ht_lost_load(&m.map, 1, &l), HT_REFUSE_LOST) << "twice";
    l.extent = SmallMap::EXTENTS;
    EXPECT_EQ(ht_lost_load(&m.map, 2, &l), HT_REFUSE_LOST);
    l = {};
    EXPECT_EQ(ht_lost_load(&m.map, 3, &l), HT_OK);
    EXPECT_EQ(ht_lost_take(&m.map), 3U);
}

} // namespace
} // namespace hintier::test
