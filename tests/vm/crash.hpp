// SPDX-License-Identifier: Apache-2.0
//
// What the crash programs share. Each has two verbs: `run` works until the power of the devices
// below goes, which it turns off itself, and `check` looks at what came back. What was
// acknowledged is kept in a file outside the tier, mapped by both.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace hintier::test {

inline std::atomic<int> violations{0};
inline std::atomic<bool> power_off{false};

// Says the first few; counts all.
__attribute__((format(printf, 1, 2))) inline void violation(const char* format, ...) {
    if (violations++ >= 8) return;
    va_list args;
    va_start(args, format);
    printf("violation: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

[[noreturn]] inline void die(const std::string& what) {
    printf("cannot %s: %s\n", what.c_str(), strerror(errno));
    exit(2);
}

// An operation has failed. Only a cut may be the reason: a machine that works has no errors.
inline void failed(const char* what) {
    if (!power_off) violation("%s failed before the cut: %s", what, strerror(errno));
}

inline uint64_t number(const char* text) {
    return strtoull(text, nullptr, 0);
}

// The power of all ht_flash devices goes after so many milliseconds. No milliseconds: not at all.
inline std::thread cut_after(uint64_t ms, uint64_t seed) {
    return std::thread([=] {
        usleep(static_cast<useconds_t>(ms * 1000));
        const int fd = open("/sys/kernel/debug/ht_flash/control", O_WRONLY);
        const std::string command = "cut " + std::to_string(seed);
        power_off = true;
        if (fd < 0 || write(fd, command.data(), command.size()) < 0) die(command);
        close(fd);
    });
}

// A T that is kept in a file: zeros when the file is new.
template <typename T>
T* kept(const char* path, size_t count = 1) {
    const int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, static_cast<off_t>(sizeof(T) * count))) die(path);
    void* p = mmap(nullptr, sizeof(T) * count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) die(path);
    close(fd);
    return static_cast<T*>(p);
}

// Bytes that nobody else would write: they depend on all of (a, b).
inline void pattern(char* data, size_t bytes, uint64_t a, uint64_t b) {
    uint64_t x = (a * 0x9e3779b97f4a7c15ULL) ^ (b + 1) * 0xbf58476d1ce4e5b9ULL;
    for (size_t i = 0; i + 8 <= bytes; i += 8) {
        x = x * 6364136223846793005ULL + 1442695040888963407ULL;
        memcpy(data + i, &x, 8);
    }
}

// Runs `work(thread number, its random numbers)` until all have met the cut; then the verdict.
template <typename Work>
int run_until_cut(unsigned threads, uint64_t ms, uint64_t seed, const Work& work) {
    std::vector<std::thread> workers;
    std::thread cutter = cut_after(ms, seed);
    for (unsigned t = 0; t < threads; t++)
        workers.emplace_back([&, t] { work(t, std::mt19937_64(seed * 64 + t)); });
    for (auto& worker : workers)
        worker.join();
    cutter.join();
    return violations ? 1 : 0;
}

inline int verdict_of_check() {
    if (violations) printf("%d violations\n", violations.load());
    return violations ? 1 : 0;
}

} // namespace hintier::test
