// SPDX-License-Identifier: Apache-2.0
#include "agent/source/kernel_source.hpp"

#include <algorithm>
#include <cstring>

#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

namespace hintier {

namespace {

constexpr int receive_buffer = 1 << 20; // thousands of events
constexpr timeval answer_within = {2, 0};

struct SocketDelete {
    void operator()(nl_sock* socket) const { nl_socket_free(socket); }
};
using Socket = std::unique_ptr<nl_sock, SocketDelete>;

struct MessageDelete {
    void operator()(nl_msg* message) const { nlmsg_free(message); }
};
using Message = std::unique_ptr<nl_msg, MessageDelete>;

Failure netlink_failure(std::string_view what, int error) {
    const int code = -error == NLE_OBJ_NOTFOUND ? ENOENT : 0;
    return failure(std::string(what).append(": ").append(nl_geterror(error)), code);
}

std::uint64_t get_u64(nlattr** attrs, int type) {
    return attrs[type] && nla_len(attrs[type]) >= 8 ? nla_get_u64(attrs[type]) : 0;
}

std::uint32_t get_u32(nlattr** attrs, int type) {
    return attrs[type] && nla_len(attrs[type]) >= 4 ? nla_get_u32(attrs[type]) : 0;
}

// Netlink says major << 32 | minor, everything else here major << 20 | minor.
std::uint32_t device_of(std::uint64_t id) {
    return static_cast<std::uint32_t>(id >> 32U) << 20U | static_cast<std::uint32_t>(id & 0xFFFFFU);
}

bool parse_tier(nlattr* nest, TierInfo& tier) {
    nlattr* attrs[HINTIER_A_DEV_MAX + 1];
    if (!nest || nla_parse_nested(attrs, HINTIER_A_DEV_MAX, nest, nullptr) < 0) return false;
    tier.device = device_of(get_u64(attrs, HINTIER_A_DEV_IDENT));
    if (nlattr* uuid = attrs[HINTIER_A_DEV_UUID]; uuid && nla_len(uuid) == 16) {
        std::memcpy(tier.uuid.data(), nla_data(uuid), tier.uuid.size());
    }
    tier.mode = get_u32(attrs, HINTIER_A_DEV_MODE);
    tier.bytes = get_u64(attrs, HINTIER_A_DEV_BYTES);
    tier.extent_bytes = get_u32(attrs, HINTIER_A_DEV_EXTENT);
    tier.slots = get_u64(attrs, HINTIER_A_DEV_SLOTS);
    tier.free = get_u64(attrs, HINTIER_A_DEV_FREE);
    tier.dirty = get_u64(attrs, HINTIER_A_DEV_DIRTY);
    tier.clean = get_u64(attrs, HINTIER_A_DEV_CLEAN);
    tier.lost = get_u64(attrs, HINTIER_A_DEV_LOST);
    tier.over = get_u32(attrs, HINTIER_A_DEV_OVER);
    tier.fast_left = static_cast<std::int64_t>(get_u64(attrs, HINTIER_A_DEV_FAST_LEFT));
    tier.bulk_left = static_cast<std::int64_t>(get_u64(attrs, HINTIER_A_DEV_BULK_LEFT));
    return tier.device != 0;
}

std::uint8_t get_u8(nlattr** attrs, int type) {
    return attrs[type] && nla_len(attrs[type]) >= 1 ? nla_get_u8(attrs[type]) : 0;
}

template <std::size_t N>
void get_array(nlattr* attr, std::array<std::uint64_t, N>& ret) {
    if (!attr) return;
    const auto bytes = std::min(static_cast<std::size_t>(nla_len(attr)), sizeof(ret));
    std::memcpy(ret.data(), nla_data(attr), bytes);
}

void parse_io(nlattr* nest, TierStats& stats) {
    nlattr* attrs[HINTIER_A_IO_MAX + 1];
    if (nla_parse_nested(attrs, HINTIER_A_IO_MAX, nest, nullptr) < 0) return;
    const std::uint8_t op = get_u8(attrs, HINTIER_A_IO_OP);
    const std::uint8_t outcome = get_u8(attrs, HINTIER_A_IO_OUTCOME);
    if (nla_type(nest) == HINTIER_A_STAT_IO) {
        stats.io.push_back({op, outcome, get_u8(attrs, HINTIER_A_IO_CLASS),
                            get_u64(attrs, HINTIER_A_IO_COUNT),
                            get_u64(attrs, HINTIER_A_IO_BYTES)});
    } else {
        TierStats::Latency& latency = stats.latency.emplace_back();
        latency.op = op;
        latency.outcome = outcome;
        get_array(attrs[HINTIER_A_IO_HISTOGRAM], latency.buckets);
    }
}

void parse_counts(nlattr* nest, TierStats& stats) {
    nlattr* entry = nullptr;
    int remaining = 0;
    if (!nest) return;
    nla_for_each_nested(entry, nest, remaining) {
        switch (nla_type(entry)) {
        case HINTIER_A_STAT_COUNTERS:
            get_array(entry, stats.counters);
            break;
        case HINTIER_A_STAT_IO:
        case HINTIER_A_STAT_LATENCY:
            parse_io(entry, stats);
            break;
        default:
            break;
        }
    }
}

int on_stats(nl_msg* message, void* context) {
    TierStats stats;
    if (parse_tier_stats(nlmsg_hdr(message), stats)) {
        static_cast<std::vector<TierStats>*>(context)->push_back(stats);
    }
    return NL_OK;
}

bool parse_event(nlattr* nest, TierEvent& event) {
    nlattr* attrs[HINTIER_A_EVENT_MAX + 1];
    if (!nest || nla_parse_nested(attrs, HINTIER_A_EVENT_MAX, nest, nullptr) < 0) return false;
    event.type = get_u32(attrs, HINTIER_A_EVENT_TYPE);
    event.device = device_of(get_u64(attrs, HINTIER_A_EVENT_DEV_ID));
    event.seq = get_u64(attrs, HINTIER_A_EVENT_SEQ);
    for (std::size_t i = 0; i < event.args.size(); ++i) {
        event.args[i] = get_u64(attrs, HINTIER_A_EVENT_ARG0 + static_cast<int>(i));
    }
    return event.type != 0;
}

} // namespace

bool parse_tier_stats(nlmsghdr* message, TierStats& stats) {
    nlattr* attrs[HINTIER_A_MAX + 1];
    if (genlmsg_parse(message, 0, attrs, HINTIER_A_MAX, nullptr) != 0 ||
        !parse_tier(attrs[HINTIER_A_DEVICE], stats.tier)) {
        return false;
    }
    parse_counts(attrs[HINTIER_A_STATS], stats);
    return true;
}

bool parse_tier_event(nlmsghdr* message, TierEvent& event) {
    nlattr* attrs[HINTIER_A_MAX + 1];
    return genlmsg_parse(message, 0, attrs, HINTIER_A_MAX, nullptr) == 0 &&
           parse_event(attrs[HINTIER_A_EVENT], event);
}

struct KernelSource::Impl {
    Socket events;
    Socket requests;
    int family = -1;
    int group = -1;
    TierEventSink* sink = nullptr; // while draining

