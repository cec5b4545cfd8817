// SPDX-License-Identifier: Apache-2.0
//
// What the programs share that give hints by themselves.

#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include <hintier/ioctl.h>

namespace hintier::test {

constexpr uint64_t MIB = 1 << 20;

[[noreturn]] inline void die(const char* what) {
    fprintf(stderr, "%s: %s: error: %s\n", program_invocation_short_name, what, strerror(errno));
    exit(1);
}

// A descriptor of the control device, bound to a tier.
class Teller {
public:
    explicit Teller(int node) : fd_(open(HINTIER_CONTROL_PATH, O_RDWR | O_CLOEXEC)) {
        bind_.fd = node;
        if (fd_ < 0 || ioctl(fd_, HINTIER_IOC_BIND, &bind_)) die("BIND");
    }
    ~Teller() { close(fd_); }
    Teller(const Teller&) = delete;
    Teller& operator=(const Teller&) = delete;

    uint64_t bytes() const { return bind_.bytes; }

    // An errno, or 0.
    int tell(uint64_t from, uint64_t length, uint64_t cookie = 1, uint32_t window = 0) {
        hintier_hint hint{};
        hint.verb = HINTIER_VERB_SEQUENCE;
        hint.offset = from;
        hint.length = length;
        hint.cookie = cookie;
        hint.depth = window;
        return tell({hint});
    }

    int tell(const std::vector<hintier_hint>& hints) {
        batch_ = {};
        batch_.hints = uintptr_t(hints.data());
        batch_.count = uint32_t(hints.size());
        return ioctl(fd_, HINTIER_IOC_HINT, &batch_) ? errno : 0;
    }

    const hintier_batch& batch() const { return batch_; }
    int fd() const { return fd_; }

private:
    int fd_;
    hintier_bind bind_{};
    hintier_batch batch_{};
};

inline int open_node(const char* node) {
    int fd = open(node, O_RDWR | O_DIRECT | O_CLOEXEC);
    if (fd < 0) die(node);
    return fd;
}

struct Pages {
    explicit Pages(uint64_t bytes) : data(static_cast<char*>(aligned_alloc(4096, bytes))) {}
    ~Pages() { free(data); }
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    char* data;
};

} // namespace hintier::test
