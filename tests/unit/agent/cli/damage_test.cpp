// SPDX-License-Identifier: Apache-2.0
// Damaged and mixed-up pairs before the module's loader (core) and before the offline tools: each
// is refused, or every unit reads as it did.
#include <random>

#include <gtest/gtest.h>

#include "agent/cli/meta/drain.hpp"
#include "agent/cli/meta/repair.hpp"
#include "agent/cli/meta/survey.hpp"
#include "tests/host/loader.hpp"

namespace hintier::cli {
namespace {

using test::Loader;
using test::PairImage;

constexpr u32 units = 4; // of each extent are used
const Progress quiet = [](auto, auto) {};

using Contents = std::vector<int>; // Loader::LOST where a read fails

Contents contents(const PairImage& image, const Loader& loaded) {
    Contents all;
    for (u32 extent = 0; extent < image.geo().extents; extent++)
        for (u32 unit = 0; unit < units; unit++)
            all.push_back(loaded.read(image, extent, unit));
    return all;
}

// What bulk alone says.
Contents homes(const PairImage& image) {
    return contents(image, [&] {
        Loader empty;
        PairImage fresh(image.geo().slots, image.geo().extents);
        EXPECT_EQ(empty.load(fresh), HT_OK);
        return empty;
    }());
}

// A tier that runs on an image: it obeys core's pair machine, and keeps one slot for an extent.
class Runner {
public:
    explicit Runner(PairImage& image) : image_(image) {}

    ht_refusal start(bool discard_dirty = false) {
        const ht_refusal why = loader_.load(image_, discard_dirty);
        if (why != HT_OK) return why;
        seq_ = loader_.pair.commit_seq + 100;
        records_.assign(image_.geo().slots, {});
        for (u32 slot = 0; slot < image_.geo().slots; slot++)
            take(slot);
        lost_.assign(ht_lost_capacity(&image_.geo()), {});
        for (u32 entry = 0; entry < lost_.size(); entry++)
            take_lost(entry);
        EXPECT_TRUE(reach(HT_PAIR_START));
        return HT_OK;
    }

    void write(u32 extent, u32 unit, u8 value) {
        EXPECT_TRUE(reach(HT_PAIR_DIRTY, true));
        ht_record& record = slot_of(extent);
        record.valid[0] |= static_cast<u16>(1U << unit);
        record.dirty[0] |= static_cast<u16>(1U << unit);
        image_.fill(HT_ROLE_FAST, image_.slot_unit(number(record), unit), value);
        commit();
    }

    // Its owner can do without it: what is dirty is lost, and the slot free.
    void drop(u32 extent) {
        ht_record& record = slot_of(extent);
        ht_lost_record& lost = lost_of(extent);
        lost.used = true;
        lost.extent = extent;
        lost.lost[0] |= record.dirty[0];
        record = {};
        commit();
    }

    void destage_all() {
        for (ht_record& record : records_)
            for (u32 unit = 0; record.used && unit < units; unit++) {
                if (!(record.dirty[0] >> unit & 1)) continue;
                image_.fill(HT_ROLE_BULK, image_.home_unit(record.extent, unit),
                            static_cast<u8>(image_.get(HT_ROLE_FAST,
                                                       image_.slot_unit(number(record), unit))[0]));
                record.dirty[0] &= static_cast<u16>(~(1U << unit));
            }
        commit();
    }

    void stop() {
        commit();
        EXPECT_TRUE(reach(HT_PAIR_STOP, dirty()));
    }
    // Fast is gone; writes go home.
    void bypass() { EXPECT_TRUE(reach(HT_PAIR_BYPASS, dirty())); }
    void write_home(u32 extent, u32 unit, u8 value) {
        image_.fill(HT_ROLE_BULK, image_.home_unit(extent, unit), value);
    }

private:
    void take(u32 slot) {
        const ht_slot& s = loader_.map.slots[slot];
        if (s.extent == HT_NIL) return;
        ht_record& record = records_[slot];
        record.valid[0] = ht_slot_bits(&loader_.map, slot, HT_VALID)[0];
        record.dirty[0] = ht_slot_bits(&loader_.map, slot, HT_DIRTY)[0];
        record.used = record.valid[0] != 0;
        record.extent = s.extent;
    }

