// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/target.hpp"

namespace hintier::fuzz {

std::vector<Target>& targets() {
    static std::vector<Target> all;
    return all;
}

const Target* find_target(std::string_view name) {
    for (const Target& target : targets())
        if (name == target.name) return &target;
    return nullptr;
}

} // namespace hintier::fuzz
