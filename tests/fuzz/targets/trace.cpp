// SPDX-License-Identifier: Apache-2.0
// Traces in Mooncake's form: any text is a trace that can be replayed, or an error with its line.
#include <sstream>

#include "qemu/replay/trace.hpp"
#include "tests/fuzz/target.hpp"

using hintier::fuzz::require;

FUZZ_TARGET(trace, hintier::fuzz::no_seeds) {
    std::istringstream in(std::string(input.begin(), input.end()));
    hintier::replay::Trace trace;
    try {
        trace = hintier::replay::read_trace(in);
    } catch (const hintier::replay::TraceError& error) {
        require(std::string_view(error.what()).find("trace") != std::string_view::npos,
                "an error says what is wrong");
        return;
    }
    std::stringstream written;
    hintier::replay::write_trace(written, trace);
    const hintier::replay::Trace again = hintier::replay::read_trace(written);
    require(again.size() == trace.size(), "a trace reads back");
    for (std::size_t i = 0; i < trace.size(); i++) {
        require(again[i].blocks == trace[i].blocks && again[i].arrival_ms == trace[i].arrival_ms,
                "and so does each request");
        require(trace[i].full_blocks() <= trace[i].blocks.size() && !trace[i].blocks.empty(),
                "a request has its blocks");
    }
    require(hintier::replay::take_chains(trace, 3).size() <= trace.size(), "a part of the chains");
    hintier::replay::spread_arrivals(trace);
    for (std::size_t i = 1; i < trace.size(); i++)
        require(trace[i].arrival_ms >= trace[i - 1].arrival_ms, "arrivals keep their order");
}
