// SPDX-License-Identifier: Apache-2.0
//
// What a request may do in each state of its extent: one case a test.

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

TEST(Shard, WithoutASlotReadsGoHomeAndWholeUnitsAreAdmitted) {
    SmallMap m;
    ht_answer a = m.begin(read(0, 128));
    EXPECT_EQ(a.verdict, HT_DO_HOME);
    EXPECT_EQ(a.slot, HT_NIL);
    EXPECT_EQ(a.to, 128U);
    EXPECT_EQ(m.begin(write(0, 128)).verdict, HT_DO_ADMIT);
    EXPECT_EQ(m.begin(write(8, 16)).verdict, HT_DO_ADMIT);
    EXPECT_EQ(m.begin(discard(0, 128)).verdict, HT_DO_DROP);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_ZEROES, X, 0, 128)).verdict, HT_DO_HOME);
}

TEST(Shard, PiecesAreWholeUnitsOrLieInOne) {
    SmallMap m;
    ht_admit(&m.map, S, X, HT_SLOT_LIVE);
    EXPECT_EQ(m.begin(write(3, 100)).to, 8U);  // head of a unit
    EXPECT_EQ(m.begin(write(8, 100)).to, 96U); // whole units
    EXPECT_EQ(m.begin(write(96, 100)).to, 100U);
    EXPECT_EQ(m.begin(write(97, 99)).to, 99U);
}

TEST(Shard, AUnitIsValidOnlyWhenItsWriteHasSucceeded) {
    SmallMap m;
    ht_admit(&m.map, S, X, HT_SLOT_LIVE);
    const ht_request w = write(0, 16);
    const ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    EXPECT_EQ(m.begin(read(0, 16)).verdict, HT_DO_HOME) << "nothing has landed yet";
    EXPECT_EQ(m.end(w, a, false) & HT_ACT_RECORD, 0U);
    EXPECT_EQ(m.begin(read(0, 16)).verdict, HT_DO_HOME) << "the write failed";

    ht_admit(&m.map, S, X, HT_SLOT_LIVE); // the failed one went back to the pool
    const ht_answer b = m.begin(w);
    EXPECT_TRUE(m.end(w, b) & HT_ACT_RECORD);
    EXPECT_EQ(m.begin(read(0, 16)).verdict, HT_DO_FAST);
    EXPECT_EQ(m.bits(S, HT_VALID), 0x3);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 0x3);
}

TEST(Shard, AReadIsCutWhereItsUnitsDiffer) {
    SmallMap m;
    m.write(X, S, 16, 32); // units 2 and 3
    ht_answer a = m.begin(read(0, 128));
    EXPECT_EQ(a.verdict, HT_DO_HOME);
    EXPECT_EQ(a.to, 16U);
    a = m.begin(read(16, 128));
    EXPECT_EQ(a.verdict, HT_DO_FAST);
    EXPECT_EQ(a.to, 32U);
    a = m.begin(read(20, 21));
    EXPECT_EQ(a.verdict, HT_DO_FAST);
    EXPECT_EQ(a.to, 21U);
    EXPECT_EQ(m.begin(read(32, 128)).to, 128U);
}

TEST(Shard, FromHomeLeavesOnlyDirtyUnitsToFast) {
    SmallMap m;
    m.write(X, S, 0, 16);
    ht_request r = read(0, 16);
    r.from_home = true;
    EXPECT_EQ(m.begin(r).verdict, HT_DO_FAST) << "dirty";
    m.slot(S).readers = 0;
    m.destage(S);
    EXPECT_EQ(m.begin(r).verdict, HT_DO_HOME) << "clean";
    EXPECT_EQ(m.begin(read(0, 16)).verdict, HT_DO_FAST) << "clean, and nobody asked for home";
}

TEST(Shard, APieceOfAUnitThatOnlyHomeKnowsGoesHome) {
    SmallMap m;
    m.write(X, S, 0, 8);
    EXPECT_EQ(m.begin(write(2, 4)).verdict, HT_DO_FAST);
    EXPECT_EQ(m.begin(write(10, 12)).verdict, HT_DO_HOME);
    EXPECT_EQ(m.begin(write(8, 16)).verdict, HT_DO_FAST) << "a whole one needs nothing from home";
}

