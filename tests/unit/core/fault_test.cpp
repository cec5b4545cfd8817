// SPDX-License-Identifier: Apache-2.0
//
// Failing media: what becomes of requests, and of slots whose place has failed.

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "fate.h"

#include "host/small_map.hpp"

namespace hintier::test {
namespace {

constexpr u32 X = 9; // an extent
constexpr u32 S = 2; // a slot

ht_ended ended(u8 op, u8 verdict, u8 fault) {
    ht_ended e{};
    e.op = op;
    e.verdict = verdict;
    e.fault = fault;
    return e;
}

TEST(Fate, OfWhatSucceeded) {
    ht_map map{};
    ht_ended e = ended(HT_REQ_WRITE, HT_DO_FAST, HT_FAULT_NONE);
    EXPECT_EQ(ht_fate(&map, &e), HT_FATE_TELL);
    e.fua = true;
    EXPECT_EQ(ht_fate(&map, &e), HT_FATE_RECORD) << "R9";
    e.verdict = HT_DO_HOME;
    EXPECT_EQ(ht_fate(&map, &e), HT_FATE_TELL) << "it took FUA along";
}

TEST(Fate, OfAWriteThatLandsInAFastDeviceThatWasGivenUp) {
    ht_map map{};
    map.mode = HINTIER_MODE_BYPASS;
    ht_ended e = ended(HT_REQ_WRITE, HT_DO_FAST, HT_FAULT_NONE);
    EXPECT_FALSE(ht_ended_ok(&map, &e));
    EXPECT_EQ(ht_fate(&map, &e), HT_FATE_COMMIT);
    e.tried = true;
    EXPECT_EQ(ht_fate(&map, &e), HT_FATE_FAIL);
    e = ended(HT_REQ_READ, HT_DO_FAST, HT_FAULT_NONE);
    EXPECT_TRUE(ht_ended_ok(&map, &e));
    e = ended(HT_REQ_WRITE, HT_DO_HOME, HT_FAULT_NONE);
    EXPECT_EQ(ht_fate(&map, &e), HT_FATE_TELL);
}

// R15
TEST(Fate, OfWhatADeviceCouldNotTakeIsNoError) {
    ht_map map{};
    for (const u8 verdict : {HT_DO_FAST, HT_DO_HOME}) {
        ht_ended e = ended(HT_REQ_READ, verdict, HT_FAULT_BUSY);
        EXPECT_EQ(ht_fate(&map, &e), HT_FATE_TELL) << "it may wait, so it was told the truth";
        e.nowait = true;
        EXPECT_EQ(ht_fate(&map, &e), HT_FATE_AGAIN);
        e = ended(HT_REQ_ZEROES, verdict, HT_FAULT_UNSUPPORTED);
        EXPECT_EQ(ht_fate(&map, &e), HT_FATE_TELL);
    }
    EXPECT_FALSE(ht_fault_is_failure(HT_FAULT_BUSY));
    EXPECT_FALSE(ht_fault_is_failure(HT_FAULT_UNSUPPORTED));
    EXPECT_TRUE(ht_fault_is_failure(HT_FAULT_DEVICE));
}

TEST(Fate, OfFailures) {
    ht_map map{};
    ht_ended read = ended(HT_REQ_READ, HT_DO_FAST, HT_FAULT_MEDIUM);
    EXPECT_EQ(ht_fate(&map, &read), HT_FATE_COMMIT) << "dirty: does fast live?";
    read.tried = true;
    EXPECT_EQ(ht_fate(&map, &read), HT_FATE_FAIL);
    read.clean = true;
    EXPECT_EQ(ht_fate(&map, &read), HT_FATE_AGAIN) << "home has it";

    ht_ended write = ended(HT_REQ_WRITE, HT_DO_FAST, HT_FAULT_DEVICE);
    EXPECT_EQ(ht_fate(&map, &write), HT_FATE_COMMIT);
    write.clean = true;
    write.tried = true;
    EXPECT_EQ(ht_fate(&map, &write), HT_FATE_FAIL);
    write.fault = HT_FAULT_MEDIUM;
    EXPECT_EQ(ht_fate(&map, &write), HT_FATE_COMMIT) << "another bad slot";
    ht_ended home = ended(HT_REQ_WRITE, HT_DO_HOME, HT_FAULT_MEDIUM);
    EXPECT_EQ(ht_fate(&map, &home), HT_FATE_TELL);
}

// A read or write that the medium fails. Returns ht_slot_failed()'s answer.
bool fails(SmallMap& m, u8 op, u32 from, u32 to, u32* act) {
    const ht_request r = SmallMap::request(op, X, from, to);
    const ht_answer a = m.begin(r);
    EXPECT_EQ(a.verdict, HT_DO_FAST);
    const bool clean = ht_slot_failed(&m.map, &r, S, true, act);
    *act |= m.end(r, a, false);
    return clean;
}

TEST(BadSlot, ThatIsCleanIsRetiredOnceNoRecordClaimsIt) {
    SmallMap m;
    m.write(X, S, 0, 32);
    m.destage(S);
    u32 act = 0;
    EXPECT_TRUE(fails(m, HT_REQ_READ, 0, 8, &act));
    EXPECT_TRUE(act & HT_ACT_RECORD);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_READ, X, 0, 32)).verdict, HT_DO_HOME);
    ht_record record{};
    EXPECT_TRUE(m.commit(S, &record) & HT_ACT_FREE);
    EXPECT_FALSE(record.used);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_BAD);
    EXPECT_EQ(ht_lookup(&m.map, X), HT_NIL);

    // And it stays so, in the record and after it.
    EXPECT_EQ(m.commit(S, &record), 0U);
    EXPECT_TRUE(record.bad);
    SmallMap next;
    ASSERT_EQ(ht_record_load(&next.map, S, &record, HT_TRUST_ALL), HT_OK);
    EXPECT_EQ(ht_list_of(&next.map, S), HT_LIST_BAD);
    EXPECT_EQ(next.commit(S, &record), 0U);
    EXPECT_TRUE(record.bad);
}

