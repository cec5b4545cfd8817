// SPDX-License-Identifier: Apache-2.0
//
// Files on a filesystem over the tier, by the promises that POSIX and the filesystem make:
//
//   crash_files run DIR STATE SEED MS    replace, append, overwrite, unlink; fsync each; until the
//   cut crash_files check DIR STATE          everything that was synced is there, and whole
#include "crash.hpp"

#include <sys/stat.h>

using namespace hintier::test;

namespace {

constexpr unsigned THREADS = 4, FILES = 8; // files of each thread
constexpr size_t RECORD = 1000 / 8 * 8;    // of a log: no divisor of any block
constexpr size_t BLOCK = 4096, BLOCKS = 64;

struct File {
    uint32_t synced; // the newest version that must not be lost
    uint32_t since;  // first version after it was synced
    uint32_t newest;
    uint32_t current;
    uint32_t removed; // the newest version that is "not there"; so is version 0

    void sync(uint32_t version) {
        synced = current = version;
        since = version + 1;
    }
    // After a cut: this one is there, and none of those in between will ever come back.
    void settle(uint32_t version) {
        sync(version);
        since = newest + 1;
    }
    bool may_be(uint32_t version) const {
        return version == synced || (version >= since && version <= newest);
    }
    bool gone() const { return current == removed; }
};

struct State {
    File file[THREADS][FILES];
    uint32_t log_synced[THREADS], log_newest[THREADS]; // records
    File block[THREADS][BLOCKS];                       // of a file that is overwritten in place
};

std::string dir;
State* state;

std::string path(const char* kind, unsigned thread, unsigned n = 0) {
    return dir + "/" + kind + std::to_string(thread) + "-" + std::to_string(n);
}

uint64_t id(unsigned kind, unsigned thread, unsigned n) {
    return kind << 16 | thread << 8 | n;
}

size_t size_of(uint32_t version) {
    return 8 + version * 2654435761U % 40000 * 8;
}

std::string contents(uint64_t who, uint32_t version, size_t bytes) {
    std::string data(bytes, '\0');
    pattern(data.data(), bytes, who, version);
    return data;
}

bool write_all(int fd, const std::string& data, off_t at) {
    return pwrite(fd, data.data(), data.size(), at) == static_cast<ssize_t>(data.size());
}

bool read_all(const std::string& name, std::string* ret) {
    const int fd = open(name.c_str(), O_RDONLY);
    if (fd < 0) return false;
    struct stat st {};
    fstat(fd, &st);
    ret->resize(static_cast<size_t>(st.st_size));
    const bool good = pread(fd, ret->data(), ret->size(), 0) == static_cast<ssize_t>(ret->size());
    close(fd);
    return good;
}

// No promise once the power may be off: a directory of an XFS that has shut down syncs "well".
bool sync_dir() {
    const int fd = open(dir.c_str(), O_RDONLY | O_DIRECTORY);
    const bool good = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return good && !power_off;
}

// ---- run -------------------------------------------------------------------------------------

struct Worker {
    unsigned t;
    std::mt19937_64 rng;
    int log, blocks;

    // Written beside it, synced, renamed: after a cut it is the old one or this one, and whole.
    bool replace(unsigned n) {
        File& f = state->file[t][n];
        const uint32_t version = ++f.newest;
        const std::string beside = path("new", t, n), name = path("file", t, n);
        const int fd = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        bool good = fd >= 0 && write_all(fd, contents(id(1, t, n), version, size_of(version)), 0) &&
                    fsync(fd) == 0;
        if (fd >= 0) close(fd);
        if (!good || rename(beside.c_str(), name.c_str())) return false;
        f.current = version;
        if (rng() % 4 == 0) return true; // not promised
        if (!sync_dir()) return false;
        f.sync(version);
        return true;
    }

    bool remove(unsigned n) {
        File& f = state->file[t][n];
        if (f.gone()) return true;
        const uint32_t version = f.removed = ++f.newest;
        if (unlink(path("file", t, n).c_str()) || !sync_dir()) return false;
        f.sync(version);
        return true;
    }

    bool append() {
        uint32_t& newest = state->log_newest[t];
        const uint32_t count = 1 + static_cast<uint32_t>(rng() % 20);
        for (uint32_t i = 0; i < count; i++, newest++)
            if (!write_all(log, contents(id(2, t, 0), newest, RECORD),
                           static_cast<off_t>(newest * RECORD)))
                return false;
        if (fdatasync(log)) return false;
        state->log_synced[t] = newest;
        return true;
    }

    bool overwrite() {
        std::vector<unsigned> which;
        for (unsigned i = 0; i < 1 + rng() % 6; i++)
            which.push_back(static_cast<unsigned>(rng() % BLOCKS));
        for (unsigned n : which)
            if (!write_all(blocks, contents(id(3, t, n), ++state->block[t][n].newest, BLOCK),
                           static_cast<off_t>(n * BLOCK)))
                return false;
        if (fdatasync(blocks)) return false;
        for (unsigned n : which)
            state->block[t][n].sync(state->block[t][n].newest);
        return true;
    }

