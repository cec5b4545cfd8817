// SPDX-License-Identifier: Apache-2.0
//
// netlink_test TIER NAME RECREATE: the generic netlink family, asked rightly and wrongly.
//
// TIER is the node of a tier nobody uses, NAME its dmsetup name; RECREATE makes it again after
// `dmsetup remove`. Run as root.

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <set>
#include <string>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <linux/netlink.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include <hintier/netlink.h>

#include "check.hpp"

using namespace hintier::test;

namespace {

using Attrs = std::vector<nlattr*>;
using Key = std::vector<unsigned>; // op, outcome, class

struct Tier {
    uint64_t id = 0, bytes = 0, slots = 0, free = 0, dirty = 0, clean = 0;
    uint32_t mode = 99, extent = 0;
    size_t uuid_bytes = 0;
    std::map<Key, std::pair<uint64_t, uint64_t>> io; // count, bytes
    std::map<Key, std::vector<uint64_t>> latency;    // key without class
    std::vector<uint64_t> counters;
};

struct Event {
    uint32_t type = 0;
    uint64_t id = 0, seq = 0, args[4] = {};
};

Attrs nest(nlattr* attr, int max) {
    Attrs attrs(size_t(max) + 1);
    check(nla_parse_nested(attrs.data(), max, attr, nullptr) == 0, "a nest that can be parsed");
    return attrs;
}

uint64_t number(nlattr* attr, const char* what) {
    if (!attr) check(false, std::string("no ") + what);
    return attr ? nla_get_u64(attr) : 0;
}

std::vector<uint64_t> numbers(nlattr* attr) {
    std::vector<uint64_t> all(size_t(nla_len(attr)) / 8);
    memcpy(all.data(), nla_data(attr), all.size() * 8);
    return all;
}

void read_device(nlattr* attr, Tier& tier) {
    const Attrs a = nest(attr, HINTIER_A_DEV_MAX);
    tier.id = number(a[HINTIER_A_DEV_IDENT], "device number");
    tier.bytes = number(a[HINTIER_A_DEV_BYTES], "bytes");
    tier.slots = number(a[HINTIER_A_DEV_SLOTS], "slots");
    tier.free = number(a[HINTIER_A_DEV_FREE], "free slots");
    tier.dirty = number(a[HINTIER_A_DEV_DIRTY], "dirty slots");
    tier.clean = number(a[HINTIER_A_DEV_CLEAN], "clean slots");
    if (a[HINTIER_A_DEV_UUID]) tier.uuid_bytes = size_t(nla_len(a[HINTIER_A_DEV_UUID]));
    if (a[HINTIER_A_DEV_MODE]) tier.mode = nla_get_u32(a[HINTIER_A_DEV_MODE]);
    if (a[HINTIER_A_DEV_EXTENT]) tier.extent = nla_get_u32(a[HINTIER_A_DEV_EXTENT]);
}

void read_stats(nlattr* attr, Tier& tier) {
    nlattr* at;
    int left;
    nla_for_each_nested(at, attr, left) {
        if (nla_type(at) == HINTIER_A_STAT_COUNTERS) tier.counters = numbers(at);
        if (nla_type(at) != HINTIER_A_STAT_IO && nla_type(at) != HINTIER_A_STAT_LATENCY) continue;
        const Attrs a = nest(at, HINTIER_A_IO_MAX);
        Key key = {nla_get_u8(a[HINTIER_A_IO_OP]), nla_get_u8(a[HINTIER_A_IO_OUTCOME])};
        if (nla_type(at) == HINTIER_A_STAT_LATENCY) {
            check(tier.latency.emplace(key, numbers(a[HINTIER_A_IO_HISTOGRAM])).second,
                  "each histogram is told once");
        } else {
            key.push_back(nla_get_u8(a[HINTIER_A_IO_CLASS]));
            check(tier.io
                      .emplace(key, std::pair(number(a[HINTIER_A_IO_COUNT], "count"),
                                              number(a[HINTIER_A_IO_BYTES], "bytes")))
                      .second,
                  "each sum is told once");
        }
    }
}

// One socket, one request at a time; what came back stays here.
class Family {
public:
    explicit Family(bool listen = false) : socket_(nl_socket_alloc()) {
        if (!socket_ || genl_connect(socket_) < 0) fail("cannot open a generic netlink socket");
        id_ = genl_ctrl_resolve(socket_, HINTIER_GENL_NAME);
        if (id_ < 0) fail("no family hintier");
        const int on = 1;
        setsockopt(nl_socket_get_fd(socket_), SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
        if (!listen) return;
        const int group = genl_ctrl_resolve_grp(socket_, HINTIER_GENL_NAME, HINTIER_GENL_MCGRP);
        check(group >= 0 && nl_socket_add_membership(socket_, group) == 0, "join group events");
        nl_socket_disable_seq_check(socket_);
        nl_socket_set_nonblocking(socket_);
    }
    ~Family() { nl_socket_free(socket_); }
    Family(const Family&) = delete;
    Family& operator=(const Family&) = delete;

    nl_msg* message(int cmd, int flags = 0) const {
        nl_msg* msg = nlmsg_alloc();
        genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, id_, 0, NLM_F_REQUEST | flags, uint8_t(cmd),
                    HINTIER_GENL_VERSION);
        return msg;
    }

