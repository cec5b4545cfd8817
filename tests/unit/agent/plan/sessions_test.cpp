// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/sessions.hpp"

#include <numeric>

#include <gtest/gtest.h>

namespace hintier {
namespace {

using Ids = std::vector<std::uint64_t>;

TEST(Sessions, AddUpInOrderWithoutRepetition) {
    Sessions sessions;
    ASSERT_TRUE(sessions.tell("a", 7, 0, {3, 1}));
    ASSERT_TRUE(sessions.tell("a", 7, 0, {1, 2, 2}));
    EXPECT_EQ((*sessions.find("a", 7))->objects, (Ids{3, 1, 2}));
    EXPECT_EQ(sessions.objects(), 3U);
    sessions.forget("a");
    sessions.forget("a");
    EXPECT_EQ(sessions.size(), 0U);
    EXPECT_EQ(sessions.objects(), 0U);
    EXPECT_EQ(sessions.find("a", 7).error().code, ENOENT);
}

TEST(Sessions, KnowWhoHoldsAnObject) {
    Sessions sessions;
    ASSERT_TRUE(sessions.tell("a", 7, 0, {1, 2}));
    ASSERT_TRUE(sessions.tell("b", 8, 0, {2, 3}));
    EXPECT_EQ(sessions.of(1), "a");
    EXPECT_EQ(sessions.of(2), "b") << "told of last";
    EXPECT_EQ(sessions.of(4), "");
    sessions.forget("b");
    EXPECT_EQ(sessions.of(2), "a");
}

TEST(Sessions, AreTheirTellers) {
    Sessions sessions;
    ASSERT_TRUE(sessions.tell("a", 7, 0, {1}));
    EXPECT_EQ(sessions.find("a", 8).error().code, EPERM);
    EXPECT_EQ(sessions.tell("a", 8, 0, {2}).error().code, EPERM);
    EXPECT_TRUE(sessions.find("a", 0)); // root
    EXPECT_FALSE(sessions.tell("a", 7, 1, {2}));
    EXPECT_EQ((*sessions.find("a", 7))->objects, (Ids{1}));
}

TEST(Sessions, AreBounded) {
    Sessions sessions;
    EXPECT_FALSE(sessions.tell("", 7, 0, {}));
    EXPECT_FALSE(sessions.tell(std::string(257, 'x'), 7, 0, {}));
    Ids many(Sessions::max_objects + 1);
    std::iota(many.begin(), many.end(), 1);
    EXPECT_EQ(sessions.tell("long", 7, 0, many).error().code, E2BIG);
    for (std::size_t i = 1; i < Sessions::max_each; ++i) {
        ASSERT_TRUE(sessions.tell(std::to_string(i), 7, 0, {}));
    }
    EXPECT_EQ(sessions.tell("more", 7, 0, {}).error().code, EAGAIN);
    EXPECT_TRUE(sessions.tell("more", 8, 0, {})); // of another
    sessions.forget("1");
    EXPECT_TRUE(sessions.tell("again", 7, 0, {}));
}

TEST(Sessions, TheOneToldOfLongestAgoIsForgottenFirst) {
    Sessions sessions;
    for (std::uint32_t i = 0; i < Sessions::max_sessions; ++i) {
        ASSERT_TRUE(sessions.tell(std::to_string(i), i / 1000, 0, {}));
    }
    ASSERT_TRUE(sessions.tell("0", 0, 0, {5}));
    ASSERT_TRUE(sessions.tell("new", 9999, 0, {}));
    EXPECT_EQ(sessions.size(), Sessions::max_sessions);
    EXPECT_TRUE(sessions.find("0", 0));
    EXPECT_FALSE(sessions.find("1", 0));
}

} // namespace
} // namespace hintier
