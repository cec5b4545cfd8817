// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/dram.hpp"

#include <gtest/gtest.h>

namespace hintier::replay {
namespace {

void put(Dram& dram, BlockId block) {
    dram.pin(block);
    dram.insert(block);
    dram.unpin(block);
}

TEST(Dram, EvictsWhatWasLetGoFirst) {
    Dram dram(10, 2);
    put(dram, 1);
    put(dram, 2);
    dram.pin(1); // used again
    dram.unpin(1);
    put(dram, 3);
    EXPECT_TRUE(dram.holds(1));
    EXPECT_FALSE(dram.holds(2));
    EXPECT_TRUE(dram.holds(3));
}

TEST(Dram, NeverEvictsWhatSomeoneHolds) {
    Dram dram(10, 1);
    put(dram, 1);
    dram.pin(1);
    dram.pin(1);
    put(dram, 2);
    EXPECT_TRUE(dram.holds(1));
    EXPECT_FALSE(dram.holds(2)) << "the only free one goes";
    dram.unpin(1);
    put(dram, 3);
    EXPECT_TRUE(dram.holds(1)) << "held once more";
    dram.unpin(1);
    put(dram, 4);
    EXPECT_FALSE(dram.holds(1));
    EXPECT_EQ(dram.size(), 1u);
}

TEST(Dram, APinMayComeBeforeTheData) {
    Dram dram(10, 4);
    dram.pin(5);
    EXPECT_FALSE(dram.holds(5));
    dram.insert(5);
    EXPECT_TRUE(dram.holds(5));
    dram.pin(6);
    dram.unpin(6); // its load failed
    EXPECT_FALSE(dram.holds(6));
    EXPECT_EQ(dram.size(), 1u);
}

} // namespace
} // namespace hintier::replay
