// SPDX-License-Identifier: Apache-2.0
//
// How well the chain rule knows what a request goes on to read: the daemon's World and ChainRule,
// fed with the file events that such a server causes below a tier's file system.
#pragma once

#include "agent/plan/chain.hpp"
#include "tests/eval/load.hpp"

namespace hintier::eval {

struct ChainPart {
    std::uint64_t requests = 0; // that read more than one block from the tier
    std::uint64_t whole = 0;    // of them, those of which everything further was fetched in time
    std::uint64_t further = 0;  // reads after a request's first
    std::uint64_t covered = 0;  // of them, fetched before they were opened
    std::uint64_t useful = 0;   // fetched, and of the request's chain
    std::uint64_t wasted = 0;   // fetched, and not
};

struct ChainOutcome {
    ChainPart tune, report;
};

enum class Reader {
    one_by_one,   // looks a block up and opens it, then the next
    lookups_first // looks all up, then opens them, as vLLM does
};

// `told`: the server's KV events say of each block it computes which one it follows. Without them
// a block that follows one which memory has is not known to.
ChainOutcome run_chain(const Load& load, const ChainRule::Config& config, Reader reader, bool told);

// Fetches all that may follow from the first block that is read; nothing else triggers it.
ChainRule::Config from_first_read();

} // namespace hintier::eval