// R4
TEST(Shard, AUnitThatARecordCallsCleanIsOverwrittenAfterACommit) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.destage(S);
    ASSERT_EQ(m.bits(S, HT_DIRTY), 0);
    const ht_answer a = m.begin(write(0, 8));
    EXPECT_EQ(a.verdict, HT_DO_COMMIT);
    EXPECT_TRUE(a.act & HT_ACT_RECORD);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 0x1) << "the intent";
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_COMMIT) << "not durable yet";
    ht_record record{};
    m.commit(S, &record);
    EXPECT_EQ(record.dirty[0], 0x1);
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_FAST);
    EXPECT_EQ(m.begin(write(8, 16)).verdict, HT_DO_COMMIT) << "its neighbour is still clean";
}

// R3
TEST(Shard, AHomeIsWrittenAfterTheRecordOfADroppedUnitIsGone) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.commit(S);
    const ht_answer a = m.begin(discard(0, 16));
    EXPECT_EQ(a.verdict, HT_DO_DROP);
    EXPECT_EQ(a.dropped, 2U);
    EXPECT_EQ(m.bits(S, HT_VALID), 0);
    EXPECT_EQ(m.begin(write(2, 4)).verdict, HT_DO_COMMIT);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_ZEROES, X, 0, 8)).verdict, HT_DO_FAST)
        << "the slot is still there, whole units may go to it";
}

TEST(Shard, ADropFreesTheSlotOnceItIsRecordedFree) {
    SmallMap m;
    m.write(X, S, 0, 16);
    EXPECT_TRUE(m.begin(discard(0, 128)).act & HT_ACT_FREE) << "never recorded: at once";
    EXPECT_EQ(ht_lookup(&m.map, X), HT_NIL);

    m.write(X, S, 0, 16);
    m.commit(S);
    EXPECT_FALSE(m.begin(discard(0, 128)).act & HT_ACT_FREE);
    EXPECT_EQ(ht_lookup(&m.map, X), S);
    EXPECT_EQ(m.commit(S), HT_ACT_FREE);
    EXPECT_EQ(ht_lookup(&m.map, X), HT_NIL);
}

TEST(Shard, ASlotIsNotFreeWhileItIsRead) {
    SmallMap m;
    m.write(X, S, 0, 16);
    const ht_request r = read(0, 16);
    const ht_answer reading = m.begin(r);
    ASSERT_EQ(reading.verdict, HT_DO_FAST);
    EXPECT_FALSE(m.begin(discard(0, 128)).act & HT_ACT_FREE);
    EXPECT_EQ(ht_lookup(&m.map, X), S);
    EXPECT_EQ(m.end(r, reading), HT_ACT_FREE);
    EXPECT_EQ(ht_lookup(&m.map, X), HT_NIL);
}

TEST(Shard, ForgettingRefusesWhatIsDirtyOrBeingWritten) {
    SmallMap m;
    u32 act = 0;
    m.write(X, S, 0, 16);
    EXPECT_FALSE(ht_forget(&m.map, S, &act));
    m.destage(S);
    const ht_request w = write(32, 40);
    const ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    EXPECT_FALSE(ht_forget(&m.map, S, &act));
    m.end(w, a, false);
    EXPECT_TRUE(ht_forget(&m.map, S, &act));
    EXPECT_TRUE(act & HT_ACT_RECORD);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_EMPTY);
    EXPECT_EQ(m.commit(S), HT_ACT_FREE);
}

TEST(Shard, AFillServesNobodyAndAWriteCancelsIt) {
    SmallMap m;
    ht_move move{};
    ASSERT_TRUE(ht_fill_begin(&m.map, &m.shard, S, X, 0, 16, &move));
    EXPECT_EQ(m.begin(read(0, 16)).verdict, HT_DO_JOIN);
    EXPECT_TRUE(ht_fill_wanted(&m.map, &move));
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_WAIT);
    EXPECT_FALSE(ht_fill_wanted(&m.map, &move));
    bool valid = true;
    EXPECT_EQ(ht_fill_finish(&m.map, &move, true, &valid), HT_ACT_FREE);
    EXPECT_FALSE(valid);
    EXPECT_EQ(ht_lookup(&m.map, X), HT_NIL);
}

