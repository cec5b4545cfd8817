// SPDX-License-Identifier: Apache-2.0
//
// Checks for the programs that run in the VM: one line for each that fails, and an exit status.

#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace hintier::test {

inline int failures = 0;

inline void check(bool good, const std::string& what) {
    if (good) return;
    failures++;
    printf("failed: %s\n", what.c_str());
}

template <typename A, typename B>
void same(A got, B wanted, const std::string& what) {
    check(got == static_cast<A>(wanted),
          what + " is " + std::to_string(got) + ", not " + std::to_string(wanted));
}

// Runs a command that has to succeed for the test to make sense.
inline void shell(const char* command) {
    if (system(command) == 0) return;
    printf("failed: '%s'\n", command);
    exit(1);
}

inline int verdict() {
    printf("%s\n", failures ? "some checks failed" : "all checks passed");
    return failures ? 1 : 0;
}

} // namespace hintier::test
