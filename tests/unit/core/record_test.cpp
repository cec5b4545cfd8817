// SPDX-License-Identifier: Apache-2.0
//
// Transfers and records: what a slot says on disk at each step of a destage, a fill, a commit.

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "host/small_map.hpp"

namespace hintier::test {
namespace {

constexpr u32 X = 9; // an extent
constexpr u32 S = 2; // a slot

ht_request write(u32 from, u32 to) {
    return SmallMap::request(HT_REQ_WRITE, X, from, to);
}

TEST(Destage, MakesItsUnitsCleanAndAsksForAFlushOfBulk) {
    SmallMap m;
    m.write(X, S, 0, 16);
    ht_record record{};
    EXPECT_FALSE(ht_record_gather(&m.map, S, true, &record) & HT_GATHER_BULK);
    EXPECT_EQ(record.dirty[0], 0x3);
    ht_record_publish(&m.map, S, &record);

    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_EQ(move.extent, X);
    EXPECT_EQ(move.count, 2U);
    EXPECT_FALSE(ht_destage_begin(&m.map, &m.shard, S, &move)) << "one at a time";
    EXPECT_EQ(ht_destage_finish(&m.map, &move, true, &clean), HT_ACT_RECORD);
    EXPECT_TRUE(clean);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 0);
    EXPECT_TRUE(ht_record_gather(&m.map, S, true, &record) & HT_GATHER_BULK) << "R2";
    EXPECT_EQ(record.valid[0], 0x3);
    EXPECT_EQ(record.dirty[0], 0);
}

// C7: intents of a slot go on although bulk is dead, and nothing is called clean that may be lost.
TEST(Destage, IsNotRecordedWithoutBulk) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.commit(S);
    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    ht_destage_finish(&m.map, &move, true, &clean);
    ASSERT_TRUE(clean);
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    ht_record_revert(&m.map, S);
    EXPECT_EQ(ht_record_gather(&m.map, S, false, &record), HT_GATHER_CHANGED | HT_GATHER_AGAIN);
    EXPECT_EQ(record.dirty[0], 0x3);
    ht_record_publish(&m.map, S, &record);
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_FAST) << "its record calls it dirty";
    EXPECT_TRUE(ht_record_gather(&m.map, S, true, &record) & HT_GATHER_BULK) << "R2";
}

TEST(Destage, OfWhatHasLeftItsSlotKeepsTheOldRecordWithoutBulk) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.commit(S);
    ht_move move{};
    bool clean = false;
    u32 act = 0;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    ht_destage_finish(&m.map, &move, true, &clean);
    ASSERT_TRUE(ht_forget(&m.map, S, &act));
    ht_record record{};
    EXPECT_EQ(ht_record_gather(&m.map, S, false, &record), HT_GATHER_HELD);
    ht_record_revert(&m.map, S);
    EXPECT_TRUE(ht_record_gather(&m.map, S, true, &record) & HT_GATHER_BULK);
    EXPECT_EQ(ht_record_publish(&m.map, S, &record), HT_ACT_FREE);
}

TEST(Destage, LetsGoOfWhatItsOwnerIsDoneWith) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.commit(S);
    m.map.slots[S].flags |= HT_F_DONE;
    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_TRUE(ht_destage_finish(&m.map, &move, true, &clean) & HT_ACT_LIST);
    EXPECT_TRUE(clean);
    EXPECT_EQ(m.bits(S, HT_VALID), 0);
    EXPECT_EQ(m.commit(S), HT_ACT_FREE);
}

TEST(Destage, LeavesDirtyWhatFailedOrWasWrittenMeanwhile) {
    for (const int what : {0, 1, 2, 3}) {
        SmallMap m;
        m.write(X, S, 0, 16);
        const ht_request w = write(0, 8);
        ht_answer a{};
        ht_move move{};
        bool clean = true;
        if (what == 3) a = m.begin(w); // begun before, ended within
        ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
        if (what == 1) a = m.begin(w); // still in flight
        if (what == 2) m.write(X, S, 0, 8);
        if (what == 3) m.end(w, a);
        ht_destage_finish(&m.map, &move, what != 0, &clean);
        EXPECT_FALSE(clean) << what;
        EXPECT_EQ(m.bits(S, HT_DIRTY), 0x3) << what;
    }
}

