// SPDX-License-Identifier: Apache-2.0
// Netlink messages made by hand as uapi/hintier/netlink.h draws them, read back and shown.
#include "agent/cli/stats.hpp"

#include <memory>

#include <gtest/gtest.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <sys/sysmacros.h>

#include "agent/cli/status_report.hpp"

namespace hintier::cli {
namespace {

struct Free {
    void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, Free>;

void put_io(nl_msg* message, int nest_type, std::uint8_t op, std::uint8_t outcome,
            std::uint8_t klass, std::uint64_t count, std::uint64_t bytes) {
    nlattr* nest = nla_nest_start(message, nest_type);
    nla_put_u8(message, HINTIER_A_IO_OP, op);
    nla_put_u8(message, HINTIER_A_IO_OUTCOME, outcome);
    nla_put_u8(message, HINTIER_A_IO_CLASS, klass);
    nla_put_u64(message, HINTIER_A_IO_COUNT, count);
    nla_put_u64(message, HINTIER_A_IO_BYTES, bytes);
    nla_nest_end(message, nest);
}

void put_latency(nl_msg* message, std::uint8_t op, std::uint8_t outcome, const Histogram& buckets) {
    nlattr* nest = nla_nest_start(message, HINTIER_A_STAT_LATENCY);
    nla_put_u8(message, HINTIER_A_IO_OP, op);
    nla_put_u8(message, HINTIER_A_IO_OUTCOME, outcome);
    nla_put(message, HINTIER_A_IO_HISTOGRAM, sizeof buckets, buckets.data());
    nla_nest_end(message, nest);
}

Message sample() {
    Message message(nlmsg_alloc());
    genlmsg_put(message.get(), 0, 0, 30, 0, 0, HINTIER_CMD_GET_STATS, HINTIER_GENL_VERSION);
    nlattr* device = nla_nest_start(message.get(), HINTIER_A_DEVICE);
    nla_put_u64(message.get(), HINTIER_A_DEV_IDENT, 253ULL << 32 | 3);
    std::uint8_t uuid[16] = {0x3f, 0x0c};
    nla_put(message.get(), HINTIER_A_DEV_UUID, sizeof uuid, uuid);
    nla_put_u32(message.get(), HINTIER_A_DEV_MODE, HINTIER_MODE_WRITETHROUGH);
    nla_put_u64(message.get(), HINTIER_A_DEV_BYTES, 1ULL << 30);
    nla_put_u32(message.get(), HINTIER_A_DEV_EXTENT, 65536);
    nla_put_u64(message.get(), HINTIER_A_DEV_SLOTS, 1000);
    nla_put_u64(message.get(), HINTIER_A_DEV_FREE, 700);
    nla_put_u64(message.get(), HINTIER_A_DEV_DIRTY, 100);
    nla_put_u64(message.get(), HINTIER_A_DEV_CLEAN, 200);
    nla_nest_end(message.get(), device);

    nlattr* stats = nla_nest_start(message.get(), HINTIER_A_STATS);
    put_io(message.get(), HINTIER_A_STAT_IO, HINTIER_OP_READ, HINTIER_IO_FAST, HINTIER_CLASS_KV, 3,
           3 * 4096);
    put_io(message.get(), HINTIER_A_STAT_IO, HINTIER_OP_READ, HINTIER_IO_HOME, HINTIER_CLASS_OTHER,
           1, 4096);
    Histogram buckets{};
    buckets[2] = 99; // up to 2^11 ns
    buckets[9] = 1;  // up to 2^18 ns
    put_latency(message.get(), HINTIER_OP_READ, HINTIER_IO_FAST, buckets);
    std::array<std::uint64_t, HINTIER_COUNTERS> counters{};
    counters[HINTIER_C_BULK_WRITE_BYTES] = 1 << 20;
    counters[HINTIER_C_ERRORS_BULK] = 7;
    nla_put(message.get(), HINTIER_A_STAT_COUNTERS, sizeof counters, counters.data());
    std::array<std::uint64_t, HINTIER_FETCHES> fetched{4096, 0, 8192, 0};
    for (auto what : {HINTIER_A_FETCH_CLASS, HINTIER_A_FETCH_SOURCE}) {
        nlattr* nest = nla_nest_start(message.get(), HINTIER_A_STAT_FETCH);
        nla_put_u8(message.get(), what, HINTIER_CLASS_KV);
        nla_put(message.get(), HINTIER_A_FETCH_BYTES, sizeof fetched, fetched.data());
        nla_nest_end(message.get(), nest);
    }
    nla_nest_end(message.get(), stats);
    return message;
}

TEST(Stats, ReadsAMessage) {
    Message message = sample();
    auto stats = parse_stats(nlmsg_hdr(message.get()));
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats->id, makedev(253, 3));
    EXPECT_EQ(stats->uuid[1], 0x0c);
    EXPECT_EQ(stats->mode, static_cast<unsigned>(HINTIER_MODE_WRITETHROUGH));
    EXPECT_EQ(stats->slots, 1000u);
    EXPECT_EQ(stats->free, 700u);
    EXPECT_EQ(stats->dirty, 100u);
    EXPECT_EQ(stats->clean, 200u);
    ASSERT_EQ(stats->io.size(), 2u);
    EXPECT_EQ(stats->io[0].count, 3u);
    EXPECT_EQ(bytes_of(*stats, HINTIER_OP_READ), 4u * 4096);
    EXPECT_EQ(bytes_of(*stats, HINTIER_OP_READ, HINTIER_IO_FAST), 3u * 4096);
    ASSERT_EQ(stats->latency.size(), 1u);
    EXPECT_EQ(stats->counters[HINTIER_C_ERRORS_BULK], 7u);
}

TEST(Stats, RefusesAMessageWithoutADevice) {
    Message message(nlmsg_alloc());
    genlmsg_put(message.get(), 0, 0, 30, 0, 0, HINTIER_CMD_GET_STATS, HINTIER_GENL_VERSION);
    EXPECT_FALSE(parse_stats(nlmsg_hdr(message.get())));
}

TEST(Stats, QuantilesAreUpperEdges) {
    Histogram buckets{};
    EXPECT_EQ(quantile(buckets, 0.5), 0u);
    buckets[2] = 99;
    buckets[9] = 1;
    EXPECT_EQ(quantile(buckets, 0.5), 1u << 11);
    EXPECT_EQ(quantile(buckets, 0.989), 1u << 11);
    EXPECT_EQ(quantile(buckets, 0.99), 1u << 18);
    EXPECT_EQ(quantile(buckets, 1.0), 1u << 18);
}

TEST(Names, CoverEveryValue) {
    for (unsigned i = 0; i < HINTIER_OPS; i++)
        EXPECT_EQ(op_name(i).find("unknown"), std::string::npos);
    for (unsigned i = 0; i < HINTIER_OUTCOMES; i++)
        EXPECT_EQ(outcome_name(i).find("unknown"), std::string::npos);
    for (unsigned i = 0; i < HINTIER_COUNTERS; i++)
        EXPECT_FALSE(counter_name(i).empty()) << i;
    for (int i = 0; i < HINTIER_CLASSES; i++)
        EXPECT_EQ(class_number(class_name(static_cast<unsigned>(i))), i);
    EXPECT_EQ(class_number("weight"), -1);
    EXPECT_EQ(mode_name(99), "unknown99");
}

TEST(Status, JsonHasTheShapeThatScriptsRead) {
    Message message = sample();
    auto stats = parse_stats(nlmsg_hdr(message.get()));
    ASSERT_TRUE(stats);
    DmDevice tier;
    tier.name = "kv0";
    tier.id = stats->id;
    std::string line =
        "writethrough 128 1000 700 100 200 3 2 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 21 15";
    tier.targets.push_back({0, 1, "hintier", line});
    Json json = status_json(tier, *stats);
    EXPECT_EQ(json["name"], "kv0");
    EXPECT_EQ(json["device"], "253:3");
    EXPECT_EQ(json["mode"], "writethrough");
    EXPECT_EQ(json["slots"]["dirty"], 100);
    EXPECT_EQ(json["io"][0]["class"], "kv");
    EXPECT_EQ(json["latency"][0]["p99_ns"], 1u << 18);
    EXPECT_EQ(json["latency"][0]["histogram"].size(),
              static_cast<std::size_t>(HINTIER_LATENCY_BUCKETS));
    ASSERT_EQ(json["fetches"].size(), 2u);
    EXPECT_EQ(json["fetches"][0]["class"], "kv");
    EXPECT_EQ(json["fetches"][0]["timely"], 4096);
    EXPECT_EQ(json["fetches"][1]["source"], static_cast<int>(HINTIER_CLASS_KV));
    EXPECT_EQ(json["fetches"][1]["unused"], 8192);
    EXPECT_EQ(json["counters"]["bulk_write_bytes"], 1 << 20);
    EXPECT_EQ(json["counters"].size(), static_cast<std::size_t>(HINTIER_COUNTERS));
    EXPECT_EQ(json["dm_status"], line);
    EXPECT_EQ(json["target"]["moving_in"], 3);
    EXPECT_EQ(json["target"]["errors_bulk"], 14);
    EXPECT_EQ(json["target"]["slots_bad"], 15);

    std::string text = status_text(tier, *stats);
    EXPECT_NE(text.find("75.0 % from fast"), std::string::npos) << text;
    EXPECT_NE(text.find("moving 3 in, 2 out"), std::string::npos) << text;
    EXPECT_NE(text.find("100 dirty (10.0 %)"), std::string::npos) << text;
    EXPECT_NE(text.find("errors_bulk"), std::string::npos) << text;
    EXPECT_EQ(text.find("budget"), std::string::npos) << text;
    EXPECT_EQ(json["budget"]["fast"]["over"], false);
}

TEST(Status, BudgetsAreToldWhereThereAreAny) {
    DmDevice tier;
    TierStats stats;
    stats.fast_left = -(3LL << 30);
    stats.over = HINTIER_OVER_FAST;
    stats.bulk_left = 5LL << 30;
    Json json = status_json(tier, stats);
    EXPECT_EQ(json["budget"]["fast"]["over"], true);
    EXPECT_EQ(json["budget"]["fast"]["left"], -(3LL << 30));
    EXPECT_EQ(json["budget"]["bulk"]["over"], false);
    std::string text = status_text(tier, stats);
    EXPECT_NE(text.find("fast 3 GiB owed: no promotion"), std::string::npos) << text;
    EXPECT_NE(text.find("bulk 5 GiB left"), std::string::npos) << text;
}

TEST(Status, SuspendedTargetsTellNoSlots) {
    Json line = parse_status_line("writeback 128 1000 - - - 0 0");
    EXPECT_EQ(line["mode"], "writeback");
    EXPECT_TRUE(line["free"].is_null());
    EXPECT_EQ(line["moving_out"], 0);
    EXPECT_FALSE(line.contains("promoted"));
    EXPECT_TRUE(parse_status_line("").empty());
}

} // namespace
} // namespace hintier::cli
