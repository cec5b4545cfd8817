// SPDX-License-Identifier: Apache-2.0
//
// fetch_test: FETCHes, and who waits for them.
//
//   fetch_test poll NODE FROM BYTES     fetches to RAM, sees each end of it by poll() and WAIT
//   fetch_test outlive NODE FROM BYTES  waits for what nobody reads, until the tier is suspended or
//                                       goes; prints what it was told
//   fetch_test hostile NODE             what a careless or hostile caller may do

#include <chrono>
#include <csignal>
#include <poll.h>
#include <string>
#include <thread>

#include <linux/fs.h>

#include "check.hpp"
#include "teller.hpp"

namespace hintier::test {
namespace {

constexpr uint64_t COOKIE = 7;

hintier_hint fetch(uint64_t from, uint64_t bytes, uint64_t cookie, uint8_t flags,
                   uint32_t deadline_ms = 0) {
    hintier_hint hint{};
    hint.verb = HINTIER_VERB_FETCH;
    hint.klass = HINTIER_CLASS_KV;
    hint.source = 5;
    hint.flags = flags;
    hint.offset = from;
    hint.length = bytes;
    hint.cookie = cookie;
    hint.deadline_ms = deadline_ms;
    return hint;
}

// An errno, or 0.
int wait(const Teller& teller, uint64_t cookie, uint32_t timeout_ms, uint32_t flags = 0) {
    hintier_wait wait{};
    wait.cookie = cookie;
    wait.timeout_ms = timeout_ms;
    wait.flags = flags;
    return ioctl(teller.fd(), HINTIER_IOC_WAIT, &wait) ? errno : 0;
}

int events(const Teller& teller, int timeout_ms) {
    pollfd one{teller.fd(), POLLIN, 0};
    return ::poll(&one, 1, timeout_ms) > 0 ? one.revents : 0;
}

void read_all(int fd, uint64_t from, uint64_t bytes) {
    Pages buffer(bytes);
    if (pread(fd, buffer.data, bytes, off_t(from)) != ssize_t(bytes)) die("read");
}

int poll(const char* node, uint64_t from, uint64_t bytes) {
    const int fd = open_node(node);
    Teller teller(fd);

    same(wait(teller, COOKIE, 0), 0, "waiting for nothing");
    same(events(teller, 0), POLLIN, "polling for nothing");

    std::vector<hintier_hint> hints;
    for (uint64_t at = from; at < from + bytes; at += bytes / 8)
        hints.push_back(fetch(at, bytes / 8, COOKIE, HINTIER_FLAG_STAGE, 20000));
    same(teller.tell(hints), 0, "FETCH");
    wait(teller, COOKIE, 0);
    same(events(teller, 10000), POLLIN, "polling for what comes");
    same(wait(teller, COOKIE, 0), 0, "waiting for what has come");

    same(wait(teller, COOKIE, 0, HINTIER_WAIT_OUTCOME), EAGAIN, "what nobody has read");
    same(events(teller, 200), 0, "polling for what nobody has read");
    same(wait(teller, COOKIE, 50, HINTIER_WAIT_OUTCOME), ETIMEDOUT, "waiting for it");
    same(wait(teller, COOKIE + 1, 0, HINTIER_WAIT_OUTCOME), 0, "another cookie");
    Teller other(fd);
    same(wait(other, COOKIE, 0, HINTIER_WAIT_OUTCOME), 0, "another teller");

    wait(teller, COOKIE, 0, HINTIER_WAIT_OUTCOME);
    std::thread reader([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        read_all(fd, from, bytes);
    });
    same(events(teller, 10000), POLLIN, "polling while it is read");
    same(wait(teller, COOKIE, 10000, HINTIER_WAIT_OUTCOME), 0, "waiting while it is read");
    reader.join();
    close(fd);
    return verdict();
}

int outlive(const char* node, uint64_t from, uint64_t bytes) {
    const int fd = open_node(node);
    Teller teller(fd);

    close(fd); // the tier is to be removed
    if (const int error = teller.tell({fetch(from, bytes, COOKIE, HINTIER_FLAG_STAGE)})) {
        errno = error;
        die("FETCH");
    }
    printf("waiting\n");
    fflush(stdout);
    const int error = wait(teller, COOKIE, HINTIER_WAIT_MAX_MS, HINTIER_WAIT_OUTCOME);
    printf("%s\n", error ? strerror(error) : "over");
    return 0;
}

void shapes(int fd) {
    Teller teller(fd);

    for (const uint32_t flags : {2U, 0x80000000U})
        same(wait(teller, 0, 0, flags), EINVAL, "unknown flags");
    same(wait(teller, 0, HINTIER_WAIT_MAX_MS + 1), EINVAL, "for longer than one may");
    same(wait(teller, 0, UINT32_MAX), EINVAL, "for ever");
    hintier_wait reserved{};
    reserved.reserved[1] = 1;
    same(ioctl(teller.fd(), HINTIER_IOC_WAIT, &reserved) ? errno : 0, EINVAL, "reserved member");
    same(ioctl(teller.fd(), HINTIER_IOC_WAIT, nullptr) ? errno : 0, EFAULT, "from nowhere");

    // All of the tier, unit by unit in a unit, and the same over and over.
    same(teller.tell({fetch(0, teller.bytes(), 1, HINTIER_FLAG_STAGE, 100)}), 0, "all of it");
    for (int i = 0; i < 200; i++)
        same(teller.tell({fetch(4096 * uint64_t(i), 4096, 2, HINTIER_FLAG_STAGE, 100)}), 0,
             "a unit");
    for (int i = 0; i < 200; i++)
        same(teller.tell({fetch(65536 + 4096 * uint64_t(i), 65536, 2, HINTIER_FLAG_STAGE, 100)}), 0,
             "what overlaps");
    same(wait(teller, 2, 20000), 0, "they come, or are cancelled");
    same(wait(teller, 1, 20000), 0, "and so does what was too much");
}

// Unstarted ones fill the ring: nothing else is lost.
void flood(int fd) {
    Teller teller(fd);
    std::vector<hintier_hint> hints(HINTIER_BATCH_MAX);

    for (size_t i = 0; i < hints.size(); i++)
        hints[i] = fetch(i % 64 * MIB, 8 * MIB, i, HINTIER_FLAG_STAGE,
                         uint32_t(20000 - i)); // each before all that were told before
    same(teller.tell(hints), ENOSPC, "a flood");
    same(teller.batch().reason, HINTIER_REASON_FULL, "its reason");
    check(teller.batch().done >= 1000, "a flood of " + std::to_string(teller.batch().done));
}

// The flood has passed, and nobody waits for those of a descriptor that is closed.
void after_the_flood(int fd) {
    Teller teller(fd);
    int error = ENOSPC;

    for (int second = 0; second < 60 && error; second++) {
        error = teller.tell({fetch(0, MIB, COOKIE, HINTIER_FLAG_STAGE, 20000)});
        std::this_thread::sleep_for(std::chrono::seconds(1));
    }
    same(error, 0, "a FETCH after the flood");
    same(wait(teller, COOKIE, 20000), 0, "waiting for it");
}

// Two that wait by one descriptor, one of them interrupted.
void interrupted(int fd) {
    Teller teller(fd);
    same(teller.tell({fetch(0, MIB, COOKIE, HINTIER_FLAG_STAGE, 20000)}), 0, "FETCH");
    struct sigaction act {};
    act.sa_handler = [](int) {};
    sigaction(SIGUSR1, &act, nullptr);
    int told = 0;
    std::thread other([&] { told = wait(teller, COOKIE, 20000, HINTIER_WAIT_OUTCOME); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    pthread_kill(other.native_handle(), SIGUSR1);
    other.join();
    same(told, EINTR, "what a signal does");
}

int hostile(const char* node) {
    const int fd = open_node(node);

    shapes(fd);
    interrupted(fd);
    flood(fd);
    after_the_flood(fd);
    close(fd);
    return verdict();
}

} // namespace
} // namespace hintier::test

int main(int argc, char** argv) {
    using namespace hintier::test;
    const std::string what = argc > 2 ? argv[1] : "";
    const auto number = [&](int i) { return strtoull(argv[i], nullptr, 10); };

    if (what == "poll" && argc > 4) return poll(argv[2], number(3), number(4));
    if (what == "outlive" && argc > 4) return outlive(argv[2], number(3), number(4));
    if (what == "hostile") return hostile(argv[2]);
    fprintf(stderr, "usage: fetch_test poll|outlive NODE FROM BYTES | hostile NODE\n");
    return 2;
}
