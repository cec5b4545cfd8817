// SPDX-License-Identifier: Apache-2.0
// What servers say of sessions and requests, carried out on the model: the same for words that
// come over the socket and for those of a recording. Who may say what was judged before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/plan/planner.hpp"
#include "agent/plan/sessions.hpp"

namespace hintier {

struct Words {
    enum class Kind : std::uint8_t {
        started, // a session, with its blocks so far
        resumes, // it goes on in `in_ms`
        ended,
        queued, // a request waits that will read these blocks
    };
    Kind kind = Kind::started;
    bool named = false;       // `root` and `objects` are said; else they are those told before
    std::uint32_t teller = 0; // uid
    std::uint32_t root = 0;
    std::uint32_t in_ms = 0;
    Nanos time{};
    std::string session; // empty: of none
    std::vector<std::uint64_t> objects;
};

class Speech {
public:
    struct Outcome {
        std::size_t done = 0;  // blocks known, fetched, or on the reaper's list
        std::size_t named = 0; // of so many
        bool left = false;     // known, and not fetched: computing them is faster
    };

    Speech(const World& world, Planner& planner) : world_(world), planner_(planner) {}

    // Fills the planner's plan.
    Result<Outcome> hear(const Words& words);
    const Sessions& sessions() const { return sessions_; }

private:
    Outcome announce(const Words& words, std::uint32_t root,
                     const std::vector<std::uint64_t>& objects);
    Outcome count_known(const std::vector<std::uint64_t>& objects) const;
    Result<Outcome> end(const Words& words, std::uint32_t root,
                        const std::vector<std::uint64_t>& objects);

    const World& world_;
    Planner& planner_;
    Sessions sessions_;
};

} // namespace hintier