    static int on_message(nl_msg* message, void* context) {
        auto* self = static_cast<Impl*>(context);
        nlmsghdr* header = nlmsg_hdr(message);
        if (header->nlmsg_type == GENL_ID_CTRL) {
            self->on_family(header);
            return NL_OK;
        }
        TierEvent event;
        if (header->nlmsg_type == self->family && parse_tier_event(header, event)) {
            self->sink->tier_event(event);
        }
        return NL_OK;
    }

    void on_family(nlmsghdr* header) const {
        nlattr* attrs[CTRL_ATTR_MAX + 1];
        const auto* generic = static_cast<const genlmsghdr*>(nlmsg_data(header));
        if (generic->cmd != CTRL_CMD_NEWFAMILY && generic->cmd != CTRL_CMD_DELFAMILY) return;
        if (genlmsg_parse(header, 0, attrs, CTRL_ATTR_MAX, nullptr)) return;
        nlattr* name = attrs[CTRL_ATTR_FAMILY_NAME];
        if (name && nla_strcmp(name, HINTIER_GENL_NAME) == 0) {
            sink->module_changed();
        }
    }

    Result<std::vector<TierStats>> dump(std::uint8_t command) {
        if (family < 0) return failure("the hintier module is not loaded", ENOENT);
        std::vector<TierStats> all;
        Message message(nlmsg_alloc());
        if (!message || !genlmsg_put(message.get(), NL_AUTO_PORT, NL_AUTO_SEQ, family, 0,
                                     NLM_F_DUMP, command, HINTIER_GENL_VERSION)) {
            return failure("netlink: out of memory", ENOMEM);
        }
        nl_socket_modify_cb(requests.get(), NL_CB_VALID, NL_CB_CUSTOM, on_stats, &all);
        int error = nl_send_auto(requests.get(), message.get());
        if (error >= 0) error = nl_recvmsgs_default(requests.get());
        if (error < 0) return netlink_failure("ask for the tiers", error);
        return all;
    }
};

KernelSource::KernelSource() : impl_(std::make_unique<Impl>()) {}
KernelSource::~KernelSource() = default;

Result<std::unique_ptr<KernelSource>> KernelSource::open() {
    std::unique_ptr<KernelSource> source(new KernelSource);
    Impl& impl = *source->impl_;
    impl.events.reset(nl_socket_alloc());
    impl.requests.reset(nl_socket_alloc());
    if (!impl.events || !impl.requests) return failure("netlink: out of memory", ENOMEM);
    for (nl_sock* socket : {impl.events.get(), impl.requests.get()}) {
        if (int error = genl_connect(socket)) return netlink_failure("generic netlink", error);
    }
    (void)setsockopt(nl_socket_get_fd(impl.requests.get()), SOL_SOCKET, SO_RCVTIMEO, &answer_within,
                     sizeof(answer_within));

    nl_sock* events = impl.events.get();
    nl_socket_disable_seq_check(events);
    nl_socket_set_nonblocking(events);
    (void)nl_socket_set_buffer_size(events, receive_buffer, 0);
    nl_socket_modify_cb(events, NL_CB_VALID, NL_CB_CUSTOM, &Impl::on_message, &impl);
    // The controller's own news: families that come and go.
    const int notify = genl_ctrl_resolve_grp(impl.requests.get(), "nlctrl", "notify");
    if (notify < 0) return netlink_failure("generic netlink: group notify", notify);
    if (int error = nl_socket_add_memberships(events, notify, 0)) {
        return netlink_failure("generic netlink: group notify", error);
    }
    return source;
}

int KernelSource::fd() const {
    return nl_socket_get_fd(impl_->events.get());
}

void KernelSource::drain(TierEventSink& sink) {
    impl_->sink = &sink;
    int error = 0;
    while ((error = nl_recvmsgs_default(impl_->events.get())) == 0) {
    }
    impl_->sink = nullptr;
    if (error == -NLE_NOMEM) { // libnl's word for ENOBUFS
        sink.events_lost();
    }
}

Result<void> KernelSource::find_module() {
    nl_sock* events = impl_->events.get();
    if (impl_->group >= 0) {
        (void)nl_socket_drop_memberships(events, impl_->group, 0);
    }
    impl_->family = genl_ctrl_resolve(impl_->requests.get(), HINTIER_GENL_NAME);
    impl_->group = -1;
    if (impl_->family < 0) return failure("the hintier module is not loaded", ENOENT);

    impl_->group =
        genl_ctrl_resolve_grp(impl_->requests.get(), HINTIER_GENL_NAME, HINTIER_GENL_MCGRP);
    if (impl_->group < 0) return netlink_failure("group of tier events", impl_->group);
    if (int error = nl_socket_add_memberships(events, impl_->group, 0)) {
        return netlink_failure("join tier events", error);
    }
    return {};
}

Result<std::vector<TierStats>> KernelSource::stats() {
    return impl_->dump(HINTIER_CMD_GET_STATS);
}

Result<std::vector<TierInfo>> KernelSource::tiers() {
    auto all = impl_->dump(HINTIER_CMD_GET_DEVICE);
    if (!all) return Failure(std::move(all.error()));
    std::vector<TierInfo> tiers;
    for (const TierStats& one : *all) {
        tiers.push_back(one.tier);
    }
    return tiers;
}

} // namespace hintier
