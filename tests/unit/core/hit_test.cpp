// SPDX-License-Identifier: Apache-2.0
//
// What the short way lets through is what the long one would, and it leaves the same behind.

#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "hit.h"

namespace hintier::test {
namespace {

constexpr u32 X = 9; // an extent
constexpr u32 S = 1; // a slot
constexpr u32 WORDS = 4, UNITS = WORDS * 16;

class World {
public:
    World() {
        map_.geo.extent_shift = 9;
        map_.geo.units = UNITS;
        map_.geo.words = WORDS;
        map_.geo.slots = 2;
        map_.geo.extents = 64;
        map_.bucket_bits = 1;
        map_.shard_bits = 1;
        lose_pointers();
    }
    World(const World& other) { *this = other; }
    World& operator=(const World& other) {
        memcpy(static_cast<void*>(this), &other, sizeof(*this));
        lose_pointers();
        return *this;
    }
    bool operator==(const World& other) const {
        return !memcmp(slots_, other.slots_, sizeof(slots_)) &&
               !memcmp(bits_, other.bits_, sizeof(bits_)) &&
               !memcmp(&shard_, &other.shard_, sizeof(shard_));
    }

    // A slot that may be anything, rather often something usual.
    void make_up(std::mt19937& dice) {
        const auto seldom = [&dice] { return dice() % 8 == 0; };
        ht_slot& s = slots_[S];

        map_.mode = seldom() ? u8(dice() % 5) : u8(HINTIER_MODE_WRITEBACK);
        map_.bulk = seldom() ? u8(dice() % 3) : u8(HT_BULK_PARTIAL);
        map_.epoch = dice();
        s = {};
        s.extent = seldom() ? X + 2 : X; // of the same bucket
        s.next = HT_NIL;
        s.gen = dice();
        s.state = seldom() ? u8(HT_SLOT_LIVE + dice() % (HT_SLOT_STUCK - HT_SLOT_LIVE + 1))
                           : u8(HT_SLOT_LIVE);
        s.flags = seldom() ? u16(dice() & 0x1ff) : u16(HT_F_RECORDED);
        s.readers = seldom() ? u16(0xffff) : u16(dice() % 3);
        s.writers = seldom() ? u16(0xffff) : u16(dice() % 3);
        s.touched = !seldom();
        make_up_units(dice);
        buckets_[0] = buckets_[1] = HT_NIL;
        buckets_[ht_bucket_of(&map_, X)] = S;
    }

    void make_up_units(std::mt19937& dice) {
        const bool full = dice() % 2;

        for (u32 w = 0; w < WORDS; w++) {
            const u16 valid = full ? u16(0xffff) : u16(dice() | dice());
            const u16 dirty = full ? u16(0xffff) : u16(valid & dice());
            bits(HT_VALID)[w] = valid;
            bits(HT_DIRTY)[w] = dirty;
            bits(HT_RCLEAN)[w] = dice() % 4 ? u16(0) : u16(dice());
            bits(HT_VOLATILE)[w] = u16(dirty & dice());
        }
    }

    u16* bits(ht_bits which) { return ht_slot_bits(&map_, S, which); }
    ht_map& map() { return map_; }
    ht_shard& shard() { return shard_; }
    ht_slot& slot() { return slots_[S]; }

private:
    void lose_pointers() {
        map_.slots = slots_;
        map_.bits = bits_;
        map_.buckets = buckets_;
    }

