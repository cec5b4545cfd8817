// SPDX-License-Identifier: Apache-2.0
//
// ht_bench: what `make bench` asks of a device and fio does not do, timed by the guest's clock.
//
//   ht_bench stream NODE FROM BYTES REQUEST [--depth N] [--buffered] [--tell]
//       reads BYTES in order, N requests in flight (1); --tell says so first with SEQUENCE.
//       Prints bytes a second
//   ht_bench kv NODE ROOM OBJECT COUNT LAG discard|done
//       writes COUNT objects one behind the other in ROOM bytes. Three of four die when
//       LAG more have been written: they are discarded; or were called volatile, are done, and are
//       discarded later. Prints the bytes that live
//   ht_bench hints NODE ROOM RANGES LENGTH
//       classifies RANGES ranges of LENGTH bytes in the first ROOM bytes, a thousand a call; prints
//       ns each
//   ht_bench bursts NODE FROM BYTES REQUEST DEPTH ON_MS OFF_MS SECONDS
//       reads with DEPTH requests in flight for ON_MS, rests for OFF_MS, and so on for SECONDS.
//       BYTES are places of 256 KiB, visited in random order, each once: no tier has seen one
//       before. Prints lines of KEY VALUE: latencies in ns
//   ht_bench writer NODE FROM BYTES REQUEST BYTES_PER_SECOND SECONDS
//       writes in order, over and over, each request at its time or, when 64 are in flight, as soon
//       as one has ended. Prints the same, with the rate it came to
//
// Requests are Linux AIO with O_DIRECT unless buffered. Blocks that are written start with the
// marker of ht_flash's store, so that it need not keep the rest of them.

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <numeric>
#include <random>
#include <sched.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include <linux/aio_abi.h>
#include <linux/fs.h>

#include <hintier/ioctl.h>

namespace {

constexpr uint64_t BLOCK = 4096;

[[noreturn]] void die(const char* what) {
    perror(what);
    exit(1);
}

uint64_t number(const char* text) {
    return strtoull(text, nullptr, 10);
}

uint64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1000000000 + uint64_t(t.tv_nsec);
}

char* pages(uint64_t bytes) {
    char* p = static_cast<char*>(aligned_alloc(BLOCK, (bytes + BLOCK - 1) / BLOCK * BLOCK));
    if (!p) die("memory");
    memset(p, 1, bytes);
    for (uint64_t at = 0; at < bytes; at += BLOCK)
        memcpy(p + at, "HTFLTAG1", 8);
    return p;
}

constexpr uint64_t MS = 1000000, SECOND = 1000 * MS;

// Times in ns, to within a 128th.
class Latencies {
public:
    void add(uint64_t ns) {
        bins_[bin(ns)]++;
        count_++;
        most_ = std::max(most_, ns);
    }

    // Lines of KEY VALUE.
    void print() const {
        printf("count %llu\np50 %.0f\np99 %.0f\np999 %.0f\nmost %llu\n",
               static_cast<unsigned long long>(count_), quantile(0.5), quantile(0.99),
               quantile(0.999), static_cast<unsigned long long>(most_));
    }

private:
    static constexpr unsigned SHIFT = 7;

    // Below 128 each value has its own; above, 128 share each doubling.
    static size_t bin(uint64_t ns) {
        const unsigned width = ns >> SHIFT ? 63U - SHIFT - unsigned(__builtin_clzll(ns)) : 0;
        return (size_t(width) << SHIFT) + size_t(ns >> width);
    }

    double quantile(double share) const {
        const double rank = share * double(count_);
        uint64_t below = 0;
        size_t i = 0;

        while (i + 1 < bins_.size() && double(below += bins_[i]) < rank)
            i++;
        const unsigned width = i >> (SHIFT + 1) ? unsigned(i >> SHIFT) - 1 : 0;
        return (double(i - (size_t(width) << SHIFT)) + 0.5) * double(uint64_t(1) << width);
    }

    std::array<uint64_t, (64 - SHIFT + 1) << SHIFT> bins_{};
    uint64_t count_ = 0, most_ = 0;
};

// With `latencies`, the time that each request took is added there.
class Queue {
public:
    Queue(int fd, unsigned depth, uint64_t most, Latencies* latencies = nullptr)
        : fd_(fd), cb_(depth), begun_(depth), latencies_(latencies) {
        if (syscall(SYS_io_setup, depth, &context_) < 0) die("io_setup");
        for (unsigned i = 0; i < depth; i++) {
            buffers_.push_back(pages(most));
            idle_.push_back(i);
        }
    }

    void start(bool write, uint64_t at, uint64_t bytes) {
        while (idle_.empty())
            wait();
        const unsigned nth = idle_.back();
        iocb* cb = &cb_[nth];

        idle_.pop_back();
        *cb = {};
        cb->aio_data = nth;
        cb->aio_fildes = uint32_t(fd_);
        cb->aio_lio_opcode = write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
        cb->aio_buf = uintptr_t(buffers_[nth]);
        cb->aio_nbytes = bytes;
        cb->aio_offset = int64_t(at);
        if (latencies_) begun_[nth] = now();
        if (syscall(SYS_io_submit, context_, 1, &cb) != 1) die("io_submit");
    }

