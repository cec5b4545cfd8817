// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

namespace hintier::replay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kBlockTime = from_ms(1000); // 512 tokens at 512 tokens a second

// Requests of whole blocks; time and answers come by hand.
class ServerTest : public testing::Test {
protected:
    void request(std::vector<BlockId> blocks, std::uint32_t extra_tokens = 0) {
        const auto count = static_cast<std::uint32_t>(blocks.size());
        plan_.requests.push_back({0, count * kBlockTokens + extra_tokens,
                                  static_cast<std::uint32_t>(plan_.blocks.size()), count});
        plan_.blocks.insert(plan_.blocks.end(), blocks.begin(), blocks.end());
        plan_.block_limit = 100;
    }

    Server server(std::uint64_t dram_blocks = 50, bool may_recompute = false) {
        return Server(plan_, {512, dram_blocks * kBlockTokens, may_recompute});
    }

    Server::Exists exists() {
        return [this](BlockId block) {
            asked_.push_back(block);
            return tier_.count(block) > 0;
        };
    }

    static std::vector<BlockId> blocks(const std::vector<Action>& actions, Action::Kind kind) {
        std::vector<BlockId> found;
        for (const auto& action : actions)
            if (action.kind == kind) found.push_back(action.block);
        return found;
    }
    static std::vector<BlockId> loads(const std::vector<Action>& actions) {
        return blocks(actions, Action::Kind::load);
    }
    static std::vector<BlockId> stores(const std::vector<Action>& actions) {
        return blocks(actions, Action::Kind::store);
    }
    static Time compute_end(const std::vector<Action>& actions) {
        for (const auto& action : actions)
            if (action.kind == Action::Kind::compute) return action.until;
        return -1;
    }

    Plan plan_;
    std::set<BlockId> tier_;
    std::vector<BlockId> asked_;
};

TEST_F(ServerTest, ComputesAndStoresWhatNobodyHas) {
    request({1, 2, 3}, 256);
    Server s = server();
    const auto begun = s.arrive(0, 0, exists());
    EXPECT_THAT(asked_, ElementsAre(1)) << "the first missing block ends the lookups";
    EXPECT_EQ(compute_end(begun), 3 * kBlockTime + kBlockTime / 2);
    const auto done = s.computed(compute_end(begun));
    EXPECT_THAT(stores(done), ElementsAre(1, 2, 3));
    EXPECT_FALSE(s.idle()) << "stores are in flight";
    for (BlockId block : {1, 2, 3})
        s.stored(block);
    EXPECT_TRUE(s.idle());
    EXPECT_EQ(s.outcomes()[0].computed, 3 * kBlockTime + kBlockTime / 2);
    EXPECT_EQ(s.outcomes()[0].restored, -1);
}

TEST_F(ServerTest, RestoresInChainOrderThenComputesTheRest) {
    request({1, 2, 3, 4});
    tier_ = {1, 2, 4};
    Server s = server();
    const auto begun = s.arrive(0, 0, exists());
    EXPECT_THAT(loads(begun), ElementsAre(1, 2)) << "4 is behind a missing block";
    EXPECT_EQ(compute_end(begun), -1);
    EXPECT_EQ(compute_end(s.loaded(from_ms(3), 2, true)), -1);
    EXPECT_EQ(compute_end(s.loaded(from_ms(5), 1, true)), from_ms(5) + 2 * kBlockTime);
    EXPECT_EQ(s.outcomes()[0].restored, from_ms(5));
    EXPECT_THAT(stores(s.computed(from_ms(5) + 2 * kBlockTime)), ElementsAre(3, 4));
}

TEST_F(ServerTest, ALoadThatFindsNothingIsAMissFromThereOn) {
    request({1, 2, 3, 4});
    tier_ = {1, 2, 3, 4};
    Server s = server();
    s.arrive(0, 0, exists());
    s.loaded(1, 1, true);
    s.loaded(2, 3, true);
    s.loaded(3, 2, false);
    const auto begun = s.loaded(4, 4, true);
    EXPECT_EQ(compute_end(begun), 4 + 3 * kBlockTime) << "a prefix has no holes";
    EXPECT_EQ(s.outcomes()[0].failed, 1u);
    EXPECT_THAT(stores(s.computed(4 + 3 * kBlockTime)), ElementsAre(2)) << "3 and 4 came";
}

