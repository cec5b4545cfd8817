// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/reaper.hpp"

#include <gtest/gtest.h>

namespace hintier::replay {
namespace {

std::vector<BlockId> drain(Reaper& reaper, Time until, Time* last = nullptr) {
    std::vector<BlockId> removed;
    while (reaper.due() && *reaper.due() <= until) {
        const Time now = *reaper.due();
        if (const auto block = reaper.next(now)) {
            removed.push_back(*block);
            if (last) *last = now;
        }
    }
    return removed;
}

TEST(Reaper, TailFirstAndAtMostFiveHundredASecond) {
    Reaper reaper(10'000);
    std::vector<BlockId> chain;
    for (BlockId i = 0; i < 1000; i++)
        chain.push_back(i);
    reaper.ended(0, chain);
    Time last = 0;
    const auto removed = drain(reaper, from_ms(10'000), &last);
    ASSERT_EQ(removed.size(), 1000u);
    EXPECT_EQ(removed.front(), 999u);
    EXPECT_EQ(removed.back(), 0u);
    EXPECT_GE(last, from_ms(999 * 2));
}

TEST(Reaper, LeavesAloneWhatWasSeenInTheLastHalfMinute) {
    Reaper reaper(10);
    reaper.touched(from_ms(1000), 1);
    reaper.ended(from_ms(2000), std::vector<BlockId>{1, 2});
    EXPECT_EQ(drain(reaper, from_ms(30'999)), std::vector<BlockId>{2});
    EXPECT_EQ(drain(reaper, from_ms(31'000)), std::vector<BlockId>{1});
    EXPECT_EQ(reaper.postponed(), 1u);
}

TEST(Reaper, SparesWhatANewSessionWants) {
    Reaper reaper(10);
    reaper.ended(0, std::vector<BlockId>{1, 2});
    reaper.wanted(2);
    EXPECT_EQ(drain(reaper, from_ms(100)), std::vector<BlockId>{1});
    reaper.ended(from_ms(200), std::vector<BlockId>{2}); // and dies with that one
    EXPECT_EQ(drain(reaper, from_ms(300)), std::vector<BlockId>{2});
}

} // namespace
} // namespace hintier::replay
