// SPDX-License-Identifier: Apache-2.0
// The control socket: a Unix stream socket; one JSON object a line, one line of answer to each.
//
//   {"op":"ping"}
//       → {"ok":true,"version":"…"}
//   {"op":"status"}
//       → {"ok":true, …}: module, tiers, roots, model, rules, hints, trace; see status.cpp
//   {"op":"session_ended","session":"<id>","root":"<watched directory>","names":["<file>", …]}
//       These blocks belong to no living session any more: names are file names, or paths
//       relative to the root, head of the chain first. They are unlinked as the reaper rule
//       allows; what is touched again before that stays. `root` may be left out when there is
//       only one; `session` is for the log.
//       → {"ok":true,"files":<on the list now>,"unknown":<names that mean no file we know>}
//       Only root and the owner of the watched directory may say so (SO_PEERCRED).
//   {"op":"explain","file":"<file name or path>"}
//       → {"ok":true,"object":"<id>","depth":…,"before":…,"after":…,"files":[…],"why":"…"}
//   {"op":"heat","most":<number, at most 1000>}
//       → {"ok":true,"region_bytes":…,"regions":[{"tier":"253:0","offset":…,"reads":…,…}]}
//   {"op":"stop_reaping"}
//       Forgets what waits to be unlinked. Root only.
//       → {"ok":true,"let_off":<files>}
//
// Anything else is answered {"ok":false,"error":"…"}. A line that is too long, or more requests a
// second than the quota, is answered so and ends the connection; other errors do not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>

#include "agent/base/result.hpp"

namespace hintier {

// Who is at the other end, by SO_PEERCRED.
struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    gid_t gid = 0;
};

struct SessionEnded {
    std::string session;
    std::string root;                    // empty: the only one
    std::vector<std::string_view> names; // head of the chain first; good during the call
};

// What the daemon does for its peers.
class ControlService {
public:
    virtual ~ControlService() = default;
    virtual Result<nlohmann::json> status() = 0;
    virtual Result<nlohmann::json> session_ended(const Peer& peer, const SessionEnded& ended) = 0;
    virtual Result<nlohmann::json> explain(std::string_view file) = 0;
    virtual Result<nlohmann::json> heat(std::size_t most) = 0;
    virtual Result<nlohmann::json> stop_reaping(const Peer& peer) = 0;
};

// The answer to one line, without the newline. Takes any bytes.
std::string answer(ControlService& service, const Peer& peer, std::string_view line);

// {"ok":false,"error":…}
std::string refusal(std::string_view why);

} // namespace hintier
