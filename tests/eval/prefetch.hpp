// SPDX-License-Identifier: Apache-2.0
//
// What becomes of fetches: the daemon's World and rules, fed with a server's file events, against
// a bulk drive that takes its time for each block. Each request has a reader of its own that opens
// one block after the other; requests do not wait for each other.
#pragma once

#include "agent/plan/announce.hpp"
#include "agent/plan/chain.hpp"
#include "tests/eval/load.hpp"

namespace hintier::eval {

struct PrefetchOptions {
    bool chain = false;
    double lead = -1;  // s before it comes a request is announced; <0: never
    bool told = false; // by KV events, what follows what
    double fast_share = .05;
    double fetch_ms = 5;    // of a block of 36 MB, at depth
    double fast_ms = 6;     // to read it from fast, or from RAM
    double shallow_ms = 45; // to read it from bulk with one request in flight
};

struct PrefetchPart {
    std::uint64_t timely = 0, late = 0, unused = 0; // fetches, by how they ended
    std::uint64_t slow = 0;                         // reads of what fast did not hold
    double reading_s = 0;                           // all reads together
    double alone_s = 0;                             // the same without fetches

    double precision() const;  // of the fetches, how many were read
    double recall() const;     // of the reads of what fast did not hold, how many were fetched
    double timeliness() const; // of the fetches that were read, how many were there before
};

struct PrefetchOutcome {
    PrefetchPart tune, report;
};

PrefetchOutcome run_prefetch(const Load& load, const PrefetchOptions& options);

} // namespace hintier::eval
