// SPDX-License-Identifier: Apache-2.0
//
// Who talks to whom in a trace without user names. A request continues the session that made its
// deepest known block if the known part reaches the end of what that session said last; all else
// (a fork, an edit, a new chat) opens a session. So a session's blocks are its last request's.
#pragma once

#include <cstdint>
#include <vector>

#include "qemu/replay/trace.hpp"

namespace hintier::replay {

using SessionId = std::uint32_t;

struct Sessions {
    struct Session {
        std::uint32_t first_request = 0;
        std::uint32_t last_request = 0;
        std::uint32_t turns = 0;
    };
    std::vector<SessionId> of_request; // by request
    std::vector<Session> all;
};

Sessions find_sessions(const Trace& trace);

// Blocks that no living session uses any more, told when a session ends.
struct SessionEnd {
    std::int64_t at_ms = 0;
    SessionId session = 0;
    std::vector<BlockId> dead; // head of the chain first
};

// A session lives from its first request until `notice_ms` after its last one in the whole trace.
// The list depends on the trace alone, so every configuration reaps the same files.
std::vector<SessionEnd> find_ends(const Trace& trace, const Sessions& sessions,
                                  std::int64_t notice_ms);

} // namespace hintier::replay
