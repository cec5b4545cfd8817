// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/stats.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <sys/sysmacros.h>

namespace hintier::cli {

namespace {

struct SocketDeleter {
    void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
struct MessageDeleter {
    void operator()(nl_msg* message) const { nlmsg_free(message); }
};

// Integers of any width: the family may widen a field without breaking old readers.
std::uint64_t number(const nlattr* attribute) {
    std::uint64_t value = 0;
    if (attribute)
        std::memcpy(
            &value, nla_data(attribute),
            std::min<std::size_t>(sizeof value, static_cast<std::size_t>(nla_len(attribute))));
    return value; // little-endian machines only, as the on-disk format's tools are
}

template <std::size_t N>
void numbers(const nlattr* attribute, std::array<std::uint64_t, N>& to) {
    if (attribute)
        std::memcpy(to.data(), nla_data(attribute),
                    std::min(sizeof to, static_cast<std::size_t>(nla_len(attribute))));
}

void parse_device(nlattr* nest, TierStats& stats) {
    nlattr* at[HINTIER_A_DEV_MAX + 1];
    if (nla_parse_nested(at, HINTIER_A_DEV_MAX, nest, nullptr) < 0) return;
    std::uint64_t ident = number(at[HINTIER_A_DEV_IDENT]);
    stats.id = makedev(static_cast<unsigned>(ident >> 32), static_cast<unsigned>(ident));
    if (const nlattr* uuid = at[HINTIER_A_DEV_UUID]; uuid && nla_len(uuid) == 16)
        std::memcpy(stats.uuid.data(), nla_data(uuid), 16);
    stats.mode = static_cast<std::uint32_t>(number(at[HINTIER_A_DEV_MODE]));
    stats.bytes = number(at[HINTIER_A_DEV_BYTES]);
    stats.extent_bytes = static_cast<std::uint32_t>(number(at[HINTIER_A_DEV_EXTENT]));
    stats.slots = number(at[HINTIER_A_DEV_SLOTS]);
    stats.free = number(at[HINTIER_A_DEV_FREE]);
    stats.dirty = number(at[HINTIER_A_DEV_DIRTY]);
    stats.clean = number(at[HINTIER_A_DEV_CLEAN]);
    stats.lost = number(at[HINTIER_A_DEV_LOST]);
    stats.pinned = number(at[HINTIER_A_DEV_PINNED]);
    stats.over = static_cast<std::uint32_t>(number(at[HINTIER_A_DEV_OVER]));
    stats.fast_left = static_cast<std::int64_t>(number(at[HINTIER_A_DEV_FAST_LEFT]));
    stats.bulk_left = static_cast<std::int64_t>(number(at[HINTIER_A_DEV_BULK_LEFT]));
}

void parse_fetch(nlattr* nest, TierStats& stats) {
    nlattr* at[HINTIER_A_FETCH_MAX + 1];
    if (nla_parse_nested(at, HINTIER_A_FETCH_MAX, nest, nullptr) < 0) return;
    FetchCount count;
    count.by_source = at[HINTIER_A_FETCH_SOURCE];
    count.which = static_cast<std::uint8_t>(
        number(at[count.by_source ? HINTIER_A_FETCH_SOURCE : HINTIER_A_FETCH_CLASS]));
    numbers(at[HINTIER_A_FETCH_BYTES], count.bytes);
    stats.fetches.push_back(count);
}

void parse_counts(nlattr* nest, TierStats& stats) {
    nlattr* entry = nullptr;
    int remaining = 0;
    nla_for_each_nested(entry, nest, remaining) {
        nlattr* at[HINTIER_A_IO_MAX + 1];
        if (nla_type(entry) == HINTIER_A_STAT_COUNTERS) numbers(entry, stats.counters);
        if (nla_type(entry) == HINTIER_A_STAT_FETCH) parse_fetch(entry, stats);
        if (nla_type(entry) != HINTIER_A_STAT_IO && nla_type(entry) != HINTIER_A_STAT_LATENCY)
            continue;
        if (nla_parse_nested(at, HINTIER_A_IO_MAX, entry, nullptr) < 0) continue;
        auto op = static_cast<std::uint8_t>(number(at[HINTIER_A_IO_OP]));
        auto outcome = static_cast<std::uint8_t>(number(at[HINTIER_A_IO_OUTCOME]));
        if (nla_type(entry) == HINTIER_A_STAT_IO) {
            stats.io.push_back({op, outcome,
                                static_cast<std::uint8_t>(number(at[HINTIER_A_IO_CLASS])),
                                number(at[HINTIER_A_IO_COUNT]), number(at[HINTIER_A_IO_BYTES])});
        } else {
            IoLatency latency{op, outcome, {}};
            numbers(at[HINTIER_A_IO_HISTOGRAM], latency.buckets);
            stats.latency.push_back(latency);
        }
    }
}

struct Dump {
    std::vector<TierStats> tiers;
    bool broken = false;
};

int collect(nl_msg* message, void* to) {
    auto* dump = static_cast<Dump*>(to);
    if (auto stats = parse_stats(nlmsg_hdr(message)))
        dump->tiers.push_back(std::move(*stats));
    else
        dump->broken = true;
    return NL_OK;
}

template <std::size_t N>
std::string name_in(const std::array<const char*, N>& names, unsigned value) {
    return value < N ? names[value] : "unknown" + std::to_string(value);
}

constexpr std::array<const char*, HINTIER_OPS> op_names = {"read", "write", "discard", "flush"};
constexpr std::array<const char*, HINTIER_OUTCOMES> outcome_names = {
    "fast", "home", "stage", "joined", "bypass", "lost", "error"};
constexpr std::array<const char*, HINTIER_CLASSES> class_names = {"other", "weights",    "expert",
                                                                  "kv",    "checkpoint", "stream"};
constexpr std::array<const char*, HINTIER_FETCHES> fetch_names = {"timely", "late", "unused",
                                                                  "cancelled"};
constexpr std::array<const char*, HINTIER_MODES> mode_names = {"writeback", "writethrough",
                                                               "writearound", "bypass", "fail"};
constexpr std::array<const char*, HINTIER_COUNTERS> counter_names = {"fast_write_bytes",
                                                                     "bulk_write_bytes",
                                                                     "meta_write_bytes",
                                                                     "admitted",
                                                                     "promoted",
                                                                     "destaged_bytes",
                                                                     "evicted",
                                                                     "dropped_dirty_bytes",
                                                                     "discarded_bytes",
                                                                     "commits",
                                                                     "hints",
                                                                     "hints_refused",
                                                                     "fetch_timely",
                                                                     "fetch_late",
                                                                     "fetch_unused",
                                                                     "fetch_cancelled",
                                                                     "waited_slot",
                                                                     "errors_fast",
                                                                     "errors_bulk",
                                                                     "dropped_volatile_bytes",
                                                                     "drops_refused",
                                                                     "slots_retired",
                                                                     "staged_bytes",
                                                                     "stage_unused_bytes",
                                                                     "padded_bytes"};

} // namespace

Result<TierStats> parse_stats(nlmsghdr* message) {
    nlattr* at[HINTIER_A_MAX + 1];
    if (genlmsg_parse(message, 0, at, HINTIER_A_MAX, nullptr) < 0 || !at[HINTIER_A_DEVICE])
        return fail(EPROTO, "the kernel's statistics message makes no sense: hintierctl and the "
                            "module do not match");
    TierStats stats;
    parse_device(at[HINTIER_A_DEVICE], stats);
    if (at[HINTIER_A_STATS]) parse_counts(at[HINTIER_A_STATS], stats);
    return stats;
}

Result<std::vector<TierStats>> read_stats() {
    std::unique_ptr<nl_sock, SocketDeleter> socket(nl_socket_alloc());
    if (!socket || genl_connect(socket.get()) < 0) return fail(EIO, "cannot open a netlink socket");
    int family = genl_ctrl_resolve(socket.get(), HINTIER_GENL_NAME);
    if (family < 0) return fail(ENOENT, "the module is not loaded: modprobe hintier");

    std::unique_ptr<nl_msg, MessageDeleter> request(nlmsg_alloc());
    if (!request || !genlmsg_put(request.get(), NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_DUMP,
                                 HINTIER_CMD_GET_STATS, HINTIER_GENL_VERSION))
        return fail(ENOMEM, "out of memory");
    Dump dump;
    nl_socket_modify_cb(socket.get(), NL_CB_VALID, NL_CB_CUSTOM, collect, &dump);
    int error = nl_send_auto(socket.get(), request.get());
    if (error >= 0) error = nl_recvmsgs_default(socket.get());
    if (error < 0)
        return fail(EIO, "cannot read statistics from the kernel: {}", nl_geterror(error));
    if (dump.broken)
        return fail(EPROTO, "the kernel's statistics make no sense: hintierctl and the module do "
                            "not match");
    return std::move(dump.tiers);
}

std::uint64_t quantile(const Histogram& buckets, double share) {
    std::uint64_t all = 0;
    for (std::uint64_t count : buckets)
        all += count;
    if (all == 0) return 0;
    auto wanted = static_cast<std::uint64_t>(share * static_cast<double>(all));
    std::uint64_t seen = 0;
    for (std::size_t b = 0; b < buckets.size(); b++) {
        seen += buckets[b];
        if (seen > wanted || seen == all) return 1ULL << (b + 9);
    }
    return 0;
}

std::uint64_t bytes_of(const TierStats& stats, hintier_op op, hintier_outcome outcome) {
    std::uint64_t sum = 0;
    for (const IoCount& io : stats.io)
        if (io.op == op && io.outcome == outcome) sum += io.bytes;
    return sum;
}

std::uint64_t bytes_of(const TierStats& stats, hintier_op op) {
    std::uint64_t sum = 0;
    for (const IoCount& io : stats.io)
        if (io.op == op) sum += io.bytes;
    return sum;
}

std::string op_name(unsigned op) {
    return name_in(op_names, op);
}
std::string outcome_name(unsigned outcome) {
    return name_in(outcome_names, outcome);
}
std::string class_name(unsigned klass) {
    return name_in(class_names, klass);
}
std::string fetch_name(unsigned fetch) {
    return name_in(fetch_names, fetch);
}
std::string mode_name(unsigned mode) {
    return name_in(mode_names, mode);
}
std::string counter_name(unsigned counter) {
    return name_in(counter_names, counter);
}

int class_number(std::string_view name) {
    auto at = std::find(class_names.begin(), class_names.end(), name);
    return at == class_names.end() ? -1 : static_cast<int>(at - class_names.begin());
}

std::string uuid_text(const std::array<std::uint8_t, 16>& uuid) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < uuid.size(); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        text += digits[uuid[i] >> 4];
        text += digits[uuid[i] & 15];
    }
    return text;
}

} // namespace hintier::cli
