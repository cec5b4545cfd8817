// SPDX-License-Identifier: Apache-2.0
//
// stress: everything at once on a tier, and the proof that every byte is right.
//
//   stress run NODE SECONDS MODEL [OPTION]     I/O, hints and queries from many threads; leaves in
//                                              MODEL what each sector must hold now
//   stress check NODE MODEL [--at BYTE]        NODE holds that, from byte BYTE on
//   stress fill NODE MODEL                     writes everything once, for a known start
//
// The first part of the tier is cut into areas with grains of different sizes, down to one
// sector; each grain belongs to one writer, so that neighbours in a unit, an extent or a run are
// written by others at the same time. A sector tells its own number and version in every word.
// A writer knows what its sectors must hold; racers read across all of them and know only that a
// sector can be nobody else's; so do scanners, which read in order, and say so half of the time.
// With --errors, requests may fail, and what a failed write left
// behind is unknown until the next one succeeds. With --no-memory, calls may find none; requests
// may not fail for it.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <linux/fs.h>

#include <hintier/ioctl.h>

namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t SECTOR = 512;
constexpr uint64_t WORDS = SECTOR / sizeof(uint64_t);
constexpr uint64_t UNIT = HINTIER_UNIT_BYTES / SECTOR;
constexpr uint64_t LONGEST = (1 << 20) / SECTOR; // sectors of one request
constexpr unsigned WRITERS = 10;
constexpr unsigned RACERS = 2;
constexpr unsigned SCANNERS = 3;

struct Area {
    uint64_t grain; // sectors
    uint64_t start; // sectors from the start of the tier
    uint64_t length;
};

constexpr uint64_t MIB = (1 << 20) / SECTOR;
constexpr std::array AREAS{
    Area{1, 0, 2 * MIB},                    // neighbours within a unit
    Area{UNIT, 2 * MIB, 22 * MIB},          // within an extent
    Area{3 * UNIT + 1, 24 * MIB, 24 * MIB}, // ragged, across extents
    Area{256, 48 * MIB, 48 * MIB},          // runs of extents
    Area{LONGEST, 96 * MIB, 48 * MIB},
};
constexpr uint64_t SECTORS = AREAS.back().start + AREAS.back().length;

// Versions of a sector.
constexpr uint32_t ZERO = 0;
constexpr uint32_t UNKNOWN = ~0U; // zeroes, or any version
using Model = std::vector<uint32_t>;

bool errors_allowed = false;
bool memory_short = false;
std::atomic<bool> stop = false;
std::atomic<unsigned> wrong = 0;
std::atomic<uint64_t> failed = 0;

// ---- sectors ----------------------------------------------------------------------------------

uint64_t mix(uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ULL;
    return x ^ x >> 29;
}

uint64_t name_of(uint64_t sector) {
    return mix(sector + 0x68696e74) | 1;
}

void paint(uint64_t* words, uint64_t sector, uint32_t version) {
    words[0] = name_of(sector);
    words[1] = version;
    for (uint64_t i = 2; i < WORDS; i++)
        words[i] = words[0] + words[1] * i;
}

bool zeroes(const uint64_t* words) {
    return std::all_of(words, words + WORDS, [](uint64_t w) { return !w; });
}

// Some version of this very sector, whole.
bool painted(const uint64_t* words, uint64_t sector) {
    if (words[0] != name_of(sector)) return false;
    for (uint64_t i = 2; i < WORDS; i++)
        if (words[i] != words[0] + words[1] * i) return false;
    return true;
}

bool right(const uint64_t* words, uint64_t sector, uint32_t version) {
    if (version == ZERO) return zeroes(words);
    if (version == UNKNOWN) return zeroes(words) || painted(words, sector);
    return painted(words, sector) && words[1] == version;
}

void complain(const char* who, const uint64_t* words, uint64_t sector, uint32_t version) {
    if (wrong++ < 20)
        printf("%s: sector %" PRIu64 " holds %s version %" PRIu64 " (words %" PRIx64 " %" PRIx64
               "), not version %" PRIu32 "\n",
               who, sector,
               words[0] == name_of(sector) ? "its"
               : zeroes(words)             ? "zeroes,"
                                           : "a foreign",
               words[1], words[0], words[2], version);
}

