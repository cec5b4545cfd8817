// SPDX-License-Identifier: Apache-2.0
//
// A trace of requests in Mooncake's form: one JSON object a line, `hash_ids` being prefix-chained
// ids of the 512-token blocks of the input, of which the last may be partial.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

#include "qemu/replay/block.hpp"

namespace hintier::replay {

struct TraceRequest {
    std::int64_t arrival_ms = 0;
    std::uint32_t input_tokens = 0;
    std::uint32_t output_tokens = 0;
    std::vector<BlockId> blocks;

    // Only full blocks are stored and found again, as in vLLM; a partial tail is always computed.
    std::size_t full_blocks() const { return input_tokens / kBlockTokens; }
};

using Trace = std::vector<TraceRequest>;

struct TraceError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Throws TraceError naming the line that cannot be used.
Trace read_trace(std::istream& in);
Trace read_trace_file(const std::string& path); // "-" is standard input
void write_trace(std::ostream& out, const Trace& trace);

// Log stamps are coarse (3 s in Mooncake's traces) and users do not arrive on a tick together:
// requests with one stamp are spread evenly up to the next one, at most over 3 s.
void spread_arrivals(Trace& trace);

// One chain family in `parts`: requests that share their first block below the root stay together.
Trace take_chains(const Trace& trace, unsigned parts);

} // namespace hintier::replay
