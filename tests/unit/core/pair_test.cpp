// SPDX-License-Identifier: Apache-2.0
//
// What the two devices say about the pair, after every prefix of every row of writes.

#include <gtest/gtest.h>

#include <vector>

#include "pair.h"

namespace hintier::test {
namespace {

struct Device {
    ht_state copies[HT_STATE_COPIES]{};

    const ht_state& newest() const { return copies[copies[1].seq > copies[0].seq]; }
};

struct Devices {
    Device fast, bulk;
};

ht_trust load(ht_pair& pair, const Devices& d, bool discard_dirty = false) {
    return ht_pair_load(&pair, &d.fast.newest(), &d.bulk.newest(), discard_dirty);
}

ht_pair loaded(const Devices& d, bool discard_dirty = false) {
    ht_pair pair{};
    load(pair, d, discard_dirty);
    return pair;
}

ht_trust trust(const Devices& d, bool discard_dirty = false) {
    ht_pair pair{};
    return load(pair, d, discard_dirty);
}

// Each state is written to two copies.
constexpr size_t start_writes = 4 * HT_STATE_COPIES;
constexpr size_t stop_writes = 3 * HT_STATE_COPIES;
constexpr size_t all_writes = 99;

// The devices after the first `writes` writes of a goal; then power is cut.
Devices after(ht_pair pair, Devices d, ht_pair_goal goal, bool dirty, size_t writes) {
    ht_pair_action action = ht_pair_begin(&pair, goal, dirty);
    for (; action != HT_PAIR_DONE; action = ht_pair_next(&pair, true)) {
        if (action == HT_PAIR_COMMIT) continue;
        if (!writes--) break;
        (action == HT_PAIR_WRITE_FAST ? d.fast : d.bulk).copies[pair.next.seq % 2] = pair.next;
    }
    return d;
}

ht_pair running(const Devices& d) {
    ht_pair pair = loaded(d);
    pair.running = true;
    return pair;
}

TEST(Pair, IsTrustedAfterEveryStepOfStartAndStop) {
    for (size_t first = 0; first <= start_writes; first++)
        for (size_t second = 0; second <= start_writes; second++)
            for (size_t last = 0; last <= stop_writes; last++) {
                Devices d;
                d = after(loaded(d), d, HT_PAIR_START, false, first);
                EXPECT_EQ(trust(d), HT_TRUST_ALL) << first;
                d = after(loaded(d), d, HT_PAIR_START, true, second);
                EXPECT_EQ(trust(d), HT_TRUST_ALL) << first << second;
                if (second == start_writes) d = after(running(d), d, HT_PAIR_STOP, true, last);
                EXPECT_EQ(trust(d), HT_TRUST_ALL) << first << second << last;
            }
}

TEST(Pair, MovesItsEpochAtEveryStart) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, true, all_writes);
    EXPECT_EQ(d.fast.newest().epoch, 1U);
    EXPECT_EQ(d.bulk.newest().epoch, 1U);
    EXPECT_EQ(d.fast.newest().flags, 0U);
    EXPECT_EQ(d.bulk.newest().flags, HT_STATE_HAS_DIRTY | HT_STATE_MOVED);
}

// One device is put back from an image that was made before the last start.
TEST(Pair, NoticesAnOlderImageOfEitherDevice) {
    const Devices old;
    const Devices d = after(loaded(old), old, HT_PAIR_START, false, all_writes);
    EXPECT_EQ(trust({old.fast, d.bulk}), HT_TRUST_DIRTY);
    EXPECT_EQ(trust({d.fast, old.bulk}), HT_TRUST_DIRTY);
}

// The image was made between two writes of the start: what has happened since, fast has not seen.
TEST(Pair, NoticesAnImageFromWithinTheStart) {
    size_t images = 0;
    for (const bool dirty : {false, true})
        for (size_t writes = 0; writes <= start_writes; writes++) {
            Devices old;
            old = after(loaded(old), old, HT_PAIR_START, false, all_writes);
            const Devices within = after(loaded(old), old, HT_PAIR_START, dirty, writes);
            if (!(within.fast.newest().flags & HT_STATE_MOVING)) continue;
            images++;
            Devices d = after(loaded(old), old, HT_PAIR_START, dirty, all_writes);
            EXPECT_EQ(trust({within.fast, d.bulk}), HT_TRUST_DIRTY) << writes;
            const Devices gone = after(running(d), d, HT_PAIR_BYPASS, dirty, all_writes);
            EXPECT_EQ(trust({within.fast, gone.bulk}), HT_TRUST_DIRTY) << writes;
            d = after(running(d), d, HT_PAIR_DIRTY, true, all_writes);
            EXPECT_EQ(trust({within.fast, d.bulk}), HT_TRUST_DIRTY) << writes;
        }
    EXPECT_EQ(images, 2 * 2 * HT_STATE_COPIES) << "while fast says so, and until bulk has moved";
}

