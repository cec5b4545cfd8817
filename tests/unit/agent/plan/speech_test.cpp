// SPDX-License-Identifier: Apache-2.0
#include "agent/plan/speech.hpp"

#include <gtest/gtest.h>

#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

class SpeechTest : public testing::Test {
protected:
    SpeechTest() {
        for (std::uint64_t id : {1, 2, 3}) {
            (void)b_.write(id, 10 + id);
        }
    }
    static Planner::Config rules() {
        Planner::Config rules;
        rules.reaper.enabled = true;
        return rules;
    }
    Result<Speech::Outcome> say(Words::Kind kind, const std::string& session,
                                std::vector<std::uint64_t> objects, bool named,
                                std::uint32_t uid = 7) {
        Words words;
        words.kind = kind;
        words.session = session;
        words.objects = std::move(objects);
        words.named = named;
        words.teller = uid;
        words.time = b_.now;
        words.in_ms = 5;
        return speech_.hear(words);
    }

    test::Builder b_;
    Planner planner_{rules()};
    Speech speech_{b_.world, planner_};
};

TEST_F(SpeechTest, ASessionIsToldOnceAndNamedAfterwards) {
    EXPECT_EQ(say(Words::Kind::started, "s", {1, 2, 9}, true)->done, 2U);
    EXPECT_TRUE(planner_.plan.empty());
    EXPECT_EQ(say(Words::Kind::queued, "s", {3}, true)->done, 1U);
    planner_.plan.clear();
    const auto resumed = say(Words::Kind::resumes, "s", {}, false);
    ASSERT_TRUE(resumed);
    EXPECT_EQ(resumed->done, 3U);
    EXPECT_EQ(resumed->named, 4U);
    ASSERT_EQ(planner_.plan.advice.size(), 3U);
    EXPECT_EQ(planner_.plan.advice[2].object, 3U);
    EXPECT_EQ(planner_.plan.advice[2].deadline_ms, 5U);
    const auto ended = say(Words::Kind::ended, "s", {}, false);
    ASSERT_TRUE(ended) << ended.error().text;
    EXPECT_EQ(ended->done, 3U);
    EXPECT_EQ(planner_.reaper.waiting(), 3U);
    EXPECT_EQ(speech_.sessions().size(), 0U);
    EXPECT_EQ(say(Words::Kind::ended, "s", {}, false).error().code, ENOENT);
}

TEST_F(SpeechTest, RequestsNeedNoSession) {
    EXPECT_EQ(say(Words::Kind::queued, "", {1}, true)->done, 1U);
    EXPECT_EQ(speech_.sessions().size(), 0U);
    EXPECT_EQ(say(Words::Kind::ended, "x", {1}, true)->done, 1U); // never told of: by its names
}

TEST_F(SpeechTest, NobodySpeaksForAnother) {
    ASSERT_TRUE(say(Words::Kind::started, "s", {1}, true));
    EXPECT_EQ(say(Words::Kind::resumes, "s", {}, false, 8).error().code, EPERM);
    EXPECT_EQ(say(Words::Kind::ended, "s", {}, false, 8).error().code, EPERM);
    EXPECT_EQ(planner_.reaper.waiting(), 0U);
    EXPECT_TRUE(say(Words::Kind::ended, "s", {}, false, 0));
}

} // namespace
} // namespace hintier