    void drain() {
        while (idle_.size() < cb_.size())
            wait();
    }

    // Takes note of what ends until then.
    void sleep_until(uint64_t when) {
        for (uint64_t t = now(); t < when; t = now()) {
            const timespec left{time_t((when - t) / SECOND), long((when - t) % SECOND)};
            wait(&left);
        }
    }

private:
    void wait(const timespec* most = nullptr) {
        io_event event{};
        const long n = syscall(SYS_io_getevents, context_, 1, 1, &event, most);

        if (n == 0 && most) return;
        if (n != 1) die("io_getevents");
        if (latencies_) latencies_->add(now() - begun_[event.data]);
        if (event.res != int64_t(cb_[event.data].aio_nbytes)) {
            errno = int(-event.res);
            die("request");
        }
        idle_.push_back(unsigned(event.data));
    }

    int fd_;
    aio_context_t context_ = 0;
    std::vector<iocb> cb_;
    std::vector<char*> buffers_;
    std::vector<unsigned> idle_;
    std::vector<uint64_t> begun_;
    Latencies* latencies_;
};

int open_node(const char* node, int flags) {
    int fd = open(node, O_RDWR | O_CLOEXEC | flags);
    if (fd < 0) die(node);
    return fd;
}

// The tier's ear, as long as the program runs.
class Control {
public:
    explicit Control(int node) : fd_(open(HINTIER_CONTROL_PATH, O_RDWR | O_CLOEXEC)) {
        hintier_bind bind{};

        bind.fd = node;
        if (fd_ < 0 || ioctl(fd_, HINTIER_IOC_BIND, &bind)) die("BIND");
    }

    uint64_t epoch() const {
        hintier_epoch epoch{};

        if (ioctl(fd_, HINTIER_IOC_EPOCH, &epoch)) die("EPOCH");
        return epoch.epoch;
    }

    void say(std::vector<hintier_hint>& hints) const {
        hintier_batch batch{};

        batch.hints = uintptr_t(hints.data());
        batch.count = uint32_t(hints.size());
        if (ioctl(fd_, HINTIER_IOC_HINT, &batch)) die("HINT");
    }

    void say(hintier_hint hint) const {
        std::vector<hintier_hint> one(1, hint);
        say(one);
    }

private:
    int fd_;
};

hintier_hint hint_of(hintier_verb verb, uint64_t offset, uint64_t length) {
    hintier_hint hint{};

    hint.verb = uint16_t(verb);
    hint.offset = offset;
    hint.length = length;
    return hint;
}

// ---- stream ---------------------------------------------------------------------------------

void read_buffered(int fd, uint64_t from, uint64_t bytes, uint64_t request) {
    char* buffer = pages(request);

    for (uint64_t at = from; at < from + bytes; at += request)
        if (pread(fd, buffer, request, off_t(at)) != ssize_t(request)) die("read");
}

int stream(int argc, char** argv) {
    const uint64_t from = number(argv[3]), bytes = number(argv[4]), request = number(argv[5]);
    bool buffered = false, told = false;
    unsigned depth = 1;

    for (int i = 6; i < argc; i++) {
        const std::string word = argv[i];
        buffered |= word == "--buffered";
        told |= word == "--tell";
        if (word == "--depth" && i + 1 < argc) depth = unsigned(atoi(argv[++i]));
    }
    const int fd = open_node(argv[2], buffered ? 0 : O_DIRECT);
    std::vector<Control> control;
    const uint64_t start = now();
    if (told) {
        control.emplace_back(fd);
        control[0].say(hint_of(HINTIER_VERB_SEQUENCE, from, bytes));
    }
    if (buffered) {
        read_buffered(fd, from, bytes, request);
    } else {
        Queue queue(fd, depth, request);
        for (uint64_t at = from; at < from + bytes; at += request)
            queue.start(false, at, request);
        queue.drain();
    }
    printf("%.0f\n", double(bytes) * 1e9 / double(now() - start));
    return 0;
}

// ---- kv -------------------------------------------------------------------------------------

bool dies_young(uint64_t object) {
    return (object * 0x9e3779b97f4a7c15ULL >> 62) != 0;
}

// Its writer has called it volatile long ago; here both are said at once, because an epoch is a
// thing of the whole tier and 4 requests are always in flight.
void forget(const Control& control, uint64_t at, uint64_t bytes) {
    hintier_hint words[] = {hint_of(HINTIER_VERB_CLASSIFY, at, bytes),
                            hint_of(HINTIER_VERB_DONE, at, bytes)};

    words[0].klass = HINTIER_CLASS_KV;
    words[0].flags = HINTIER_FLAG_VOLATILE;
    for (hintier_hint& word : words) {
        word.epoch = control.epoch();
        control.say(word);
    }
}