TEST(BadSlot, KeepsWhatIsDirtyAndTakesNothingNew) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.destage(S);
    m.write(X, S, 32, 48); // dirty, in the same slot
    u32 act = 0;
    EXPECT_FALSE(fails(m, HT_REQ_READ, 32, 40, &act)) << "only fast has it";
    EXPECT_TRUE(act & HT_ACT_HURRY);
    EXPECT_EQ(m.bits(S, HT_VALID), 0x33) << "what it did not meet is still there";
    EXPECT_TRUE(fails(m, HT_REQ_READ, 0, 16, &act));
    EXPECT_EQ(m.bits(S, HT_VALID), 0x30);

    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 64, 72)).verdict, HT_DO_COMMIT)
        << "home, once no record claims what was forgotten";
    ht_record record{};
    m.commit(S, &record);
    EXPECT_TRUE(record.bad && record.used);
    const ht_request w = SmallMap::request(HT_REQ_WRITE, X, 64, 72);
    const ht_answer a = m.begin(w);
    EXPECT_EQ(a.verdict, HT_DO_HOME);
    m.end(w, a);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 32, 40)).verdict, HT_DO_FAST)
        << "what is dirty can only be overwritten where it is";
}

TEST(BadSlot, KeepsWhatAPieceOfAUnitIsOnItsWayTo) {
    SmallMap m;
    m.write(X, S, 0, 32);
    m.commit(S);
    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    ht_destage_finish(&m.map, &move, true, &clean); // clean, and its record says dirty
    const ht_request piece = SmallMap::request(HT_REQ_WRITE, X, 1, 2);
    const ht_answer a = m.begin(piece);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    u32 act = 0;
    EXPECT_TRUE(fails(m, HT_REQ_READ, 0, 32, &act)) << "home has it";
    m.end(piece, a);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 0x1) << "the write counts";
}

TEST(BadSlot, IsMarkedByTheMediumOnly) {
    SmallMap m;
    m.write(X, S, 0, 16);
    m.destage(S);
    const ht_request r = SmallMap::request(HT_REQ_READ, X, 0, 16);
    const ht_answer a = m.begin(r);
    u32 act = 0;
    EXPECT_TRUE(ht_slot_failed(&m.map, &r, S, false, &act));
    m.end(r, a, false);
    m.commit(S);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_FREE);
}

