// SPDX-License-Identifier: Apache-2.0
// Generic netlink messages of the module, as the agent and hintierctl read them.
#include <netlink/attr.h>
#include <netlink/genl/genl.h>
#include <netlink/msg.h>

#include "agent/cli/stats.hpp"
#include "agent/source/kernel_source.hpp"
#include "hintier/netlink.h"
#include "tests/fuzz/target.hpp"

namespace {

// A message whose payload, behind the headers, is the input.
std::vector<std::uint64_t> message(std::span<const std::uint8_t> payload) {
    const std::size_t bytes = NLMSG_HDRLEN + GENL_HDRLEN + payload.size();
    std::vector<std::uint64_t> memory(bytes / sizeof(std::uint64_t) + 1);
    auto* header = reinterpret_cast<nlmsghdr*>(memory.data());
    header->nlmsg_len = static_cast<std::uint32_t>(bytes);
    auto* generic = reinterpret_cast<genlmsghdr*>(reinterpret_cast<char*>(header) + NLMSG_HDRLEN);
    generic->cmd = HINTIER_CMD_GET_STATS;
    if (!payload.empty())
        std::memcpy(reinterpret_cast<char*>(generic) + GENL_HDRLEN, payload.data(), payload.size());
    return memory;
}

hintier::fuzz::Bytes attributes(nl_msg* msg) {
    nlmsghdr* header = nlmsg_hdr(msg);
    const auto* from = reinterpret_cast<const std::uint8_t*>(header) + NLMSG_HDRLEN;
    return {from, from + nlmsg_datalen(header)};
}

std::vector<hintier::fuzz::Bytes> seeds() {
    std::vector<hintier::fuzz::Bytes> all;
    const std::uint64_t counters[HINTIER_COUNTERS] = {1, 2, 3};
    nl_msg* stats = nlmsg_alloc();
    nlmsg_put(stats, 0, 0, 0, 0, 0);
    nlattr* device = nla_nest_start(stats, HINTIER_A_DEVICE);
    nla_put_u64(stats, HINTIER_A_DEV_IDENT, 253ULL << 32);
    nla_put(stats, HINTIER_A_DEV_UUID, 16, "0123456789abcdef");
    nla_put_u32(stats, HINTIER_A_DEV_MODE, 1);
    nla_put_u64(stats, HINTIER_A_DEV_BYTES, 1 << 30);
    nla_nest_end(stats, device);
    nlattr* counts = nla_nest_start(stats, HINTIER_A_STATS);
    nla_put(stats, HINTIER_A_STAT_COUNTERS, sizeof counters, counters);
    for (int type : {HINTIER_A_STAT_IO, HINTIER_A_STAT_LATENCY}) {
        nlattr* one = nla_nest_start(stats, type);
        nla_put_u8(stats, HINTIER_A_IO_OP, 1);
        nla_put_u8(stats, HINTIER_A_IO_OUTCOME, 2);
        nla_put_u64(stats, HINTIER_A_IO_COUNT, 7);
        nla_put(stats, HINTIER_A_IO_HISTOGRAM, sizeof counters, counters);
        nla_nest_end(stats, one);
    }
    nla_nest_end(stats, counts);
    all.push_back(attributes(stats));
    nlmsg_free(stats);

    nl_msg* news = nlmsg_alloc();
    nlmsg_put(news, 0, 0, 0, 0, 0);
    nlattr* event = nla_nest_start(news, HINTIER_A_EVENT);
    nla_put_u32(news, HINTIER_A_EVENT_TYPE, 1);
    nla_put_u64(news, HINTIER_A_EVENT_DEV_ID, 253ULL << 32);
    nla_put_u64(news, HINTIER_A_EVENT_SEQ, 9);
    nla_put_u64(news, HINTIER_A_EVENT_ARG0, 4);
    nla_nest_end(news, event);
    all.push_back(attributes(news));
    nlmsg_free(news);
    return all;
}

} // namespace

FUZZ_TARGET(netlink, seeds) {
    std::vector<std::uint64_t> memory = message(input);
    auto* header = reinterpret_cast<nlmsghdr*>(memory.data());
    if (const auto stats = hintier::cli::parse_stats(header))
        (void)hintier::cli::bytes_of(*stats, HINTIER_OP_READ);
    hintier::TierStats tier;
    (void)hintier::parse_tier_stats(header, tier);
    hintier::TierEvent event;
    if (hintier::parse_tier_event(header, event))
        hintier::fuzz::require(event.type != 0, "an event has a type");
}
