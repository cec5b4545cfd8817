// SPDX-License-Identifier: Apache-2.0
//
// The strictest oracle of power cuts: tagged sectors on the tier itself.
//
//   crash_blocks run DEVICE STATE SEED MS    write, FUA, flush, zero, discard, read until the cut
//   crash_blocks check DEVICE STATE          each sector is old or new; after this it is that
//   crash_blocks find DEVICE SECTOR          where on any device the sector's versions lie
//
// A sector says where it belongs and which version of itself it is. Allowed after a cut is the
// newest version that was promised (FUA, or written before a flush), and every later one; never
// another sector's, and never a version from before. What a check has read is the only version
// that later checks allow, until the sector is written again.
#include "crash.hpp"

#include <algorithm>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

using namespace hintier::test;

namespace {

constexpr uint64_t SECTOR = 512, MAGIC = 0x6365746f7274696eULL;
constexpr uint32_t THREADS = 6;

// The device in two kinds of areas, in turn: in coarse ones a thread has pieces of 256 KiB, several
// extents; in fine ones of 1 KiB, so that units of 4 KiB are shared.
constexpr uint64_t AREA = 6 * 512, COARSE = 512, FINE = 2; // sectors
constexpr size_t BUFFER = COARSE * SECTOR;

struct Sector {
    uint32_t promised; // the newest version that must not be lost
    uint32_t since;    // first version after it was promised
    uint32_t newest;
    uint32_t current; // what a read returns as long as there is no cut
    uint32_t zero;    // the newest version that is zeros
    uint32_t wild;    // discarded before this version: may be any there was, or zeros
    char past[12];    // for whoever reads a report: Written, FUA, Zeroed, Discarded, flushed (S);
                      // a check has found Contents or 0

    void note(char what) {
        memmove(past, past + 1, sizeof(past) - 1);
        past[sizeof(past) - 1] = what;
    }
};

struct Tag {
    uint64_t magic, sector, version, size; // size: sectors of the write, for the reader of reports
    char rest[SECTOR - 32];
};
static_assert(sizeof(Tag) == SECTOR);

int device;
Sector* sectors;
uint64_t size;

void fill(Tag* tag, uint64_t sector, uint32_t version, uint64_t count) {
    *tag = {MAGIC, sector, version, count, {}};
    pattern(tag->rest, sizeof(tag->rest), sector, version);
}

bool is_zero(const Tag* tag) {
    const char* p = reinterpret_cast<const char*>(tag);
    return p[0] == 0 && memcmp(p, p + 1, SECTOR - 1) == 0;
}

bool allowed(const Sector& s, uint32_t version) {
    return version == s.promised || (version >= s.since && version <= s.newest) ||
           (s.wild && version <= s.newest);
}

// Not discarded, or written since.
bool definite(const Sector& s) {
    return !s.wild || s.current >= s.wild;
}

void promise(Sector& s, uint32_t version) {
    s.promised = version;
    s.since = version + 1;
    s.wild = 0;
}

// Is it one of those? `ret` is its version.
bool right(uint64_t sector, const Tag* tag, uint32_t* ret, const char* when) {
    const Sector& s = sectors[sector];
    Tag wanted;
    if (is_zero(tag)) {
        *ret = s.zero;
        if (s.wild || allowed(s, s.zero)) return true;
        violation("%s: sector %lu is zeros, not version %u or %u to %u; %.12s", when, sector,
                  s.promised, s.since, s.newest, s.past);
        return false;
    }
    *ret = static_cast<uint32_t>(tag->version);
    if (tag->magic != MAGIC || tag->sector != sector) {
        violation("%s: sector %lu is foreign: magic %lx, sector %lu, version %lu", when, sector,
                  tag->magic, tag->sector, tag->version);
        return false;
    }
    fill(&wanted, sector, *ret, tag->size);
    if (memcmp(&wanted, tag, SECTOR)) {
        violation("%s: sector %lu is torn", when, sector);
        return false;
    }
    if (allowed(s, *ret)) return true;
    violation("%s: sector %lu is version %u, not %u or %u to %u; %.12s", when, sector, *ret,
              s.promised, s.since, s.newest, s.past);
    return false;
}

// ---- run -------------------------------------------------------------------------------------

class Worker {
public:
    Worker(unsigned number, std::mt19937_64 rng) : number_(number), rng_(rng) {
        buffer_ = static_cast<char*>(std::aligned_alloc(4096, BUFFER));
    }
    ~Worker() { std::free(buffer_); }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    void work() {
        while (!power_off) {
            const uint64_t dice = rng_() % 100;
            pick();
            const bool good = dice < 62   ? write(0)
                              : dice < 68 ? write(RWF_DSYNC)
                              : dice < 70 ? flush()
                              : dice < 92 ? read()
                              : dice < 96 ? zero()
                                          : discard();
            if (!good) return;
        }
    }

private:
    // A piece of this thread's: at, count. Neighbours in time are often neighbours in place.
    void pick() {
        if (rng_() % 4 == 0) area_ = rng_() % (size / AREA);
        const bool fine = area_ % 2;
        const uint64_t piece = fine ? FINE : COARSE;
        const uint64_t nth = rng_() % (AREA / piece / THREADS) * THREADS + number_;
        const uint64_t start = area_ * AREA + nth * piece;
        const uint64_t grain = fine || rng_() % 4 == 0 ? 1 : 8; // sectors or units
        count_ = std::min(piece, (1 + (rng_() % piece >> rng_() % 7) / grain) * grain);
        at_ = start + rng_() % ((piece - count_) / grain + 1) * grain;
    }

