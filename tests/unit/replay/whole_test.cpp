// SPDX-License-Identifier: Apache-2.0
//
// Generated trace, plan, simulation and a live run together.
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

#include "qemu/replay/generate.hpp"
#include "qemu/replay/report.hpp"
#include "qemu/replay/simulate.hpp"
#include "qemu/replay/stats.hpp"

namespace hintier::replay {
namespace {

std::string text_of(const Trace& trace) {
    std::ostringstream out;
    write_trace(out, trace);
    return out.str();
}

TEST(Generator, SameSeedSameTrace) {
    const std::string one = text_of(generate_trace(1, 0.1));
    EXPECT_EQ(one, text_of(generate_trace(1, 0.1)));
    EXPECT_NE(one, text_of(generate_trace(2, 0.1)));
    std::istringstream in(one);
    EXPECT_FALSE(read_trace(in).empty()) << "and it is a valid trace";
}

// Wide enough for any seed, narrow enough to see a broken table.
TEST(Generator, IsLikeThePublishedTrace) {
    for (const auto& one : measure(generate_trace(1, 1)))
        for (std::size_t i = 0; i < one.published.size(); i++) {
            const double wanted = one.published[i];
            EXPECT_NEAR(one.measured[i], wanted, wanted * 0.35 + 100 * (one.digits == 0))
                << one.name << ", figure " << i;
        }
}

TEST(Percentile, IsNearestRank) {
    std::vector<Time> times;
    for (int i = 1; i <= 100; i++)
        times.push_back(from_ms(i));
    EXPECT_EQ(percentile_ms(times, 0.50), 50);
    EXPECT_EQ(percentile_ms(times, 0.99), 99);
    EXPECT_EQ(percentile_ms({from_ms(7)}, 0.99), 7);
    EXPECT_EQ(percentile_ms({}, 0.5), 0);
}

Plan plan_of(double minutes, double mark) {
    PlanOptions options;
    options.length_ms = static_cast<std::uint32_t>(minutes * 60'000);
    options.mark_ms = static_cast<std::uint32_t>(mark * 60'000);
    Trace trace = generate_trace(1, 0.2);
    spread_arrivals(trace);
    return make_plan(trace, options);
}

TEST(Simulation, AFasterDeviceRestoresSooner) {
    const Plan plan = plan_of(8, 2);
    RunOptions options;
    const auto slow = simulate(plan, options, {2, 3.3, 300});
    const auto fast = simulate(plan, options, {14, 3.3, 300});
    ASSERT_GT(slow["restored_requests"], 20);
    EXPECT_LT(fast["restore_ms"]["p50"], slow["restore_ms"]["p50"]);
    EXPECT_LT(fast["restore_ms"]["p99"], slow["restore_ms"]["p99"]);
    EXPECT_LE(fast["ttft_ms"]["p90"], slow["ttft_ms"]["p90"]);
    EXPECT_EQ(fast.dump(), simulate(plan, options, {14, 3.3, 300}).dump());
}

TEST(Simulation, WithoutEndsNothingIsLostAndNothingWrittenTwice) {
    Plan plan = plan_of(8, 0);
    plan.ends.clear();
    RunOptions options;
    options.point.may_recompute = false;
    const auto result = simulate(plan, options, {7, 3.3, 300});
    std::vector<bool> seen(plan.block_limit);
    std::size_t unique = 0;
    for (const BlockId block : plan.blocks)
        if (!seen[block]) {
            seen[block] = true;
            unique++;
        }
    EXPECT_EQ(result["kv_created_bytes"], unique * kObjectBytes);
    EXPECT_EQ(result["files_removed"], 0);
}

// Against real files, far faster than life: what is asserted does not depend on timing.
TEST(Run, EveryReadIsVerifiedAndTheDeadAreGone) {
    const char* const ram = access("/dev/shm", W_OK) == 0 ? "/dev/shm/" : "/tmp/";
    std::string root = std::string(ram) + "ht-run-XXXXXX";
    ASSERT_TRUE(mkdtemp(root.data()));
    Trace trace;
    for (BlockId chat = 0; chat < 30; chat++) { // each speaks twice; a DRAM of 4 blocks forgets
        trace.push_back({chat * 100, 1024, 1, {2 * chat, 2 * chat + 1}});
        trace.push_back({10'000 + chat * 100, 1536, 1, {2 * chat, 2 * chat + 1, 1000 + chat}});
    }
    std::stable_sort(trace.begin(), trace.end(),
                     [](const auto& a, const auto& b) { return a.arrival_ms < b.arrival_ms; });
    PlanOptions plan_options;
    plan_options.length_ms = 90'000;
    plan_options.mark_ms = 0;
    plan_options.notice_ms = 31'000;
    const Plan plan = make_plan(trace, plan_options);

    RunOptions options;
    options.tier = {root, false, {}};
    options.point = {64000, 4 * kBlockTokens, false};
    options.dilation = 0.05;
    options.writers = options.readers = 2;
    const auto result = run(plan, options);
    EXPECT_EQ(result["requests"], 60);
    EXPECT_EQ(result["reads_wrong"], 0);
    EXPECT_GT(result["reads_verified"], 30);
    EXPECT_EQ(result["kv_created_bytes"], 90 * kObjectBytes);
    EXPECT_EQ(result["dead_left"], 0);
    EXPECT_EQ(result["files_removed"], 90);
    std::filesystem::remove_all(root);
}

} // namespace
} // namespace hintier::replay
