// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/sessions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hintier::replay {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TraceRequest request(std::int64_t at_ms, std::vector<BlockId> full) {
    const auto tokens = static_cast<std::uint32_t>(full.size() * kBlockTokens);
    return {at_ms, tokens, 1, std::move(full)};
}

TEST(Sessions, AContinuationReachesTheEndOfWhatWasSaid) {
    const Trace trace = {
        request(0, {0, 1, 2}),       // session 0
        request(1, {0, 1, 2, 3}),    // goes on
        request(2, {0, 1, 4}),       // a fork from the middle
        request(3, {0, 1, 2, 3, 5}), // session 0 again
        request(4, {0, 1, 4, 6}),    // the fork goes on
        request(5, {0, 7}),          // shares the root only
    };
    const Sessions sessions = find_sessions(trace);
    EXPECT_THAT(sessions.of_request, ElementsAre(0, 0, 1, 0, 1, 2));
    EXPECT_EQ(sessions.all[0].turns, 3u);
    EXPECT_EQ(sessions.all[0].last_request, 3u);
}

TEST(Sessions, ABlockDiesWithTheLastSessionThatUsesIt) {
    const Trace trace = {request(0, {0, 1, 2}), request(50, {0, 1, 4}), request(1000, {0, 9})};
    const auto ends = find_ends(trace, find_sessions(trace), 100);
    ASSERT_EQ(ends.size(), 3u);
    EXPECT_EQ(ends[0].at_ms, 100);
    EXPECT_THAT(ends[0].dead, ElementsAre(2)) << "0 and 1 are used by the fork";
    EXPECT_EQ(ends[1].at_ms, 150);
    EXPECT_THAT(ends[1].dead, ElementsAre(0, 1, 4)) << "head first; the third has not begun";
    EXPECT_THAT(ends[2].dead, ElementsAre(0, 9)) << "the root came back and dies again";
}

TEST(Sessions, ASessionLivesUntilItsLastRequestInTheWholeTrace) {
    const Trace trace = {request(0, {0, 1}), request(500, {5}), request(10'000, {0, 1, 2})};
    const auto ends = find_ends(trace, find_sessions(trace), 100);
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_THAT(ends[0].dead, ElementsAre(5));
    EXPECT_EQ(ends[1].at_ms, 10'100);
    EXPECT_THAT(ends[1].dead, ElementsAre(0, 1, 2));
}

TEST(Sessions, ARequestAtTheVeryEndOfASessionKeepsItsBlocks) {
    const Trace trace = {request(0, {0, 1}), request(100, {0, 1, 2, 3}), request(100, {0, 8})};
    const auto ends = find_ends(trace, find_sessions(trace), 100);
    for (const auto& end : ends)
        EXPECT_GE(end.at_ms, 200);
}

} // namespace
} // namespace hintier::replay