    // 0 or an errno; the kernel's words in `text`, tiers and events that were told in the rest.
    int ask(nl_msg* msg) {
        const bool dump = (nlmsg_hdr(msg)->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
        if (!dump) nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ACK;
        tiers.clear();
        messages = 0;
        text.clear();
        done_ = false;
        error_ = 0;
        if (nl_send_auto(socket_, msg) < 0) fail("cannot send");
        nlmsg_free(msg);
        while (!done_ && receive() >= 0)
            continue;
        return error_;
    }

    // Events that arrive until none has for a while.
    void collect(int quiet_ms) {
        pollfd p{nl_socket_get_fd(socket_), POLLIN, 0};
        while (poll(&p, 1, quiet_ms) > 0)
            receive();
    }

    std::map<uint64_t, Tier> tiers;
    std::vector<Event> events;
    int messages = 0;
    std::string text;

private:
    [[noreturn]] static void fail(const char* what) {
        printf("failed: %s\n", what);
        exit(1);
    }

    int receive() {
        nl_cb* cb = nl_cb_alloc(NL_CB_DEFAULT);
        nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, this);
        nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_end, this);
        nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_end, this);
        nl_cb_set(
            cb, NL_CB_SEQ_CHECK, NL_CB_CUSTOM, [](nl_msg*, void*) -> int { return NL_OK; },
            nullptr);
        nl_cb_err(cb, NL_CB_CUSTOM, on_error, this);
        const int r = nl_recvmsgs(socket_, cb);
        nl_cb_put(cb);
        return r;
    }

    static int on_end(nl_msg*, void* self) {
        static_cast<Family*>(self)->done_ = true;
        return NL_OK;
    }

    static int on_error(sockaddr_nl*, nlmsgerr* error, void* self) {
        Family* family = static_cast<Family*>(self);
        auto* head = reinterpret_cast<nlmsghdr*>(reinterpret_cast<char*>(error) - NLMSG_HDRLEN);
        size_t skip = sizeof(*error);
        if (!(head->nlmsg_flags & NLM_F_CAPPED)) skip += NLMSG_PAYLOAD(&error->msg, 0);
        if (head->nlmsg_flags & NLM_F_ACK_TLVS) {
            auto* first =
                reinterpret_cast<nlattr*>(reinterpret_cast<char*>(error) + NLMSG_ALIGN(skip));
            const int room = int(head->nlmsg_len) - NLMSG_HDRLEN - int(NLMSG_ALIGN(skip));
            if (const nlattr* said = nla_find(first, room, NLMSGERR_ATTR_MSG))
                family->text = static_cast<const char*>(nla_data(said));
        }
        family->error_ = -error->error;
        family->done_ = true;
        return NL_STOP;
    }

    static int on_valid(nl_msg* msg, void* self) {
        Family* family = static_cast<Family*>(self);
        auto* head = static_cast<genlmsghdr*>(nlmsg_data(nlmsg_hdr(msg)));
        nlattr* attrs[HINTIER_A_MAX + 1];
        if (nla_parse(attrs, HINTIER_A_MAX, genlmsg_attrdata(head, 0), genlmsg_attrlen(head, 0),
                      nullptr))
            fail("a message that cannot be parsed");
        family->messages++;
        if (attrs[HINTIER_A_EVENT]) {
            const Attrs a = nest(attrs[HINTIER_A_EVENT], HINTIER_A_EVENT_MAX);
            Event e;
            for (int arg = 0; arg < 4; arg++)
                e.args[arg] = number(a[size_t(HINTIER_A_EVENT_ARG0 + arg)], "argument of an event");
            if (a[HINTIER_A_EVENT_TYPE]) e.type = nla_get_u32(a[HINTIER_A_EVENT_TYPE]);
            e.id = number(a[HINTIER_A_EVENT_DEV_ID], "device of an event");
            e.seq = number(a[HINTIER_A_EVENT_SEQ], "number of an event");
            family->events.push_back(e);
            return NL_OK;
        }
        check(attrs[HINTIER_A_DEVICE], "every message says whose it is");
        if (!attrs[HINTIER_A_DEVICE]) return NL_OK;
        Tier told;
        read_device(attrs[HINTIER_A_DEVICE], told);
        Tier& tier = family->tiers.emplace(told.id, told).first->second;
        if (attrs[HINTIER_A_STATS]) read_stats(attrs[HINTIER_A_STATS], tier);
        return NL_OK;
    }

    nl_sock* socket_;
    int id_ = 0;
    bool done_ = false;
    int error_ = 0;
};