    void take_lost(u32 entry) {
        const ht_lost_entry& e = loader_.map.lost.entries[entry];
        const u16 bits = loader_.map.lost.bits[entry * image_.geo().words];
        if (e.extent == HT_NIL || !bits) return;
        lost_[entry].used = true;
        lost_[entry].extent = e.extent;
        lost_[entry].lost[0] = bits;
    }

    ht_lost_record& lost_of(u32 extent) {
        for (ht_lost_record& lost : lost_)
            if (lost.used && lost.extent == extent) return lost;
        for (ht_lost_record& lost : lost_)
            if (!lost.used) return lost;
        ADD_FAILURE() << "the lost map is full";
        return lost_[0];
    }

    u32 number(const ht_record& record) const {
        return static_cast<u32>(&record - records_.data());
    }

    ht_record& slot_of(u32 extent) {
        for (ht_record& record : records_)
            if (record.used && record.extent == extent) return record;
        for (ht_record& record : records_)
            if (!record.used) {
                record = {};
                record.used = true;
                record.extent = extent;
                return record;
            }
        ADD_FAILURE() << "no slot is free";
        return records_[0];
    }

    bool dirty() const {
        return std::any_of(records_.begin(), records_.end(),
                           [](const ht_record& record) { return record.dirty[0] != 0; }) ||
               std::any_of(lost_.begin(), lost_.end(),
                           [](const ht_lost_record& lost) { return lost.used; });
    }

    void commit() {
        seq_++;
        for (u32 entry = 0; entry < lost_.size(); entry++)
            image_.put_lost(entry, lost_[entry], seq_);
        for (u32 slot = 0; slot < records_.size(); slot++)
            image_.put_record(slot, records_[slot], seq_);
        // A record claims it: the next commit may let go of it.
        for (const ht_record& record : records_)
            for (ht_lost_record& lost : lost_) {
                if (!record.used || !lost.used || lost.extent != record.extent) continue;
                lost.lost[0] &= static_cast<u16>(~record.valid[0]);
                lost.used = lost.lost[0] != 0;
            }
        loader_.pair.commit_seq = seq_;
    }

    bool reach(ht_pair_goal goal, bool dirty = false) {
        ht_pair& pair = loader_.pair;
        ht_pair_action action = ht_pair_begin(&pair, goal, dirty);
        for (int steps = 0; steps < 32; steps++) {
            switch (action) {
            case HT_PAIR_COMMIT:
                commit();
                break;
            case HT_PAIR_WRITE_FAST:
                image_.put_state(HT_ROLE_FAST, pair.next);
                break;
            case HT_PAIR_WRITE_BULK:
                image_.put_state(HT_ROLE_BULK, pair.next);
                break;
            default:
                return action == HT_PAIR_DONE;
            }
            action = ht_pair_next(&pair, true);
        }
        return false;
    }

