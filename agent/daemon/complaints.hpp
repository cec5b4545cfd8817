// SPDX-License-Identifier: Apache-2.0
// Warnings about things that may happen thousands of times a second: at most one a while of each
// kind, which says how many were left out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "agent/base/clock.hpp"
#include "agent/base/log.hpp"

namespace hintier {

class Complaints {
public:
    static constexpr Nanos quiet = 30s;

    // `kind` is one of a few fixed words; `text` may differ each time.
    void say(std::string_view kind, std::string_view text, Nanos now) {
        State& state = states_[std::string(kind)];
        if (state.said && now - state.at < quiet) {
            ++state.left_out;
            return;
        }
        if (state.left_out) {
            log::warning("{}: {} ({} more since)", kind, text, state.left_out);
        } else {
            log::warning("{}: {}", kind, text);
        }
        state = {true, now, 0};
    }

private:
    struct State {
        bool said = false;
        Nanos at{};
        std::uint64_t left_out = 0;
    };
    std::unordered_map<std::string, State> states_;
};

} // namespace hintier