nl_msg* about(const Family& family, int cmd, uint64_t id) {
    nl_msg* msg = family.message(cmd);
    nla_put_u64(msg, HINTIER_A_DEV_ID, id);
    return msg;
}

nl_msg* set(const Family& family, uint64_t id, const char* key, const char* value) {
    nl_msg* msg = about(family, HINTIER_CMD_SET, id);
    if (key) nla_put_string(msg, HINTIER_A_KEY, key);
    if (value) nla_put_string(msg, HINTIER_A_VALUE, value);
    return msg;
}

uint64_t id_of(const char* node) {
    struct stat st {};
    if (stat(node, &st)) check(false, std::string("stat ") + node);
    return uint64_t{major(st.st_rdev)} << 32 | minor(st.st_rdev);
}

void refused(Family& family, nl_msg* msg, int error, const char* words, const char* what) {
    same(family.ask(msg), error, std::string(what) + ": errno");
    if (words)
        check(family.text.find(words) != std::string::npos,
              std::string(what) + ": the kernel says '" + family.text + "', not '" + words + "'");
}

void test_devices(Family& family, uint64_t id) {
    same(family.ask(about(family, HINTIER_CMD_GET_DEVICE, id)), 0, "GET_DEVICE");
    same(family.tiers.size(), 1U, "tiers told");
    const Tier one = family.tiers[id];
    check(one.bytes > 0 && one.bytes % one.extent == 0, "bytes of the tier");
    check(one.extent >= HINTIER_EXTENT_MIN_BYTES, "extent of the tier");
    same(one.uuid_bytes, 16U, "bytes of its UUID");
    same(one.mode, uint32_t{HINTIER_MODE_WRITEBACK}, "its mode");
    check(one.slots >= one.free + one.dirty + one.clean, "slots of the tier");
    same(family.ask(family.message(HINTIER_CMD_GET_DEVICE, NLM_F_DUMP)), 0, "dump of devices");
    check(family.tiers.count(id), "the dump tells of the tier");
    same(family.messages, int(family.tiers.size()), "messages of the dump");
    same(family.tiers[id].bytes, one.bytes, "bytes in the dump");
}

