// SPDX-License-Identifier: Apache-2.0
// What the rules decide, as data. Whoever carries it out knows about devices; rules know files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/model/world.hpp"
#include "agent/plan/values.hpp"
#include "hintier/types.h"

namespace hintier {

// Which rule spoke, and why: travels as `source` of a hint, so that the kernel's outcomes can be
// told apart, and is what `explain` answers.
enum class Reason : std::uint16_t {
    none,
    new_file,       // classify: a KV file has got its name
    mapped_late,    // classify: it had no place on the device before
    found_at_start, // classify: it was there before the agent
    chain_asked,    // chain: the first of a chain were looked up
    chain_opened,   // chain: the first of a chain was opened
    session_ended,  // reaper: the server said so
    long_silent,    // reaper: nobody has touched it for so long
    announced,      // announce: the server said that it will read it
    load_asked,     // a file that somebody wants to read whole
    not_worth,      // worth: reading it again is less likely than a program on bulk is dear
    regrouped,      // classify: it ages like others than before
    dearer,         // leave: computing it again is faster than reading it
    count,
};

std::string_view describe(Reason reason);

struct Advice {
    enum class Verb : std::uint8_t { classify, fetch, sequence, leave }; // leave: not fetched
    Verb verb = Verb::classify;
    std::uint8_t klass = HINTIER_CLASS_KV;
    std::uint16_t group = 0;
    Reason reason = Reason::none;
    std::uint32_t depth = 0;
    std::uint64_t object = 0;
    Place place{};
    std::uint32_t deadline_ms = 0; // fetch: from now; 0: as soon as possible
    std::uint32_t reader = 0;      // sequence: the process that reads
    bool restart = false;          // sequence: it goes another way than it was told to
};

std::string_view describe(Advice::Verb verb);

// Computing it again is faster than reading it: nothing is told of it to any tier.
inline Advice leave(const Object& object) {
    Advice advice;
    advice.verb = Advice::Verb::leave;
    advice.reason = Reason::dearer;
    advice.depth = object.depth;
    advice.object = object.id;
    return advice;
}

// A file to unlink, if `name` in `place.directory` still is `place.file`.
struct Reap {
    Reason reason = Reason::none;
    std::uint64_t object = 0;
    Place place{};
    KvName name{};
};

// Filled by the rules, emptied by whoever carries it out; keeps its memory.
struct Plan {
    std::vector<Advice> advice;
    std::vector<Reap> reap;
    const ValueTable* values = nullptr; // for all tiers, until the next tick
    Nanos values_for{};                 // so long it rules

    bool empty() const { return advice.empty() && reap.empty() && !values; }
    void clear() {
        advice.clear();
        reap.clear();
        values = nullptr;
    }
};

} // namespace hintier