TEST(Shard, ModesThatKeepFastCleanWriteHome) {
    SmallMap around(HINTIER_MODE_WRITEAROUND), through(HINTIER_MODE_WRITETHROUGH);
    EXPECT_EQ(around.begin(write(0, 8)).verdict, HT_DO_HOME);
    EXPECT_EQ(through.begin(write(0, 8)).verdict, HT_DO_TEE);
    ht_request none = write(0, 8);
    none.no_admit = true;
    EXPECT_EQ(through.begin(none).verdict, HT_DO_HOME);

    ht_move move{};
    bool valid = false;
    SmallMap m(HINTIER_MODE_WRITEAROUND);
    ASSERT_TRUE(ht_fill_begin(&m.map, &m.shard, S, X, 0, 16, &move));
    ht_fill_finish(&m.map, &move, true, &valid);
    ASSERT_TRUE(valid);
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_HOME) << "never recorded";
    EXPECT_EQ(m.bits(S, HT_VALID), 0xfffe) << "what is written home leaves the slot";
}

TEST(Shard, WithFastGoneDirtyUnitsFailAndTheRestLivesAtHome) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.commit(S);
    m.map.mode = HINTIER_MODE_BYPASS;
    EXPECT_EQ(m.begin(read(0, 16)).verdict, HT_DO_FAIL);
    EXPECT_EQ(m.begin(read(16, 128)).verdict, HT_DO_HOME);
    EXPECT_EQ(m.begin(write(0, 8)).verdict, HT_DO_FAIL) << "its dirty record would come back";
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X + 1, 0, 8)).verdict, HT_DO_HOME);
}

TEST(Shard, WithFastGoneNothingWaitsForACommit) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.destage(S);
    m.map.mode = HINTIER_MODE_BYPASS;
    ht_answer a = m.begin(write(0, 16));
    EXPECT_EQ(a.verdict, HT_DO_HOME);
    EXPECT_EQ(a.act & HT_ACT_LIST, HT_ACT_LIST) << "nothing is left in the slot";
    m.end(write(0, 16), a);

    SmallMap stale;
    stale.write(X, S, 0, 16);
    stale.commit(S);
    stale.map.mode = HINTIER_MODE_BYPASS;
    ht_request d = discard(0, 8);
    d.pass = true;
    EXPECT_EQ(stale.begin(d).verdict, HT_DO_DROP) << "the record that claims it stays";
}

TEST(Shard, HomeWritesAreCountedUntilTheyEnd) {
    SmallMap m;
    ht_request w = write(0, 8);
    w.no_admit = true;
    ht_move move{};
    const ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_HOME);
    EXPECT_FALSE(ht_fill_begin(&m.map, &m.shard, S, X, 0, 16, &move)) << "R5";
    m.end(w, a);
    EXPECT_TRUE(ht_fill_begin(&m.map, &m.shard, S, X, 0, 16, &move));
    for (const u16 count : m.shard.homing)
        EXPECT_EQ(count, 0);
}

TEST(Shard, WhoWaitsForACommitDoesNotProlongTheWaitOfOthers) {
    SmallMap m;
    m.write(X, S, 0, 128);
    m.commit(S);
    m.begin(discard(0, 8));
    EXPECT_EQ(m.begin(write(0, 2)).verdict, HT_DO_COMMIT);
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    EXPECT_EQ(m.begin(write(4, 6)).verdict, HT_DO_COMMIT) << "not durable yet";
    ht_record_publish(&m.map, S, &record);
    EXPECT_EQ(m.begin(write(0, 2)).verdict, HT_DO_HOME);
}

TEST(Shard, WhatAFailedWriteMayHaveTouchedIsDirty) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.commit(S);
    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    ht_destage_finish(&m.map, &move, true, &clean);
    ASSERT_TRUE(clean);
    const ht_request w = write(0, 8); // no record says clean: no intent
    const ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    EXPECT_EQ(m.end(w, a, false), HT_ACT_RECORD | HT_ACT_LIST);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 1) << "the slot may hold what home does not";
    EXPECT_EQ(m.bits(S, HT_VALID), 3);
}

} // namespace
} // namespace hintier::test
