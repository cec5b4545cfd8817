// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/file_map.hpp"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <linux/fiemap.h>

namespace hintier::cli {
namespace {

constexpr std::uint64_t mib = 1 << 20;
const Range everything{0, UINT64_MAX};

FilePart part(std::uint64_t logical, std::uint64_t physical, std::uint64_t length) {
    FilePart part;
    part.logical = logical;
    part.physical = physical;
    part.length = length;
    part.placed = true;
    return part;
}

TEST(RangesOnTier, AreWhereTheFileLies) {
    FileMap map;
    map.parts = {part(0, 8 * mib, mib), part(mib, 32 * mib, mib)};
    FileRanges found = ranges_on_tier(map, mib, everything, true);
    ASSERT_EQ(found.ranges.size(), 2u);
    EXPECT_EQ(found.ranges[0].offset, 9 * mib);
    EXPECT_EQ(found.ranges[1].offset, 33 * mib);
    EXPECT_EQ(found.skipped, 0u);
}

TEST(RangesOnTier, ClipToTheWantedPart) {
    FileMap map;
    map.parts = {part(0, 8 * mib, mib), part(mib, 32 * mib, mib)};
    FileRanges found = ranges_on_tier(map, 0, {mib - 4096, 8192}, false);
    ASSERT_EQ(found.ranges.size(), 2u);
    EXPECT_EQ(found.ranges[0].offset, 9 * mib - 4096);
    EXPECT_EQ(found.ranges[0].length, 4096u);
    EXPECT_EQ(found.ranges[1].offset, 32 * mib);
    EXPECT_EQ(found.ranges[1].length, 4096u);
    EXPECT_TRUE(ranges_on_tier(map, 0, {4 * mib, mib}, false).ranges.empty());
}

// Never a byte of a neighbour: a hint that says DONE would hit it.
TEST(RangesOnTier, CutInwardToWholeUnits) {
    FileMap map;
    map.parts = {part(0, 9025 * 1024, 256 * 1024), part(256 * 1024, 1024, 3 * 1024)};
    FileRanges found = ranges_on_tier(map, 0, everything, false);
    ASSERT_EQ(found.ranges.size(), 1u);
    EXPECT_EQ(found.ranges[0].offset, 9028u * 1024);
    EXPECT_EQ(found.ranges[0].length, 252u * 1024);
    EXPECT_EQ(found.skipped, 4u * 1024 + 3 * 1024);
}

TEST(RangesOnTier, LeaveOutWhatHasNoPlaceAndWhatIsShared) {
    FileMap map;
    map.parts = {part(0, 0, 4096), part(4096, 8192, 4096), part(8192, 65536, 4096)};
    map.parts[0].placed = false;
    map.parts[1].shared = true;
    EXPECT_EQ(ranges_on_tier(map, 0, everything, true).ranges.size(), 1u);
    EXPECT_EQ(ranges_on_tier(map, 0, everything, true).skipped, 8192u);
    EXPECT_EQ(ranges_on_tier(map, 0, everything, false).ranges.size(), 2u);
}

TEST(Unplaced, SaysWhy) {
    EXPECT_TRUE(unplaced_why(FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_SHARED).empty());
    for (std::uint32_t flag :
         {FIEMAP_EXTENT_UNKNOWN, FIEMAP_EXTENT_DELALLOC, FIEMAP_EXTENT_ENCODED,
          FIEMAP_EXTENT_DATA_ENCRYPTED, FIEMAP_EXTENT_NOT_ALIGNED, FIEMAP_EXTENT_DATA_INLINE,
          FIEMAP_EXTENT_DATA_TAIL, FIEMAP_EXTENT_UNWRITTEN})
        EXPECT_FALSE(unplaced_why(flag).empty()) << flag;
}

} // namespace
} // namespace hintier::cli