int kv(char** argv) {
    const uint64_t room = number(argv[3]), object = number(argv[4]), count = number(argv[5]);
    const uint64_t lag = number(argv[6]), places = room / object, unlink_lag = 8;
    const std::string how = argv[7];
    const int fd = open_node(argv[2], O_DIRECT);
    std::vector<Control> control;
    Queue queue(fd, 4, object);
    uint64_t live = 0;

    if (how == "done") control.emplace_back(fd);
    for (uint64_t n = 0; n < count + lag + unlink_lag; n++) {
        if (n < count) queue.start(true, n % places * object, object);
        if (n < lag) continue;
        const uint64_t old = n - lag;
        if (old < count && !dies_young(old)) live += object;
        if (how == "done" && old < count && dies_young(old))
            forget(control[0], old % places * object, object);
        // A file that is done is unlinked a little later.
        const uint64_t gone = how == "done" ? old - unlink_lag : old;
        if (gone < count && dies_young(gone)) {
            uint64_t range[2] = {gone % places * object, object};
            if (ioctl(fd, BLKDISCARD, range)) die("BLKDISCARD");
        }
    }
    queue.drain();
    printf("%llu\n", static_cast<unsigned long long>(live));
    return 0;
}

// ---- hints ----------------------------------------------------------------------------------

int hints(char** argv) {
    const uint64_t places = number(argv[3]) / number(argv[5]);
    const uint64_t ranges = number(argv[4]), length = number(argv[5]);
    const int fd = open_node(argv[2], O_DIRECT);
    const Control control(fd);
    std::vector<hintier_hint> batch;

    for (uint64_t i = 0; i < 1000; i++) {
        batch.push_back(hint_of(HINTIER_VERB_CLASSIFY, i % places * length, length));
        batch.back().klass = HINTIER_CLASS_KV;
        batch.back().object = i + 1;
    }
    control.say(batch);
    const uint64_t start = now();
    for (uint64_t told = 0; told < ranges; told += batch.size())
        control.say(batch);
    printf("%.1f\n", double(now() - start) / double(ranges));
    return 0;
}

// ---- bursts and writer ----------------------------------------------------------------------

constexpr uint64_t PLACE = 256 << 10;

// The lab has one CPU. Who reads has one to himself elsewhere: here he goes first.
void go_first() {
    const sched_param first{.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &first)) die("SCHED_FIFO");
}

int bursts(char** argv) {
    const uint64_t from = number(argv[3]), bytes = number(argv[4]), request = number(argv[5]);
    const uint64_t on = number(argv[7]) * MS, off = number(argv[8]) * MS;
    std::vector<uint32_t> places(bytes / PLACE);
    std::mt19937_64 random(1);
    Latencies latencies;
    Queue queue(open_node(argv[2], O_DIRECT), unsigned(number(argv[6])), request, &latencies);
    size_t visited = 0;

    go_first();
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), random);
    uint64_t begin = now();
    for (const uint64_t end = begin + number(argv[9]) * SECOND; begin < end; begin += on + off) {
        while (now() < std::min(begin + on, end)) {
            if (visited == places.size()) {
                fprintf(stderr, "bursts: all places have been visited\n");
                return 1;
            }
            const uint64_t within = random() % (PLACE / request) * request;
            queue.start(false, from + places[visited++] * PLACE + within, request);
        }
        queue.drain();
        if (off) queue.sleep_until(begin + on + off);
    }
    latencies.print();
    return 0;
}

int writer(char** argv) {
    const uint64_t from = number(argv[3]), bytes = number(argv[4]), request = number(argv[5]);
    const double each = double(request) * double(SECOND) / double(number(argv[6]));
    Latencies latencies;
    Queue queue(open_node(argv[2], O_DIRECT), 64, request, &latencies);
    const uint64_t begin = now(), end = begin + number(argv[7]) * SECOND;
    uint64_t n = 0;

    for (double due = double(begin); now() < end && due < double(end); due += each, n++) {
        queue.sleep_until(uint64_t(due));
        queue.start(true, from + n % (bytes / request) * request, request);
    }
    queue.drain();
    latencies.print();
    printf("bps %.0f\n", double(n * request) * double(SECOND) / double(now() - begin));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";

    if (what == "stream" && argc >= 6) return stream(argc, argv);
    if (what == "kv" && argc == 8) return kv(argv);
    if (what == "hints" && argc == 6) return hints(argv);
    if (what == "bursts" && argc == 10) return bursts(argv);
    if (what == "writer" && argc == 8) return writer(argv);
    fprintf(stderr,
            "usage: ht_bench stream NODE FROM BYTES REQUEST [--depth N] [--buffered] [--tell]\n"
            "       ht_bench kv NODE ROOM OBJECT COUNT LAG discard|done\n"
            "       ht_bench hints NODE ROOM RANGES LENGTH\n"
            "       ht_bench bursts NODE FROM BYTES REQUEST DEPTH ON_MS OFF_MS SECONDS\n"
            "       ht_bench writer NODE FROM BYTES REQUEST BYTES_PER_SECOND SECONDS\n");
    return 2;
}