// The image was made while the tier ran, and it has been stopped since.
TEST(Pair, NoticesAnImageFromBeforeTheStop) {
    Devices d;
    const Devices live = after(loaded(d), d, HT_PAIR_START, false, all_writes);
    d = after(running(live), live, HT_PAIR_STOP, false, all_writes);
    EXPECT_EQ(trust(d), HT_TRUST_ALL);
    EXPECT_EQ(trust({live.fast, d.bulk}), HT_TRUST_DIRTY);
    EXPECT_EQ(trust({d.fast, live.bulk}), HT_TRUST_DIRTY);
}

// A state sector that rots is as good as never written: the other copy speaks.
TEST(Pair, SaysTheSameWhicheverCopyRots) {
    Devices d;
    auto rot = [&](Device Devices::*which, size_t copy) {
        Devices rotten = d;
        (rotten.*which).copies[copy] = {};
        return rotten;
    };
    auto check = [&](ht_trust expected) {
        for (Device Devices::*which : {&Devices::fast, &Devices::bulk})
            for (size_t copy = 0; copy < HT_STATE_COPIES; copy++) {
                const Devices rotten = rot(which, copy);
                EXPECT_EQ((rotten.*which).newest().epoch, (d.*which).newest().epoch);
                EXPECT_EQ((rotten.*which).newest().flags, (d.*which).newest().flags);
                EXPECT_EQ(trust(rotten), expected);
            }
    };
    d = after(loaded(d), d, HT_PAIR_START, false, all_writes);
    check(HT_TRUST_ALL);
    d = after(running(d), d, HT_PAIR_DIRTY, true, all_writes);
    check(HT_TRUST_ALL);
    const Devices gone = after(running(d), d, HT_PAIR_BYPASS, true, all_writes);
    d = after(running(d), d, HT_PAIR_STOP, true, all_writes);
    check(HT_TRUST_ALL);
    d = gone;
    check(HT_TRUST_DIRTY);
}

// Cut between two copies, and again at the next write: that one must not be the newer copy.
TEST(Pair, WritesTheOlderCopyFirst) {
    for (size_t cut = 0; cut < start_writes; cut++) {
        Devices d;
        d = after(loaded(d), d, HT_PAIR_START, false, all_writes);
        d = after(loaded(d), d, HT_PAIR_START, false, cut);
        ht_pair pair = loaded(d);
        ASSERT_EQ(ht_pair_begin(&pair, HT_PAIR_START, false), HT_PAIR_WRITE_FAST);
        EXPECT_EQ(pair.next.seq, d.fast.newest().seq + 1) << cut;
        EXPECT_NE(ht_state_sector(pair.next.seq), ht_state_sector(d.fast.newest().seq));
    }
}

// R14
TEST(Pair, DistrustsFastOnceBulkWasWrittenAlone) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, false, all_writes);
    for (size_t writes = 0; writes <= HT_STATE_COPIES; writes++) {
        const Devices gone = after(running(d), d, HT_PAIR_BYPASS, false, writes);
        EXPECT_EQ(trust(gone), writes ? HT_TRUST_DIRTY : HT_TRUST_ALL);
        EXPECT_EQ(trust(gone, true), writes ? HT_TRUST_NONE : HT_TRUST_ALL);
    }
}

// Crashes while a fast device that was away is taken back: its clean units are void until their
// records are gone.
TEST(Pair, CommitsWhatIsVoidBeforeTheEpochsAgree) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, false, all_writes);
    d = after(running(d), d, HT_PAIR_BYPASS, false, all_writes);
    ht_pair pair = loaded(d);
    EXPECT_EQ(ht_pair_judge(&pair, false), HT_OK);
    EXPECT_EQ(ht_pair_judge(&pair, true), HT_REFUSE_DIRTY);
    EXPECT_EQ(ht_pair_begin(&pair, HT_PAIR_START, false), HT_PAIR_COMMIT);
    EXPECT_EQ(trust(d), HT_TRUST_DIRTY) << "cut before the commit ends";
    EXPECT_EQ(ht_pair_next(&pair, false), HT_PAIR_FAILED);
    for (size_t writes = 1; writes <= start_writes; writes++)
        EXPECT_EQ(trust(after(loaded(d), d, HT_PAIR_START, false, writes)), HT_TRUST_ALL) << writes;
}

