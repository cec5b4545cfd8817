// SPDX-License-Identifier: Apache-2.0
// A pair on image files: what format writes is what core reads, and no cut in the middle leaves
// something that could be taken for a pair.
#include "agent/cli/pair.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/cli/signature.hpp"
#include "agent/cli/stats.hpp"

namespace hintier::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t mib = 1 << 20;

class PairTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-pair-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        make("fast", 32 * mib);
        make("bulk", 64 * mib);
    }
    void TearDown() override { fs::remove_all(dir_); }

    std::string path(const std::string& name) const { return dir_ / name; }
    void make(const std::string& name, std::uint64_t bytes) {
        std::ofstream(path(name)).close();
        fs::resize_file(path(name), bytes);
    }
    Disk disk(const std::string& name, Open how = Open::exclusive) {
        auto opened = open_disk(path(name), how);
        EXPECT_TRUE(opened) << opened.error().text;
        return std::move(*opened);
    }
    static Pair plan(std::uint64_t extent = 64 << 10) {
        auto pair = plan_pair(32 * mib, 64 * mib, extent, random_uuid());
        EXPECT_TRUE(pair);
        return pair.value();
    }

    fs::path dir_;
};

// One step of write_pair; a sync has no data.
struct Step {
    ht_role role;
    std::uint64_t offset = 0;
    std::vector<std::byte> data;
};

class Recorder final : public PairMedium {
public:
    Result<void> write(ht_role role, std::uint64_t offset,
                       std::span<const std::byte> data) override {
        steps.push_back({role, offset, {data.begin(), data.end()}});
        return {};
    }
    Result<void> sync(ht_role role) override {
        steps.push_back({role, 0, {}});
        return {};
    }
    Result<void> erase_foreign(ht_role) override { return {}; }

    std::vector<Step> steps;
};

Recorder record(const Pair& pair) {
    Recorder recorder;
    EXPECT_TRUE(write_pair(recorder, pair, [](auto, auto) {}));
    return recorder;
}

void apply(const Step& step, const Disk& fast, const Disk& bulk) {
    const Disk& disk = step.role == HT_ROLE_FAST ? fast : bulk;
    ASSERT_TRUE(disk.write(step.offset, step.data)); // nothing at all for a sync
}

TEST_F(PairTest, ReadsBackWhatWasPlanned) {
    for (std::uint64_t extent : {64 << 10, 128 << 10, 256 << 10, 512 << 10, 1 << 20}) {
        Pair pair = plan(extent);
        Disk fast = disk("fast");
        Disk bulk = disk("bulk");
        for (const Step& step : record(pair).steps)
            apply(step, fast, bulk);
        auto back = read_pair(fast, bulk);
        ASSERT_TRUE(back) << back.error().text;
        EXPECT_EQ(uuid_of(back->fast), uuid_of(pair.fast));
        EXPECT_EQ(back->extent_bytes(), extent);
        EXPECT_EQ(back->tier_bytes(), 64 * mib - std::max<std::uint64_t>(mib, extent));
        EXPECT_EQ(**describe_ours(fast), "the fast device of hintier pair " +
                                             uuid_text(uuid_of(pair.fast)) + ", nothing dirty");
    }
}

TEST_F(PairTest, NothingIsLostInANewPair) {
    Pair pair = plan();
    Disk fast = disk("fast");
    Disk bulk = disk("bulk");
    for (const Step& step : record(pair).steps)
        apply(step, fast, bulk);
    const ht_geometry& geo = pair.fast.geo;
    ASSERT_GT(geo.lost_sectors, 0u);
    for (std::uint32_t i = 0; i < geo.lost_sectors; i++) {
        std::array<std::byte, HT_SECTOR_BYTES> sector{};
        ASSERT_TRUE(fast.read((geo.lost_start + i) * HT_SECTOR_BYTES, sector));
        std::uint64_t seq = 1;
        ASSERT_EQ(ht_lost_check(pair.fast.uuid, i, sector.data(), &seq), HT_OK) << i;
        for (std::uint32_t nth = 0; nth < geo.lost_per_sector; nth++) {
            ht_lost_record lost{};
            ASSERT_EQ(ht_lost_get(&geo, sector.data(), nth, &lost), HT_OK);
            EXPECT_FALSE(lost.used);
        }
    }
}

// Every prefix, over an older valid pair: the old one must be gone and the new one not yet there.
TEST_F(PairTest, AnInterruptedFormatLeavesNoPair) {
    Pair old_pair = plan();
    Disk fast = disk("fast");
    Disk bulk = disk("bulk");
    std::vector<Step> steps = record(plan()).steps;
    ASSERT_GT(steps.size(), 8u);
    for (std::size_t cut = 2; cut < steps.size() - 1; cut++) { // from the first erased header on
        for (const Step& step : record(old_pair).steps)
            apply(step, fast, bulk);
        ASSERT_TRUE(read_pair(fast, bulk));
        for (std::size_t i = 0; i < cut; i++)
            apply(steps[i], fast, bulk);
        EXPECT_FALSE(read_pair(fast, bulk)) << "cut before step " << cut << " of " << steps.size();
    }
    for (const Step& step : steps)
        apply(step, fast, bulk);
    EXPECT_TRUE(read_pair(fast, bulk));
}

