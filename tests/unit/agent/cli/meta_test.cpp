// SPDX-License-Identifier: Apache-2.0
// The offline tools on pairs that are damaged in every way: whatever they call good reads right,
// what they mend is what was there before, and a drain may be cut off anywhere.
#include <random>

#include <gtest/gtest.h>

#include "agent/cli/meta/drain.hpp"
#include "agent/cli/meta/repair.hpp"
#include "agent/cli/meta/survey.hpp"
#include "tests/host/pair_image.hpp"

namespace hintier::cli {
namespace {

using test::PairImage;

const Progress quiet = [](auto, auto) {};

Survey look(PairImage& image) {
    return survey(image, quiet);
}

ht_record record_of(u32 extent, u16 valid, u16 dirty) {
    ht_record record{};
    record.used = true;
    record.extent = extent;
    record.valid[0] = valid;
    record.dirty[0] = dirty;
    return record;
}

ht_lost_record lost_of(u32 extent, u16 units) {
    ht_lost_record lost{};
    lost.used = true;
    lost.extent = extent;
    lost.lost[0] = units;
    return lost;
}

// Slots with clean and dirty units, lost units, two of which slots hold again; every unit's data
// says where it lies and which is newer.
PairImage lived_in(u32 slots = 16, u32 extents = 32) {
    PairImage image(slots, extents);
    for (u32 extent = 0; extent < extents; extent++)
        for (u32 unit = 0; unit < 4; unit++)
            image.fill(HT_ROLE_BULK, image.home_unit(extent, unit), static_cast<u8>(extent));
    for (u32 slot = 0; slot < slots; slot += 2) {
        const u32 extent = (slot * 7 + 3) % extents;
        image.put_record(slot, record_of(extent, 0xf, slot % 4 ? 0x6 : 0x0), 5 + slot);
        for (u32 unit = 0; unit < 4; unit++)
            image.fill(
                HT_ROLE_FAST, image.slot_unit(slot, unit),
                static_cast<u8>(slot % 4 && (unit == 1 || unit == 2) ? 0x80 | extent : extent));
    }
    image.put_lost(0, lost_of(30, 0x5));
    image.put_lost(1, lost_of(17, 0x3));
    ht_state state{};
    state.seq = 6;
    state.epoch = 3;
    state.commit_seq = 40;
    image.put_states(HT_ROLE_FAST, state);
    state.flags = HT_STATE_HAS_DIRTY;
    image.put_states(HT_ROLE_BULK, state);
    return image;
}

// What a tier on this pair would read at a unit, if every record is believed.
constexpr int LOST = -1;

int read_unit(PairImage& image, u32 extent, u32 unit) {
    Survey found = look(image);
    for (const Lost& lost : found.lost)
        if (lost.extent == extent && lost.still[0] >> unit & 1) return LOST;
    for (const Mapped& mapped : found.mapped) {
        if (mapped.extent != extent) continue;
        const u32 index = mapped.slot / image.geo().per_sector;
        Sector sector = image.get(HT_ROLE_FAST, image.geo().meta_start + index);
        ht_record record{};
        ht_record_get(&image.geo(), sector.data(), mapped.slot % image.geo().per_sector, &record);
        if (record.valid[0] >> unit & 1)
            return static_cast<u8>(image.get(HT_ROLE_FAST, image.slot_unit(mapped.slot, unit))[0]);
    }
    return static_cast<u8>(image.get(HT_ROLE_BULK, image.home_unit(extent, unit))[0]);
}

std::vector<int> contents(PairImage& image) {
    std::vector<int> all;
    for (u32 extent = 0; extent < image.geo().extents; extent++)
        for (u32 unit = 0; unit < 4; unit++)
            all.push_back(read_unit(image, extent, unit));
    return all;
}

// What bulk alone would read.
std::vector<int> homes(const PairImage& image) {
    std::vector<int> all;
    for (u32 extent = 0; extent < image.geo().extents; extent++)
        for (u32 unit = 0; unit < 4; unit++)
            all.push_back(
                static_cast<u8>(image.get(HT_ROLE_BULK, image.home_unit(extent, unit))[0]));
    return all;
}

// Bulk says all of it that is not lost.
bool complete(const std::vector<int>& bulk, const std::vector<int>& all) {
    for (size_t i = 0; i < all.size(); i++)
        if (all[i] != LOST && bulk[i] != all[i]) return false;
    return true;
}

Survey repaired(PairImage& image, const Leave& leave = {}) {
    for (int round = 0; round < 4; round++) {
        Survey found = look(image);
        const RepairPlan plan = plan_repair(found, leave);
        if (plan.steps.empty()) return found;
        EXPECT_TRUE(carry_out(image, found, plan));
    }
    return look(image);
}

struct Place {
    ht_role role;
    u64 sector;
};

std::vector<Place> places(const PairImage& image) {
    std::vector<Place> all;
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
        all.push_back({role, HT_HEADER_SECTOR});
        all.push_back({role, HT_STATE_SECTOR});
        all.push_back({role, HT_STATE_SECTOR + HT_STATE_STRIDE});
    }
    all.push_back({HT_ROLE_FAST, image.geo().meta_start});
    all.push_back({HT_ROLE_FAST, image.geo().lost_start});
    return all;
}

void flip(PairImage& image, const Place& place, u32 byte, u8 mask) {
    Sector sector = image.get(place.role, place.sector);
    sector[byte] ^= std::byte(mask);
    image.put(place.role, place.sector, sector);
}

TEST(MetaCheck, AnUndamagedPairIsClean) {
    PairImage fresh;
    EXPECT_TRUE(look(fresh).damages.empty());
    EXPECT_TRUE(look(fresh).clean_stop());
    PairImage image = lived_in();
    Survey found = look(image);
    EXPECT_TRUE(found.damages.empty());
    EXPECT_TRUE(found.agree);
    EXPECT_EQ(found.used, 8U);
    EXPECT_EQ(found.dirty, 4U);
    EXPECT_EQ(found.dirty_units, 8U);
    EXPECT_EQ(found.valid_units, 32U);
    EXPECT_EQ(found.lost.size(), 2U);
    EXPECT_EQ(found.lost_units, 2U) << "a slot holds what extent 17 had lost";
}

// One bit of every field of every structure: seen, and mended to exactly what it was. No field is
// shorter than four bytes.
TEST(MetaRepair, AnyWrongBitIsTurnedBack) {
    const PairImage good = lived_in();
    for (const Place& place : places(good))
        for (u32 field = 0; field < HT_SECTOR_BYTES / 4; field++) {
            if (field > 40 && field % 16) continue; // reserved bytes, records like others
            const u32 byte = 4 * field + field % 4;
            PairImage image = good;
            flip(image, place, byte, static_cast<u8>(1U << field % 8));
            ASSERT_FALSE(image == good);
            ASSERT_TRUE(repaired(image).damages.empty());
            ASSERT_TRUE(image == good)
                << role_name(place.role) << " sector " << place.sector << " byte " << byte;
        }
}

// A whole sector gone: a header comes back from the other, a state from its other copy.
TEST(MetaRepair, ALostHeaderOrStateCopyIsRebuilt) {
    for (const Place& place : places(lived_in())) {
        if (place.sector >= HT_META_SECTOR) continue;
        PairImage image = lived_in();
        const std::vector<int> was = contents(image);
        image.put(place.role, place.sector, Sector{});
        EXPECT_FALSE(look(image).damages.empty());
        Survey after = repaired(image);
        EXPECT_TRUE(after.damages.empty()) << role_name(place.role) << " " << place.sector;
        EXPECT_EQ(after.state[0].newest->epoch, 3U);
        EXPECT_EQ(after.state[1].newest->flags, HT_STATE_HAS_DIRTY);
        EXPECT_EQ(contents(image), was);
    }
}

TEST(MetaRepair, NothingIsWrittenThatIsNotProved) {
    PairImage both = lived_in();
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
        both.put(role, HT_HEADER_SECTOR, Sector{});
    PairImage foreign = lived_in(); // bulk of a pair with the same shape and another name
    PairImage other(16, 32, PairImage::EXTENT_SECTORS, 0x33);
    foreign.restore(HT_ROLE_BULK, other);
    PairImage guessed = foreign; // and no header: the UUID that fast tells is not its own
    guessed.put(HT_ROLE_BULK, HT_HEADER_SECTOR, Sector{});
    PairImage states = lived_in();
    for (u64 copy = 0; copy < HT_STATE_COPIES; copy++)
        states.put(HT_ROLE_BULK, HT_STATE_SECTOR + copy * HT_STATE_STRIDE, Sector{});
    PairImage records = lived_in();
    records.put(HT_ROLE_FAST, records.geo().meta_start, Sector{});
    PairImage lost = lived_in();
    lost.put(HT_ROLE_FAST, lost.geo().lost_start, Sector{});
    PairImage swapped = lived_in();
    PairImage aside = swapped;
    swapped.put(HT_ROLE_FAST, 0, aside.get(HT_ROLE_BULK, 0));
    swapped.put(HT_ROLE_BULK, 0, aside.get(HT_ROLE_FAST, 0));
    PairImage shorter = lived_in();
    shorter.shrink(HT_ROLE_BULK, 2048);
    for (PairImage* image :
         {&both, &foreign, &guessed, &states, &records, &lost, &swapped, &shorter}) {
        const PairImage before = *image;
        Survey found = look(*image);
        EXPECT_FALSE(found.damages.empty());
        EXPECT_FALSE(plan_repair(found, {}).left.empty());
        EXPECT_FALSE(repaired(*image).damages.empty());
        EXPECT_TRUE(*image == before);
        EXPECT_FALSE(drain(*image, look(*image), quiet));
        EXPECT_TRUE(*image == before) << "a damaged pair is not drained";
    }
}

TEST(MetaRepair, WhatIsGivenUpIsNamed) {
    PairImage image = lived_in();
    Sector sector = image.get(HT_ROLE_FAST, image.geo().meta_start);
    sector[HT_SECTOR_BYTES - 1] = std::byte{0xff}; // padding and checksum: the records are there
    sector[0] = sector[1] = sector[2] = sector[3] = std::byte{0x77};
    image.put(HT_ROLE_FAST, image.geo().meta_start, sector);
    Survey found = look(image);
    std::vector<u32> named;
    for (u32 slot = 0; slot < 16; slot += 2)
        named.push_back((slot * 7 + 3) % 32);
    std::sort(named.begin(), named.end());
    RepairPlan plan = plan_repair(found, {.drop_records = true});
    EXPECT_EQ(plan.unknown, named);
    EXPECT_EQ(plan.unknown_slots, 0U);
    Survey after = repaired(image, {.drop_records = true});
    EXPECT_TRUE(after.damages.empty());
    EXPECT_EQ(after.used, 0U);

    PairImage blank = lived_in();
    blank.put(HT_ROLE_FAST, blank.geo().meta_start, Sector{});
    blank.put(HT_ROLE_FAST, blank.geo().lost_start, Sector{});
    plan = plan_repair(look(blank), {.drop_records = true, .drop_lost = true});
    EXPECT_EQ(plan.unknown_slots, 16U);
    EXPECT_EQ(plan.stale_entries, blank.geo().lost_per_sector);

    PairImage noise = lived_in();
    Sector random{};
    std::mt19937 dice(1);
    for (std::byte& byte : random)
        byte = std::byte(dice());
    noise.put(HT_ROLE_FAST, noise.geo().meta_start, random);
    found = look(noise);
    plan = plan_repair(found, {.drop_records = true});
    EXPECT_EQ(plan.unknown.size() + plan.unknown_slots, 16U);
    EXPECT_TRUE(repaired(noise, {.drop_records = true}).damages.empty());
}

TEST(MetaRepair, RecordsThatCannotBeTrueGoOnlyWhenTold) {
    PairImage image = lived_in();
    image.put_record(5, record_of(3, 1, 0));  // slot 0 has extent 3
    image.put_record(7, record_of(32, 1, 0)); // beyond the tier
    image.put_record(9, record_of(1, 1, 2));  // dirty, but not valid
    Survey found = look(image);
    EXPECT_TRUE(found.found(Fault::duplicate));
    EXPECT_TRUE(found.found(Fault::record));
    EXPECT_FALSE(repaired(image).damages.empty());
    Survey after = repaired(image, {.drop_records = true});
    EXPECT_TRUE(after.damages.empty());
    EXPECT_EQ(after.used, 7U) << "both that name extent 3 are gone, the other seven stay";
}

// Bulk went on without fast, or one of them is an older image.
TEST(MetaRepair, DevicesOfTwoTimes) {
    for (u64 fast_epoch : {2U, 4U}) {
        PairImage image = lived_in();
        ht_state state = *look(image).state[0].newest;
        state.epoch = fast_epoch;
        image.put_states(HT_ROLE_FAST, state);
        Survey found = look(image);
        EXPECT_FALSE(found.agree);
        const PairImage before = image;
        EXPECT_FALSE(repaired(image).damages.empty()) << "fast holds dirty data";
        EXPECT_TRUE(image == before);
        EXPECT_FALSE(drain(image, look(image), quiet));
        EXPECT_TRUE(image == before);
        const RepairPlan plan = plan_repair(found, {.discard_dirty = true});
        EXPECT_EQ(plan.unknown.size(), 8U);
        EXPECT_TRUE(repaired(image, {.discard_dirty = true}).damages.empty());
        const std::vector<int> now = contents(image);
        EXPECT_TRUE(complete(homes(before), now)) << "what bulk holds is what counts";
        EXPECT_EQ(std::count(now.begin(), now.end(), LOST), 3);
        EXPECT_EQ(now[30 * 4], LOST);
        EXPECT_EQ(now[17 * 4 + 1], LOST) << "it was dirty in a slot: its home is still stale";
        EXPECT_NE(now[17 * 4], LOST) << "it was clean there, so it is home";
    }
}

TEST(MetaRepair, CleanRecordsOfAnotherTimeAreVoidBeforeTheEpochsAgree) {
    PairImage stale = lived_in();
    for (u32 slot = 0; slot < 16; slot += 2)
        stale.put_record(slot, record_of((slot * 7 + 3) % 32, 0xf, 0));
    for (u32 entry : {0U, 1U})
        stale.put_lost(entry, {});
    for (u32 extent = 0; extent < 32; extent++) // bulk went on
        for (u32 unit = 0; unit < 4; unit++)
            stale.fill(HT_ROLE_BULK, stale.home_unit(extent, unit), 0xee);
    ht_state state = *look(stale).state[1].newest;
    state.epoch = 7;
    state.flags = 0;
    state.seq++;
    stale.put_states(HT_ROLE_BULK, state);
    PairImage whole = stale;
    EXPECT_TRUE(repaired(whole).damages.empty());
    EXPECT_EQ(contents(whole), homes(stale));
    std::mt19937 dice(7);
    for (u64 cut = 0; cut < whole.writes(); cut++)
        for (int again = 0; again < 4; again++) {
            PairImage image = stale;
            Survey found = look(image);
            image.cut_after(cut);
            EXPECT_FALSE(carry_out(image, found, plan_repair(found, {})));
            image.power_up(dice);
            found = look(image);
            if (found.agree) {
                EXPECT_EQ(contents(image), homes(stale)) << "cut before write " << cut;
            }
            EXPECT_TRUE(repaired(image).damages.empty());
            EXPECT_EQ(contents(image), homes(stale));
        }
}

// Where the medium failed stays known, whatever else is given up.
TEST(MetaRepair, KeepsBadSlotsRetired) {
    PairImage image = lived_in();
    ht_record retired{};
    retired.bad = true;
    image.put_record(1, retired);
    ht_record stuck = record_of(29, 0xf, 0x1);
    stuck.bad = true;
    image.put_record(3, stuck);
    EXPECT_EQ(look(image).bad, 2U);
    EXPECT_TRUE(look(image).damages.empty());
    PairImage drained = image;
    ASSERT_TRUE(drain(drained, look(drained), quiet));
    EXPECT_EQ(look(drained).bad, 2U);
    ht_state state = *look(image).state[1].newest;
    state.epoch = 7;
    state.seq++;
    image.put_states(HT_ROLE_BULK, state);
    const Survey after = repaired(image, {.discard_dirty = true});
    EXPECT_TRUE(after.damages.empty());
    EXPECT_EQ(after.used, 0U);
    EXPECT_EQ(after.bad, 2U);
}

// A tier that has grown says so in its states: its new extents are no damage.
TEST(MetaCheck, ATierMayHaveGrown) {
    PairImage image = lived_in();
    image.put_record(1, record_of(40, 0xf, 0xf));
    EXPECT_TRUE(look(image).found(Fault::record));
    ht_state state = *look(image).state[0].newest;
    state.extents = 48;
    state.seq++;
    image.put_states(HT_ROLE_FAST, state);
    EXPECT_TRUE(look(image).found(Fault::device)) << "bulk has not grown";
    image.grow(HT_ROLE_BULK, 48);
    const Survey found = look(image);
    EXPECT_TRUE(found.damages.empty());
    EXPECT_EQ(found.geo().extents, 48U);
    ASSERT_TRUE(drain(image, found, quiet));
    EXPECT_EQ(look(image).state[1].newest->extents, 48U);
}

// A mended record sector must not come back after the records were made void.
TEST(MetaRepair, MendsRecordsBeforeItMakesThemVoid) {
    PairImage image = lived_in();
    flip(image, {HT_ROLE_FAST, image.geo().meta_start}, 20, 4);
    flip(image, {HT_ROLE_FAST, image.geo().lost_start}, 3, 1);
    ht_state state = *look(image).state[1].newest;
    state.epoch = 7;
    state.seq++;
    image.put_states(HT_ROLE_BULK, state);
    const PairImage before = image;
    Survey after = repaired(image, {.discard_dirty = true});
    EXPECT_TRUE(after.damages.empty());
    EXPECT_EQ(after.used, 0U);
    EXPECT_EQ(after.lost_units, 3U);
    EXPECT_TRUE(complete(homes(before), contents(image)));
}

TEST(MetaRepair, LostEntriesGoOnlyWhenTold) {
    PairImage image = lived_in();
    const u32 far = image.geo().lost_per_sector + 3; // in another sector
    image.put_lost(2, lost_of(32, 1));               // beyond the tier
    image.put_lost(far, lost_of(30, 0x8));           // entry 0 has it
    Survey found = look(image);
    EXPECT_TRUE(found.found(Fault::lost_entry));
    const PairImage before = image;
    EXPECT_FALSE(repaired(image).damages.empty());
    EXPECT_TRUE(image == before);
    Survey after = repaired(image, {.drop_lost = true});
    EXPECT_TRUE(after.damages.empty());
    ASSERT_EQ(after.lost.size(), 2U);
    EXPECT_EQ(after.lost[1].extent, 30U);
    EXPECT_EQ(after.lost[1].listed[0], 0xd) << "what either listed stays lost";

    PairImage gone = lived_in();
    Sector sector = gone.get(HT_ROLE_FAST, gone.geo().lost_start);
    sector[0] ^= std::byte{0x77};
    sector[1] ^= std::byte{0x77};
    gone.put(HT_ROLE_FAST, gone.geo().lost_start, sector);
    const RepairPlan plan = plan_repair(look(gone), {.drop_lost = true});
    EXPECT_EQ(plan.stale, (std::vector<u32>{17, 30}));
    EXPECT_EQ(plan.stale_entries, 0U);
    EXPECT_EQ(repaired(gone, {.drop_lost = true}).lost_units, 0U);
    EXPECT_EQ(repaired(gone, {}).damages.size(), 0U);
}

TEST(MetaDrain, WritesHomeWhatTheTierWouldRead) {
    PairImage image = lived_in(200, 300);
    const std::vector<int> was = contents(image);
    ASSERT_FALSE(complete(homes(image), was));
    auto drained = drain(image, look(image), quiet);
    ASSERT_TRUE(drained) << drained.error().text;
    EXPECT_EQ(drained->slots, 50U);
    EXPECT_EQ(drained->bytes, 100U * 4096);
    EXPECT_TRUE(complete(homes(image), was));
    EXPECT_EQ(contents(image), was);
    Survey after = look(image);
    EXPECT_TRUE(after.damages.empty());
    EXPECT_EQ(after.dirty, 0U);
    EXPECT_EQ(after.used, 100U) << "what is clean stays warm";
    EXPECT_TRUE(after.clean_stop());
    EXPECT_TRUE(after.state[1].newest->flags & HT_STATE_HAS_DIRTY)
        << "bulk cannot tell what is lost";
}

// One header proves the other, and both are there afterwards: the target takes what was drained.
TEST(MetaDrain, PutsBackTheHeaderThatItDrainedBy) {
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
        for (const bool gone : {false, true}) {
            PairImage image = lived_in();
            const std::vector<int> was = contents(image);
            const Sector header = image.get(role, HT_HEADER_SECTOR);
            Sector damaged = header;
            damaged[40] ^= std::byte(1);
            image.put(role, HT_HEADER_SECTOR, gone ? Sector{} : damaged);
            ASSERT_TRUE(drain(image, look(image), quiet));
            EXPECT_EQ(image.get(role, HT_HEADER_SECTOR), header);
            EXPECT_TRUE(look(image).damages.empty());
            EXPECT_EQ(contents(image), was);
            EXPECT_TRUE(complete(homes(image), was));
        }
}

TEST(MetaDrain, LeavesLostWhatNobodyHas) {
    PairImage image = lived_in();
    ASSERT_TRUE(drain(image, look(image), quiet));
    Survey after = look(image);
    ASSERT_EQ(after.lost.size(), 1U) << "what extent 17 had lost is home again";
    EXPECT_EQ(after.lost[0].extent, 30U);
    EXPECT_EQ(after.lost_units, 2U);
    PairImage whole = lived_in();
    whole.put_lost(0, {});
    ASSERT_TRUE(drain(whole, look(whole), quiet));
    EXPECT_FALSE(look(whole).state[1].newest->flags & HT_STATE_HAS_DIRTY);
}

TEST(MetaDrain, MayBeCutOffAnywhere) {
    PairImage start = lived_in(20, 32);
    start.put_lost(0, {});
    PairImage whole = start;
    const std::vector<int> was = contents(whole);
    ASSERT_TRUE(drain(whole, look(whole), quiet));
    std::mt19937 dice(3);
    for (u64 cut = 0; cut < whole.writes(); cut++) {
        PairImage image = start;
        Survey found = look(image);
        image.cut_after(cut);
        ASSERT_FALSE(drain(image, found, quiet));
        image.power_up(dice);
        ASSERT_EQ(contents(image), was) << "cut before sector " << cut;
        found = look(image);
        ASSERT_TRUE(found.damages.empty());
        if (!(found.state[1].newest->flags & HT_STATE_HAS_DIRTY)) {
            ASSERT_TRUE(complete(homes(image), was));
        }
        ASSERT_TRUE(drain(image, found, quiet));
        ASSERT_TRUE(complete(homes(image), was));
    }
}

TEST(MetaDrain, NamesWhatFastCannotRead) {
    PairImage image = lived_in();
    image.fail_reads(HT_ROLE_FAST, image.slot_unit(2, 1));
    const Survey found = look(image);
    auto drained = drain(image, found, quiet);
    ASSERT_TRUE(drained);
    ASSERT_EQ(drained->unread.size(), 1U);
    EXPECT_EQ(drained->unread[0].extent, 17U);
    EXPECT_EQ(drained->unread[0].unit, 1U);
    EXPECT_EQ(drained->slots, 3U);
    Survey after = look(image);
    EXPECT_EQ(after.dirty, 1U);
    EXPECT_EQ(after.dirty_units, 1U);
    EXPECT_TRUE(after.state[1].newest->flags & HT_STATE_HAS_DIRTY);
}

TEST(MetaCheck, ARecordThatCannotBeReadIsDamage) {
    PairImage image = lived_in();
    image.fail_reads(HT_ROLE_FAST, image.geo().meta_start);
    Survey found = look(image);
    ASSERT_EQ(found.damages.size(), 1U);
    EXPECT_EQ(found.damages[0].fault, Fault::sector);
    EXPECT_EQ(found.damages[0].sector, image.geo().meta_start);
    EXPECT_FALSE(drain(image, found, quiet));
}

} // namespace
} // namespace hintier::cli
