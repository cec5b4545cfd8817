// SPDX-License-Identifier: Apache-2.0
//
// The on-disk format: what is written is read back, and whatever else is on a device is refused.

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "format.h"

namespace {

using Sector = std::array<unsigned char, HT_SECTOR_BYTES>;

constexpr u64 MiB = 2048;   // in sectors
constexpr u32 EXTENT = 128; // 64 KiB

ht_geometry geometry(u64 fast = 64 * MiB, u64 bulk = 1024 * MiB, u32 extent = EXTENT) {
    ht_geometry geo{};
    EXPECT_EQ(ht_format_layout(fast, bulk, extent, &geo), HT_OK);
    return geo;
}

ht_header header(u32 role = HT_ROLE_FAST) {
    ht_header h{};
    h.role = role;
    for (int i = 0; i < 16; i++)
        h.uuid[i] = u8(0x10 + i);
    h.geo = geometry();
    return h;
}

Sector encoded(const ht_header& h) {
    Sector sector;
    sector.fill(0xaa); // encode must not leave what was there
    ht_header_encode(&h, sector.data());
    return sector;
}

// Puts a number into a header and makes its checksum right again, as a hostile device could.
template <typename T>
Sector forged(Sector sector, size_t at, T value) {
    memcpy(sector.data() + at, &value, sizeof(value));
    memset(sector.data() + offsetof(ht_disk_header, crc), 0, 4);
    u32 place = 0;
    memcpy(&place, sector.data() + offsetof(ht_disk_header, role), 4);
    const u32 salt[2] = {htole32(1), place}; // which kind of sector, and where it belongs
    u32 crc = ht_crc32c(~0U, sector.data() + offsetof(ht_disk_header, uuid), 16);
    crc = ht_crc32c(crc, salt, sizeof(salt));
    crc = htole32(~ht_crc32c(crc, sector.data(), sector.size()));
    memcpy(sector.data() + offsetof(ht_disk_header, crc), &crc, 4);
    return sector;
}

ht_refusal decode(const Sector& sector, ht_header* ret = nullptr) {
    ht_header scratch{};
    return ht_header_decode(sector.data(), ret ? ret : &scratch);
}

// ---- layout ---------------------------------------------------------------------------------

TEST(Layout, PartsFollowEachOtherAndFitTheDevices) {
    for (u32 extent : {128U, 256U, 512U, 1024U, 2048U}) {
        const u64 fast = 777 * MiB + 33, bulk = 12345 * MiB + 71;
        const ht_geometry geo = geometry(fast, bulk, extent);
        EXPECT_EQ(1U << geo.extent_shift, extent);
        EXPECT_EQ(geo.units * HT_UNIT_SECTORS, extent);
        EXPECT_EQ(geo.words * 16, geo.units);
        EXPECT_EQ(geo.home_start, std::max<u64>(MiB, extent));
        EXPECT_EQ(geo.extents, (bulk - geo.home_start) / extent);
        EXPECT_GE(geo.meta_start, u64{HT_STATE_SECTOR + HT_STATE_COPIES * HT_STATE_STRIDE});
        EXPECT_EQ(geo.lost_start, geo.meta_start + geo.meta_sectors);
        EXPECT_GE(geo.slot_start, geo.lost_start + geo.lost_sectors);
        EXPECT_EQ(geo.slot_start % HT_UNIT_SECTORS, 0U);
        EXPECT_GE(ht_lost_capacity(&geo), geo.slots / HT_LOST_SLOTS);
        EXPECT_LE(ht_lost_capacity(&geo),
                  geo.slots / HT_LOST_SLOTS + 1 + HT_UNIT_SECTORS * geo.lost_per_sector);
        EXPECT_LE(geo.lost_per_sector * (8 + 2 * geo.words), 496U);
        EXPECT_GT((geo.lost_per_sector + 1) * (8 + 2 * geo.words), 496U);
        EXPECT_LE(geo.slot_start + u64{geo.slots} * extent, fast);
        EXPECT_GT(geo.slot_start + u64{geo.slots + 2} * extent, fast) << "room is left over";
        EXPECT_GE(u64{geo.meta_sectors} * geo.per_sector, geo.slots);
        EXPECT_LE(geo.per_sector * (8 + 4 * geo.words), 496U);
        EXPECT_GT((geo.per_sector + 1) * (8 + 4 * geo.words), 496U);
    }
}

TEST(Layout, RefusesExtentsOfOddSizes) {
    ht_geometry geo{};
    for (u32 extent : {0U, 1U, 8U, 64U, 127U, 129U, 384U, 4096U, 0x80000000U, 0xffffffffU})
        EXPECT_EQ(ht_format_layout(64 * MiB, 1024 * MiB, extent, &geo), HT_REFUSE_EXTENT) << extent;
}

TEST(Layout, RefusesDevicesThatAreTooSmallOrTooLarge) {
    ht_geometry geo{};
    for (u64 fast : {0ULL, 1ULL, 127ULL, 128ULL, 1000ULL})
        EXPECT_EQ(ht_format_layout(fast, 1024 * MiB, EXTENT, &geo), HT_REFUSE_FAST_SMALL) << fast;
    for (u64 bulk : {0ULL, 1ULL, 2047ULL, 2048ULL, 2048ULL + EXTENT - 1})
        EXPECT_EQ(ht_format_layout(64 * MiB, bulk, EXTENT, &geo), HT_REFUSE_BULK_SMALL) << bulk;
    EXPECT_EQ(ht_format_layout(64 * MiB, u64{EXTENT} << 33, EXTENT, &geo), HT_REFUSE_LARGE);
    EXPECT_EQ(ht_format_layout(u64{EXTENT} << 33, 1024 * MiB, EXTENT, &geo), HT_REFUSE_LARGE);
    for (int shift = 42; shift < 64; shift++) {
        EXPECT_EQ(ht_format_layout(1ULL << shift, 1024 * MiB, EXTENT, &geo), HT_REFUSE_LARGE);
        EXPECT_EQ(ht_format_layout(64 * MiB, 1ULL << shift, EXTENT, &geo), HT_REFUSE_LARGE);
    }
    EXPECT_EQ(ht_format_layout(~0ULL, ~0ULL, EXTENT, &geo), HT_REFUSE_LARGE);
}

TEST(Layout, TakesTheSmallestFastDeviceThatHasEnoughSlots) {
    ht_geometry geo{};
    u64 fast = 0;
    while (ht_format_layout(fast, 1024 * MiB, EXTENT, &geo) == HT_REFUSE_FAST_SMALL)
        fast++;
    ASSERT_LT(fast, 64 * MiB);
    EXPECT_EQ(geo.slots, u32{HT_SLOTS_MIN});
    EXPECT_LE(geo.slot_start + u64{geo.slots} * EXTENT, fast);
}

// ---- headers --------------------------------------------------------------------------------

TEST(Header, ComesBackAsItWasWritten) {
    for (u32 role : {u32{HT_ROLE_FAST}, u32{HT_ROLE_BULK}}) {
        const ht_header in = header(role);
        const Sector sector = encoded(in);
        ht_header out{};
        ASSERT_TRUE(ht_header_ours(sector.data()));
        ASSERT_EQ(decode(sector, &out), HT_OK);
        EXPECT_EQ(out.role, role);
        EXPECT_EQ(memcmp(out.uuid, in.uuid, 16), 0);
        EXPECT_EQ(out.geo.extent_shift, in.geo.extent_shift);
        EXPECT_EQ(out.geo.units, in.geo.units);
        EXPECT_EQ(out.geo.words, in.geo.words);
        EXPECT_EQ(out.geo.slots, in.geo.slots);
        EXPECT_EQ(out.geo.extents, in.geo.extents);
        EXPECT_EQ(out.geo.per_sector, in.geo.per_sector);
        EXPECT_EQ(out.geo.meta_sectors, in.geo.meta_sectors);
        EXPECT_EQ(out.geo.meta_start, in.geo.meta_start);
        EXPECT_EQ(out.geo.lost_start, in.geo.lost_start);
        EXPECT_EQ(out.geo.lost_sectors, in.geo.lost_sectors);
        EXPECT_EQ(out.geo.lost_per_sector, in.geo.lost_per_sector);
        EXPECT_EQ(out.geo.slot_start, in.geo.slot_start);
        EXPECT_EQ(out.geo.home_start, in.geo.home_start);
    }
}

TEST(Header, AnyFlippedBitIsNoticed) {
    const Sector good = encoded(header());
    for (size_t bit = 0; bit < good.size() * 8; bit++) {
        Sector bad = good;
        bad[bit / 8] ^= u8(1U << bit % 8);
        const ht_refusal why = decode(bad);
        EXPECT_TRUE(bit < 64 ? why == HT_REFUSE_FOREIGN : why != HT_OK) << "bit " << bit;
    }
}

TEST(Header, WhatIsNotOursIsForeign) {
    Sector zeroes{}, ones;
    ones.fill(0xff);
    EXPECT_EQ(decode(zeroes), HT_REFUSE_FOREIGN);
    EXPECT_EQ(decode(ones), HT_REFUSE_FOREIGN);
    EXPECT_FALSE(ht_header_ours(zeroes.data()));
    EXPECT_FALSE(ht_header_ours(ones.data()));
}

TEST(Header, RefusesOtherVersionsAndUnknownFeatures) {
    const Sector good = encoded(header());
    const auto with32 = [&](size_t at, u32 v) { return decode(forged(good, at, htole32(v))); };
    const auto with64 = [&](size_t at, u64 v) { return decode(forged(good, at, htole64(v))); };
    ASSERT_EQ(with32(offsetof(ht_disk_header, version), HT_VERSION), HT_OK) << "forgery is broken";
    EXPECT_EQ(with32(offsetof(ht_disk_header, version), HT_VERSION + 1), HT_REFUSE_VERSION);
    EXPECT_EQ(with32(offsetof(ht_disk_header, version), 0), HT_REFUSE_VERSION);
    EXPECT_EQ(with64(offsetof(ht_disk_header, incompat), 1ULL << 63), HT_REFUSE_FEATURES);
    EXPECT_EQ(with64(offsetof(ht_disk_header, ro_compat), 1), HT_REFUSE_FEATURES);
    EXPECT_EQ(with64(offsetof(ht_disk_header, compat), 1ULL << 40), HT_OK) << "compat is ignored";
}

TEST(Header, RefusesNumbersThatContradictEachOther) {
    const Sector good = encoded(header());
    const auto with32 = [&](size_t at, u32 v) { return decode(forged(good, at, htole32(v))); };
    const auto with64 = [&](size_t at, u64 v) { return decode(forged(good, at, htole64(v))); };
    for (u32 role : {0U, 3U, 0xffffffffU})
        EXPECT_EQ(with32(offsetof(ht_disk_header, role), role), HT_REFUSE_GEOMETRY) << role;
    for (u32 extent : {0U, 1U, 64U, 200U, 4096U, 0xffffffffU})
        EXPECT_NE(with32(offsetof(ht_disk_header, extent_sectors), extent), HT_OK) << extent;
    for (size_t at : {offsetof(ht_disk_header, extents), offsetof(ht_disk_header, slots),
                      offsetof(ht_disk_header, meta_start), offsetof(ht_disk_header, slot_start),
                      offsetof(ht_disk_header, home_start), offsetof(ht_disk_header, lost_sectors)})
        for (u64 value : {0ULL, (1ULL << 32) + 1, 1ULL << 63, ~0ULL})
            EXPECT_NE(with64(at, value), HT_OK) << "offset " << at << " value " << value;
}

// Whatever the numbers say, what was accepted must be safe to compute with.
TEST(Header, AcceptedGeometryNeverOverflows) {
    std::mt19937_64 random(7);
    const Sector good = encoded(header());
    int accepted = 0;
    for (int i = 0; i < 20000; i++) {
        Sector sector = good;
        for (int k = 0; k < 2; k++) {
            const size_t at = offsetof(ht_disk_header, extents) + 8 * (random() % 7);
            const u64 value = random() >> (random() % 64) & ~(random() % 2 ? u64{EXTENT - 1} : 0);
            sector = forged(sector, at, htole64(value));
        }
        ht_header h{};
        if (decode(sector, &h) != HT_OK) continue;
        accepted++;
        const u64 end = h.geo.slot_start + (u64{h.geo.slots} << h.geo.extent_shift);
        EXPECT_GT(end, h.geo.slot_start);
        EXPECT_GE(h.geo.lost_start, h.geo.meta_start + h.geo.meta_sectors);
        EXPECT_GE(h.geo.slot_start, h.geo.lost_start + h.geo.lost_sectors);
        EXPECT_LE(ht_lost_capacity(&h.geo), HT_LOST_MAX + HT_UNIT_SECTORS * h.geo.lost_per_sector);
        EXPECT_GE(u64{h.geo.meta_sectors} * h.geo.per_sector, h.geo.slots);
        EXPECT_LT(h.geo.extents, HT_NIL);
        EXPECT_LT(h.geo.slots, HT_NIL);
        EXPECT_GE(h.geo.home_start, u64{HT_STATE_SECTOR + HT_STATE_COPIES * HT_STATE_STRIDE});
        EXPECT_EQ(ht_header_fits(&h, 0) == HT_OK, false);
    }
    EXPECT_GT(accepted, 100) << "the forgeries are too crude to test anything";
}

// A pair from before there was a lost map.
TEST(Header, WithoutALostMapItHasNone) {
    ht_header h = header();
    h.geo.lost_sectors = 0;
    const Sector sector = encoded(h);
    ht_header out{};
    ASSERT_EQ(decode(sector, &out), HT_OK);
    EXPECT_EQ(out.geo.lost_sectors, 0U);
    EXPECT_EQ(ht_lost_capacity(&out.geo), 0U);
    EXPECT_EQ(decode(forged(sector, offsetof(ht_disk_header, lost_sectors), htole64(8))),
              HT_REFUSE_GEOMETRY)
        << "a lost map that the feature bit denies";
}

TEST(Header, FitsOnlyDevicesThatAreLargeEnough) {
    const ht_header fast = header(HT_ROLE_FAST), bulk = header(HT_ROLE_BULK);
    EXPECT_EQ(ht_header_fits(&fast, 64 * MiB), HT_OK);
    EXPECT_EQ(ht_header_fits(&fast, 65 * MiB), HT_OK);
    EXPECT_EQ(ht_header_fits(&fast, 32 * MiB), HT_REFUSE_FAST_SMALL);
    EXPECT_EQ(ht_header_fits(&bulk, 1024 * MiB), HT_OK);
    EXPECT_EQ(ht_header_fits(&bulk, 1024 * MiB - EXTENT), HT_REFUSE_BULK_SMALL);
    EXPECT_EQ(ht_header_fits(&bulk, 0), HT_REFUSE_BULK_SMALL);
}

TEST(Header, PairsOnlyWithItsOtherHalf) {
    const ht_header fast = header(HT_ROLE_FAST), bulk = header(HT_ROLE_BULK);
    EXPECT_TRUE(ht_header_pair(&fast, &bulk));
    EXPECT_FALSE(ht_header_pair(&bulk, &fast)) << "swapped";
    EXPECT_FALSE(ht_header_pair(&fast, &fast));
    ht_header other = bulk;
    other.uuid[15] ^= 1;
    EXPECT_FALSE(ht_header_pair(&fast, &other));
    other = bulk;
    other.geo.extents--;
    EXPECT_FALSE(ht_header_pair(&fast, &other));
}

// ---- states ---------------------------------------------------------------------------------

Sector state_sector(const ht_header& h, const ht_state& state) {
    Sector sector;
    sector.fill(0x55);
    ht_state_encode(h.uuid, h.role, &state, sector.data());
    return sector;
}

ht_refusal decode_states(const ht_header& h, const Sector& a, const Sector& b, ht_state* ret) {
    const void* copies[HT_STATE_COPIES] = {a.data(), b.data()};
    return ht_state_decode(h.uuid, h.role, copies, ret);
}

TEST(State, TheNewerCopyCounts) {
    const ht_header h = header();
    const Sector old =
        state_sector(h, {.flags = 0, .seq = 41, .epoch = 1, .commit_seq = 9, .extents = 0});
    const Sector young = state_sector(h, {.flags = HT_STATE_CLEAN_STOP,
                                          .seq = 42,
                                          .epoch = 2,
                                          .commit_seq = 1ULL << 40,
                                          .extents = 77});
    for (bool swap : {false, true}) {
        ht_state out{};
        ASSERT_EQ(decode_states(h, swap ? young : old, swap ? old : young, &out), HT_OK);
        EXPECT_EQ(out.seq, 42U);
        EXPECT_EQ(out.flags, HT_STATE_CLEAN_STOP);
        EXPECT_EQ(out.epoch, 2U);
        EXPECT_EQ(out.commit_seq, 1ULL << 40);
        EXPECT_EQ(out.extents, 77U);
    }
}

TEST(State, ATornCopyLeavesTheOther) {
    const ht_header h = header();
    const Sector old =
        state_sector(h, {.flags = 0, .seq = 41, .epoch = 1, .commit_seq = 9, .extents = 0});
    Sector torn =
        state_sector(h, {.flags = 0, .seq = 42, .epoch = 1, .commit_seq = 10, .extents = 0});
    torn[16] ^= 0xff;
    ht_state out{};
    ASSERT_EQ(decode_states(h, torn, old, &out), HT_OK);
    EXPECT_EQ(out.seq, 41U);
    EXPECT_EQ(decode_states(h, torn, torn, &out), HT_REFUSE_CRC);
}

TEST(State, BelongsToOnePairAndRole) {
    const ht_header h = header(HT_ROLE_FAST);
    const Sector sector =
        state_sector(h, {.flags = 0, .seq = 1, .epoch = 1, .commit_seq = 0, .extents = 0});
    ht_header other = h;
    other.uuid[0] ^= 1;
    ht_state out{};
    EXPECT_EQ(decode_states(other, sector, sector, &out), HT_REFUSE_CRC);
    other = h;
    other.role = HT_ROLE_BULK;
    EXPECT_EQ(decode_states(other, sector, sector, &out), HT_REFUSE_CRC);
}

// R17
TEST(State, NumbersThatNobodyHasCountedToAreNotBelieved) {
    const ht_header h = header();
    const ht_state fine{.flags = 0, .seq = 41, .epoch = 1, .commit_seq = 9, .extents = 0};
    const Sector good = state_sector(h, fine);
    ht_state seq = fine, epoch = fine, commit_seq = fine, extents = fine;
    seq.seq = epoch.epoch = 1ULL << 62;
    epoch.seq = commit_seq.seq = extents.seq = 42;
    commit_seq.commit_seq = ~0ULL;
    extents.extents = HT_NIL;
    for (const ht_state& wild : {seq, epoch, commit_seq, extents}) {
        const Sector sector = state_sector(h, wild);
        ht_state out{};
        ASSERT_EQ(decode_states(h, sector, good, &out), HT_OK);
        EXPECT_EQ(out.seq, 41U);
        EXPECT_EQ(decode_states(h, sector, sector, &out), HT_REFUSE_CRC);
    }
}

TEST(State, SuccessorsAlternateBetweenTheCopies) {
    for (u64 seq : {0ULL, 1ULL, 41ULL, ~0ULL - 1}) {
        EXPECT_NE(ht_state_sector(seq), ht_state_sector(seq + 1));
        for (u64 s : {seq, seq + 1}) {
            const u64 at = ht_state_sector(s);
            EXPECT_GE(at, u64{HT_STATE_SECTOR});
            EXPECT_LT(at, u64{HT_STATE_SECTOR + HT_STATE_COPIES * HT_STATE_STRIDE});
        }
    }
}

// ---- records --------------------------------------------------------------------------------

ht_record some_record(const ht_geometry& geo, u32 extent) {
    ht_record r{};
    r.used = true;
    r.klass = 3;
    r.group = 200;
    r.extent = extent;
    for (u32 w = 0; w < geo.words; w++) {
        r.valid[w] = u16(0xf0f1 + w);
        r.dirty[w] = u16(r.valid[w] & 0x70f0);
    }
    return r;
}

TEST(Records, ComeBackFromEveryPlace) {
    for (u32 extent : {128U, 512U, 2048U}) {
        const ht_header h = header();
        const ht_geometry geo = geometry(777 * MiB, 4096 * MiB, extent);
        Sector sector;
        sector.fill(0xee);
        ht_records_init(h.uuid, &geo, 5, sector.data());
        for (u32 nth = 0; nth < geo.per_sector; nth++) {
            const ht_record r = some_record(geo, nth * 7);
            ht_record_put(&geo, sector.data(), nth, &r);
        }
        ht_records_seal(h.uuid, 5, 77, sector.data());
        u64 seq = 0;
        ASSERT_EQ(ht_records_check(h.uuid, 5, sector.data(), &seq), HT_OK);
        EXPECT_EQ(seq, 77U);
        for (u32 nth = 0; nth < geo.per_sector; nth++) {
            const ht_record want = some_record(geo, nth * 7);
            ht_record got{};
            ASSERT_EQ(ht_record_get(&geo, sector.data(), nth, &got), HT_OK);
            EXPECT_TRUE(got.used);
            EXPECT_EQ(got.klass, want.klass);
            EXPECT_EQ(got.group, want.group);
            EXPECT_EQ(got.extent, want.extent);
            EXPECT_EQ(memcmp(got.valid, want.valid, geo.words * 2), 0);
            EXPECT_EQ(memcmp(got.dirty, want.dirty, geo.words * 2), 0);
        }
    }
}

TEST(Records, AFreshSectorHoldsNone) {
    const ht_header h = header();
    const ht_geometry geo = geometry();
    Sector sector;
    sector.fill(0xee);
    ht_records_init(h.uuid, &geo, 0, sector.data());
    u64 seq = 99;
    ASSERT_EQ(ht_records_check(h.uuid, 0, sector.data(), &seq), HT_OK);
    for (u32 nth = 0; nth < geo.per_sector; nth++) {
        ht_record r{};
        ASSERT_EQ(ht_record_get(&geo, sector.data(), nth, &r), HT_OK);
        EXPECT_FALSE(r.used);
    }
}

TEST(Records, ASectorIsGoodInItsOwnPlaceOnly) {
    const ht_header h = header();
    const ht_geometry geo = geometry();
    Sector sector;
    ht_records_init(h.uuid, &geo, 5, sector.data());
    u64 seq = 0;
    EXPECT_EQ(ht_records_check(h.uuid, 6, sector.data(), &seq), HT_REFUSE_CRC);
    ht_header other = h;
    other.uuid[3] ^= 0x80;
    EXPECT_EQ(ht_records_check(other.uuid, 5, sector.data(), &seq), HT_REFUSE_CRC);
    for (size_t bit = 0; bit < sector.size() * 8; bit++) {
        Sector bad = sector;
        bad[bit / 8] ^= u8(1U << bit % 8);
        EXPECT_NE(ht_records_check(h.uuid, 5, bad.data(), &seq), HT_OK) << "bit " << bit;
    }
}

// A sealed sector with impossible records: the seal is right, the contents are hostile.
TEST(Records, ImpossibleOnesAreRefused) {
    const ht_header h = header();
    const ht_geometry geo = geometry();
    Sector sector;
    ht_records_init(h.uuid, &geo, 0, sector.data());
    ht_record out{};

    ht_record r = some_record(geo, geo.extents - 1);
    ht_record_put(&geo, sector.data(), 0, &r);
    EXPECT_EQ(ht_record_get(&geo, sector.data(), 0, &out), HT_OK);

    r = some_record(geo, geo.extents);
    ht_record_put(&geo, sector.data(), 0, &r);
    EXPECT_EQ(ht_record_get(&geo, sector.data(), 0, &out), HT_REFUSE_RECORD);

    r = some_record(geo, HT_NIL);
    ht_record_put(&geo, sector.data(), 0, &r);
    EXPECT_EQ(ht_record_get(&geo, sector.data(), 0, &out), HT_REFUSE_RECORD);
}

// These index tables of the module.
TEST(Records, UnknownClassesAndGroupsAreRefused) {
    const ht_header h = header();
    const ht_geometry geo = geometry();
    Sector sector;
    ht_records_init(h.uuid, &geo, 0, sector.data());
    ht_record r = some_record(geo, 1), out{};
    r.klass = HINTIER_CLASSES;
    ht_record_put(&geo, sector.data(), 0, &r);
    EXPECT_EQ(ht_record_get(&geo, sector.data(), 0, &out), HT_REFUSE_RECORD);
    r = some_record(geo, 1);
    r.group = HINTIER_GROUPS;
    ht_record_put(&geo, sector.data(), 0, &r);
    EXPECT_EQ(ht_record_get(&geo, sector.data(), 0, &out), HT_REFUSE_RECORD);
}

TEST(Records, BadSlotsAreKeptUsedOrNot) {
    const ht_header h = header();
    const ht_geometry geo = geometry();
    Sector sector;
    ht_records_init(h.uuid, &geo, 0, sector.data());
    ht_record retired{}, r = some_record(geo, 1), out{};
    retired.bad = r.bad = true;
    ht_record_put(&geo, sector.data(), 0, &retired);
    ht_record_put(&geo, sector.data(), 1, &r);
    ASSERT_EQ(ht_record_get(&geo, sector.data(), 0, &out), HT_OK);
    EXPECT_TRUE(out.bad && !out.used);
    ASSERT_EQ(ht_record_get(&geo, sector.data(), 1, &out), HT_OK);
    EXPECT_TRUE(out.bad && out.used);
    EXPECT_EQ(out.extent, r.extent);
    EXPECT_EQ(out.klass, r.klass);
    ASSERT_EQ(ht_record_get(&geo, sector.data(), 2, &out), HT_OK);
    EXPECT_FALSE(out.bad || out.used);

    // Byte 7 of a record has the key's topmost bits.
    for (const int bit : {0, 5}) {
        Sector damaged = sector;
        damaged[16 + 7] ^= u8(1 << bit);
        EXPECT_EQ(ht_record_get(&geo, damaged.data(), 0, &out), HT_REFUSE_RECORD);
    }
}

TEST(Records, DirtyUnitsThatAreNotValidAreRefused) {
    const ht_header h = header();
    const ht_geometry geo = geometry();
    Sector sector;
    ht_records_init(h.uuid, &geo, 0, sector.data());
    ht_record r = some_record(geo, 1), out{};
    r.valid[0] = 0x0001;
    r.dirty[0] = 0x0003;
    ht_record_put(&geo, sector.data(), 0, &r);
    EXPECT_EQ(ht_record_get(&geo, sector.data(), 0, &out), HT_REFUSE_RECORD);
}

// Random bytes below a good head: decoding them reads nothing it should not (the sanitizers look)
// and what is accepted stays within bounds.
TEST(Records, RandomContentsStayWithinBounds) {
    std::mt19937_64 random(11);
    for (u32 extent : {128U, 2048U}) {
        const ht_geometry geo = geometry(777 * MiB, 4096 * MiB, extent);
        for (int i = 0; i < 2000; i++) {
            Sector sector;
            std::generate(sector.begin(), sector.end(), [&] { return u8(random()); });
            for (u32 nth = 0; nth < geo.per_sector; nth++) {
                ht_record r{};
                if (ht_record_get(&geo, sector.data(), nth, &r) != HT_OK || !r.used) continue;
                EXPECT_LT(r.extent, geo.extents);
                for (u32 w = 0; w < geo.words; w++)
                    EXPECT_EQ(r.dirty[w] & ~r.valid[w], 0);
            }
        }
    }
}

// ---- the lost map ---------------------------------------------------------------------------

ht_lost_record some_lost(const ht_geometry& geo, u32 extent) {
    ht_lost_record r{};
    r.used = true;
    r.extent = extent;
    for (u32 w = 0; w < geo.words; w++)
        r.lost[w] = u16(0x8001 + w);
    return r;
}

TEST(LostSectors, ComeBackFromEveryPlace) {
    for (u32 extent : {128U, 512U, 2048U}) {
        const ht_header h = header();
        const ht_geometry geo = geometry(777 * MiB, 4096 * MiB, extent);
        Sector sector;
        sector.fill(0xee);
        ht_lost_init(h.uuid, 5, sector.data());
        for (u32 nth = 0; nth < geo.lost_per_sector; nth += 2) {
            const ht_lost_record r = some_lost(geo, nth * 7);
            ht_lost_put(&geo, sector.data(), nth, &r);
        }
        ht_lost_seal(h.uuid, 5, 77, sector.data());
        u64 seq = 0;
        ASSERT_EQ(ht_lost_check(h.uuid, 5, sector.data(), &seq), HT_OK);
        EXPECT_EQ(seq, 77U);
        for (u32 nth = 0; nth < geo.lost_per_sector; nth++) {
            ht_lost_record got{};
            ASSERT_EQ(ht_lost_get(&geo, sector.data(), nth, &got), HT_OK) << nth;
            ASSERT_EQ(got.used, nth % 2 == 0) << nth;
            if (!got.used) continue;
            const ht_lost_record want = some_lost(geo, nth * 7);
            EXPECT_EQ(got.extent, want.extent);
            EXPECT_EQ(memcmp(got.lost, want.lost, geo.words * 2), 0);
        }
    }
}

TEST(LostSectors, AreGoodInTheirOwnPlaceOnlyAndAreNoRecords) {
    const ht_header h = header();
    Sector sector;
    ht_lost_init(h.uuid, 5, sector.data());
    u64 seq = 0;
    EXPECT_EQ(ht_lost_check(h.uuid, 5, sector.data(), &seq), HT_OK);
    EXPECT_EQ(ht_lost_check(h.uuid, 6, sector.data(), &seq), HT_REFUSE_CRC);
    EXPECT_EQ(ht_records_check(h.uuid, 5, sector.data(), &seq), HT_REFUSE_CRC);
    for (size_t bit = 0; bit < sector.size() * 8; bit++) {
        Sector bad = sector;
        bad[bit / 8] ^= u8(1U << bit % 8);
        EXPECT_NE(ht_lost_check(h.uuid, 5, bad.data(), &seq), HT_OK) << "bit " << bit;
    }
}

TEST(LostSectors, ImpossibleEntriesAreRefused) {
    const ht_header h = header();
    const ht_geometry geo = geometry();
    Sector sector;
    const auto get = [&] {
        ht_lost_record r{};
        return ht_lost_get(&geo, sector.data(), 0, &r);
    };
    const auto put = [&](const ht_lost_record& r) {
        ht_lost_init(h.uuid, 0, sector.data());
        ht_lost_put(&geo, sector.data(), 0, &r);
        return get();
    };
    ht_lost_record r = some_lost(geo, geo.extents - 1);
    EXPECT_EQ(put(r), HT_OK);
    r.extent = geo.extents;
    EXPECT_EQ(put(r), HT_REFUSE_LOST);
    r = some_lost(geo, 1);
    memset(r.lost, 0, sizeof(r.lost));
    EXPECT_EQ(put(r), HT_REFUSE_LOST) << "used, and nothing is lost";
    put(some_lost(geo, 1));
    sector[16 + 5] = 1; // bits 40 to 47 of the key
    EXPECT_EQ(get(), HT_REFUSE_LOST);
    put(some_lost(geo, 1));
    sector[16 + 7] = 0; // not used, but with bits
    EXPECT_EQ(get(), HT_REFUSE_LOST);
}

TEST(Refusals, EachHasALineOfItsOwn) {
    std::vector<std::string> seen;
    for (int why = HT_REFUSE_FOREIGN; why <= HT_REFUSE_LOST; why++) {
        const char* text = ht_refusal_text(ht_refusal(why));
        ASSERT_NE(text, nullptr) << why;
        EXPECT_GT(strlen(text), 5U) << why;
        EXPECT_EQ(std::string(text).find('\n'), std::string::npos);
        EXPECT_EQ(std::count(seen.begin(), seen.end(), text), 0) << text;
        seen.emplace_back(text);
    }
    EXPECT_NE(ht_refusal_text(ht_refusal(9999)), nullptr) << "hostile numbers get a line too";
}

// The published check value of CRC-32C, and its incremental form.
TEST(Crc, IsCastagnoli) {
    EXPECT_EQ(~ht_crc32c(~0U, "123456789", 9), 0xe3069283U);
    EXPECT_EQ(ht_crc32c(ht_crc32c(~0U, "1234", 4), "56789", 5), ht_crc32c(~0U, "123456789", 9));
    EXPECT_EQ(ht_crc32c(0x1234, nullptr, 0), 0x1234U);
}

} // namespace