TEST(BadSlot, LeavesItsUnreadableUnitsWhereTheyAre) {
    SmallMap m;
    m.write(X, S, 0, 32);
    m.commit(S);
    ht_move move{};
    bool clean = false;
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    move.bad = true;
    ht_move_leave(&move, 2);
    EXPECT_EQ(move.count, 3U);
    EXPECT_EQ(move.units[0], 0xb);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 0, 8)).verdict, HT_DO_FAST);
    // That write moved the generation on: nothing of this destage counts.
    ht_destage_finish(&m.map, &move, true, &clean);
    EXPECT_FALSE(clean);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_DIRTY);
    m.end(SmallMap::request(HT_REQ_WRITE, X, 0, 8), {HT_DO_FAST, 0, 0, S, 8, 0, 0});

    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 16, 24)).verdict, HT_DO_WAIT)
        << "its units are just leaving";
    ht_move_leave(&move, 2);
    EXPECT_TRUE(ht_destage_finish(&m.map, &move, true, &clean) & HT_ACT_RECORD);
    EXPECT_TRUE(clean);
    EXPECT_EQ(m.bits(S, HT_DIRTY), 0x4);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_STUCK);
    EXPECT_FALSE(ht_destage_begin(&m.map, &m.shard, S, &move)) << "it would only fail again";
    ht_record record{};
    m.commit(S, &record);
    EXPECT_EQ(record.dirty[0], 0x4) << "recorded all the same";

    // Until it is written.
    const ht_request w = SmallMap::request(HT_REQ_WRITE, X, 16, 24);
    const ht_answer a = m.begin(w);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    EXPECT_TRUE(m.end(w, a) & HT_ACT_LIST);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_DIRTY);
    ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
    ht_destage_finish(&m.map, &move, true, &clean);
    u32 act = 0;
    EXPECT_TRUE(ht_forget(&m.map, S, &act));
    m.commit(S);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_BAD);
}

TEST(BadSlot, ThatIsStuckIsFreedByADiscardOrTriedAgainWhenAsked) {
    for (const bool discard : {true, false}) {
        SmallMap m;
        m.write(X, S, 0, 16);
        m.commit(S);
        ht_move move{};
        bool clean = true;
        ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
        move.bad = true;
        ht_move_leave(&move, 0);
        ht_move_leave(&move, 1);
        ht_destage_finish(&m.map, &move, false, &clean);
        EXPECT_FALSE(clean);
        EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_STUCK);
        m.map.mode = HINTIER_MODE_BYPASS;
        EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 64, 72)).verdict, HT_DO_FAIL)
            << "it is dirty all the same";
        m.map.mode = HINTIER_MODE_WRITEBACK;
        if (discard) {
            m.begin(SmallMap::request(HT_REQ_DISCARD, X, 0, 128));
            m.commit(S);
            EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_BAD);
        } else {
            EXPECT_EQ(ht_destage_retry(&m.map, S), HT_ACT_LIST);
            EXPECT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
        }
    }
}

TEST(BadSlot, ThatAFillCouldNotWriteNeverServes) {
    SmallMap m;
    ht_move move{};
    bool valid = true;
    ASSERT_TRUE(ht_fill_begin(&m.map, &m.shard, S, X, 0, 16, &move));
    move.bad = true;
    EXPECT_EQ(ht_fill_finish(&m.map, &move, false, &valid), HT_ACT_FREE | HT_ACT_RECORD);
    EXPECT_FALSE(valid);
    EXPECT_EQ(ht_list_of(&m.map, S), HT_LIST_BAD);
}

// A second drop while a commit is under way is for the next one; a mere write is not.
TEST(Stale, EndsWithTheCommitThatBeganAfterTheLastDrop) {
    SmallMap m;
    m.write(X, S, 0, 32);
    m.commit(S);
    const auto home = [&] { return m.begin(SmallMap::request(HT_REQ_WRITE, X, 1, 2)).verdict; };
    m.begin(SmallMap::request(HT_REQ_DISCARD, X, 0, 8));
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    EXPECT_EQ(home(), HT_DO_COMMIT);
    m.write(X, S, 64, 72);
    ht_record_publish(&m.map, S, &record);
    EXPECT_EQ(home(), HT_DO_HOME) << "neither asking nor another write has put it off";

    m.begin(SmallMap::request(HT_REQ_DISCARD, X, 8, 16));
    ht_record_gather(&m.map, S, true, &record);
    m.begin(SmallMap::request(HT_REQ_DISCARD, X, 16, 24));
    ht_record_publish(&m.map, S, &record);
    EXPECT_EQ(home(), HT_DO_COMMIT) << "a record claims what was dropped last";
    ht_record_gather(&m.map, S, true, &record);
    ht_record_revert(&m.map, S);
    m.write(X, S, 64, 72);
    EXPECT_EQ(home(), HT_DO_COMMIT) << "that commit failed";
    m.commit(S);
    EXPECT_EQ(home(), HT_DO_HOME);
}