TEST_F(PairTest, TheLastWriteIsTheFastHeaderAfterEverythingElseIsSynced) {
    std::vector<Step> steps = record(plan()).steps;
    const Step& last = steps[steps.size() - 2];
    EXPECT_TRUE(steps.back().data.empty());
    EXPECT_EQ(last.role, HT_ROLE_FAST);
    EXPECT_EQ(last.offset, 0u);
    EXPECT_EQ(last.data.size(), static_cast<std::size_t>(HT_SECTOR_BYTES));
    bool unsynced[3] = {};
    for (std::size_t i = 0; i + 2 < steps.size(); i++)
        unsynced[steps[i].role] = !steps[i].data.empty();
    EXPECT_FALSE(unsynced[HT_ROLE_FAST]);
    EXPECT_FALSE(unsynced[HT_ROLE_BULK]);
}

TEST_F(PairTest, SaysWhatIsWrongWithTheOrder) {
    Disk fast = disk("fast");
    Disk bulk = disk("bulk");
    for (const Step& step : record(plan()).steps)
        apply(step, fast, bulk);
    auto swapped = read_pair(bulk, fast);
    ASSERT_FALSE(swapped);
    EXPECT_NE(swapped.error().text.find("the order is FAST BULK"), std::string::npos)
        << swapped.error().text;
}

TEST_F(PairTest, RefusesTwoHalvesOfDifferentPairs) {
    Disk fast = disk("fast");
    Disk bulk = disk("bulk");
    for (const Step& step : record(plan()).steps)
        apply(step, fast, bulk);
    for (const Step& step : record(plan()).steps)
        if (step.role == HT_ROLE_FAST) apply(step, fast, bulk);
    auto pair = read_pair(fast, bulk);
    ASSERT_FALSE(pair);
    EXPECT_NE(pair.error().text.find("do not belong together"), std::string::npos);
}

TEST_F(PairTest, RefusesADeviceThatHasShrunk) {
    {
        Disk fast = disk("fast");
        Disk bulk = disk("bulk");
        for (const Step& step : record(plan()).steps)
            apply(step, fast, bulk);
    }
    fs::resize_file(path("bulk"), 32 * mib);
    auto pair = read_pair(disk("fast"), disk("bulk"));
    ASSERT_FALSE(pair);
    EXPECT_NE(pair.error().text.find("bulk"), std::string::npos) << pair.error().text;
}

TEST_F(PairTest, CountsDirtySlots) {
    Pair pair = plan();
    Disk fast = disk("fast");
    Disk bulk = disk("bulk");
    for (const Step& step : record(pair).steps)
        apply(step, fast, bulk);

    const ht_geometry& geo = pair.fast.geo;
    std::array<std::byte, HT_SECTOR_BYTES> sector{};
    ht_records_init(pair.fast.uuid, &geo, 1, sector.data());
    ht_record dirty{};
    dirty.used = true;
    dirty.extent = 7;
    dirty.valid[0] = dirty.dirty[0] = 0x8000;
    ht_record clean = dirty;
    clean.extent = 8;
    clean.dirty[0] = 0;
    ht_record_put(&geo, sector.data(), 0, &dirty);
    ht_record_put(&geo, sector.data(), 1, &clean);
    ht_records_seal(pair.fast.uuid, 1, 1, sector.data());
    ASSERT_TRUE(fast.write((geo.meta_start + 1) * HT_SECTOR_BYTES, sector));
    auto text = describe_ours(fast);
    ASSERT_TRUE(text);
    EXPECT_NE((*text)->find("with 1 dirty slots"), std::string::npos) << **text;
}

TEST_F(PairTest, SaysThatAHeaderIsDamaged) {
    Disk fast = disk("fast");
    Disk bulk = disk("bulk");
    for (const Step& step : record(plan()).steps)
        apply(step, fast, bulk);
    std::byte wrong[1] = {std::byte{0xff}};
    ASSERT_TRUE(bulk.write(70, wrong));
    auto header = read_header(bulk);
    ASSERT_FALSE(header);
    EXPECT_NE(header.error().text.find("damaged"), std::string::npos) << header.error().text;
    EXPECT_NE((*describe_ours(bulk))->find("damaged"), std::string::npos);
}

TEST_F(PairTest, PlansOnlyWhatCanBe) {
    Uuid uuid = random_uuid();
    EXPECT_FALSE(plan_pair(64 << 10, 64 * mib, 64 << 10, uuid)) << "fast too small";
    EXPECT_FALSE(plan_pair(16 * mib, 1 * mib, 64 << 10, uuid)) << "bulk too small";
    EXPECT_FALSE(plan_pair(16 * mib, 64 * mib, 96 << 10, uuid)) << "no power of two";
    for (const char* text : {"32K", "96K", "2M", "0", "x"})
        EXPECT_FALSE(parse_extent(text)) << text;
}

TEST_F(PairTest, AFileInUseIsRefused) {
    Disk mine = disk("fast");
    auto again = open_disk(path("fast"), Open::exclusive);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, EBUSY);
    EXPECT_FALSE(open_disk(dir_.string(), Open::read)) << "a directory is no disk";
}

TEST(UuidText, ReadsBack) {
    Uuid uuid = random_uuid();
    auto back = parse_uuid(uuid_text(uuid));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, uuid);
    EXPECT_EQ(uuid_text(uuid)[14], '4');
    for (const char* text :
         {"", "x", "3f0c2d8e-7b57-4384-b29e-5dbb9531ee6", "3f0c2d8e7b574384b29e5dbb9531ee6d",
          "3f0c2d8e-7b57-4384-b29e-5dbb9531ee6dd"})
        EXPECT_FALSE(parse_uuid(text)) << text;
}

} // namespace
} // namespace hintier::cli