    ht_map map_{};
    ht_shard shard_{};
    ht_slot slots_[2]{};
    u16 bits_[size_t{2} * HT_BITS * WORDS]{};
    u32 buckets_[2]{HT_NIL, HT_NIL};
};

ht_request request_of(std::mt19937& dice) {
    ht_request r{};

    r.op = dice() % 2 ? u8(HT_REQ_READ) : u8(HT_REQ_WRITE);
    r.extent = X;
    r.from = dice() % (UNITS * HT_UNIT_SECTORS);
    r.to = r.from + 1 + dice() % (UNITS * HT_UNIT_SECTORS - r.from);
    if (dice() % 4) { // as most are
        r.from = r.from / HT_UNIT_SECTORS * HT_UNIT_SECTORS;
        r.to = r.from + HT_UNIT_SECTORS * (1 + dice() % 2);
        if (r.to > UNITS * HT_UNIT_SECTORS) r.to = UNITS * HT_UNIT_SECTORS;
    }
    r.from_home = r.op == HT_REQ_READ && dice() % 4 == 0;
    return r;
}

TEST(Hit, BeginsAndEndsAsTheLongWayDoes) {
    std::mt19937 dice(1);
    u32 begun[2] = {}, ended[2] = {};

    for (u32 trial = 0; trial < 300000; trial++) {
        World brief;
        brief.make_up(dice);
        World full = brief;
        const World before = brief;
        const ht_request r = request_of(dice);

        const bool reads = r.op == HT_REQ_READ;
        ht_hit hit = ht_hit_units(r.from, r.to);
        if (!ht_hit_begin(&brief.map(), X, reads, r.from_home, &hit)) {
            ASSERT_TRUE(brief == before) << trial;
            continue;
        }
        ht_answer a{};
        ht_begin(&full.map(), &full.shard(), &r, &a);
        ASSERT_EQ(a.verdict, HT_DO_FAST) << trial;
        ASSERT_EQ(a.slot, hit.slot) << trial;
        ASSERT_EQ(a.to, r.to) << trial;
        ASSERT_EQ(a.act, 0) << trial;
        ASSERT_TRUE(brief == full) << trial;
        begun[r.op]++;

        // Anything may have come to pass meanwhile, but that the count is given back.
        const ht_slot held = brief.slot();
        brief.make_up(dice);
        brief.slot().extent = X;
        brief.slot().readers = held.readers;
        brief.slot().writers = held.writers;
        if (brief.slot().state == HT_SLOT_FILL) brief.slot().state = HT_SLOT_LIVE;
        if (r.op == HT_REQ_WRITE && brief.map().mode >= HINTIER_MODE_BYPASS) continue; // not `ok`
        full = brief;
        const World met = brief;
        if (!ht_hit_end(&brief.map(), reads, &hit)) {
            ASSERT_TRUE(brief == met) << trial;
            continue;
        }
        ASSERT_EQ(ht_end(&full.map(), &full.shard(), &r, hit.slot, HT_DO_FAST, true), 0U) << trial;
        ASSERT_TRUE(brief == full) << trial;
        ended[r.op]++;
    }
    for (u32 op : {HT_REQ_READ, HT_REQ_WRITE}) {
        EXPECT_GT(begun[op], 10000U);
        EXPECT_GT(ended[op], 1000U);
    }
}

// What it is for: no usual hit has to go the long way.
TEST(Hit, TakesWholeUnitsOfAWord) {
    std::mt19937 dice(2);
    World w;

    do
        w.make_up(dice);
    while (w.slot().extent != X);
    w.map().mode = HINTIER_MODE_WRITEBACK;
    w.map().bulk = HT_BULK_PARTIAL;
    w.slot().state = HT_SLOT_LIVE;
    w.slot().flags = HT_F_RECORDED;
    w.slot().readers = w.slot().writers = 0;
    w.slot().touched = 1;
    for (u32 word = 0; word < WORDS; word++) {
        w.bits(HT_VALID)[word] = w.bits(HT_DIRTY)[word] = 0xffff;
        w.bits(HT_RCLEAN)[word] = 0;
    }
    for (const bool reads : {true, false}) {
        for (u32 unit = 0; unit < UNITS; unit++) {
            const u32 from = unit * HT_UNIT_SECTORS, to = from + HT_UNIT_SECTORS;
            ht_hit hit = ht_hit_units(from, to);
            EXPECT_TRUE(ht_hit_begin(&w.map(), X, reads, false, &hit)) << unit;
            EXPECT_TRUE(ht_hit_end(&w.map(), reads, &hit)) << unit;
            hit = ht_hit_units(from, to + HT_UNIT_SECTORS);
            EXPECT_EQ(ht_hit_begin(&w.map(), X, reads, false, &hit), unit % 16 != 15) << unit;
        }
    }
}

} // namespace
} // namespace hintier::test
