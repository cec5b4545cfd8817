// SPDX-License-Identifier: Apache-2.0
//
// Lulls: when readers pause, when they read on and on, and what room their bursts have needed.

#include <gtest/gtest.h>

#include "lull.h"

namespace hintier::test {
namespace {

constexpr u32 QUIET = 20;

class Readers {
public:
    explicit Readers(u32 now = 0) : now_(now), read_(now - 1000) { look(); }

    u8 look() {
        ht_lull_look(&lull, quiet, read_, now_);
        return lull.pace;
    }

    u8 rest(u32 ticks) {
        now_ += ticks;
        return look();
    }

    // Reads in each tick; with each, `slots` are taken.
    u8 read(u32 ticks, u32 slots = 0) {
        for (u32 i = 0; i < ticks; i++) {
            read_ = ++now_;
            look();
            lull.taken += slots;
        }
        return lull.pace;
    }

    ht_lull lull{};
    u32 quiet = QUIET;

private:
    u32 now_;
    u32 read_;
};

TEST(Lull, BeginsWhenNobodyHasReadForLongEnough) {
    Readers r;
    EXPECT_EQ(r.lull.pace, HT_PACE_LULL);
    EXPECT_EQ(r.read(1), HT_PACE_BURST);
    EXPECT_EQ(r.rest(QUIET - 1), HT_PACE_BURST);
    EXPECT_EQ(r.rest(1), HT_PACE_LULL);
}

TEST(Lull, IsNotWaitedForWhenReadersNeverPause) {
    Readers r;
    EXPECT_EQ(r.read(100 * QUIET), HT_PACE_BURST);
    EXPECT_EQ(r.read(2), HT_PACE_STEADY);
    EXPECT_EQ(r.lull.room, 0U) << "that was no burst";
    EXPECT_EQ(r.rest(QUIET), HT_PACE_LULL);
    EXPECT_EQ(r.lull.room, 0U);
    EXPECT_EQ(r.read(1), HT_PACE_BURST) << "and the next is one again";
}

TEST(Lull, KeepsTheRoomThatBurstsHaveTaken) {
    Readers r;
    r.read(10, 4);
    EXPECT_EQ(r.lull.room, 0U) << "it has not ended";
    r.rest(QUIET);
    EXPECT_EQ(r.lull.room, 50U);
    r.read(10, 1);
    r.rest(QUIET);
    EXPECT_EQ(r.lull.room, 50U) << "the greatest counts";
    r.read(10, 8);
    r.rest(QUIET);
    EXPECT_EQ(r.lull.room, 100U);
    r.lull.taken += 1000;
    r.rest(1);
    EXPECT_EQ(r.lull.room, 100U) << "what is written in a lull needs none";
}

TEST(Lull, ForgetsBurstsOfLongAgo) {
    Readers r;
    r.read(10, 8);
    r.rest(QUIET);
    for (u32 room = 100; room; room /= 2) {
        EXPECT_EQ(r.lull.room, room);
        r.rest(500 * QUIET - 1);
        EXPECT_EQ(r.lull.room, room);
        r.rest(1);
    }
    EXPECT_EQ(r.lull.room, 0U);
}

TEST(Lull, IsNoneWhenNobodyWantsToKnow) {
    Readers r;
    r.read(10, 8);
    r.quiet = 0;
    EXPECT_EQ(r.look(), HT_PACE_STEADY);
    EXPECT_EQ(r.rest(1000), HT_PACE_STEADY);
    EXPECT_EQ(r.lull.room, 0U);
}

TEST(Lull, StandsClocksThatWrapOrDisagree) {
    Readers r(0xffffffffU - 10);
    EXPECT_EQ(r.read(25), HT_PACE_BURST);
    EXPECT_EQ(r.rest(QUIET), HT_PACE_LULL);

    ht_lull lull{};
    ht_lull_look(&lull, QUIET, 0, 1000);
    ht_lull_look(&lull, QUIET, 2001, 2000); // read between two looks at the clock
    EXPECT_EQ(lull.pace, HT_PACE_BURST);
}

} // namespace
} // namespace hintier::test