void work(const char* node) {
    const int fd = open(node, O_RDWR | O_DIRECT);
    void* buffer = aligned_alloc(4096, 65536);
    memset(buffer, 1, 65536);
    for (int i = 0; i < 32; i++) {
        check(pwrite(fd, buffer, 65536, i * 65536) == 65536, "write to the tier");
        check(pread(fd, buffer, 4096, i * 65536) == 4096, "read from the tier");
        check(pread(fd, buffer, 4096, (1000 + i) * 65536L) == 4096, "read from home");
    }
    fsync(fd);
    free(buffer);
    close(fd);
}

void check_stats(const Tier& tier, const char* how) {
    const std::string by = how;
    uint64_t written = 0;
    std::map<Key, uint64_t> sums;
    for (const auto& [key, sum] : tier.io) {
        check(key[0] < HINTIER_OPS && key[1] < HINTIER_OUTCOMES && key[2] < HINTIER_CLASSES,
              by + ": indices within bounds");
        check(sum.first > 0, by + ": only what is not zero");
        sums[{key[0], key[1]}] += sum.first;
        if (key[0] == HINTIER_OP_WRITE) written += sum.second;
    }
    check(written >= 32 * 65536, by + ": bytes written are counted");
    const Key fast_reads = {HINTIER_OP_READ, HINTIER_IO_FAST};
    check(sums[fast_reads] >= 1, by + ": reads from fast are counted");
    for (const auto& [key, histogram] : tier.latency) {
        uint64_t sum = 0;
        for (const uint64_t n : histogram)
            sum += n;
        same(histogram.size(), size_t{HINTIER_LATENCY_BUCKETS}, by + ": buckets");
        // Of hits the first of eight on a CPU stands for all.
        const uint64_t more =
            key[1] == HINTIER_IO_FAST ? 7 * uint64_t(sysconf(_SC_NPROCESSORS_CONF)) : 0;
        check(sum + more >= sums[key] && sum <= sums[key] + more,
              by + ": a histogram holds every request: " + std::to_string(sum) + " of " +
                  std::to_string(sums[key]));
    }
    same(tier.latency.size(), sums.size(), by + ": histograms");
    same(tier.counters.size(), size_t{HINTIER_COUNTERS}, by + ": counters");
    if (tier.counters.size() == HINTIER_COUNTERS) {
        check(tier.counters[HINTIER_C_ADMITTED] >= 1, by + ": admissions are counted");
        check(tier.counters[HINTIER_C_COMMITS] >= 1, by + ": commits are counted");
        check(tier.counters[HINTIER_C_FAST_WRITE_BYTES] >= 65536, by + ": fast writes are counted");
    }
}

void test_stats(Family& family, uint64_t id, const char* node) {
    work(node);
    same(family.ask(about(family, HINTIER_CMD_GET_STATS, id)), 0, "GET_STATS");
    same(family.messages, 1, "messages of GET_STATS");
    check_stats(family.tiers[id], "asked");
    same(family.ask(family.message(HINTIER_CMD_GET_STATS, NLM_F_DUMP)), 0, "dump of statistics");
    check_stats(family.tiers[id], "dumped");
}

void test_wrong_requests(Family& family, uint64_t id) {
    for (const int cmd : {int{HINTIER_CMD_GET_DEVICE}, int{HINTIER_CMD_GET_STATS}}) {
        refused(family, family.message(cmd), EINVAL, "HINTIER_A_DEV_ID is missing", "no device");
        for (const uint64_t wrong :
             std::vector<uint64_t>{0, id + 1, id | 1ULL << 31, id | 1ULL << 63, ~0ULL})
            refused(family, about(family, cmd, wrong), ENODEV, "no hintier tier", "wrong device");
    }
    nl_msg* msg = family.message(HINTIER_CMD_GET_DEVICE);
    nla_put_u32(msg, HINTIER_A_DEV_ID, 1);
    check(family.ask(msg) != 0, "a device number of four bytes is refused");
    msg = about(family, HINTIER_CMD_GET_DEVICE, id);
    nla_put_u32(msg, HINTIER_A_MAX + 7, 1);
    same(family.ask(msg), EINVAL, "an unknown attribute");
    msg = about(family, HINTIER_CMD_GET_DEVICE, id);
    nla_put_u32(msg, HINTIER_A_STATS, 1);
    same(family.ask(msg), EINVAL, "an attribute that only answers have");
    same(family.ask(family.message(HINTIER_CMD_MAX + 1)), EOPNOTSUPP, "an unknown command");
    same(family.ask(family.message(HINTIER_CMD_EVENT)), EOPNOTSUPP, "an event as a command");
    same(family.ask(family.message(HINTIER_CMD_SET, NLM_F_DUMP)), EOPNOTSUPP, "a dump of SET");
}

