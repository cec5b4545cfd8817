// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/top.hpp"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace hintier::cli {
namespace {

constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t second = 1'000'000'000;

Look look(std::uint64_t at_s) {
    Look look;
    look.at_ns = at_s * second;
    NamedTier tier;
    tier.name = "t0";
    tier.stats.id = makedev(253, 0);
    tier.stats.uuid = {7};
    tier.stats.slots = 100;
    tier.stats.dirty = 25;
    look.tiers.push_back(tier);
    return look;
}

TierStats& tier(Look& look) {
    return look.tiers.front().stats;
}

void read(Look& look, hintier_outcome outcome, hintier_class klass, std::uint64_t count,
          std::uint64_t bytes) {
    tier(look).io.push_back({HINTIER_OP_READ, static_cast<std::uint8_t>(outcome),
                             static_cast<std::uint8_t>(klass), count, bytes});
}

TEST(Top, TellsRatesOfTheIntervalAlone) {
    Look before = look(10), now = look(12);
    read(before, HINTIER_IO_FAST, HINTIER_CLASS_KV, 1000, 1000 * mib);
    read(now, HINTIER_IO_FAST, HINTIER_CLASS_KV, 1006, 1006 * mib);
    read(now, HINTIER_IO_HOME, HINTIER_CLASS_KV, 2, 2 * mib);
    read(now, HINTIER_IO_STAGE, HINTIER_CLASS_WEIGHTS, 1, 4 * mib);
    const Json report = top_report(before, now, {});
    EXPECT_DOUBLE_EQ(report["interval_s"].get<double>(), 2);
    const Json& classes = report["tiers"][0]["classes"];
    ASSERT_EQ(classes.size(), 2U) << classes;
    EXPECT_EQ(classes[0]["class"], "weights");
    EXPECT_EQ(classes[1]["class"], "kv");
    EXPECT_EQ(classes[1]["reads_per_s"], 4);
    EXPECT_EQ(classes[1]["read_bytes_per_s"], 4 * mib);
    EXPECT_DOUBLE_EQ(classes[1]["read_from"]["fast"].get<double>(), 0.75);
    EXPECT_DOUBLE_EQ(classes[1]["read_from"]["home"].get<double>(), 0.25);
    EXPECT_EQ(report["tiers"][0]["stalls"]["read_ahead_bytes_per_s"], 2 * mib);
    const std::string text = top_text(report);
    EXPECT_NE(text.find("kv"), text.npos) << text;
    EXPECT_NE(text.find("75.0 %"), text.npos) << text;
    EXPECT_NE(text.find("25.0 %"), text.npos) << text;
}

TEST(Top, TellsWearADayAndItsBudget) {
    Look before = look(0), now = look(10);
    tier(now).counters[HINTIER_C_BULK_WRITE_BYTES] = 10 * mib;
    tier(now).counters[HINTIER_C_DROPPED_DIRTY_BYTES] = 20 * mib;
    tier(now).counters[HINTIER_C_WAITED_SLOT] = 30;
    const Json report = top_report(before, now, {.fast = 0, .bulk = 2 * 86'400 * mib});
    const Json& wear = report["tiers"][0]["wear"];
    EXPECT_EQ(wear["bulk"]["bytes_per_day"], 86'400 * mib);
    EXPECT_DOUBLE_EQ(wear["bulk"]["budget_share"].get<double>(), 0.5);
    EXPECT_FALSE(wear["fast"].contains("budget_share"));
    EXPECT_EQ(wear["spared_bytes_per_s"], 2 * mib);
    EXPECT_EQ(report["tiers"][0]["stalls"]["writes_without_slot_per_s"], 3);
    EXPECT_NE(top_text(report).find("50 % of the budget"), std::string::npos);
}

TEST(Top, SurvivesCountersThatBeginAgain) {
    Look before = look(0), now = look(1);
    tier(before).counters[HINTIER_C_FETCH_TIMELY] = 1000;
    tier(now).counters[HINTIER_C_FETCH_TIMELY] = 5;
    const Json reloaded = top_report(before, now, {});
    EXPECT_EQ(reloaded["tiers"][0]["fetch"]["timely"]["new"], 5);
    EXPECT_EQ(reloaded["tiers"][0]["fetch"]["timely"]["all"], 5);

    tier(before).uuid = {8}; // another pair by the same number: it was not there before
    const Json other = top_report(before, now, {});
    EXPECT_EQ(other["tiers"][0]["fetch"]["timely"]["new"], 0);
    EXPECT_EQ(other["tiers"][0]["fetch"]["timely"]["all"], 5);
}

TEST(Top, TakesQuantilesOfTheInterval) {
    Look before = look(0), now = look(1);
    IoLatency slow{HINTIER_OP_READ, HINTIER_IO_HOME, {}};
    slow.buckets[20] = 1000;
    tier(before).latency.push_back(slow);
    slow.buckets[3] = 10;
    tier(now).latency.push_back(slow);
    const Json report = top_report(before, now, {});
    EXPECT_EQ(report["tiers"][0]["latency"][0]["p99_ns"], 1ULL << 12);
}

TEST(Top, ShowsTheAgentAndItsProcesses) {
    Look before = look(0), now = look(2);
    before.agent = Json::parse(R"({"trace":{"events":100,"lost":0},"hints":{"sent":10}})");
    now.agent = Json::parse(R"({"version":"0.1.0","trace":{"events":300,"lost":2},
        "hints":{"sent":10,"refused":1},
        "processes":[{"pid":42,"name":"llama-server","files":3,"tokens":1034},
                     {"pid":43,"name":"python3","files":1}],
        "phases":[{"pid":42,"phase":"decode"}]})");
    const Json report = top_report(before, now, {});
    EXPECT_EQ(report["agent"]["trace"]["events_per_s"], 100);
    EXPECT_EQ(report["agent"]["hints"]["sent_per_s"], 0);
    const std::string text = top_text(report);
    EXPECT_NE(text.find("42  llama-server  decode"), text.npos) << text;
    EXPECT_NE(text.find("43  python3       - "), text.npos) << text;
}

// Whatever an agent of another version answers, it is shown as far as it goes.
TEST(Top, TakesAnyAnswerOfTheAgent) {
    Look now = look(1);
    now.tiers.clear();
    EXPECT_NE(top_text(top_report(now, now, {})).find("does not run"), std::string::npos);
    for (const char* agent :
         {"{}", R"({"trace":{"events":-1},"processes":[{}]})", R"({"processes":[1,null]})",
          R"({"trace":5,"hints":[],"model":"x","processes":{}})",
          R"({"processes":[{}],"phases":[1]})", R"({"dry_run":"yes"})"}) {
        now.agent = Json::parse(agent);
        EXPECT_NE(top_text(top_report(now, now, {})).find("agent"), std::string::npos) << agent;
    }
}

} // namespace
} // namespace hintier::cli