TEST(Destage, OfADiscardedExtentLeavesNothing) {
    SmallMap m;
    m.write(X, S, 0, 16);
    ht_move move{};
    bool clean = true;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    m.begin(SmallMap::request(HT_REQ_DISCARD, X, 0, 128));
    EXPECT_EQ(ht_lookup(&m.map, X), S) << "the transfer still uses it";
    EXPECT_EQ(ht_destage_finish(&m.map, &move, true, &clean), HT_ACT_RECORD);
    EXPECT_FALSE(clean);
    ht_record record{};
    EXPECT_TRUE(ht_record_gather(&m.map, S, true, &record) & HT_GATHER_BULK) << "R9: it may be all";
    EXPECT_EQ(ht_record_publish(&m.map, S, &record), HT_ACT_FREE);
}

// R5
TEST(Destage, IsTheOnlyWriterOfItsHome) {
    SmallMap m;
    m.write(X, S, 0, 16);
    const ht_request partial = write(66, 68); // of a unit that only home knows
    ht_answer a = m.begin(partial);
    ASSERT_EQ(a.verdict, HT_DO_HOME);
    ht_move move{};
    EXPECT_FALSE(ht_destage_begin(&m.map, &m.shard, S, &move)) << "home is being written";
    m.end(partial, a);
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_EQ(m.begin(partial).verdict, HT_DO_WAIT);
    bool clean = false;
    ht_destage_finish(&m.map, &move, true, &clean);
    EXPECT_EQ(m.begin(partial).verdict, HT_DO_HOME);
}

// ---- discards that go down to bulk ----------------------------------------------------------

ht_request passing_discard() {
    ht_request r = SmallMap::request(HT_REQ_DISCARD, X, 0, 128);
    r.pass = true;
    return r;
}

TEST(Discard, TakesHomesThatNoRecordClaims) {
    SmallMap m;
    EXPECT_EQ(m.begin(passing_discard()).verdict, HT_DO_HOME) << "no slot";
    m.map.mode = HINTIER_MODE_FAIL;
    EXPECT_EQ(m.begin(passing_discard()).verdict, HT_DO_DROP) << "R14";
    m.map.mode = HINTIER_MODE_WRITEBACK;
    m.write(X, S, 0, 16);
    const ht_answer a = m.begin(passing_discard());
    EXPECT_EQ(a.verdict, HT_DO_HOME) << "a slot without a record";
    EXPECT_EQ(a.act & HT_ACT_FREE, HT_ACT_FREE);
}

// R5
TEST(Discard, HoldsOffTransfersWhileItIsInFlight) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.write(X + 2, S + 2, 0, 16);
    ht_hold far{X + 3, X + 9, nullptr, nullptr}, near{X, X + 1, nullptr, nullptr};
    ht_move move{};
    ht_hold_add(&m.map, &far);
    ht_hold_add(&m.map, &near);
    EXPECT_FALSE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_FALSE(ht_fill_begin(&m.map, &m.shard, S + 1, X + 1, 0, 16, &move));
    EXPECT_TRUE(ht_destage_begin(&m.map, &m.shard, S + 2, &move)) << "between the two";
    ht_hold_remove(&far);
    EXPECT_TRUE(ht_held(&m.map, X + 1));
    EXPECT_FALSE(ht_held(&m.map, X + 9));
    ht_hold_remove(&near);
    EXPECT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
}

// R3
TEST(Trim, WaitsUntilNoRecordClaimsTheExtent) {
    SmallMap m;
    m.write(X, S, 0, 128);
    m.commit(S);
    EXPECT_EQ(m.begin(passing_discard()).verdict, HT_DO_DROP);
    EXPECT_EQ(m.slot(S).state, HT_SLOT_TRIM);
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    EXPECT_FALSE(record.used);
    ht_record_revert(&m.map, S); // that commit failed
    EXPECT_EQ(m.slot(S).state, HT_SLOT_TRIM);
    EXPECT_EQ(m.commit(S), HT_ACT_TRIM);

    const ht_request partial = write(2, 4);
    EXPECT_EQ(m.begin(partial).verdict, HT_DO_WAIT) << "R5: the trim writes this home";
    EXPECT_EQ(ht_trim_finish(&m.map, S), HT_ACT_FREE);
    EXPECT_EQ(m.begin(partial).verdict, HT_DO_HOME);
}