// ---- requests ---------------------------------------------------------------------------------

struct Range {
    uint64_t from, to; // sectors
    uint64_t size() const { return to - from; }
    uint64_t bytes() const { return size() * SECTOR; }
};

class Buffer {
public:
    Buffer() : words_(static_cast<uint64_t*>(aligned_alloc(4096, LONGEST * SECTOR))) {
        if (!words_) abort();
    }
    ~Buffer() { free(words_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    uint64_t* at(uint64_t nth) { return words_ + nth * WORDS; }

private:
    uint64_t* words_;
};

// A failure that the run does not allow ends it.
bool allowed(const char* what, Range r) {
    failed++;
    if (errors_allowed) return false;
    if (wrong++ < 20)
        printf("%s of sectors %" PRIu64 " to %" PRIu64 ": %s\n", what, r.from, r.to,
               strerror(errno));
    stop = true;
    return false;
}

// Whole or not at all; RWF_NOWAIT gives way to waiting.
bool transfer(int fd, Buffer& buffer, Range r, int flags, bool writing) {
    iovec iov{buffer.at(0), r.bytes()};
    off_t at = off_t(r.from * SECTOR);
    auto go = [&](int f) {
        return writing ? pwritev2(fd, &iov, 1, at, f) : preadv2(fd, &iov, 1, at, f);
    };

    ssize_t n = go(flags);
    if ((flags & RWF_NOWAIT) && n != ssize_t(r.bytes())) n = go(flags & ~RWF_NOWAIT);
    return n == ssize_t(r.bytes()) || allowed(writing ? "write" : "read", r);
}

bool range_call(int fd, unsigned long what, Range r) {
    uint64_t arg[2] = {r.from * SECTOR, r.bytes()};
    return ioctl(fd, what, arg) == 0 || allowed(what == BLKDISCARD ? "discard" : "zeroing", r);
}

// ---- a writer ---------------------------------------------------------------------------------

class Writer {
public:
    Writer(int fd, Model& model, unsigned number, uint64_t seed)
        : fd_(fd), model_(model), number_(number), dice_(seed) {}

    void run() {
        while (!stop)
            step();
    }

    uint64_t requests() const { return requests_; }

private:
    uint64_t roll(uint64_t n) { return dice_() % n; }

    Range pick() {
        const Area& area = AREAS[roll(AREAS.size())];
        uint64_t grains = area.length / area.grain;
        uint64_t grain = roll(grains / WRITERS) * WRITERS + number_;
        Range r{area.start + grain * area.grain, area.start + (grain + 1) * area.grain};

        // Half of them whole units, a quarter all of the grain, the rest ragged.
        uint64_t how = roll(4);
        if (how == 0) return r;
        uint64_t step = how == 1 || area.grain < 2 * UNIT ? 1 : UNIT;
        uint64_t from = (r.from + roll(r.size()) + step - 1) / step * step;
        uint64_t to = (from + 1 + roll(std::min(r.size(), 64 * step)) + step - 1) / step * step;
        from = std::min(from, r.to - 1);
        return {from, std::clamp(to, from + 1, r.to)};
    }

    int flags() {
        uint64_t n = roll(16);
        return n < 2 ? RWF_NOWAIT : 0;
    }

    void step() {
        Range r = pick();
        uint64_t what = roll(100);
        requests_++;
        if (what < 40)
            write(r, flags());
        else if (what < 45)
            write(r, RWF_DSYNC);
        else if (what < 85)
            read(r);
        else if (what < 92)
            discard(r);
        else if (what < 98)
            zero(r);
        else if (fsync(fd_))
            allowed("flush", r);
    }

    void know(Range r, uint32_t version) {
        std::fill(model_.begin() + off_t(r.from), model_.begin() + off_t(r.to), version);
    }

    void write(Range r, int how) {
        uint32_t version = ++version_;
        for (uint64_t s = r.from; s < r.to; s++)
            paint(buffer_.at(s - r.from), s, version);
        know(r, transfer(fd_, buffer_, r, how, true) ? version : UNKNOWN);
    }

    void read(Range r) {
        if (!transfer(fd_, buffer_, r, flags(), false)) return;
        for (uint64_t s = r.from; s < r.to; s++) {
            uint32_t version = model_[s];
            const uint64_t* words = buffer_.at(s - r.from);
            if (!right(words, s, version)) complain("writer", words, s, version);
        }
    }

    void discard(Range r) {
        know(r, UNKNOWN);
        range_call(fd_, BLKDISCARD, r);
    }

    void zero(Range r) { know(r, range_call(fd_, BLKZEROOUT, r) ? ZERO : UNKNOWN); }

    int fd_;
    Model& model_;
    unsigned number_;
    std::mt19937_64 dice_;
    uint32_t version_ = 1;
    uint64_t requests_ = 0;
    Buffer buffer_;
};

// A descriptor that has told a tier what will be read, or -1: it may be suspended or full.
int tell(int tier, uint64_t from, uint64_t end, uint32_t window) {
    int control = open(HINTIER_CONTROL_PATH, O_RDWR | O_CLOEXEC);
    hintier_bind bind{};
    hintier_hint hint{};
    hintier_batch batch{};

    bind.fd = tier;
    hint.verb = HINTIER_VERB_SEQUENCE;
    hint.offset = from / UNIT * UNIT * SECTOR;
    hint.length = (end + UNIT - 1) / UNIT * UNIT * SECTOR - hint.offset;
    hint.depth = window;
    batch.hints = uintptr_t(&hint);
    batch.count = 1;
    if (!ioctl(control, HINTIER_IOC_BIND, &bind) && hint.length &&
        !ioctl(control, HINTIER_IOC_HINT, &batch))
        return control;
    close(control);
    return -1;
}

// ---- those who only look or advise --------------------------------------------------------------

void race(int fd, uint64_t seed) {
    std::mt19937_64 dice(seed);
    Buffer buffer;

    while (!stop) {
        uint64_t from = dice() % (SECTORS - LONGEST);
        Range r{from, from + 1 + dice() % LONGEST};
        if (!transfer(fd, buffer, r, dice() % 4 ? 0 : RWF_NOWAIT, false)) continue;
        for (uint64_t s = r.from; s < r.to; s++) {
            const uint64_t* words = buffer.at(s - r.from);
            if (words[0] && words[0] != name_of(s)) complain("racer", words, s, UNKNOWN);
        }
    }
}

// Reads in order from a queue of one, so that the tier reads ahead of it; the next pass may leave
// it standing. What it has read ahead must not reach any reader once it was overwritten.
void scan(int fd, uint64_t seed) {
    constexpr std::array<uint64_t, 5> SIZES{UNIT, 16 * UNIT, 32 * UNIT, 33 * UNIT + 1, LONGEST};
    std::mt19937_64 dice(seed);
    Buffer buffer;

    while (!stop) {
        const uint64_t size = SIZES[dice() % SIZES.size()];
        uint64_t from = dice() % SECTORS;
        const uint64_t end = std::min(from + dice() % (64 * MIB), SECTORS);
        const int control = dice() % 2 ? tell(fd, from, end, dice() % 3 * 64) : -1;

        for (; from < end && !stop; from += size) {
            Range r{from, std::min(from + size, end)};
            if (!transfer(fd, buffer, r, dice() % 16 ? 0 : RWF_NOWAIT, false)) continue;
            for (uint64_t s = r.from; s < r.to; s++) {
                const uint64_t* words = buffer.at(s - r.from);
                if (words[0] && words[0] != name_of(s)) complain("scanner", words, s, UNKNOWN);
            }
        }
        if (control >= 0) close(control);
    }
}

// The control device, bound to the tier. A tier may be suspended: then one asks again, and so one
// does where there is no memory to open it.
class Adviser {
public:
    Adviser(int tier, uint64_t seed) : tier_(tier), dice_(seed) {
        if (!bind() && !memory_short) stop = true;
    }
    ~Adviser() {
        if (fd_ >= 0) close(fd_);
    }
    Adviser(const Adviser&) = delete;
    Adviser& operator=(const Adviser&) = delete;

    void run() {
        while (!stop) {
            if (!bound_ && !bind()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
                continue;
            }
            if (dice_() % 3)
                hint();
            else
                query();
            count_++;
        }
    }

    uint64_t calls() const { return count_; }

private:
    bool bind() {
        hintier_bind bind{};
        bind.fd = tier_;
        if (fd_ < 0) fd_ = open(HINTIER_CONTROL_PATH, O_RDWR | O_CLOEXEC);
        return bound_ = fd_ >= 0 && call("BIND", HINTIER_IOC_BIND, &bind);
    }

    // True if it succeeded; reports what a stressed tier may not say.
    bool call(const char* name, unsigned long what, void* arg) {
        if (ioctl(fd_, what, arg) == 0) return true;
        switch (errno) {
        case EAGAIN:
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            [[fallthrough]];
        case ENODEV:
        case ENOSPC:
            return false;
        case ENOMEM:
            if (memory_short) return false;
        }
        if (wrong++ < 20) printf("%s: %s\n", name, strerror(errno));
        return false;
    }

    Range pick() {
        uint64_t from = dice_() % (SECTORS / UNIT);
        uint64_t most = dice_() % 16 ? 128 : SECTORS / UNIT;
        uint64_t to = from + 1 + dice_() % most;
        return {from * UNIT, std::min(to * UNIT, SECTORS)};
    }

    void hint() {
        std::array<hintier_hint, 24> hints{};
        for (auto& h : hints) {
            Range r = pick();
            h.verb = uint16_t(HINTIER_VERB_CLASSIFY + dice_() % 4);
            h.klass = uint8_t(dice_() % HINTIER_CLASSES);
            h.group = uint16_t(dice_() % HINTIER_GROUPS);
            h.flags = h.verb == HINTIER_VERB_CLASSIFY ? HINTIER_FLAG_TOUCH * (dice_() % 2) : 0;
            h.offset = r.from * SECTOR;
            h.length =
                h.verb == HINTIER_VERB_FETCH ? std::min<uint64_t>(r.bytes(), 1 << 20) : r.bytes();
            h.object = dice_();
            h.depth = uint32_t(dice_() % 300);
            h.deadline_ms = dice_() % 2 ? 1 + dice_() % 200 : 0;
            h.cookie = dice_() % 32;
            h.epoch = epoch_;
        }
        hintier_batch batch{};
        batch.hints = uintptr_t(hints.data());
        batch.count = uint32_t(1 + dice_() % hints.size());
        call("HINT", HINTIER_IOC_HINT, &batch);
        hintier_epoch epoch{};
        if (dice_() % 4 == 0 && call("EPOCH", HINTIER_IOC_EPOCH, &epoch)) epoch_ = epoch.epoch;
    }

    void query() {
        std::vector<hintier_residency> entries(1 + dice_() % 300);
        Range r = pick();
        hintier_query query{};
        query.offset = r.from * SECTOR;
        query.length = r.bytes();
        query.entries = uintptr_t(entries.data());
        query.max = uint32_t(entries.size());
        if (!call("QUERY", HINTIER_IOC_QUERY, &query)) return;
        uint64_t at = query.offset;
        for (uint32_t i = 0; i < query.count; i++) {
            if (entries[i].offset != at || !entries[i].length) {
                if (wrong++ < 20) printf("query: a gap at %" PRIu64 "\n", at);
                return;
            }
            at += entries[i].length;
        }
        if (at != query.next && wrong++ < 20) printf("query: next is not where it stopped\n");
    }

    const int tier_;
    int fd_ = -1;
    bool bound_ = false;
    std::mt19937_64 dice_;
    uint64_t epoch_ = 0;
    uint64_t count_ = 0;
};

// ---- the modes --------------------------------------------------------------------------------

int open_node(const char* node) {
    int fd = open(node, O_RDWR | O_DIRECT | O_CLOEXEC);
    if (fd >= 0) return fd;
    perror(node);
    exit(2);
}

Model load(const char* path) {
    Model model(SECTORS, UNKNOWN);
    FILE* f = fopen(path, "rb");
    if (f) {
        if (fread(model.data(), sizeof(model[0]), SECTORS, f) != SECTORS)
            model.assign(SECTORS, UNKNOWN);
        fclose(f);
    }
    return model;
}

void save(const char* path, const Model& model) {
    FILE* f = fopen(path, "wb");
    if (!f || fwrite(model.data(), sizeof(model[0]), SECTORS, f) != SECTORS || fclose(f)) {
        perror(path);
        exit(2);
    }
}

int check(const char* node, const char* path, uint64_t at) {
    int fd = open_node(node);
    Model model = load(path);
    Buffer buffer;
    uint64_t known = 0;

    for (uint64_t from = 0; from < SECTORS; from += LONGEST) {
        Range r{from, std::min(from + LONGEST, SECTORS)};
        if (pread(fd, buffer.at(0), r.bytes(), off_t(at + r.from * SECTOR)) != ssize_t(r.bytes())) {
            allowed("read", r);
            continue;
        }
        for (uint64_t s = r.from; s < r.to; s++) {
            known += model[s] != UNKNOWN;
            if (!right(buffer.at(s - r.from), s, model[s]))
                complain("check", buffer.at(s - r.from), s, model[s]);
        }
    }
    close(fd);
    printf("%s: %" PRIu64 " of %" PRIu64 " sectors are known, %u faults\n", node, known, SECTORS,
           wrong.load());
    return wrong ? 1 : 0;
}

int fill(const char* node, const char* path) {
    int fd = open_node(node);
    Model model(SECTORS, 1);
    Buffer buffer;

    for (uint64_t from = 0; from < SECTORS; from += LONGEST) {
        Range r{from, std::min(from + LONGEST, SECTORS)};
        for (uint64_t s = r.from; s < r.to; s++)
            paint(buffer.at(s - r.from), s, 1);
        transfer(fd, buffer, r, 0, true);
    }
    close(fd);
    save(path, model);
    return wrong ? 1 : 0;
}

int run(const char* node, unsigned seconds, const char* path) {
    int fd = open_node(node);
    Model model = load(path);
    uint64_t seed = std::random_device{}();
    std::vector<std::unique_ptr<Writer>> writers;
    std::vector<std::thread> threads;
    uint64_t requests = 0;

    printf("seed %" PRIu64 "\n", seed);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers.push_back(std::make_unique<Writer>(fd, model, i, seed + i));
        threads.emplace_back(&Writer::run, writers.back().get());
    }
    for (unsigned i = 0; i < RACERS; i++)
        threads.emplace_back(race, fd, seed + 100 + i);
    for (unsigned i = 0; i < SCANNERS; i++)
        threads.emplace_back(scan, fd, seed + 300 + i);
    Adviser adviser(fd, seed + 200);
    threads.emplace_back(&Adviser::run, &adviser);

    auto end = Clock::now() + std::chrono::seconds(seconds);
    while (!stop && !wrong && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
    for (auto& t : threads)
        t.join();
    for (auto& w : writers)
        requests += w->requests();
    close(fd);
    save(path, model);
    printf("%" PRIu64 " requests, %" PRIu64 " calls, %" PRIu64 " failed, %u faults\n", requests,
           adviser.calls(), failed.load(), wrong.load());
    return wrong ? 1 : 0;
}

} // namespace

int main(int argc, char** argv) {
    std::vector<std::string_view> args(argv, argv + argc);
    auto has = [&](std::string_view word) { return std::find(args.begin(), args.end(), word); };

    setvbuf(stdout, nullptr, _IOLBF, 0);
    errors_allowed = has("--errors") != args.end();
    memory_short = has("--no-memory") != args.end();
    if (argc >= 5 && args[1] == "run") return run(argv[2], unsigned(atoi(argv[3])), argv[4]);
    if (argc >= 4 && args[1] == "fill") return fill(argv[2], argv[3]);
    if (argc >= 4 && args[1] == "check") {
        auto at = has("--at");
        return check(argv[2], argv[3],
                     at == args.end() ? 0 : strtoull((++at)->data(), nullptr, 10));
    }
    fprintf(stderr,
            "usage: stress run NODE SECONDS MODEL [--errors|--no-memory] | check NODE MODEL [--at "
            "BYTE] | fill NODE MODEL\n");
    return 2;
}