    bool write(int flags) {
        auto* tags = reinterpret_cast<Tag*>(buffer_);
        for (uint64_t i = 0; i < count_; i++)
            fill(&tags[i], at_ + i, ++sectors[at_ + i].newest, count_);
        note(flags ? 'F' : 'W');
        const iovec data{buffer_, count_ * SECTOR};
        const ssize_t done = pwritev2(device, &data, 1, offset(), flags);
        if (done != static_cast<ssize_t>(data.iov_len)) return lost("a write");
        settle(flags & RWF_DSYNC);
        return true;
    }

    bool zero() {
        for (uint64_t i = 0; i < count_; i++)
            sectors[at_ + i].zero = ++sectors[at_ + i].newest;
        note('Z');
        uint64_t range[2] = {at_ * SECTOR, count_ * SECTOR};
        if (ioctl(device, BLKZEROOUT, range)) return lost("a zeroing");
        settle(false);
        return true;
    }

    // Afterwards it may be any version there was, until a newer one is promised.
    bool discard() {
        for (uint64_t i = 0; i < count_; i++)
            sectors[at_ + i].wild = sectors[at_ + i].newest + 1;
        note('D');
        uint64_t range[2] = {at_ * SECTOR, count_ * SECTOR};
        return ioctl(device, BLKDISCARD, range) == 0 || lost("a discard");
    }

    bool flush() {
        if (fdatasync(device)) return lost("a flush");
        for (uint64_t sector : unflushed_)
            if (definite(sectors[sector])) {
                promise(sectors[sector], sectors[sector].current);
                sectors[sector].note('S');
            }
        unflushed_.clear();
        return true;
    }

    // Nobody else writes here: it is the newest version, unless it was discarded since.
    bool read() {
        if (pread(device, buffer_, count_ * SECTOR, offset()) !=
            static_cast<ssize_t>(count_ * SECTOR))
            return lost("a read");
        for (uint64_t i = 0; i < count_; i++) {
            const Sector& s = sectors[at_ + i];
            uint32_t version;
            const auto* tag = reinterpret_cast<const Tag*>(buffer_) + i;
            if (right(at_ + i, tag, &version, "running") && definite(s) && version != s.current)
                violation("running: sector %lu is version %u, not its newest, %u", at_ + i, version,
                          s.current);
        }
        return true;
    }

    // Acknowledged: durable at once, or with the next flush.
    void settle(bool durable) {
        for (uint64_t i = at_; i < at_ + count_; i++) {
            sectors[i].current = sectors[i].newest;
            if (durable)
                promise(sectors[i], sectors[i].newest);
            else
                unflushed_.push_back(i);
        }
    }

    void note(char what) {
        for (uint64_t i = at_; i < at_ + count_; i++)
            sectors[i].note(what);
    }
    static bool lost(const char* what) {
        failed(what);
        return false;
    }
    off_t offset() const { return static_cast<off_t>(at_ * SECTOR); }

    unsigned number_;
    std::mt19937_64 rng_;
    char* buffer_;
    uint64_t area_ = 0, at_ = 0, count_ = 0;
    std::vector<uint64_t> unflushed_;
};

// ---- check -----------------------------------------------------------------------------------

int check() {
    constexpr uint64_t STEP = 1 << 20;
    char* buffer = static_cast<char*>(std::aligned_alloc(4096, STEP));
    for (uint64_t at = 0; at < size; at += STEP / SECTOR) {
        const uint64_t count = std::min(STEP / SECTOR, size - at);
        if (pread(device, buffer, count * SECTOR, static_cast<off_t>(at * SECTOR)) !=
            static_cast<ssize_t>(count * SECTOR)) {
            violation("sectors %lu to %lu cannot be read: %s", at, at + count, strerror(errno));
            continue;
        }
        for (uint64_t i = 0; i < count; i++) {
            Sector& s = sectors[at + i];
            const auto* tag = reinterpret_cast<const Tag*>(buffer) + i;
            uint32_t version;
            right(at + i, tag, &version, "check");
            s.note(is_zero(tag) ? '0' : 'C');
            // This and nothing else from now on; zeros get a number that no write has had.
            if (is_zero(tag)) version = s.zero = ++s.newest;
            s.promised = s.current = version;
            s.since = s.newest + 1;
            s.wild = 0;
        }
    }
    std::free(buffer);
    return verdict_of_check();
}

int find(uint64_t sector) {
    Tag tag;
    for (uint64_t at = 0; pread(device, &tag, SECTOR, static_cast<off_t>(at * SECTOR)) > 0; at++)
        if (tag.magic == MAGIC && tag.sector == sector)
            printf("sector %lu holds version %lu of %lu\n", at, tag.version, sector);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::string verb = argc > 1 ? argv[1] : "";
    if (!(verb == "run" && argc == 6) && !(verb == "check" && argc == 4)) {
        if (verb == "find" && argc == 4 && (device = open(argv[2], O_RDONLY)) >= 0)
            return find(number(argv[3]));
        printf("usage: crash_blocks run DEVICE STATE SEED MS | check DEVICE STATE | "
               "find DEVICE SECTOR\n");
        return 2;
    }
    device = open(argv[2], O_RDWR | O_DIRECT);
    uint64_t bytes = 0;
    if (device < 0 || ioctl(device, BLKGETSIZE64, &bytes)) die(argv[2]);
    size = bytes / SECTOR / AREA * AREA;
    sectors = kept<Sector>(argv[3], size);
    if (verb == "check") return check();
    return run_until_cut(THREADS, number(argv[5]), number(argv[4]),
                         [](unsigned t, std::mt19937_64 rng) { Worker(t, rng).work(); });
}