TEST(Trim, IsOffWhenTheExtentIsWrittenAgain) {
    SmallMap m;
    m.write(X, S, 0, 128);
    m.commit(S);
    m.begin(passing_discard());
    m.write(X, S, 0, 8);
    EXPECT_EQ(m.slot(S).state, HT_SLOT_LIVE);
    EXPECT_EQ(m.commit(S), 0U);
}

TEST(Trim, LeavesWhatIsWrittenMeanwhile) {
    SmallMap m;
    m.write(X, S, 0, 128);
    m.commit(S);
    m.begin(passing_discard());
    EXPECT_EQ(m.commit(S), HT_ACT_TRIM);
    m.write(X, S, 0, 8);
    EXPECT_EQ(ht_trim_finish(&m.map, S), 0U);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 0x1);
}

TEST(Trim, IsForWholeExtents) {
    SmallMap m;
    m.write(X, S, 0, 128);
    m.commit(S);
    ht_request part = passing_discard();
    part.to = 64;
    EXPECT_EQ(m.begin(part).verdict, HT_DO_DROP);
    EXPECT_EQ(m.slot(S).state, HT_SLOT_LIVE);
}

TEST(Moves, RunOverTheUnitsInOrder) {
    ht_geometry geo{};
    geo.units = 16;
    geo.words = 1;
    ht_move move{};
    move.units[0] = 0xc035; // 0, 2, 4-5, 14-15
    std::vector<std::pair<u32, u32>> runs;
    u32 unit = 0, end = 0;
    for (; ht_move_run(&geo, &move, HT_MOVE_UNITS, &unit, &end); unit = end)
        runs.emplace_back(unit, end);
    EXPECT_EQ(runs, (std::vector<std::pair<u32, u32>>{{0, 1}, {2, 3}, {4, 6}, {14, 16}}));
}

// S7: beside a dirty unit the rest of its indirection unit goes home, as it is there.
TEST(Destage, PadsIndirectionUnits) {
    SmallMap m;
    m.map.iu = 4;
    m.write(X, S, 8, 16);    // unit 1
    m.write(X, S, 32, 64);   // units 4 to 7
    m.write(X, S, 112, 128); // units 14 and 15
    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_EQ(move.units[0], 0xc0f2);
    EXPECT_EQ(move.pad[0], 0x300d);
    EXPECT_EQ(move.count, 7U);
    EXPECT_EQ(move.padding, 5U);
    u32 unit = 0, end = 0;
    std::vector<std::pair<u32, u32>> home;
    for (; ht_move_run(&m.map.geo, &move, HT_MOVE_HOME, &unit, &end); unit = end)
        home.emplace_back(unit, end);
    EXPECT_EQ(home, (std::vector<std::pair<u32, u32>>{{0, 8}, {12, 16}}));
    ht_destage_finish(&m.map, &move, true, &clean);
    EXPECT_TRUE(clean);
    EXPECT_EQ(m.bits(S, HT_VALID), 0xc0f2) << "the pad has not come to the slot";

    m.write(X, S, 0, 8);
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    ht_move_unpad(&move);
    unit = 0;
    ASSERT_TRUE(ht_move_run(&m.map.geo, &move, HT_MOVE_HOME, &unit, &end));
    EXPECT_EQ(end, 1U);
}

TEST(Fill, CoversItsUnitsAloneAndIsRecordedClean) {
    SmallMap m;
    ht_move move{};
    bool valid = false;
    ASSERT_TRUE(ht_fill_begin(&m.map, &m.shard, S, X, 4, 7, &move));
    EXPECT_FALSE(ht_fill_begin(&m.map, &m.shard, S + 1, X, 0, 1, &move)) << "it has a slot";
    EXPECT_EQ(move.count, 3U);
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    EXPECT_FALSE(record.used) << "nothing is there yet";
    ht_record_publish(&m.map, S, &record);
    EXPECT_EQ(ht_lookup(&m.map, X), S) << "a commit leaves it alone";
    EXPECT_EQ(ht_fill_finish(&m.map, &move, true, &valid), HT_ACT_RECORD);
    EXPECT_TRUE(valid);
    EXPECT_EQ(m.bits(S, HT_VALID), 0x70);
    EXPECT_TRUE(ht_record_gather(&m.map, S, true, &record) & HT_GATHER_BULK) << "R2";
    EXPECT_EQ(record.dirty[0], 0);
}

