// SPDX-License-Identifier: Apache-2.0
//
// hostile_ioctl TIER OTHER NAME RECREATE: every wrong thing that a caller can do to /dev/hintier.
//
// TIER is a tier's node with dmsetup name NAME, OTHER a block device that is none; the command
// RECREATE makes the tier again once it has been removed. Run as root on a tier nobody uses.

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <linux/fs.h>
#include <random>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <hintier/ioctl.h>

#include "check.hpp"

using namespace hintier::test;

namespace {

constexpr uint64_t UNIT = HINTIER_UNIT_BYTES;
uint64_t tier_bytes;

int control() {
    const int fd = open(HINTIER_CONTROL_PATH, O_RDWR | O_CLOEXEC);
    if (fd >= 0) return fd;
    perror("failed: open " HINTIER_CONTROL_PATH);
    exit(1);
}

int call(int fd, unsigned long request, void* arg) {
    return ioctl(fd, request, arg) < 0 ? errno : 0;
}

int bind_to(int fd, int shown, hintier_bind* out = nullptr) {
    hintier_bind bind{};
    bind.fd = shown;
    const int r = call(fd, HINTIER_IOC_BIND, &bind);
    if (out) *out = bind;
    return r;
}

// A descriptor bound to the tier by showing it opened with these flags.
int bound(const char* tier, int flags) {
    const int shown = open(tier, flags | O_CLOEXEC), fd = control();
    check(shown >= 0, std::string("open ") + tier);
    same(bind_to(fd, shown), 0, "bind");
    close(shown); // the binding stays
    return fd;
}

hintier_hint classify(uint64_t offset = 0, uint64_t length = UNIT) {
    hintier_hint h{};
    h.verb = HINTIER_VERB_CLASSIFY;
    h.klass = HINTIER_CLASS_KV;
    h.group = 7;
    h.object = 99;
    h.offset = offset;
    h.length = length;
    return h;
}

hintier_hint with_verb(uint16_t verb, uint8_t flags = 0) {
    hintier_hint h = classify();
    h.verb = verb;
    h.flags = flags;
    return h;
}

struct Outcome {
    int error;
    uint32_t done, reason;
};

Outcome send(int fd, const void* hints, uint32_t count, hintier_batch batch = {}) {
    batch.hints = uint64_t(hints);
    batch.count = count;
    batch.done = batch.reason = 0xdead; // must be overwritten
    const int error = call(fd, HINTIER_IOC_HINT, &batch);
    return {error, batch.done, batch.reason};
}

void expect(const Outcome& got, int error, uint32_t done, uint32_t reason,
            const std::string& what) {
    same(got.error, error, what + ": errno");
    same(got.done, done, what + ": done");
    same(got.reason, reason, what + ": reason");
}

// Two pages, of which the second cannot be touched; data ends where it begins.
char* before_the_edge(size_t bytes) {
    const size_t page = size_t(getpagesize()), room = (bytes + page - 1) / page * page;
    char* p = static_cast<char*>(
        mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(p + room, page, PROT_NONE);
    return p + room - bytes;
}

void* const KERNEL = reinterpret_cast<void*>(0xffff888000000000UL);

// ---- version and binding --------------------------------------------------------------------

void test_version() {
    const int fd = control();
    hintier_version version{};
    same(call(fd, HINTIER_IOC_VERSION, &version), 0, "VERSION");
    same(version.major, HINTIER_ABI_MAJOR, "ABI major");
    same(version.features,
         HINTIER_FEATURE_CLASSIFY | HINTIER_FEATURE_FETCH | HINTIER_FEATURE_DONE |
             HINTIER_FEATURE_QUERY | HINTIER_FEATURE_VOLATILE | HINTIER_FEATURE_SEQUENCE |
             HINTIER_FEATURE_PIN | HINTIER_FEATURE_STAGE | HINTIER_FEATURE_VALUES |
             HINTIER_FEATURE_WAIT,
         "features");
    same(call(fd, HINTIER_IOC_VERSION, nullptr), EFAULT, "VERSION to nowhere");
    same(call(fd, HINTIER_IOC_VERSION, KERNEL), EFAULT, "VERSION into the kernel");
    same(call(fd, _IO(HINTIER_IOC_MAGIC, 99), nullptr), ENOTTY, "unknown call");
    same(call(fd, _IOWR(HINTIER_IOC_MAGIC, 2, hintier_hint), nullptr), ENOTTY,
         "HINT with a structure of another size");
    struct stat st {};
    stat(HINTIER_CONTROL_PATH, &st);
    same(st.st_mode & 0777U, 0666U, "mode of the control device");
    close(fd);
}

void test_unbound() {
    const int fd = control();
    const hintier_hint h = classify();
    hintier_residency entry{};
    hintier_query query{};
    query.length = UNIT;
    query.entries = uint64_t(&entry);
    query.max = 1;
    hintier_epoch epoch{};
    expect(send(fd, &h, 1), ENXIO, 0, HINTIER_REASON_STATE, "unbound HINT");
    same(call(fd, HINTIER_IOC_QUERY, &query), ENXIO, "unbound QUERY");
    same(call(fd, HINTIER_IOC_EPOCH, &epoch), ENXIO, "unbound EPOCH");
    hintier_wait wait{};
    same(call(fd, HINTIER_IOC_WAIT, &wait), ENXIO, "unbound WAIT");
    close(fd);
}

void test_bind(const char* tier, const char* other) {
    const int fd = control(), shown = open(tier, O_RDONLY);
    struct Wrong {
        const char* path;
        int flags, error;
    };
    for (const Wrong& w : {Wrong{"/", O_RDONLY, ENOTBLK}, Wrong{"/dev/null", O_RDWR, ENOTBLK},
                           Wrong{HINTIER_CONTROL_PATH, O_RDWR, ENOTBLK},
                           Wrong{other, O_RDWR, ENXIO}, Wrong{tier, O_PATH, EBADF}}) {
        const int wrong = open(w.path, w.flags | O_CLOEXEC);
        check(wrong >= 0, std::string("open ") + w.path);
        same(bind_to(fd, wrong), w.error, std::string("bind to ") + w.path);
        close(wrong);
    }
    for (const int none : {-1, -100, 9999, 0x7fffffff})
        same(bind_to(fd, none), EBADF, "bind to descriptor " + std::to_string(none));

    hintier_bind bind{};
    bind.fd = shown;
    bind.flags = 1;
    same(call(fd, HINTIER_IOC_BIND, &bind), EINVAL, "bind with a flag");
    bind.flags = 0;
    bind.reserved = 1;
    same(call(fd, HINTIER_IOC_BIND, &bind), EINVAL, "bind with a reserved member set");
    same(call(fd, HINTIER_IOC_BIND, nullptr), EFAULT, "bind from nowhere");

    // The answer cannot be written: nothing is bound.
    auto* page = static_cast<hintier_bind*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    *page = {};
    page->fd = shown;
    mprotect(page, 4096, PROT_READ);
    same(call(fd, HINTIER_IOC_BIND, page), EFAULT, "bind with an answer nobody can write");

    struct stat st {};
    fstat(shown, &st);
    same(bind_to(fd, shown, &bind), 0, "bind");
    same(bind.bytes, tier_bytes, "bytes of the tier");
    same(bind.unit_bytes, UNIT, "bytes of a unit");
    same(bind.dev_major, major(st.st_rdev), "major");
    same(bind.dev_minor, minor(st.st_rdev), "minor");
    check(bind.extent_bytes >= HINTIER_EXTENT_MIN_BYTES &&
              bind.extent_bytes <= HINTIER_EXTENT_MAX_BYTES,
          "extent size of the tier");
    same(bind.access, HINTIER_ACCESS_ADVISE | HINTIER_ACCESS_OWNER, "access of root");
    same(bind_to(fd, shown), EBUSY, "bind twice");
    close(shown);
    close(fd);
}

// ---- batches --------------------------------------------------------------------------------

void test_batch_frame(int fd) {
    const std::vector<hintier_hint> many(HINTIER_BATCH_MAX, classify());
    hintier_batch wrong{};
    expect(send(fd, many.data(), 0), EINVAL, 0, HINTIER_REASON_NONE, "empty batch");
    for (const uint32_t count : {HINTIER_BATCH_MAX + 1U, 0x80000000U, 0xffffffffU})
        expect(send(fd, many.data(), count), E2BIG, 0, HINTIER_REASON_NONE,
               "batch of " + std::to_string(count));
    expect(send(fd, many.data(), HINTIER_BATCH_MAX), 0, HINTIER_BATCH_MAX, HINTIER_REASON_NONE,
           "the largest batch");
    wrong.flags = 1;
    expect(send(fd, many.data(), 1, wrong), EINVAL, 0, HINTIER_REASON_FLAGS, "batch with a flag");
    for (int i = 0; i < 2; i++) {
        wrong = {};
        wrong.reserved[i] = 1ULL << 63;
        expect(send(fd, many.data(), 1, wrong), EINVAL, 0, HINTIER_REASON_RESERVED,
               "batch with a reserved member set");
    }
    same(call(fd, HINTIER_IOC_HINT, nullptr), EFAULT, "batch from nowhere");
    expect(send(fd, nullptr, 1), EFAULT, 0, HINTIER_REASON_FAULT, "hints from nowhere");
    expect(send(fd, KERNEL, 3), EFAULT, 0, HINTIER_REASON_FAULT, "hints from the kernel");
}

// The array ends at a page that cannot be read, also in the middle of an element.
void test_batch_edge(int fd) {
    for (const size_t have : {0U, 1U, 63U, 64U, 65U, 200U})
        for (const size_t piece : {0U, 1U, 63U}) {
            char* at = before_the_edge(have * sizeof(hintier_hint) + piece);
            const hintier_hint h = classify();
            for (size_t i = 0; i < have; i++)
                memcpy(at + i * sizeof(h), &h, sizeof(h));
            expect(send(fd, at, uint32_t(have) + 3), EFAULT, uint32_t(have), HINTIER_REASON_FAULT,
                   std::to_string(have) + " hints and " + std::to_string(piece) + " bytes");
        }
}

struct Refusal {
    std::string what;
    hintier_hint hint;
    int error;
    uint32_t reason;
};

std::vector<Refusal> refusals() {
    std::vector<Refusal> all;
    const auto add = [&](const std::string& what, const hintier_hint& h, int error,
                         uint32_t reason) {
        all.push_back({what, h, error, reason});
    };
    const auto edited = [](const std::function<void(hintier_hint&)>& edit) {
        hintier_hint h = classify();
        edit(h);
        return h;
    };
    for (const uint16_t verb : {0, 7, 255, 0xffff})
        add("verb " + std::to_string(verb), with_verb(verb), EINVAL, HINTIER_REASON_VERB);
    for (const uint16_t verb : {HINTIER_VERB_PIN, HINTIER_VERB_UNPIN}) {
        add("volatile " + std::to_string(verb), with_verb(verb, HINTIER_FLAG_VOLATILE), EINVAL,
            HINTIER_REASON_FLAGS);
        hintier_hint h = with_verb(verb);
        h.length = tier_bytes + UNIT;
        add("more than all " + std::to_string(verb), h, ERANGE, HINTIER_REASON_RANGE);
    }
    for (const uint64_t epoch : {1ULL << 31, 1ULL << 32, ~0ULL}) {
        hintier_hint h = with_verb(HINTIER_VERB_CLASSIFY, HINTIER_FLAG_VOLATILE);
        h.epoch = epoch;
        add("volatile of epoch " + std::to_string(epoch), h, EINVAL, HINTIER_REASON_EPOCH);
        h = with_verb(HINTIER_VERB_DONE);
        h.epoch = epoch;
        add("DONE of epoch " + std::to_string(epoch), h, EINVAL, HINTIER_REASON_EPOCH);
    }
    add("CLASSIFY to stage", with_verb(HINTIER_VERB_CLASSIFY, HINTIER_FLAG_STAGE), EINVAL,
        HINTIER_REASON_FLAGS);
    add("FETCH touching", with_verb(HINTIER_VERB_FETCH, HINTIER_FLAG_TOUCH), EINVAL,
        HINTIER_REASON_FLAGS);
    for (const uint8_t flag : {1, 2, 4, 8, 128})
        add("DONE with flag " + std::to_string(flag), with_verb(HINTIER_VERB_DONE, flag), EINVAL,
            HINTIER_REASON_FLAGS);
    add("unknown flag", with_verb(HINTIER_VERB_CLASSIFY, 0x40), EINVAL, HINTIER_REASON_FLAGS);
    add("reserved member", edited([](auto& h) { h.reserved = 1; }), EINVAL,
        HINTIER_REASON_RESERVED);
    for (const uint8_t klass : {int{HINTIER_CLASSES}, 255})
        add("class " + std::to_string(klass), edited([&](auto& h) { h.klass = klass; }), EINVAL,
            HINTIER_REASON_CLASS);
    for (const uint16_t group : {HINTIER_GROUPS, 0xffff})
        add("group " + std::to_string(group), edited([&](auto& h) { h.group = group; }), EINVAL,
            HINTIER_REASON_GROUP);
    for (const uint64_t off : {1ULL, 512ULL, 4095ULL, ~0ULL})
        add("offset " + std::to_string(off), classify(off), EINVAL, HINTIER_REASON_ALIGN);
    for (const uint64_t len : {1ULL, 512ULL, 4097ULL, ~0ULL})
        add("length " + std::to_string(len), classify(0, len), EINVAL, HINTIER_REASON_ALIGN);
    add("no length", classify(0, 0), ERANGE, HINTIER_REASON_RANGE);
    add("at the end", classify(tier_bytes), ERANGE, HINTIER_REASON_RANGE);
    add("over the end", classify(tier_bytes - UNIT, 2 * UNIT), ERANGE, HINTIER_REASON_RANGE);
    add("all and one more", classify(0, tier_bytes + UNIT), ERANGE, HINTIER_REASON_RANGE);
    add("a sum that overflows", classify(0 - 2 * UNIT, 4 * UNIT), ERANGE, HINTIER_REASON_RANGE);
    add("the longest length", classify(UNIT, 0 - UNIT), ERANGE, HINTIER_REASON_RANGE);
    return all;
}

// Each in the first chunk and behind it: what is before is applied, what is behind is not.
void test_refusals(int fd) {
    for (const Refusal& r : refusals())
        for (const uint32_t place : {0U, 5U, 64U, 100U}) {
            std::vector<hintier_hint> hints(place + 3, classify());
            hints[place] = r.hint;
            expect(send(fd, hints.data(), uint32_t(hints.size())), r.error, place, r.reason,
                   r.what + " at " + std::to_string(place));
        }
}

// ---- permission -----------------------------------------------------------------------------

void test_permission(const char* tier) {
    const int ro = open(tier, O_RDONLY), rw = open(tier, O_RDWR), wo = open(tier, O_WRONLY);
    const int neither = open(tier, O_ACCMODE); // for ioctls only
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (setgid(65534) || setuid(65534)) _exit(2);
        failures = 0;
        const hintier_hint advice = classify(), done = with_verb(HINTIER_VERB_DONE),
                           dispensable = with_verb(HINTIER_VERB_CLASSIFY, HINTIER_FLAG_VOLATILE);
        hintier_bind bind{};
        const int reader = control(), writer = control(), other = control(), third = control();
        hintier_values values{};
        values.groups = values.ttl_ms = 1;
        for (uint32_t bin = 0; bin < HINTIER_AGE_BINS; bin++)
            values.edges_ms[bin] = bin;
        same(bind_to(reader, ro, &bind), 0, "bind by a reader");
        same(bind.access, HINTIER_ACCESS_ADVISE, "access of a reader");
        expect(send(reader, &advice, 1), 0, 1, HINTIER_REASON_NONE, "advice by a reader");
        expect(send(reader, &done, 1), EPERM, 0, HINTIER_REASON_ACCESS, "DONE by a reader");
        same(call(reader, HINTIER_IOC_VALUES, &values), EPERM, "VALUES by a reader");
        expect(send(reader, &dispensable, 1), EPERM, 0, HINTIER_REASON_ACCESS,
               "volatile by a reader");
        for (const int shown : {rw, wo}) {
            const int fd = shown == rw ? writer : other;
            same(bind_to(fd, shown, &bind), 0, "bind by a writer");
            same(bind.access, HINTIER_ACCESS_ADVISE | HINTIER_ACCESS_OWNER, "access of a writer");
            expect(send(fd, &done, 1), 0, 1, HINTIER_REASON_NONE, "DONE by a writer");
            expect(send(fd, &dispensable, 1), 0, 1, HINTIER_REASON_NONE, "volatile by a writer");
        }
        if (neither >= 0) same(bind_to(third, neither), EPERM, "bind with neither right");
        fflush(stdout);
        _exit(failures ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    check(status == 0, "checks without privilege");
    for (const int fd : {ro, rw, wo, neither})
        if (fd >= 0) close(fd);
}

// ---- query ----------------------------------------------------------------------------------

struct Answer {
    int error;
    hintier_query query;
};

Answer ask(int fd, uint64_t offset, uint64_t length, void* entries, uint32_t max) {
    hintier_query q{};
    q.offset = offset;
    q.length = length;
    q.entries = uint64_t(entries);
    q.max = max;
    const int error = call(fd, HINTIER_IOC_QUERY, &q);
    return {error, q};
}

void test_query_errors(int fd) {
    std::vector<hintier_residency> room(HINTIER_BATCH_MAX);
    same(ask(fd, 0, UNIT, room.data(), 0).error, EINVAL, "query without room");
    same(ask(fd, 0, UNIT, room.data(), HINTIER_BATCH_MAX + 1).error, E2BIG, "query for too many");
    same(ask(fd, 512, UNIT, room.data(), 1).error, EINVAL, "query of an odd offset");
    same(ask(fd, 0, 100, room.data(), 1).error, EINVAL, "query of an odd length");
    same(ask(fd, 0, 0, room.data(), 1).error, ERANGE, "query of nothing");
    same(ask(fd, tier_bytes, UNIT, room.data(), 1).error, ERANGE, "query beyond the end");
    same(ask(fd, 0 - UNIT, 2 * UNIT, room.data(), 1).error, ERANGE, "query that overflows");
    same(ask(fd, 0, UNIT, nullptr, 1).error, EFAULT, "answer to nowhere");
    same(ask(fd, 0, UNIT, KERNEL, 1).error, EFAULT, "answer into the kernel");
    hintier_query q{};
    q.length = UNIT;
    q.max = 1;
    q.flags = 1;
    same(call(fd, HINTIER_IOC_QUERY, &q), EINVAL, "query with a flag");
    q.flags = 0;
    q.reserved = 1;
    same(call(fd, HINTIER_IOC_QUERY, &q), EINVAL, "query with a reserved member set");
    same(call(fd, HINTIER_IOC_QUERY, nullptr), EFAULT, "query from nowhere");
}

// The runs cover the range without gap or overlap, however few fit an answer.
std::vector<hintier_residency> residency(int fd, uint64_t length, uint32_t max) {
    std::vector<hintier_residency> all, some(max);
    uint64_t at = 0;
    while (at < length) {
        const Answer a = ask(fd, at, length - at, some.data(), max);
        if (a.error || !a.query.count || a.query.count > max) {
            check(false, "query at " + std::to_string(at) + " answers " +
                             std::to_string(a.query.count) + " runs, errno " +
                             std::to_string(a.error));
            break;
        }
        for (uint32_t i = 0; i < a.query.count; i++) {
            same(some[i].offset, at, "offset of a run");
            check(some[i].length && some[i].length % UNIT == 0, "length of a run");
            same(some[i].reserved, 0, "reserved member of a run");
            at += some[i].length;
            all.push_back(some[i]);
        }
        same(a.query.next, at, "next");
    }
    same(at, length, "bytes covered");
    return all;
}

void test_query_tells(int fd, const char* tier) {
    const int data = open(tier, O_RDWR | O_DIRECT);
    void* buffer = aligned_alloc(4096, 65536);
    memset(buffer, 0x5a, 65536);
    check(pwrite(data, buffer, 65536, 1 << 20) == 65536, "write to the tier");
    const hintier_hint h = classify(1 << 20, 65536);
    expect(send(fd, &h, 1), 0, 1, HINTIER_REASON_NONE, "classify what was written");

    const auto whole = residency(fd, tier_bytes, HINTIER_BATCH_MAX);
    bool found = false;
    for (const hintier_residency& r : whole) {
        if (r.offset > 1 << 20 || r.offset + r.length <= 1 << 20) continue;
        found = true;
        check(r.state & HINTIER_IS_FAST, "what was written lies in fast");
        same(r.klass, HINTIER_CLASS_KV, "its class");
        same(r.group, 7, "its group");
        same(r.object, 99, "its object");
    }
    check(found, "what was written is told");
    const auto pieces = residency(fd, 4 << 20, 1);
    check(pieces.size() >= 2, "the first MiBs are not all in one state");
    free(buffer);
    close(data);
}

void test_epoch(int fd) {
    hintier_epoch a{}, b{};
    memset(&a, 0xff, sizeof(a));
    same(call(fd, HINTIER_IOC_EPOCH, &a), 0, "EPOCH");
    same(call(fd, HINTIER_IOC_EPOCH, &b), 0, "EPOCH again");
    check(b.epoch > a.epoch, "a new epoch is a later one");
    same(a.reserved, 0, "reserved member of an epoch");
    same(call(fd, HINTIER_IOC_EPOCH, nullptr), EFAULT, "EPOCH to nowhere");
}

void test_values(int fd) {
    std::vector<hintier_value_row> rows(HINTIER_GROUPS);
    hintier_values good{};
    good.rows = uint64_t(rows.data());
    good.groups = HINTIER_GROUPS;
    good.ttl_ms = 1;
    for (uint32_t bin = 0; bin < HINTIER_AGE_BINS; bin++)
        good.edges_ms[bin] = bin;
    const auto tell = [&](int to, const std::function<void(hintier_values&)>& edit) {
        hintier_values v = good;
        edit(v);
        return call(to, HINTIER_IOC_VALUES, &v);
    };
    const auto as_is = [](hintier_values&) {};
    same(tell(fd, as_is), 0, "VALUES");
    same(tell(fd, as_is), 0, "VALUES again");
    same(call(fd, HINTIER_IOC_VALUES, nullptr), EFAULT, "VALUES from nowhere");
    same(tell(fd, [](auto& v) { v.rows = 8; }), EFAULT, "VALUES with rows from nowhere");
    same(tell(fd, [](auto& v) { v.rows = ~0ULL; }), EFAULT, "VALUES with rows beyond all");
    for (const uint32_t groups : {0U, HINTIER_GROUPS + 1U, ~0U})
        same(tell(fd, [&](auto& v) { v.groups = groups; }), EINVAL,
             "VALUES of " + std::to_string(groups) + " groups");
    for (const uint32_t ttl : {0U, HINTIER_VALUES_MAX_MS + 1U, ~0U})
        same(tell(fd, [&](auto& v) { v.ttl_ms = ttl; }), EINVAL,
             "VALUES for " + std::to_string(ttl) + " ms");
    same(tell(fd, [](auto& v) { v.flags = 1; }), EINVAL, "VALUES with a flag");
    same(tell(fd, [](auto& v) { v.reserved = 1; }), EINVAL, "VALUES with a reserved member");
    same(tell(fd, [](auto& v) { v.edges_ms[0] = 1; }), EINVAL, "VALUES without a first edge");
    same(tell(fd, [](auto& v) { v.edges_ms[9] = 8; }), EINVAL, "VALUES with two edges in one");
    rows[HINTIER_GROUPS - 1].drop = 1ULL << HINTIER_AGE_BINS;
    same(tell(fd, as_is), EINVAL, "VALUES with a bin too many");
    same(tell(fd, [](auto& v) { v.groups--; }), 0, "VALUES without it");
}

// R12: a file was mapped, its blocks were freed and written by somebody else, the hint comes late.
void test_volatile(int fd, const char* tier) {
    constexpr uint64_t AT = 6 << 20;
    const int data = open(tier, O_RDWR | O_DIRECT);
    void* buffer = aligned_alloc(UNIT, UNIT);
    memset(buffer, 7, UNIT);
    const auto write_it = [&] { return pwrite(data, buffer, UNIT, AT) == ssize_t(UNIT); };
    const auto read_it = [&] { return pread(data, buffer, UNIT, AT) == ssize_t(UNIT); };
    const auto say = [&](uint16_t verb, uint8_t flags, uint64_t epoch) {
        hintier_hint h = with_verb(verb, flags);
        h.offset = AT;
        h.length = UNIT;
        h.epoch = epoch;
        expect(send(fd, &h, 1), 0, 1, HINTIER_REASON_NONE, "a hint about a unit");
    };
    const auto give_up = [&](uint64_t epoch) {
        say(HINTIER_VERB_CLASSIFY, HINTIER_FLAG_VOLATILE, epoch);
        say(HINTIER_VERB_DONE, 0, epoch);
    };
    const auto lost = [&] {
        hintier_residency entry{};
        const Answer a = ask(fd, AT, UNIT, &entry, 1);
        check(a.error == 0 && a.query.count == 1, "QUERY of a unit");
        return entry.state & HINTIER_IS_LOST;
    };
    hintier_epoch before{}, after{};

    check(write_it(), "a unit is written");
    same(call(fd, HINTIER_IOC_EPOCH, &before), 0, "EPOCH before the file is mapped");
    check(write_it(), "its blocks are written by another owner");
    give_up(before.epoch);
    check(read_it() && !lost(), "what was written since is not dropped");
    say(HINTIER_VERB_DONE, 0, 0);

    same(call(fd, HINTIER_IOC_EPOCH, &after), 0, "EPOCH before it is mapped again");
    say(HINTIER_VERB_CLASSIFY, HINTIER_FLAG_VOLATILE, after.epoch);
    check(read_it(), "a mark alone drops nothing");
    say(HINTIER_VERB_DONE, 0, before.epoch);
    check(read_it(), "nor does an old DONE");
    say(HINTIER_VERB_DONE, 0, after.epoch);
    check(!read_it() && errno == EIO, "what was dropped fails to be read");
    check(lost(), "and QUERY says why");
    check(pwrite(data, buffer, 512, AT + 512) < 0 && errno == EIO, "a part of it is not written");
    check(write_it() && read_it() && !lost(), "a whole unit is, and can be read");
    free(buffer);
    close(data);
}

// ---- a 32-bit caller: the compat table, reached from here by its own gate ---------------------

#ifdef __x86_64__
int compat_ioctl(int fd, unsigned long request, void* arg) {
    long r = 54; // ioctl
    asm volatile("int $0x80"
                 : "+a"(r)
                 : "b"(long(fd)), "c"(request), "d"(arg)
                 : "memory", "r8", "r9", "r10", "r11");
    return r < 0 ? int(-r) : 0;
}

void test_compat(const char* tier) {
    // Without them the gate is closed, and whoever knocks is killed.
    if (access("/proc/sys/abi/vsyscall32", F_OK) != 0)
        return printf("note: this kernel has no 32-bit calls\n"), void();
    struct Low {
        hintier_bind bind;
        hintier_batch batch;
        hintier_hint hint[2];
    };
    auto* low = static_cast<Low*>(mmap(nullptr, sizeof(Low), PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0));
    const int fd = control(), shown = open(tier, O_RDONLY);
    *low = {};
    low->bind.fd = shown;
    same(compat_ioctl(fd, HINTIER_IOC_BIND, &low->bind), 0, "bind by a 32-bit caller");
    same(low->bind.bytes, tier_bytes, "bytes told to a 32-bit caller");
    low->hint[0] = classify();
    low->hint[1] = classify(tier_bytes);
    low->batch.hints = uint64_t(low->hint);
    low->batch.count = 2;
    same(compat_ioctl(fd, HINTIER_IOC_HINT, &low->batch), ERANGE, "32-bit HINT");
    same(low->batch.done, 1, "32-bit HINT: done");
    same(low->batch.reason, HINTIER_REASON_RANGE, "32-bit HINT: reason");
    close(shown);
    close(fd);
}
#else
void test_compat(const char*) {}
#endif

// ---- noise: what cannot be listed -------------------------------------------------------------

void noise(int fd, unsigned seed) {
    std::mt19937_64 random(seed);
    const unsigned long calls[] = {HINTIER_IOC_VERSION, HINTIER_IOC_BIND,  HINTIER_IOC_HINT,
                                   HINTIER_IOC_QUERY,   HINTIER_IOC_EPOCH, HINTIER_IOC_WAIT};
    std::vector<hintier_hint> hints(80);
    std::vector<hintier_residency> room(64);
    for (int i = 0; i < 4000; i++) {
        uint64_t arg[8];
        for (uint64_t& word : arg)
            word = random() >> random() % 64;
        for (hintier_hint& h : hints) {
            h = classify(random() % tier_bytes / UNIT * UNIT, random() % 64 * UNIT);
            h.verb = uint16_t(1 + random() % 6);
            if (random() % 8 == 0)
                memset(reinterpret_cast<char*>(&h) + random() % 60, int(random()), 4);
        }
        hintier_batch batch{};
        batch.hints = uint64_t(hints.data());
        batch.count = uint32_t(hints.size());
        hintier_query query{};
        query.length = tier_bytes;
        query.entries = uint64_t(room.data());
        query.max = 64;
        switch (random() % 3) {
        case 0:
            call(fd, calls[random() % std::size(calls)], arg);
            break;
        case 1:
            call(fd, HINTIER_IOC_HINT, &batch);
            break;
        default:
            call(fd, HINTIER_IOC_QUERY, &query);
            break;
        }
    }
}

void test_noise(int fd) {
    std::vector<std::thread> threads;
    for (unsigned seed = 1; seed <= 3; seed++)
        threads.emplace_back(noise, fd, seed);
    for (std::thread& t : threads)
        t.join();
    const hintier_hint h = classify();
    expect(send(fd, &h, 1), 0, 1, HINTIER_REASON_NONE, "a hint after the noise");
}

// ---- tiers that are away ----------------------------------------------------------------------

void expect_away(int fd, int error, const std::string& when) {
    const hintier_hint h = classify();
    hintier_residency entry{};
    hintier_epoch epoch{};
    expect(send(fd, &h, 1), error, 0, HINTIER_REASON_STATE, "HINT " + when);
    same(ask(fd, 0, UNIT, &entry, 1).error, error, "QUERY " + when);
    same(call(fd, HINTIER_IOC_EPOCH, &epoch), error, "EPOCH " + when);
}

void test_away(int fd, const char* tier, const std::string& name, const char* recreate) {
    const hintier_hint h = classify();
    shell(("dmsetup suspend " + name).c_str());
    expect_away(fd, EAGAIN, "while suspended");
    shell(("dmsetup resume " + name).c_str());
    expect(send(fd, &h, 1), 0, 1, HINTIER_REASON_NONE, "HINT after resume");

    // A new table for the same device is the same tier.
    shell(("dmsetup table " + name + " | dmsetup reload " + name).c_str());
    shell(("dmsetup suspend " + name + " && dmsetup resume " + name).c_str());
    expect(send(fd, &h, 1), 0, 1, HINTIER_REASON_NONE, "HINT after a reload");

    shell(("dmsetup remove --retry " + name).c_str());
    expect_away(fd, ENODEV, "after removal");
    shell(recreate);
    expect_away(fd, ENODEV, "after another tier has taken its place");
    const int again = bound(tier, O_RDONLY);
    expect(send(again, &h, 1), 0, 1, HINTIER_REASON_NONE, "HINT by a new binding");
    close(again);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: hostile_ioctl TIER OTHER NAME RECREATE\n");
        return 2;
    }
    const char* tier = argv[1];
    const int data = open(tier, O_RDONLY);
    if (data < 0 || ioctl(data, BLKGETSIZE64, &tier_bytes)) {
        perror(tier);
        return 2;
    }
    close(data);

    test_version();
    test_unbound();
    test_bind(tier, argv[2]);
    const int fd = bound(tier, O_RDWR);
    test_batch_frame(fd);
    test_batch_edge(fd);
    test_refusals(fd);
    test_permission(tier);
    test_query_errors(fd);
    test_query_tells(fd, tier);
    test_epoch(fd);
    test_values(fd);
    test_volatile(fd, argv[1]);
    test_compat(tier);
    test_noise(fd);
    test_away(fd, tier, argv[3], argv[4]);
    close(fd);
    return verdict();
}