TEST(Gone, HomesAreNotWrittenWhenBulkCannotSayThatItMovesOn) {
    SmallMap m(HINTIER_MODE_FAIL);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 0, 8)).verdict, HT_DO_FAIL);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_READ, X, 0, 8)).verdict, HT_DO_HOME);
    SmallMap bypass(HINTIER_MODE_BYPASS);
    EXPECT_EQ(bypass.begin(SmallMap::request(HT_REQ_WRITE, X, 0, 8)).verdict, HT_DO_HOME);
}

// R14, C7: what only a clean record claims is void with fast gone, and nothing of it is at stake.
TEST(Gone, CleanUnitsThatAFaultHasDroppedAreWrittenHome) {
    SmallMap m;
    m.write(X, S, 0, 128);
    m.destage(S);
    const ht_request read = SmallMap::request(HT_REQ_READ, X, 0, 8);
    const ht_answer a = m.begin(read);
    ASSERT_EQ(a.verdict, HT_DO_FAST);
    u32 act = 0;
    EXPECT_TRUE(ht_slot_failed(&m.map, &read, S, true, &act));
    m.end(read, a, false);
    ht_record record{};
    ht_record_gather(&m.map, S, true, &record);
    ht_record_revert(&m.map, S);
    m.map.mode = HINTIER_MODE_BYPASS;
    for (const u32 from : {0U, 64U}) {
        const ht_request w = SmallMap::request(HT_REQ_WRITE, X, from, from + 8);
        const ht_answer home = m.begin(w);
        EXPECT_EQ(home.verdict, HT_DO_HOME);
        m.end(w, home);
    }
}

// R14: whoever drained fast afterwards would bring back what its record calls dirty.
TEST(Gone, NoHomeIsWrittenThatARecordMayCallDirty) {
    const ht_request w = SmallMap::request(HT_REQ_WRITE, X, 0, 8);
    for (const bool submitted : {false, true}) {
        SmallMap m;
        m.write(X, S, 0, 16);
        m.commit(S);
        ht_move move{};
        bool clean = false;
        ASSERT_TRUE(ht_destage_begin(&m.map, &m.shard, S, &move));
        ht_destage_finish(&m.map, &move, true, &clean);
        ASSERT_TRUE(clean);
        ht_record record{};
        if (submitted) ht_record_gather(&m.map, S, true, &record);
        m.map.mode = HINTIER_MODE_BYPASS;
        EXPECT_EQ(m.begin(w).verdict, HT_DO_FAIL);
        if (submitted) ht_record_revert(&m.map, S);
        EXPECT_EQ(m.begin(w).verdict, HT_DO_FAIL);
    }
    SmallMap loaded;
    ht_record dirty{};
    dirty.used = true;
    dirty.extent = X;
    dirty.valid[0] = 3;
    dirty.dirty[0] = 2;
    ASSERT_EQ(ht_record_load(&loaded.map, S, &dirty, HT_TRUST_NONE), HT_OK);
    loaded.map.mode = HINTIER_MODE_BYPASS;
    EXPECT_EQ(loaded.begin(w).verdict, HT_DO_FAIL);
    EXPECT_EQ(loaded.begin(SmallMap::request(HT_REQ_READ, X, 0, 16)).verdict, HT_DO_HOME);
}

TEST(Whole, BulkSaysSoNoMoreBeforeTheFirstDirtyWrite) {
    SmallMap m;
    m.map.bulk = HT_BULK_WHOLE;
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_READ, X, 0, 8)).verdict, HT_DO_HOME);
    EXPECT_EQ(m.map.bulk, HT_BULK_WHOLE);
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 0, 8)).verdict, HT_DO_COMMIT);
    EXPECT_EQ(m.map.bulk, HT_BULK_ENDING);
    m.map.bulk = HT_BULK_PARTIAL;
    EXPECT_EQ(m.begin(SmallMap::request(HT_REQ_WRITE, X, 0, 8)).verdict, HT_DO_ADMIT);
    SmallMap through(HINTIER_MODE_WRITETHROUGH);
    through.map.bulk = HT_BULK_WHOLE;
    EXPECT_EQ(through.begin(SmallMap::request(HT_REQ_WRITE, X, 0, 8)).verdict, HT_DO_TEE);
    EXPECT_EQ(through.map.bulk, HT_BULK_WHOLE);
}

} // namespace
} // namespace hintier::test