    PairImage& image_;
    Loader loader_;
    std::vector<ht_record> records_;
    std::vector<ht_lost_record> lost_;
    u64 seq_ = 0;
};

PairImage filled() {
    PairImage image;
    for (u32 extent = 0; extent < image.geo().extents; extent++)
        for (u32 unit = 0; unit < units; unit++)
            image.fill(HT_ROLE_BULK, image.home_unit(extent, unit), static_cast<u8>(extent));
    return image;
}

// Bulk says all of it that is not lost.
bool complete(const Contents& bulk, const Contents& truth) {
    for (size_t i = 0; i < truth.size(); i++)
        if (truth[i] != Loader::LOST && bulk[i] != truth[i]) return false;
    return true;
}

// Stopped, with clean, dirty and lost units; some that were lost are written again.
PairImage lived_in(bool lost = true) {
    PairImage image = filled();
    Runner tier(image);
    EXPECT_EQ(tier.start(), HT_OK);
    for (u32 extent = 1; extent < 12; extent += 2)
        tier.write(extent, extent % units, static_cast<u8>(0x80 + extent));
    tier.destage_all();
    for (u32 extent = 3; extent < 15; extent += 3)
        tier.write(extent, (extent + 1) % units, static_cast<u8>(0xc0 + extent));
    for (u32 extent : {20U, 21U}) {
        if (!lost) break;
        for (u32 unit = 0; unit < units; unit++)
            tier.write(extent, unit, 0x77);
        tier.drop(extent);
    }
    if (lost) tier.write(21, 1, 0x66);
    tier.stop();
    return image;
}

Contents truth_of(PairImage image) {
    Loader loader;
    EXPECT_EQ(loader.load(image), HT_OK);
    return contents(image, loader);
}

std::vector<std::pair<ht_role, u64>> places(const PairImage& image) {
    std::vector<std::pair<ht_role, u64>> all;
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
        for (u64 sector : {HT_HEADER_SECTOR, HT_STATE_SECTOR, HT_STATE_SECTOR + HT_STATE_STRIDE})
            all.emplace_back(role, sector);
    for (u32 i = 0; i < image.geo().meta_sectors; i++)
        all.emplace_back(HT_ROLE_FAST, image.geo().meta_start + i);
    for (u32 i = 0; i < image.geo().lost_sectors; i++)
        all.emplace_back(HT_ROLE_FAST, image.geo().lost_start + i);
    return all;
}

TEST(Damage, AnyWrongByteIsRefusedOrHarmless) {
    const PairImage good = lived_in();
    const Contents truth = truth_of(good);
    ASSERT_FALSE(complete(homes(good), truth));
    ASSERT_EQ(std::count(truth.begin(), truth.end(), Loader::LOST), 7);
    unsigned refused = 0;
    unsigned harmless = 0;
    PairImage image = good;
    for (auto [role, sector] : places(good))
        for (u32 byte = 0; byte < HT_SECTOR_BYTES; byte++)
            for (u8 mask : {u8(1U << byte % 8), u8(0xff)}) {
                Sector bytes = good.get(role, sector);
                bytes[byte] ^= std::byte(mask);
                image.put(role, sector, bytes);
                Loader loader;
                const ht_refusal why = loader.load(image);
                if (why == HT_OK && byte % 16 < 4) {
                    ASSERT_EQ(contents(image, loader), truth)
                        << role_name(role) << " sector " << sector << " byte " << byte;
                }
                image.put(role, sector, good.get(role, sector));
                (why == HT_OK ? harmless : refused)++;
                if (why != HT_OK) continue;
                ASSERT_EQ(sector / 8, HT_STATE_SECTOR / 8 + (sector > HT_STATE_SECTOR))
                    << "only one of two copies may be done without";
            }
    const u32 single = 2 + good.geo().meta_sectors + good.geo().lost_sectors;
    EXPECT_EQ(refused, single * 2 * HT_SECTOR_BYTES);
    EXPECT_EQ(harmless, 4 * 2 * HT_SECTOR_BYTES);
}

// Whole sectors lost or swapped for others of the same pair.
TEST(Damage, SectorsInWrongPlaces) {
    const PairImage good = lived_in();
    const Contents truth = truth_of(good);
    for (auto [role, sector] : places(good))
        for (auto [from_role, from] : places(good)) {
            PairImage image = good;
            image.put(role, sector, good.get(from_role, from));
            Loader loader;
            if (loader.load(image) != HT_OK) {
                continue;
            }
            ASSERT_EQ(contents(image, loader), truth)
                << role_name(role) << " " << sector << " from " << role_name(from_role) << " "
                << from;
        }
}

TEST(Damage, ShorterDevices) {
    const PairImage good = lived_in();
    const Contents truth = truth_of(good);
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
        for (u64 sectors = 0; sectors < good.bytes(role) / HT_SECTOR_BYTES; sectors += 61) {
            PairImage image = good;
            image.shrink(role, sectors);
            Loader loader;
            ASSERT_NE(loader.load(image), HT_OK) << role_name(role) << " of " << sectors;
            ASSERT_FALSE(survey(image, quiet).damages.empty());
        }
}

TEST(Damage, SwappedAndForeignDevices) {
    const PairImage good = lived_in();
    PairImage swapped = good;
    for (u64 sector = 0; sector < 2048; sector++) {
        swapped.put(HT_ROLE_FAST, sector, good.get(HT_ROLE_BULK, sector));
        swapped.put(HT_ROLE_BULK, sector, good.get(HT_ROLE_FAST, sector));
    }
    EXPECT_NE(Loader().load(swapped), HT_OK);
    PairImage other(16, 32, PairImage::EXTENT_SECTORS, 0x77);
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
        PairImage mixed = good;
        mixed.restore(role, other);
        EXPECT_NE(Loader().load(mixed), HT_OK);
        EXPECT_TRUE(survey(mixed, quiet).found(Fault::device));
        PairImage again = mixed; // the other half of the other pair with this half's header
        again.put_header(role);
        EXPECT_NE(Loader().load(again), HT_OK) << "its states and records are of another UUID";
    }
}

// A sector rots after each change of the states: the older copy must not bring back the time
// before it.
TEST(Damage, NoSingleSectorBringsAnOldStateBack) {
    PairImage image = lived_in(false);
    Runner tier(image);
    ASSERT_EQ(tier.start(), HT_OK);
    tier.destage_all();
    tier.bypass();
    for (u32 extent = 0; extent < 32; extent++)
        for (u32 unit = 0; unit < units; unit++)
            tier.write_home(extent, unit, 0x11);
    const Contents truth = homes(image);
    for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK})
        for (u64 copy = 0; copy < HT_STATE_COPIES; copy++) {
            PairImage rotten = image;
            rotten.put(role, HT_STATE_SECTOR + copy * HT_STATE_STRIDE, Sector{});
            Loader loader;
            ASSERT_EQ(loader.load(rotten), HT_OK) << role_name(role) << " copy " << copy;
            EXPECT_EQ(contents(rotten, loader), truth) << role_name(role) << " copy " << copy;
        }
}