TEST(Pair, RefusesToLoseWhatOnlyFastHad) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, false, all_writes);
    d = after(running(d), d, HT_PAIR_DIRTY, true, all_writes);
    EXPECT_EQ(d.bulk.newest().flags, HT_STATE_HAS_DIRTY | HT_STATE_MOVED);
    EXPECT_EQ(trust(d), HT_TRUST_ALL);
    d = after(running(d), d, HT_PAIR_BYPASS, true, all_writes);
    ht_pair pair = loaded(d);
    EXPECT_EQ(ht_pair_judge(&pair, false), HT_REFUSE_DIRTY) << "it was dirty in memory";
    pair = loaded(d, true);
    EXPECT_EQ(ht_pair_judge(&pair, true), HT_OK);
}

TEST(Pair, SaysAtTheCleanStopWhetherBulkIsWhole) {
    for (const bool dirty : {false, true}) {
        Devices d;
        d = after(loaded(d), d, HT_PAIR_START, false, all_writes);
        d = after(running(d), d, HT_PAIR_STOP, dirty, all_writes);
        EXPECT_EQ(d.fast.newest().flags, HT_STATE_CLEAN_STOP);
        EXPECT_EQ(d.bulk.newest().flags, HT_STATE_CLEAN_STOP | (dirty ? HT_STATE_HAS_DIRTY : 0U));
    }
    ht_pair pair = running({});
    EXPECT_EQ(ht_pair_begin(&pair, HT_PAIR_STOP, false), HT_PAIR_COMMIT);
    EXPECT_EQ(ht_pair_next(&pair, false), HT_PAIR_FAILED) << "what is not committed is no stop";
    EXPECT_EQ(ht_pair_begin(&pair, HT_PAIR_STOP, false), HT_PAIR_FAILED);
}

TEST(Pair, WritesTheSameCopyAgainAfterAFailure) {
    ht_pair pair = running({});
    ht_pair_begin(&pair, HT_PAIR_DIRTY, true);
    const u64 seq = pair.next.seq;
    EXPECT_EQ(ht_pair_next(&pair, false), HT_PAIR_FAILED);
    ht_pair_begin(&pair, HT_PAIR_BYPASS, true);
    EXPECT_EQ(pair.next.seq, seq) << "the other copy is the only one that is whole";
    EXPECT_EQ(ht_pair_next(&pair, true), HT_PAIR_WRITE_BULK);
    EXPECT_EQ(pair.next.seq, seq + 1);
    EXPECT_EQ(ht_pair_next(&pair, false), HT_PAIR_FAILED);
    ht_pair_begin(&pair, HT_PAIR_BYPASS, true);
    EXPECT_EQ(pair.next.seq, seq + 1) << "the first is whole, and newer";
}

TEST(Pair, GrowsForGood) {
    Devices d;
    ht_pair pair = loaded(d);
    EXPECT_EQ(ht_pair_resize(&pair, 100), HT_OK);
    for (size_t writes = 1; writes <= start_writes; writes++) {
        const Devices cut = after(pair, d, HT_PAIR_START, false, writes);
        ht_pair next = loaded(cut);
        EXPECT_EQ(ht_pair_resize(&next, 99), HT_REFUSE_SHRUNK) << writes;
        EXPECT_EQ(ht_pair_resize(&next, 100), HT_OK);
        EXPECT_EQ(ht_pair_resize(&next, 150), HT_OK);
    }
    d = after(pair, d, HT_PAIR_START, false, all_writes);
    for (const ht_state& copy : d.fast.copies)
        EXPECT_EQ(copy.extents, 100U);
    for (const ht_state& copy : d.bulk.copies)
        EXPECT_EQ(copy.extents, 100U);
}

TEST(Pair, LeavesBulkAloneInWriteThroughUntilSomethingIsDirty) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, false, all_writes);
    EXPECT_FALSE(d.bulk.newest().flags & HT_STATE_HAS_DIRTY);
}

} // namespace
} // namespace hintier::test
