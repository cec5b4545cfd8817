// SPDX-License-Identifier: Apache-2.0
//
// What the two devices say about the pair, after every prefix of every row of writes.

#include <gtest/gtest.h>

#include <vector>

#include "pair.h"

namespace hintier::test {
namespace {

struct Devices {
    ht_state fast{}, bulk{};
};

ht_pair loaded(const Devices& d, bool discard_dirty = false) {
    ht_pair pair{};
    ht_pair_load(&pair, &d.fast, &d.bulk, discard_dirty);
    return pair;
}

ht_trust trust(const Devices& d, bool discard_dirty = false) {
    ht_pair pair{};
    return ht_pair_load(&pair, &d.fast, &d.bulk, discard_dirty);
}

// The devices after the first `writes` writes of a goal; then power is cut.
Devices after(ht_pair pair, Devices d, ht_pair_goal goal, bool dirty, size_t writes) {
    ht_pair_action action = ht_pair_begin(&pair, goal, dirty);
    for (; action != HT_PAIR_DONE; action = ht_pair_next(&pair, true)) {
        if (action == HT_PAIR_COMMIT) continue;
        if (!writes--) break;
        (action == HT_PAIR_WRITE_FAST ? d.fast : d.bulk) = pair.next;
    }
    return d;
}

ht_pair running(const Devices& d) {
    ht_pair pair = loaded(d);
    pair.running = true;
    return pair;
}

TEST(Pair, IsTrustedAfterEveryStepOfStartAndStop) {
    for (size_t first = 0; first <= 4; first++)
        for (size_t second = 0; second <= 4; second++)
            for (size_t last = 0; last <= 3; last++) {
                Devices d;
                d = after(loaded(d), d, HT_PAIR_START, false, first);
                EXPECT_EQ(trust(d), HT_TRUST_ALL) << first;
                d = after(loaded(d), d, HT_PAIR_START, true, second);
                EXPECT_EQ(trust(d), HT_TRUST_ALL) << first << second;
                if (second >= 3) d = after(running(d), d, HT_PAIR_STOP, true, last);
                EXPECT_EQ(trust(d), HT_TRUST_ALL) << first << second << last;
            }
}

TEST(Pair, MovesItsEpochAtEveryStart) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, true, 9);
    EXPECT_EQ(d.fast.epoch, 1U);
    EXPECT_EQ(d.bulk.epoch, 1U);
    EXPECT_EQ(d.fast.flags, 0U);
    EXPECT_EQ(d.bulk.flags, HT_STATE_HAS_DIRTY);
}

// One device is put back from an image that was made before the last start.
TEST(Pair, NoticesAnOlderImageOfEitherDevice) {
    const Devices old;
    const Devices d = after(loaded(old), old, HT_PAIR_START, false, 9);
    EXPECT_EQ(trust({old.fast, d.bulk}), HT_TRUST_DIRTY);
    EXPECT_EQ(trust({d.fast, old.bulk}), HT_TRUST_DIRTY);
}

// R14
TEST(Pair, DistrustsFastOnceBulkWasWrittenAlone) {
    for (size_t start = 0; start <= 3; start++) {
        Devices d;
        d = after(loaded(d), d, HT_PAIR_START, false, start);
        if (start < 3) continue; // it does not run before that, and nothing is written alone
        const Devices gone = after(running(d), d, HT_PAIR_BYPASS, false, 1);
        EXPECT_EQ(trust(gone), HT_TRUST_DIRTY);
        EXPECT_EQ(trust(gone, true), HT_TRUST_NONE);
        EXPECT_EQ(after(running(d), d, HT_PAIR_BYPASS, false, 0).bulk.epoch, d.bulk.epoch);
    }
}

// Crashes while a fast device that was away is taken back: its clean units are void until their
// records are gone.
TEST(Pair, CommitsWhatIsVoidBeforeTheEpochsAgree) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, false, 9);
    d = after(running(d), d, HT_PAIR_BYPASS, false, 9);
    ht_pair pair = loaded(d);
    EXPECT_EQ(ht_pair_judge(&pair, false), HT_OK);
    EXPECT_EQ(ht_pair_judge(&pair, true), HT_REFUSE_DIRTY);
    EXPECT_EQ(ht_pair_begin(&pair, HT_PAIR_START, false), HT_PAIR_COMMIT);
    EXPECT_EQ(trust(d), HT_TRUST_DIRTY) << "cut before the commit ends";
    EXPECT_EQ(ht_pair_next(&pair, false), HT_PAIR_FAILED);
    for (size_t writes = 1; writes <= 3; writes++)
        EXPECT_EQ(trust(after(loaded(d), d, HT_PAIR_START, false, writes)), HT_TRUST_ALL) << writes;
}

TEST(Pair, RefusesToLoseWhatOnlyFastHad) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, false, 9);
    d = after(running(d), d, HT_PAIR_DIRTY, true, 9);
    EXPECT_EQ(d.bulk.flags, HT_STATE_HAS_DIRTY);
    EXPECT_EQ(trust(d), HT_TRUST_ALL);
    d = after(running(d), d, HT_PAIR_BYPASS, true, 9);
    ht_pair pair = loaded(d);
    EXPECT_EQ(ht_pair_judge(&pair, false), HT_REFUSE_DIRTY) << "it was dirty in memory";
    pair = loaded(d, true);
    EXPECT_EQ(ht_pair_judge(&pair, true), HT_OK);
}

TEST(Pair, SaysAtTheCleanStopWhetherBulkIsWhole) {
    for (const bool dirty : {false, true}) {
        Devices d;
        d = after(loaded(d), d, HT_PAIR_START, false, 9);
        d = after(running(d), d, HT_PAIR_STOP, dirty, 9);
        EXPECT_EQ(d.fast.flags, HT_STATE_CLEAN_STOP);
        EXPECT_EQ(d.bulk.flags, HT_STATE_CLEAN_STOP | (dirty ? HT_STATE_HAS_DIRTY : 0U));
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
    EXPECT_EQ(ht_pair_next(&pair, true), HT_PAIR_DONE);
    ht_pair_begin(&pair, HT_PAIR_BYPASS, true);
    EXPECT_EQ(pair.next.seq, seq + 1);
}

TEST(Pair, LeavesBulkAloneInWriteThroughUntilSomethingIsDirty) {
    Devices d;
    d = after(loaded(d), d, HT_PAIR_START, false, 9);
    EXPECT_FALSE(d.bulk.flags & HT_STATE_HAS_DIRTY);
}

} // namespace
} // namespace hintier::test
