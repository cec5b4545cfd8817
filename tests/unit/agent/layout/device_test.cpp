// SPDX-License-Identifier: Apache-2.0
#include "agent/layout/device.hpp"

#include <gtest/gtest.h>

namespace hintier {
namespace {

TEST(Device, TierItself) {
    const auto at = find_tier(253 << 20 | 5, [](std::uint32_t d) { return d == (253U << 20 | 5); });
    ASSERT_TRUE(at);
    EXPECT_EQ(at->tier, 253U << 20 | 5);
    EXPECT_EQ(at->offset, 0U);
}

TEST(Device, NoTierBelow) {
    const auto at = find_tier(4000U << 20, [](std::uint32_t) { return false; });
    ASSERT_FALSE(at);
    EXPECT_EQ(at.error().code, ENODEV);
    EXPECT_EQ(at.error().text, "device 4000:0: no hintier tier below it");
}

TEST(Device, LinearParameters) {
    const auto linear = parse_linear("253:12 2048");
    ASSERT_TRUE(linear);
    EXPECT_EQ(linear->device, 253U << 20 | 12);
    EXPECT_EQ(linear->sector, 2048U);
    for (const char* bad : {"", "253:12", "253 12", "a:b 0", "253:12 0 x", "253:12 -1"}) {
        EXPECT_FALSE(parse_linear(bad)) << bad;
    }
}

} // namespace
} // namespace hintier
