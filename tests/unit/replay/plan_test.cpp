// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/plan.hpp"

#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hintier::replay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PlanFile : public testing::Test {
protected:
    const std::string path_ = testing::TempDir() + "ht-plan-" + std::to_string(getpid());
    void TearDown() override { std::remove(path_.c_str()); }

    std::string refusal() const {
        try {
            load_plan(path_);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "accepted";
    }

    void overwrite(std::streamoff at, std::uint32_t value) const {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(at);
        file.write(reinterpret_cast<const char*>(&value), sizeof(value));
    }
};

Trace three() {
    return {{10, 1024, 1, {0, 1}}, {20, 1100, 1, {0, 2, 3}}, {500, 512, 1, {9}}};
}

TEST_F(PlanFile, KeepsFullBlocksOfTheWindowAndComesBackTheSame) {
    PlanOptions options;
    options.length_ms = 400;
    options.notice_ms = 100;
    const Plan made = make_plan(three(), options);
    save_plan(made, path_);
    const Plan plan = load_plan(path_);
    ASSERT_EQ(plan.requests.size(), 2u);
    EXPECT_EQ(plan.requests[1].arrival_ms, 20u);
    EXPECT_THAT(plan.blocks_of(plan.requests[0]), ElementsAre(0, 1));
    EXPECT_THAT(plan.blocks_of(plan.requests[1]), ElementsAre(0, 2)) << "3 is a partial tail";
    EXPECT_EQ(plan.block_limit, 3u);
    ASSERT_EQ(plan.ends.size(), 2u);
    EXPECT_THAT(plan.dead_of(plan.ends[0]), ElementsAre(1));
    EXPECT_THAT(plan.dead_of(plan.ends[1]), ElementsAre(0, 2));
}

TEST_F(PlanFile, TellsNoEndsWhenAskedTo) {
    PlanOptions options;
    options.ends = false;
    EXPECT_TRUE(make_plan(three(), options).ends.empty());
}

TEST_F(PlanFile, RefusesWhatIsNotAPlan) {
    EXPECT_THAT(refusal(), HasSubstr("cannot read"));
    std::ofstream(path_) << "a text";
    EXPECT_THAT(refusal(), HasSubstr("not a plan"));
}

TEST_F(PlanFile, RefusesDamage) {
    save_plan(make_plan(three(), {}), path_);
    overwrite(8 + 3 * 4, 0x7fffffff); // number of requests
    EXPECT_THAT(refusal(), HasSubstr("damaged"));
    save_plan(make_plan(three(), {}), path_);
    overwrite(8 + 7 * 4 + 8, 1u << 20); // where the first request's blocks begin
    EXPECT_THAT(refusal(), HasSubstr("damaged"));
    save_plan(make_plan(three(), {}), path_);
    overwrite(8 + 2 * 4, 1); // block limit
    EXPECT_THAT(refusal(), HasSubstr("damaged"));
}

} // namespace
} // namespace hintier::replay
