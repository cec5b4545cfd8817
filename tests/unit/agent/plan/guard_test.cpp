// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/guard.hpp"

#include <gtest/gtest.h>

namespace hintier {
namespace {

// Drops `drops` objects at a promise of 5 %, and has `read` of them and many others asked for.
void round(Guard& guard, Nanos now, std::uint64_t drops, std::uint64_t read) {
    for (std::uint64_t i = 0; i < drops; ++i)
        guard.dropped(i, 0.05);
    for (std::uint64_t i = 0; i < read; ++i)
        guard.asked(i, now += 100ms);
    for (std::uint64_t i = 0; i < 1000; ++i)
        guard.asked(1'000'000 + i, now);
}

TEST(Guard, LetsDropsBeThatKeepTheirPromise) {
    Guard guard({});
    for (int i = 0; i < 100; ++i)
        round(guard, i * 1s, 1000, 60);
    EXPECT_TRUE(guard.allows(100s));
    EXPECT_EQ(guard.trips(), 0U);
    EXPECT_EQ(guard.lost(), 6000U);
}

TEST(Guard, SpeaksWhenMoreIsAskedForThanPromised) {
    Guard guard({});
    round(guard, 1s, 1000, 200);
    EXPECT_FALSE(guard.allows(25s));
    EXPECT_EQ(guard.trips(), 1U);
}

TEST(Guard, PausesTwiceAsLongEachTime) {
    Guard guard({.pause = 600s, .pause_most = 1500s});
    Nanos now = 1s;
    for (const Nanos pause : {600s, 1200s, 1500s, 1500s}) {
        round(guard, now, 1000, 200);
        EXPECT_FALSE(guard.allows(now + pause - 1s)) << pause.count();
        EXPECT_TRUE(guard.allows(now + pause + 20s)) << "200 reads took so long";
        now += pause + 20s;
    }
}

TEST(Guard, OneLostChainIsNoJudgement) {
    Guard guard({});
    for (std::uint64_t i = 0; i < 64; ++i)
        guard.dropped(i, 0.05);
    for (std::uint64_t i = 0; i < 2000; ++i)
        guard.asked(i, 1s);
    EXPECT_EQ(guard.lost(), 64U);
    EXPECT_TRUE(guard.allows(1s));
}

// Ten requests of 100 lost blocks each are ten events, a thousand of one block are a thousand.
TEST(Guard, WhatIsLostTogetherIsOneEvent) {
    const auto lose = [](std::uint64_t together) {
        Guard guard({});
        for (std::uint64_t i = 0; i < 14'000; ++i)
            guard.dropped(i, 0.05);
        for (std::uint64_t i = 0; i < 1000; ++i)
            guard.asked(i, (1 + i / together) * 10s);
        return guard.trips();
    };
    EXPECT_EQ(lose(100), 0U);
    EXPECT_EQ(lose(1), 1U);
}

TEST(Guard, AGhostCountsOnceAndTheOldestAreForgotten) {
    Guard guard({.ghosts = 2});
    guard.dropped(1, 0);
    guard.dropped(2, 0);
    guard.dropped(3, 0);
    guard.asked(1, 1s);
    EXPECT_EQ(guard.lost(), 0U);
    guard.asked(3, 1s);
    guard.asked(3, 1s);
    EXPECT_EQ(guard.lost(), 1U);
    guard.dropped(2, 0); // again: its first place in the order must not forget it
    guard.dropped(4, 0);
    guard.asked(2, 1s);
    EXPECT_EQ(guard.lost(), 2U);
}

TEST(Guard, RefusesNonsense) {
    EXPECT_FALSE(Guard::Config{.tolerance = 0.9}.validate());
    EXPECT_FALSE(Guard::Config{.enough = 0}.validate());
    EXPECT_FALSE(Guard::Config{.ghosts = 0}.validate());
    EXPECT_FALSE(Guard::Config{.pause = 0s}.validate());
    EXPECT_TRUE(Guard::Config{}.validate());
}

} // namespace
} // namespace hintier