// One device from a backup: sessions that end clean or dirty, every mixture of their images.
TEST(Damage, OlderImagesOfEitherDevice) {
    struct Moment {
        PairImage image;
        Contents truth;
        bool running;
    };
    std::vector<Moment> moments;
    PairImage image = filled();
    std::mt19937 dice(11);
    for (int session = 0; session < 5; session++) {
        Runner tier(image);
        ASSERT_EQ(tier.start(), HT_OK);
        for (int i = 0; i < 10; i++)
            tier.write(dice() % 14, dice() % units, static_cast<u8>(dice()));
        if (session % 2) {
            tier.destage_all();
            tier.write(1, 1, static_cast<u8>(dice()));
            tier.destage_all();
        }
        if (session == 2) tier.drop(5);
        if (session == 3) {
            for (u32 unit = 0; unit < units; unit++)
                tier.write(5, unit, 0x55);
            tier.destage_all();
        }
        moments.push_back({image, truth_of(image), true});
        tier.write(2, 2, static_cast<u8>(dice()));
        if (session % 2) tier.destage_all();
        tier.stop();
        moments.push_back({image, truth_of(image), false});
    }
    unsigned refused = 0;
    unsigned loaded = 0;
    for (const Moment& fast : moments)
        for (const Moment& bulk : moments) {
            if (&fast == &bulk) continue;
            PairImage mixed = fast.image;
            mixed.restore(HT_ROLE_BULK, bulk.image);
            Loader loader;
            const ht_refusal why = loader.load(mixed);
            EXPECT_EQ(survey(mixed, quiet).found(Fault::epochs) || why == HT_OK, true);
            if (why != HT_OK) {
                refused++;
                continue;
            }
            loaded++;
            EXPECT_EQ(contents(mixed, loader), bulk.truth)
                << "fast of " << &fast - moments.data() << ", bulk of " << &bulk - moments.data();
        }
    EXPECT_GT(refused, 20U);
    EXPECT_GT(loaded, 4U) << "what bulk has complete is served";
}

// What the tools have mended or drained, the module reads as before.
TEST(Damage, TheModuleTakesWhatTheToolsLeave) {
    const PairImage good = lived_in();
    const Contents truth = truth_of(good);
    PairImage drained = good;
    ASSERT_TRUE(drain(drained, survey(drained, quiet), quiet));
    EXPECT_EQ(truth_of(drained), truth);
    EXPECT_TRUE(complete(homes(drained), truth));
    for (auto [role, sector] : places(good)) {
        if (sector >= HT_META_SECTOR) continue;
        PairImage image = good;
        image.put(role, sector, Sector{});
        const Survey found = survey(image, quiet);
        ASSERT_TRUE(carry_out(image, found, plan_repair(found, {})));
        EXPECT_EQ(truth_of(image), truth) << role_name(role) << " sector " << sector;
        Runner tier(image);
        ASSERT_EQ(tier.start(), HT_OK);
        tier.write(20, 0, 0xab);
        tier.stop();
        EXPECT_EQ(truth_of(image)[20 * units], 0xab);
        EXPECT_EQ(truth_of(image)[20 * units + 1], Loader::LOST);
    }
}

} // namespace
} // namespace hintier::cli
