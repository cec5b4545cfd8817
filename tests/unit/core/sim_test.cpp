// SPDX-License-Identifier: Apache-2.0
//
// Property tests: random work on core in every interleaving that a seed makes, against a naive
// oracle. A failure names its seed, and the seed repeats it.

#include <gtest/gtest.h>

#include <hintier/types.h>

#include "host/sim.hpp"

namespace hintier::test {
namespace {

constexpr uint64_t SEEDS = 10;
constexpr int STEPS = 12000;

std::vector<SimOptions> variants() {
    std::vector<SimOptions> all;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        for (u8 mode : {HINTIER_MODE_WRITEBACK, HINTIER_MODE_WRITEBACK, HINTIER_MODE_WRITETHROUGH,
                        HINTIER_MODE_WRITEAROUND}) {
            SimOptions o;
            o.seed = seed * 100 + all.size() % 4;
            o.mode = mode;
            o.cached = seed % 3 != 0;
            o.errors = seed % 2 == 0;
            o.discards_pass = seed % 4 != 1;
            o.extent_sectors = seed % 5 == 0 ? 512 : 128;
            all.push_back(o);
        }
    return all;
}

class CoreSim : public testing::TestWithParam<SimOptions> {};

TEST_P(CoreSim, ReadsSeeTheNewestWriteAndNoSlotLeaks) {
    Sim sim(GetParam());
    sim.run(STEPS);
    sim.read_everything();
    ASSERT_TRUE(sim.ok()) << sim.failure();
    sim.drain();
    ASSERT_TRUE(sim.ok()) << sim.failure();
    sim.read_everything();
    ASSERT_TRUE(sim.ok()) << sim.failure();

    // Work that was not done proves nothing.
    const Sim::Counts& n = sim.counts();
    EXPECT_GT(n.home, 100U);
    EXPECT_GT(n.valid_fills, 0U);
    EXPECT_GT(n.commits, 10U);
    EXPECT_GT(n.fast, 10U);
    if (GetParam().mode == HINTIER_MODE_WRITEBACK) {
        EXPECT_GT(n.fast, 300U);
        EXPECT_GT(n.clean_destages, 50U);
        EXPECT_GT(n.destages, n.clean_destages) << "no destage was overtaken by a write";
        EXPECT_GT(n.discards, 20U);
        EXPECT_GT(n.evictions, 10U);
        EXPECT_GT(n.intents, 10U);
    }
    if (GetParam().mode == HINTIER_MODE_WRITETHROUGH) {
        EXPECT_GT(n.tees, 50U);
    }
    EXPECT_EQ(n.failed_commits > 0, GetParam().errors);
}

// After every other cut nothing is written before all is destaged, forgotten and read again: what
// the first read returned has to stay.
TEST_P(CoreSim, CutsLoseNothingThatWasFlushed) {
    Sim sim(GetParam());
    for (int round = 0; round < 40 && sim.ok(); round++) {
        sim.run(round % 4 == 3 ? 1000 : 60 + 10 * round);
        sim.cut();
        if (round % 2) continue;
        sim.drain();
        sim.read_everything();
    }
    ASSERT_TRUE(sim.ok()) << sim.failure();
}

INSTANTIATE_TEST_SUITE_P(Seeds, CoreSim, testing::ValuesIn(variants()),
                         [](const auto& info) { return std::to_string(info.param.seed); });

} // namespace
} // namespace hintier::test