TEST_F(ServerTest, WhatIsInDramIsNeitherLookedUpNorStoredAgain) {
    request({1, 2});
    request({1, 2, 3});
    Server s = server();
    s.computed(compute_end(s.arrive(0, 0, exists())));
    asked_.clear();
    const auto begun = s.arrive(from_ms(5000), 1, exists());
    EXPECT_THAT(asked_, ElementsAre(3));
    EXPECT_EQ(compute_end(begun), from_ms(5000) + kBlockTime);
    EXPECT_THAT(stores(s.computed(from_ms(6000))), ElementsAre(3));
}

TEST_F(ServerTest, TwoThatNeedOneBlockLoadItOnce) {
    request({1, 2});
    request({1, 3});
    tier_ = {1};
    Server s = server();
    EXPECT_THAT(loads(s.arrive(0, 0, exists())), ElementsAre(1));
    EXPECT_THAT(loads(s.arrive(0, 1, exists())), IsEmpty());
    s.loaded(from_ms(7), 1, true);
    EXPECT_EQ(s.outcomes()[1].restored, from_ms(7));
}

TEST_F(ServerTest, ComputeIsFifoAndLooksAgainBeforeItBegins) {
    request({1, 2, 3});
    request({1, 2, 4});
    Server s = server();
    const Time first = compute_end(s.arrive(0, 0, exists()));
    EXPECT_EQ(compute_end(s.arrive(0, 1, exists())), -1) << "one computes at a time";
    EXPECT_EQ(compute_end(s.computed(first)), first + kBlockTime) << "1 and 2 are there by now";
    EXPECT_THAT(stores(s.computed(first + kBlockTime)), ElementsAre(4));
}

TEST_F(ServerTest, AFullyKnownPromptStillComputesItsLastToken) {
    request({1});
    request({1});
    Server s = server();
    const Time first = compute_end(s.arrive(0, 0, exists()));
    s.computed(first);
    const Time begun = from_ms(9000);
    EXPECT_EQ(compute_end(s.arrive(begun, 1, exists())), begun + kBlockTime / kBlockTokens);
}

TEST_F(ServerTest, ABlockStaysInDramUntilItIsStored) {
    request({1, 2});
    request({3, 4});
    Server s = server(1);
    Time now = compute_end(s.arrive(0, 0, exists()));
    s.computed(now);
    EXPECT_TRUE(s.dram().holds(1) && s.dram().holds(2)) << "beyond its size while stores run";
    s.stored(1);
    s.stored(2);
    EXPECT_EQ(s.dram().size(), 1u);
    EXPECT_EQ(s.dram().peak(), 2u);
}

TEST_F(ServerTest, RecomputesWhenTheTierIsSlowerAndComesBackToIt) {
    for (int i = 0; i < 80; i++)
        request({static_cast<BlockId>(i + 1)});
    for (BlockId block = 1; block <= 80; block++)
        tier_.insert(block);
    Server s = server(100, true);
    EXPECT_THAT(loads(s.arrive(0, 0, exists())), ElementsAre(1)) << "nothing known: restore";
    Time now = 30 * kBlockTime; // took thirty times what recomputing takes
    now = compute_end(s.loaded(now, 1, true));
    s.computed(now);
    std::uint32_t next = 1, recomputed = 0;
    for (; next < 79; next++) {
        const auto actions = s.arrive(now, next, exists());
        if (!loads(actions).empty()) break;
        recomputed++;
        EXPECT_TRUE(s.outcomes()[next].recomputed);
        now = compute_end(actions);
        s.computed(now);
    }
    EXPECT_GE(recomputed, 10u);
    EXPECT_LT(next, 79u) << "it never tried the tier again";
}

TEST_F(ServerTest, RestoresBehindALongQueueEvenIfSlow) {
    for (BlockId i = 0; i < 3; i++)
        request({static_cast<BlockId>(i + 1)});
    request({10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
    request({2, 30});
    tier_ = {1, 2};
    Server s = server(100, true);
    s.arrive(0, 0, exists());
    const Time now = 3 * kBlockTime; // three times what recomputing takes
    s.computed(compute_end(s.loaded(now, 1, true)));
    s.arrive(4 * kBlockTime, 3, exists()); // ten blocks to compute: there is time to restore
    EXPECT_THAT(loads(s.arrive(4 * kBlockTime, 4, exists())), ElementsAre(2));
}

} // namespace
} // namespace hintier::replay
