// SPDX-License-Identifier: Apache-2.0
// How long must fast keep what is written, and how much is that? For each of several times T, a
// tier that keeps every object until nobody has used it for T: the share of reads it would have
// served, and how many objects it would have held at once. LRU of that size keeps them as long.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "agent/base/clock.hpp"

namespace hintier {

class Residency {
public:
    struct Row {
        Nanos kept{};
        std::uint64_t served = 0;  // reads of what it held
        std::uint64_t most = 0;    // objects held at once
        std::uint64_t written = 0; // to fast: new objects, and those read that it did not hold
    };

    explicit Residency(const std::vector<Nanos>& times);

    // In order of time; what comes late counts as now.
    void wrote(std::uint64_t object, Nanos now) { use(object, now, false); }
    void read(std::uint64_t object, Nanos now) { use(object, now, true); }
    void removed(std::uint64_t object, Nanos now);

    // Reads of objects that were written or read before; of others nobody knows the age.
    std::uint64_t reads() const { return reads_; }
    std::uint64_t unknown() const { return unknown_; }
    std::uint64_t writes() const { return writes_; }
    std::vector<Row> rows() const;

private:
    struct Use {
        std::uint64_t object = 0;
        std::uint64_t number = 0;
        Nanos at{};
    };
    struct Last {
        std::uint64_t number = 0; // of its last use: older ones in a queue mean nothing
        Nanos at{};
    };
    struct Window {
        Row row;
        std::deque<Use> uses; // not older than `kept`
        std::uint64_t held = 0;
    };

    void use(std::uint64_t object, Nanos now, bool reads);
    void advance(Nanos now);

    std::vector<Window> windows_;
    std::unordered_map<std::uint64_t, Last> last_;
    std::uint64_t uses_ = 0;
    std::uint64_t reads_ = 0;
    std::uint64_t unknown_ = 0;
    std::uint64_t writes_ = 0;
    Nanos now_{};
};

} // namespace hintier