TEST(Fill, ThatFailedGoesBackToThePool) {
    SmallMap m;
    ht_move move{};
    bool valid = true;
    ASSERT_TRUE(ht_fill_begin(&m.map, &m.shard, S, X, 0, 16, &move));
    EXPECT_EQ(ht_fill_finish(&m.map, &move, false, &valid), HT_ACT_FREE);
    EXPECT_FALSE(valid);
}

// R4: which units a write in flight covers nobody counts, so no unit turns clean under one.
TEST(Record, CallsNothingCleanThatMayBeWrittenNow) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.commit(S);
    ht_move move{};
    bool clean = false;
    ht_destage_begin(&m.map, &m.shard, S, &move);
    ht_destage_finish(&m.map, &move, true, &clean);
    ASSERT_TRUE(clean);
    const ht_request w = write(0, 8);
    const ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_FAST) << "no record calls it clean yet";
    ht_record record{};
    EXPECT_TRUE(ht_record_gather(&m.map, S, true, &record) & HT_GATHER_AGAIN);
    EXPECT_EQ(record.dirty[0], 0x3);
    ht_record_publish(&m.map, S, &record);
    m.end(w, a);
    ht_record_gather(&m.map, S, true, &record);
    EXPECT_EQ(record.dirty[0], 0x1);
}

TEST(Record, WhatChangesDuringACommitIsNotPartOfIt) {
    SmallMap m;
    m.write(X, S, 0, 8);
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    m.begin(SmallMap::request(HT_REQ_DISCARD, X, 0, 128));
    EXPECT_EQ(ht_record_publish(&m.map, S, &record), 0U) << "the disk says it is used";
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 1, 2)).verdict, HT_DO_COMMIT);
    EXPECT_EQ(m.commit(S), HT_ACT_FREE);
}

TEST(Record, AFailedCommitIsRepeatedInFull) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.destage(S);
    m.begin(write(0, 8)); // intent
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    ht_record_revert(&m.map, S);
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_COMMIT) << "the intent is not durable";
    EXPECT_EQ(ht_record_gather(&m.map, S, true, &record) & (HT_GATHER_CHANGED | HT_GATHER_BULK),
              HT_GATHER_CHANGED | HT_GATHER_BULK);
    ht_record_publish(&m.map, S, &record);
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_FAST);
}

ht_record recorded(u32 extent) {
    ht_record r{};
    r.used = true;
    r.klass = HINTIER_CLASS_KV;
    r.group = 3;
    r.extent = extent;
    r.valid[0] = 0x00ff;
    r.dirty[0] = 0x000f;
    return r;
}

TEST(Load, TakesAsMuchAsItMayTrust) {
    struct Case {
        ht_trust trust;
        u16 valid, dirty;
    };
    for (const Case& c : {Case{HT_TRUST_ALL, 0xff, 0xf}, Case{HT_TRUST_DIRTY, 0xf, 0xf},
                          Case{HT_TRUST_NONE, 0, 0}}) {
        SmallMap m;
        const ht_record r = recorded(X);
        ASSERT_EQ(ht_record_load(&m.map, S, &r, c.trust), HT_OK);
        EXPECT_EQ(ht_lookup(&m.map, X), S);
        EXPECT_EQ(m.bits(S, HT_VALID), c.valid);
        EXPECT_EQ(m.bits(S, HT_DIRTY), c.dirty);
        const u8 verdict = m.begin(write(64, 66)).verdict; // of unit 8, which only home knows
        EXPECT_EQ(verdict, c.trust == HT_TRUST_ALL ? HT_DO_HOME : HT_DO_COMMIT)
            << "void units are on disk until a commit";
    }
}

TEST(Load, RefusesWhatCannotBe) {
    SmallMap m;
    ht_record r = recorded(X);
    ASSERT_EQ(ht_record_load(&m.map, S, &r, HT_TRUST_ALL), HT_OK);
    EXPECT_EQ(ht_record_load(&m.map, S + 1, &r, HT_TRUST_ALL), HT_REFUSE_RECORD) << "twice";
    r.extent = SmallMap::EXTENTS;
    EXPECT_EQ(ht_record_load(&m.map, S + 1, &r, HT_TRUST_ALL), HT_REFUSE_RECORD);
    r = recorded(X + 1);
    r.used = false;
    EXPECT_EQ(ht_record_load(&m.map, S + 1, &r, HT_TRUST_ALL), HT_OK);
    EXPECT_EQ(ht_lookup(&m.map, X + 1), HT_NIL) << "a free one is nothing";
}

} // namespace
} // namespace hintier::test
