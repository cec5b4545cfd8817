// SPDX-License-Identifier: Apache-2.0
#include "agent/model/residency.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace hintier {
namespace {

TEST(Residency, ServesWhatWasUsedWithinTheTime) {
    Residency residency({10s, 100s});
    residency.wrote(1, 0s);
    residency.read(1, 10s); // just held by both
    residency.read(1, 60s); // by the longer one; the shorter one takes it in again
    residency.read(1, 65s);
    const auto rows = residency.rows();
    EXPECT_EQ(residency.reads(), 3U);
    EXPECT_EQ(residency.writes(), 1U);
    EXPECT_EQ(rows[0].served, 2U);
    EXPECT_EQ(rows[1].served, 3U);
    EXPECT_EQ(rows[0].written, 2U);
    EXPECT_EQ(rows[1].written, 1U);
}

TEST(Residency, CountsWhatIsHeldAtOnce) {
    Residency residency({10s});
    for (std::uint64_t i = 1; i <= 100; ++i)
        residency.wrote(i, i * 1s); // each is held for ten seconds more
    EXPECT_EQ(residency.rows()[0].most, 11U);
}

TEST(Residency, WhatIsRemovedTakesNoRoom) {
    Residency residency({100s});
    for (std::uint64_t i = 1; i <= 50; ++i) {
        residency.wrote(i, i * 1s);
        residency.removed(i, i * 1s);
    }
    EXPECT_EQ(residency.rows()[0].most, 1U);
    residency.read(7, 60s); // nobody knows it any more
    EXPECT_EQ(residency.reads(), 0U);
    EXPECT_EQ(residency.unknown(), 1U);
}

// Against the definition: of each object the time of its last use, and a count of those that are
// young enough.
TEST(Residency, AgreesWithTheDefinition) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        std::mt19937_64 random(seed);
        const std::vector<Nanos> times = {5s, 50s};
        Residency residency(times);
        std::map<std::uint64_t, Nanos> last;
        std::vector<std::uint64_t> served(2), most(2);
        Nanos now = 1s;
        for (int i = 0; i < 3000; ++i) {
            now += Nanos(random() % 2'000'000'000);
            const std::uint64_t object = random() % 60;
            const auto what = random() % 10;
            if (what == 0) {
                residency.removed(object, now);
                last.erase(object);
                continue;
            }
            for (std::size_t w = 0; what < 6 && w < times.size(); ++w)
                served[w] += last.contains(object) && now - last[object] <= times[w];
            what < 6 ? residency.read(object, now) : residency.wrote(object, now);
            last[object] = now;
            for (std::size_t w = 0; w < times.size(); ++w) {
                std::uint64_t held = 0;
                for (const auto& [one, at] : last)
                    held += now - at <= times[w];
                most[w] = std::max(most[w], held);
            }
        }
        for (std::size_t w = 0; w < times.size(); ++w) {
            EXPECT_EQ(residency.rows()[w].served, served[w]);
            EXPECT_EQ(residency.rows()[w].most, most[w]);
        }
    }
}

TEST(Residency, TimeDoesNotGoBack) {
    Residency residency({10s});
    residency.wrote(1, 100s);
    residency.read(1, 50s);
    EXPECT_EQ(residency.rows()[0].served, 1U);
}

} // namespace
} // namespace hintier