    bool read(unsigned n) {
        const File f = state->file[t][n];
        std::string data;
        if (f.gone()) return true;
        if (!read_all(path("file", t, n), &data)) return false;
        if (data != contents(id(1, t, n), f.current, size_of(f.current)))
            violation("file %u-%u differs while running", t, n);
        return true;
    }

    void work() {
        log = open(path("log", t).c_str(), O_WRONLY | O_CREAT, 0600);
        blocks = open(path("blocks", t).c_str(), O_WRONLY | O_CREAT, 0600);
        if ((log < 0 || blocks < 0) && !power_off) die("open " + path("log", t));
        while (!power_off) {
            const auto n = static_cast<unsigned>(rng() % FILES);
            const uint64_t dice = rng() % 10;
            if (dice < 3   ? !replace(n)
                : dice < 4 ? !remove(n)
                : dice < 6 ? !append()
                : dice < 8 ? !overwrite()
                           : !read(n)) {
                failed("an operation on files");
                break;
            }
        }
        close(log);
        close(blocks);
    }
};

// ---- check -----------------------------------------------------------------------------------

// What is there is what counts from now on.
void check_file(unsigned t, unsigned n) {
    File& f = state->file[t][n];
    const std::string name = path("file", t, n);
    std::string data;
    if (access(name.c_str(), F_OK)) {
        if (!f.may_be(f.removed)) violation("file %u-%u is gone: %u was synced", t, n, f.synced);
        f.removed = ++f.newest;
        f.settle(f.removed);
        return;
    }
    if (!read_all(name, &data)) violation("file %u-%u cannot be read: %s", t, n, strerror(errno));
    for (uint32_t v = f.synced; v <= f.newest; v++) {
        if (!f.may_be(v) || !v || data != contents(id(1, t, n), v, size_of(v))) continue;
        f.settle(v);
        return;
    }
    violation("file %u-%u, %zu bytes, is not version %u or %u to %u", t, n, data.size(), f.synced,
              f.since, f.newest);
}

void check_log(unsigned t) {
    std::string data;
    if (!read_all(path("log", t), &data) && state->log_synced[t])
        violation("log %u cannot be read: %s", t, strerror(errno));
    if (data.size() / RECORD < state->log_synced[t])
        violation("log %u has %zu records, %u were synced", t, data.size() / RECORD,
                  state->log_synced[t]);
    for (uint32_t i = 0; i < state->log_synced[t]; i++)
        if (data.compare(i * RECORD, RECORD, contents(id(2, t, 0), i, RECORD)))
            violation("log %u: record %u of %u synced ones is wrong", t, i, state->log_synced[t]);
    state->log_newest[t] = state->log_synced[t];
    if (truncate(path("log", t).c_str(), static_cast<off_t>(state->log_synced[t] * RECORD)) &&
        state->log_synced[t])
        violation("log %u cannot be cut to its synced part: %s", t, strerror(errno));
}

// A block is one page of the file and one block of the filesystem, whose sectors may differ.
void check_blocks(unsigned t) {
    std::string data;
    if (!read_all(path("blocks", t), &data)) data.clear();
    data.resize(BLOCK * BLOCKS);
    for (unsigned n = 0; n < BLOCKS; n++) {
        File& b = state->block[t][n];
        for (size_t at = 0; at < BLOCK; at += 512) {
            bool good = !b.synced && data.compare(n * BLOCK + at, 512, std::string(512, '\0')) == 0;
            for (uint32_t v = b.synced; v <= b.newest && !good; v++)
                good = v && b.may_be(v) &&
                       !data.compare(n * BLOCK + at, 512, contents(id(3, t, n), v, BLOCK), at, 512);
            if (!good)
                violation("block %u of file %u is not version %u or %u to %u", n, t, b.synced,
                          b.since, b.newest);
        }
    }
    // Start from something known, since a block may be a mixture.
    const int fd = open(path("blocks", t).c_str(), O_WRONLY | O_CREAT, 0600);
    for (unsigned n = 0; n < BLOCKS; n++) {
        File& b = state->block[t][n];
        b.settle(++b.newest);
        if (!write_all(fd, contents(id(3, t, n), b.newest, BLOCK), static_cast<off_t>(n * BLOCK)))
            violation("block %u of file %u cannot be written: %s", n, t, strerror(errno));
    }
    if (fsync(fd)) violation("file of blocks %u cannot be synced: %s", t, strerror(errno));
    close(fd);
}

int check() {
    for (unsigned t = 0; t < THREADS; t++) {
        for (unsigned n = 0; n < FILES; n++)
            check_file(t, n);
        check_log(t);
        check_blocks(t);
    }
    sync_dir();
    return verdict_of_check();
}

} // namespace

int main(int argc, char** argv) {
    const std::string verb = argc > 1 ? argv[1] : "";
    if (!(verb == "run" && argc == 6) && !(verb == "check" && argc == 4)) {
        printf("usage: crash_files run DIR STATE SEED MS | check DIR STATE\n");
        return 2;
    }
    dir = argv[2];
    state = kept<State>(argv[3]);
    if (verb == "check") return check();
    return run_until_cut(THREADS, number(argv[5]), number(argv[4]),
                         [](unsigned t, std::mt19937_64 rng) {
                             Worker{t, rng, -1, -1}.work();
                         });
}
