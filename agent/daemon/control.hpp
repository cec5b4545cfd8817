// SPDX-License-Identifier: Apache-2.0
// The control socket: a Unix stream socket; one JSON object a line, one line of answer to each.
// agent/client has clients in C and Python.
//
// For servers. `names` are file names of KV blocks, or paths relative to the root, head of the
// chain first; `root` is a watched directory and may be left out when there is only one; `in_ms`
// is how soon the data is wanted, 0 or left out: at once. What a session's name stands for is
// remembered for its teller, so that `names` are said once.
//
//   {"op":"session_started","session":"<id>","root":"…","names":["…",…]}
//       → {"ok":true,"known":<names that mean a file here>}
//   {"op":"session_resumes","session":"<id>","in_ms":2000}            (names may be given)
//       Its blocks are fetched by then.
//       → {"ok":true,"fetched":<blocks>,"left":<blocks that are faster to compute>,
//         "unknown":<names without a file>}
//   {"op":"request_queued","root":"…","names":["…",…],"in_ms":1000}   (session may be given)
//       A request waits that will read these blocks.
//       → as session_resumes
//   {"op":"session_ended","session":"<id>","root":"…","names":["…",…]}
//       These blocks belong to no living session any more: names, or those told before. They are
//       unlinked as the reaper rule allows; what is touched again before that stays.
//       → {"ok":true,"files":<on the list now>,"unknown":<names that mean no file we know>}
//   {"op":"load","in_ms":5000,"class":"weights","fds":1}              (class may be left out)
//       The file whose descriptor comes with the line (SCM_RIGHTS) will be read whole.
//       → {"ok":true,"bytes":<that will be fetched>}
//   {"op":"advise","names":["…",…],"recompute_ms":700}                (or "bytes" for names)
//       Is it faster to restore these blocks than to compute them in that time?
//       → {"ok":true,"restore":true|false,"restore_ms":…,"bytes":…,"bytes_per_s":…}
//       What may speak of the root's blocks also teaches what is worth to be fetched ahead below
//       it.
//
// Only root and the owner of the watched directory may speak of its sessions and blocks
// (SO_PEERCRED); any peer may have loaded what it can open.
//
// For operators.
//
//   {"op":"ping"}
//       → {"ok":true,"version":"…"}
//   {"op":"status"}
//       → {"ok":true, …}: module, tiers, roots, model, rules, hints, trace; see status.cpp
//   {"op":"explain","file":"<file name or path>"}
//       → {"ok":true,"object":"<id>","depth":…,"before":…,"after":…,"files":[…],"session":"…",
//         "why":"…"}, the last hint "hint": {"verb":…,"reason":…,"ago_s":…} if there was one, and
//         with rules.worth "worth": {"chance":<of being read again>,"drop":…, …}
//   {"op":"heat","most":<number, at most 1000>}
//       → {"ok":true,"region_bytes":…,"regions":[{"tier":"253:0","offset":…,"reads":…,…}]}
//   {"op":"models","most":<number, at most 1000>}
//       → {"ok":true,"models":[{"path":…,"known":…,"filled":<bytes>,"roles":{…},
//         "experts":[{"layer":…,"expert":…,"bytes":…,"filled":…},…]},…]}, the most filled first
//   {"op":"record","most":<bytes>,"fds":1}
//       Writes what comes in to the file whose descriptor comes with the line; see
//       source/recording.hpp. Root only.
//       → {"ok":true}
//   {"op":"record_stop"}
//       → {"ok":true,"lines":…,"bytes":…}, and "ended" if it had ended by itself: why
//   {"op":"stop_reaping"}
//       Forgets what waits to be unlinked. Root only.
//       → {"ok":true,"let_off":<files>}
//
// Anything else is answered {"ok":false,"error":"…"}. A line that is too long, or more requests a
// second than the quota of one user, is answered so and ends the connection; other errors do not.
// Descriptors that no line claims are closed with the connection; more than 16 of them end it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>

#include "agent/base/fd.hpp"
#include "agent/base/result.hpp"

namespace hintier {

// Who is at the other end, by SO_PEERCRED.
struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    gid_t gid = 0;
};

// What a server says of a session, or of a request.
struct Spoken {
    std::string session;                 // empty: of none
    std::string root;                    // empty: the only one
    std::vector<std::string_view> names; // head of the chain first; good during the call
    bool named = false;                  // names were given, if only none
    std::uint32_t in_ms = 0;
};

struct Load {
    Fd file;
    std::uint8_t klass = 0;
    std::uint32_t in_ms = 0;
};

struct Question {
    std::string root;
    std::vector<std::string_view> names;
    std::uint64_t bytes = 0; // 0: those of the names
    std::uint64_t recompute_ms = 0;
};

// What the daemon does for its peers.
class ControlService {
public:
    using Answer = Result<nlohmann::json>;

    virtual ~ControlService() = default;
    virtual Answer session_started(const Peer& peer, const Spoken& spoken) = 0;
    virtual Answer session_resumes(const Peer& peer, const Spoken& spoken) = 0;
    virtual Answer session_ended(const Peer& peer, const Spoken& spoken) = 0;
    virtual Answer request_queued(const Peer& peer, const Spoken& spoken) = 0;
    virtual Answer load(const Peer& peer, const Load& load) = 0;
    virtual Answer advise(const Peer& peer, const Question& question) = 0;
    virtual Answer record(const Peer& peer, Fd file, std::uint64_t most) = 0;
    virtual Answer record_stop(const Peer& peer) = 0;
    virtual Answer status() = 0;
    virtual Answer explain(std::string_view file) = 0;
    virtual Answer heat(std::size_t most) = 0;
    virtual Answer models(std::size_t most) = 0;
    virtual Answer stop_reaping(const Peer& peer) = 0;
};

// Descriptors that have come and were not claimed yet.
using Descriptors = std::deque<Fd>;

// The answer to one line, without the newline. Takes any bytes.
std::string answer(ControlService& service, const Peer& peer, std::string_view line,
                   Descriptors& descriptors);

// {"ok":false,"error":…}
std::string refusal(std::string_view why);

} // namespace hintier
