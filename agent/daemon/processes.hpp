// SPDX-License-Identifier: Apache-2.0
// Processes that infer, as far as their calls and opens tell: for operators to look at.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "agent/base/clock.hpp"
#include "agent/model/event.hpp"

namespace hintier {

class Processes {
public:
    static constexpr std::size_t most = 256; // beyond, the idlest is forgotten
    static constexpr std::size_t calls = 5;  // enum Call

    struct Process {
        std::string name;        // as the kernel calls it; empty: it had gone by then
        std::uint64_t files = 0; // opened
        std::array<std::uint64_t, calls> entered{};
        std::uint64_t tokens = 0; // of decode and encode
        Call inside = Call::none; // the call it is in
        Nanos seen{};
    };

    void apply(const Event& event);
    const std::unordered_map<std::uint32_t, Process>& all() const { return all_; }

private:
    std::unordered_map<std::uint32_t, Process> all_;
};

} // namespace hintier