void test_set(Family& family, uint64_t id) {
    refused(family, set(family, id, nullptr, "1"), EINVAL, "missing", "SET without a key");
    refused(family, set(family, id, "high", nullptr), EINVAL, "missing", "SET without a value");
    refused(family, set(family, id + 1, "high", "80"), ENODEV, "no hintier tier", "SET elsewhere");
    refused(family, set(family, id, "no such", "1"), ENOENT, "no tunable", "SET of an unknown key");
    refused(family, set(family, id, "high", "100"), ERANGE, "range", "SET beyond the range");
    refused(family, set(family, id, "high", "many"), EINVAL, "not what", "SET to no number");
    refused(family, set(family, id, "high", ""), EINVAL, nullptr, "SET to nothing");
    const std::string longest(63, 'x'), longer(64, 'x');
    refused(family, set(family, id, longest.c_str(), "1"), ENOENT, nullptr,
            "SET of the longest key");
    check(family.ask(set(family, id, longer.c_str(), "1")) != 0, "SET of a longer key is refused");
    check(family.ask(set(family, id, "high", longer.c_str())) != 0,
          "SET to a longer value is refused");
    same(family.ask(set(family, id, "high", "80")), 0, "SET high to 80");

    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        Family mine;
        failures = 0;
        if (setgid(65534) || setuid(65534)) _exit(2);
        same(mine.ask(about(mine, HINTIER_CMD_GET_STATS, id)), 0, "GET_STATS by anyone");
        same(mine.ask(set(mine, id, "high", "70")), EPERM, "SET without privilege");
        fflush(stdout);
        _exit(failures ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    check(status == 0, "checks without privilege");
}

void test_events(uint64_t id, const std::string& name, const char* recreate) {
    Family family(true);
    shell(("dmsetup remove --retry " + name).c_str());
    shell(recreate);
    family.collect(1000);
    std::vector<Event> ours;
    for (const Event& e : family.events)
        if (e.id == id) ours.push_back(e);
    check(ours.size() >= 2, "a removed and a created tier are told");
    if (ours.size() < 2) return;
    same(ours.front().type, uint32_t{HINTIER_EV_REMOVED}, "first event");
    same(ours.back().type, uint32_t{HINTIER_EV_CREATED}, "last event");
    check(ours.back().seq >= 1, "events are numbered");
    Family asking;
    same(asking.ask(about(asking, HINTIER_CMD_GET_DEVICE, id)), 0, "GET_DEVICE of the new tier");
}

// Runs a command and prints the events that came meanwhile: type and arguments, one a line.
int watch(const char* command) {
    Family family(true);
    const int status = system(command);
    family.collect(300);
    for (const Event& e : family.events)
        printf("%u %ju %ju %ju %ju\n", e.type, uintmax_t(e.args[0]), uintmax_t(e.args[1]),
               uintmax_t(e.args[2]), uintmax_t(e.args[3]));
    return status == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "watch") return watch(argv[2]);
    if (argc != 4) {
        fprintf(stderr, "usage: netlink_test TIER NAME RECREATE | netlink_test watch COMMAND\n");
        return 2;
    }
    Family family;
    const uint64_t id = id_of(argv[1]);
    test_devices(family, id);
    test_stats(family, id, argv[1]);
    test_wrong_requests(family, id);
    test_set(family, id);
    test_events(id, argv[2], argv[3]);
    return verdict();
}
