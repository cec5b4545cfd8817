// SPDX-License-Identifier: Apache-2.0
//
// stage_test: sequences told to a tier.
//
//   stage_test order NODE FROM BYTES REQUEST [OUT]  tells the second half before the first, reads
//                                                   in that order from a queue of one; OUT gets
//                                                   what was read, in the order of the tier
//   stage_test hold NODE BYTES                      tells, and reads nothing for a second
//   stage_test hostile NODE                         what a careless or hostile caller may do

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <vector>

#include <linux/fs.h>

#include <hintier/ioctl.h>

#include "check.hpp"
#include "teller.hpp"

namespace hintier::test {
namespace {

int order(const char* node, uint64_t from, uint64_t bytes, uint64_t request, const char* out) {
    const int fd = open_node(node);
    const int to = out ? open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    const uint64_t half = bytes / 2;
    Teller teller(fd);
    Pages buffer(request);

    for (const uint64_t start : {from + half, from})
        if (const int error = teller.tell(start, half)) {
            errno = error;
            die("SEQUENCE");
        }
    for (const uint64_t start : {from + half, from})
        for (uint64_t at = start; at < start + half; at += request) {
            if (pread(fd, buffer.data, request, off_t(at)) != ssize_t(request)) die("read");
            if (to >= 0 && pwrite(to, buffer.data, request, off_t(at - from)) != ssize_t(request))
                die(out);
        }
    close(to);
    close(fd);
    return 0;
}

int hold(const char* node, uint64_t bytes) {
    const int fd = open_node(node);
    Teller teller(fd);

    if (const int error = teller.tell(0, bytes)) {
        errno = error;
        die("SEQUENCE");
    }
    sleep(1);
    return 0;
}

void flood(int fd) {
    Teller teller(fd);
    std::vector<hintier_hint> hints(HINTIER_BATCH_MAX);
    int error = 0;

    for (uint64_t cookie = 0; cookie < 100 && !error; cookie++)
        error = teller.tell(cookie * MIB, MIB, cookie);
    same(error, ENOSPC, "what a flood of sequences meets");
    same(teller.batch().reason, HINTIER_REASON_FULL, "its reason");

    // Ranges that do not continue each other, until there is no room for more.
    for (size_t i = 0; i < hints.size(); i++) {
        hints[i] = {};
        hints[i].verb = HINTIER_VERB_SEQUENCE;
        hints[i].offset = i * 5 % 4096 * 8192;
        hints[i].length = 4096;
        hints[i].cookie = i % 48;
    }
    error = 0;
    for (int round = 0; round < 4 && !error; round++)
        error = teller.tell(hints);
    same(error, ENOSPC, "what a flood of ranges meets");
    check(teller.batch().done < hints.size(), "a full table stops a batch");

    // Others have their own descriptor, and the same table.
    Teller other(fd);
    same(other.tell(0, MIB), ENOSPC, "what another meets then");
}

void shapes(int fd) {
    Teller teller(fd);
    const uint64_t bytes = teller.bytes();

    same(teller.tell(0, 0), ERANGE, "nothing");
    same(teller.tell(1, 4096), EINVAL, "a crooked start");
    same(teller.tell(0, 4097), EINVAL, "a crooked end");
    same(teller.tell(bytes, 4096), ERANGE, "the end");
    same(teller.tell(0, bytes + 4096), ERANGE, "more than all");
    same(teller.tell(4096, UINT64_MAX - 4095), ERANGE, "a sum that wraps");
    same(teller.tell(0, bytes, 1, UINT32_MAX), 0, "all of it, in a window of 16 TiB");
    same(teller.tell(0, bytes, 2, 1), 0, "all of it, unit by unit");
    same(teller.tell(0, bytes, 2, 1), 0, "and again");

    hintier_hint hint{};
    hint.verb = HINTIER_VERB_SEQUENCE;
    hint.length = 4096;
    hint.flags = HINTIER_FLAG_STAGE;
    check(teller.tell({hint}) != 0, "a flag of another verb is refused");
    hint.flags = 0;
    hint.reserved = 1;
    same(teller.tell({hint}), EINVAL, "a reserved member");
}

// Writes all of it, or has it zeroed.
void change(int fd, const Pages& buffer, uint64_t at, uint64_t bytes, char mark) {
    uint64_t range[2] = {at, bytes};

    memset(buffer.data, mark, bytes);
    if (mark ? pwrite(fd, buffer.data, bytes, off_t(at)) != ssize_t(bytes)
             : ioctl(fd, BLKZEROOUT, range))
        die("write");
}

// Told, changed while it is read ahead, and read.
void changed(int fd) {
    constexpr uint64_t AREA = 8 * MIB, REQUEST = 64 << 10;
    Pages buffer(REQUEST);

    for (int round = 0; round < 32; round++) {
        Teller teller(fd);
        teller.tell(0, AREA);
        for (uint64_t at = 0; at < AREA; at += REQUEST) {
            const char mark = char((at / REQUEST + unsigned(round)) % 3 * unsigned(1 + round));
            change(fd, buffer, at, REQUEST, mark);
            memset(buffer.data, ~mark, REQUEST);
            if (pread(fd, buffer.data, REQUEST, off_t(at)) != ssize_t(REQUEST)) die("read");
            bool right = true;
            for (uint64_t i = 0; i < REQUEST; i++)
                right &= buffer.data[i] == mark;
            check(right, "round " + std::to_string(round) + ": what was changed at " +
                             std::to_string(at) + " is read");
        }
    }
}

int hostile(const char* node) {
    const int fd = open_node(node);
    Pages keep(8 * MIB);

    if (pread(fd, keep.data, 8 * MIB, 0) != ssize_t(8 * MIB)) die("read");
    shapes(fd);
    flood(fd);
    shapes(fd); // what was told is forgotten with its descriptor
    changed(fd);
    if (pwrite(fd, keep.data, 8 * MIB, 0) != ssize_t(8 * MIB)) die("write");
    close(fd);
    return verdict();
}

} // namespace
} // namespace hintier::test

int main(int argc, char** argv) {
    using namespace hintier::test;
    const std::string what = argc > 2 ? argv[1] : "";

    if (what == "order" && argc > 5)
        return order(argv[2], strtoull(argv[3], nullptr, 10), strtoull(argv[4], nullptr, 10),
                     strtoull(argv[5], nullptr, 10), argc > 6 ? argv[6] : nullptr);
    if (what == "hold" && argc > 3) return hold(argv[2], strtoull(argv[3], nullptr, 10));
    if (what == "hostile") return hostile(argv[2]);
    fprintf(stderr, "usage: stage_test order NODE FROM BYTES REQUEST [OUT] | hold NODE BYTES | "
                    "hostile NODE\n");
    return 2;
}
