// SPDX-License-Identifier: Apache-2.0
#include "agent/layout/fiemap.hpp"

#include <gtest/gtest.h>

namespace hintier {
namespace {

constexpr std::uint64_t KiB = 1024;

fiemap_extent extent(std::uint64_t physical, std::uint64_t length, std::uint32_t flags = 0) {
    fiemap_extent e{};
    e.fe_physical = physical;
    e.fe_length = length;
    e.fe_flags = flags;
    return e;
}

Mapping map(std::vector<fiemap_extent> extents) {
    Mapping mapping;
    add_extents(extents, mapping);
    return mapping;
}

TEST(Fiemap, JoinsNeighbours) {
    const Mapping m =
        map({extent(64 * KiB, 8 * KiB), extent(72 * KiB, 4 * KiB), extent(4 * KiB, 4 * KiB)});
    EXPECT_EQ(m.ranges, (std::vector<Range>{{64 * KiB, 12 * KiB}, {4 * KiB, 4 * KiB}}));
    EXPECT_TRUE(m.complete);
}

TEST(Fiemap, CutsToWholeUnitsInward) {
    EXPECT_EQ(map({extent(5 * KiB, 16 * KiB)}).ranges, (std::vector<Range>{{8 * KiB, 12 * KiB}}));
    EXPECT_TRUE(map({extent(5 * KiB, 4 * KiB)}).ranges.empty());
}

class FiemapFlag : public testing::TestWithParam<std::uint32_t> {};

TEST_P(FiemapFlag, IsLeftOutAndSaid) {
    const Mapping m = map({extent(0, 4 * KiB), extent(64 * KiB, 4 * KiB, GetParam())});
    EXPECT_EQ(m.ranges, (std::vector<Range>{{0, 4 * KiB}}));
    EXPECT_FALSE(m.complete);
}

INSTANTIATE_TEST_SUITE_P(All, FiemapFlag,
                         testing::Values(FIEMAP_EXTENT_UNKNOWN, FIEMAP_EXTENT_DELALLOC,
                                         FIEMAP_EXTENT_ENCODED, FIEMAP_EXTENT_NOT_ALIGNED,
                                         FIEMAP_EXTENT_DATA_INLINE, FIEMAP_EXTENT_DATA_TAIL,
                                         FIEMAP_EXTENT_UNWRITTEN, FIEMAP_EXTENT_SHARED));

TEST(Fiemap, HarmlessFlagsAreTaken) {
    const Mapping m = map({extent(0, 4 * KiB, FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_MERGED)});
    EXPECT_EQ(m.ranges.size(), 1U);
    EXPECT_TRUE(m.complete);
}

TEST(Fiemap, AbsurdPlacesAreLeftOut) {
    EXPECT_TRUE(map({extent(~std::uint64_t{0} - KiB, 64 * KiB)}).ranges.empty());
}

} // namespace
} // namespace hintier
