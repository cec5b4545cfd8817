// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/trace.hpp"

#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <fmt/ostream.h>

namespace hintier::replay {

namespace {

// A whole number up to `most`: JSON also has negative ones, fractions and larger ones.
template <class T>
T whole(const nlohmann::json& value, const char* what, std::uint64_t most) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most)
        throw TraceError(fmt::format("{} is not a number from 0 to {}", what, most));
    return static_cast<T>(value.get<std::uint64_t>());
}

TraceRequest parse_line(const std::string& line) {
    constexpr std::uint64_t kMostTokens = 1U << 30;
    constexpr std::uint64_t kMostMs = 1ULL << 53; // what doubles in other tools hold exactly
    const auto json = nlohmann::json::parse(line);
    TraceRequest request;
    request.arrival_ms = whole<std::int64_t>(json.at("timestamp"), "timestamp", kMostMs);
    request.input_tokens =
        whole<std::uint32_t>(json.at("input_length"), "input_length", kMostTokens);
    request.output_tokens =
        whole<std::uint32_t>(json.at("output_length"), "output_length", kMostTokens);
    for (const auto& id : json.at("hash_ids"))
        request.blocks.push_back(
            whole<BlockId>(id, "a hash_id", std::numeric_limits<BlockId>::max()));
    if (!request.input_tokens) throw TraceError("a request without input");
    if (request.blocks.size() != (request.input_tokens + kBlockTokens - 1) / kBlockTokens)
        throw TraceError(fmt::format("{} hash_ids do not cover {} tokens in blocks of {}",
                                     request.blocks.size(), request.input_tokens, kBlockTokens));
    return request;
}

} // namespace

Trace read_trace(std::istream& in) {
    Trace trace;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); number++) {
        if (line.empty()) continue;
        try {
            trace.push_back(parse_line(line));
        } catch (const std::exception& error) {
            throw TraceError(fmt::format("trace line {}: {}", number, error.what()));
        }
        if (trace.size() > 1 && trace.back().arrival_ms < trace[trace.size() - 2].arrival_ms)
            throw TraceError(fmt::format("trace line {}: timestamps must not go back", number));
    }
    if (trace.empty()) throw TraceError("the trace has no requests");
    return trace;
}

Trace read_trace_file(const std::string& path) {
    if (path == "-") return read_trace(std::cin);
    std::ifstream file(path);
    if (!file)
        throw TraceError(fmt::format("cannot read trace {}: {}", path, std::strerror(errno)));
    return read_trace(file);
}

void write_trace(std::ostream& out, const Trace& trace) {
    for (const auto& request : trace)
        fmt::print(out,
                   "{{\"timestamp\": {}, \"input_length\": {}, \"output_length\": {}, "
                   "\"hash_ids\": [{}]}}\n",
                   request.arrival_ms, request.input_tokens, request.output_tokens,
                   fmt::join(request.blocks, ", "));
}

void spread_arrivals(Trace& trace) {
    constexpr std::int64_t kTick = 3000;
    for (std::size_t first = 0, next; first < trace.size(); first = next) {
        const std::int64_t stamp = trace[first].arrival_ms;
        next = first;
        while (next < trace.size() && trace[next].arrival_ms == stamp)
            next++;
        const std::int64_t room =
            next < trace.size() ? std::min(kTick, trace[next].arrival_ms - stamp) : kTick;
        const auto count = static_cast<std::int64_t>(next - first);
        for (std::int64_t i = 0; i < count; i++)
            trace[first + static_cast<std::size_t>(i)].arrival_ms += room * i / count;
    }
}

Trace take_chains(const Trace& trace, unsigned parts) {
    Trace taken;
    for (const auto& request : trace) {
        const BlockId family = request.blocks.size() > 1 ? request.blocks[1] : request.blocks[0];
        if (hash_of(family) % parts == 0) taken.push_back(request);
    }
    return taken;
}

} // namespace hintier::replay
