// SPDX-License-Identifier: Apache-2.0
//
// user_pages NODE BYTES: reads the first part of a tier twice, O_DIRECT, in 64 KiB, while another
// thread keeps writing to the buffer, as a program may (R7). What the reads bring is of no
// interest here; what the tier keeps of them is: see 082-user-pages.

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include "check.hpp"

using hintier::test::check;
using hintier::test::same;

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    constexpr size_t PIECE = 64 << 10;
    const off_t bytes = std::strtoll(argv[2], nullptr, 0);
    auto* buffer = static_cast<unsigned char*>(std::aligned_alloc(4096, PIECE));
    const int node = open(argv[1], O_RDONLY | O_DIRECT);
    check(node >= 0, "the tier cannot be opened");

    std::atomic<bool> stop = false;
    std::thread scribbler([&] {
        for (int byte = 0; !stop; byte++)
            for (size_t i = 0; i < PIECE; i += 512)
                *const_cast<volatile unsigned char*>(buffer + i) = static_cast<unsigned char>(byte);
    });
    for (int pass = 0; pass < 2; pass++)
        for (off_t at = 0; at < bytes; at += PIECE)
            same(pread(node, buffer, PIECE, at), ssize_t{PIECE}, "a read's length");
    stop = true;
    scribbler.join();
    close(node);
    return hintier::test::verdict();
}
