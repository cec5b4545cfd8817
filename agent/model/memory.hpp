// SPDX-License-Identifier: Apache-2.0
// What the model remembers of single objects and sessions over a restart: how popular an object
// is, how it ages, and since when its session has been thinking. Whoever keeps it may use another
// clock for `used_s` than the model's.
#pragma once

#include <cstdint>
#include <vector>

namespace hintier {

struct ObjectMemory {
    std::uint64_t id = 0;
    double used_s = 0;         // when it was used last
    std::uint32_t made_by = 0; // session
    std::uint32_t used_by = 0; // last
    std::uint32_t depth = 0;
    std::uint32_t successors = 0;
    std::uint8_t group = 0;
    bool partial = false;

    bool operator==(const ObjectMemory&) const = default;
};

struct SessionMemory {
    std::uint32_t number = 0;
    std::uint32_t turns = 0;
    std::uint32_t full = 0; // objects of its last request, without a partial one
    bool ended = false;

    bool operator==(const SessionMemory&) const = default;
};

struct Memories {
    std::vector<ObjectMemory> objects;
    std::vector<SessionMemory> sessions;

    bool empty() const { return objects.empty() && sessions.empty(); }
};

} // namespace hintier
