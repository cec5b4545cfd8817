// SPDX-License-Identifier: Apache-2.0
//
// What a tier under a server's memory gets to see: requests, their blocks in chain order, and of
// each block whether the server's memory (an LRU of so many tokens) held it. That depends on the
// trace alone: a block that the tier has lost is made again and is in memory just the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "qemu/replay/trace.hpp"

namespace hintier::eval {

using Block = std::uint32_t;

enum class Access : std::uint8_t { held, read, written };

struct Request {
    double at = 0; // s
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint32_t full = 0; // blocks but for a partial tail
    std::uint32_t session = 0;
};

// A session's last request was seen; its blocks are those of that request.
struct End {
    double at = 0; // of the last request
    std::uint32_t request = 0;
};

struct Load {
    std::string name;
    std::string source;    // where it comes from, for the report
    bool real = false;     // read, not generated
    double tune_until = 0; // requests before are for tuning, from here on for the report;
                           // the first half of the former warms up and is not counted
    std::uint32_t memory_blocks = 0;
    std::uint32_t unique = 0; // blocks are numbered from 0 as they come
    std::vector<Request> requests;
    std::vector<Block> blocks;
    std::vector<Access> access; // beside `blocks`
    std::vector<End> ends;      // in order of time

    std::span<const Block> blocks_of(const Request& r) const {
        return {blocks.data() + r.first, r.count};
    }
    std::span<const Access> access_of(const Request& r) const {
        return {access.data() + r.first, r.count};
    }
};

// Requests in order of time, with any numbers for blocks; the rest is worked out.
class LoadBuilder {
public:
    void add(double at, std::span<const std::uint64_t> ids, std::uint32_t full);
    Load finish(std::uint32_t memory_tokens);

private:
    void look_through_memory();
    void find_sessions();

    Load load_;
    std::unordered_map<std::uint64_t, Block> numbers_;
};

// A trace in Mooncake's form.
Load chat_load(const replay::Trace& trace, std::uint32_t memory_tokens, const std::string& source);

// Throw std::runtime_error with a line that says what is wrong.
replay::Trace read_chat_trace(const std::string& path);
Load read_chat(const std::string& path, std::uint32_t memory_tokens);
Load read_agents(const std::string& path, std::uint32_t memory_tokens);
Load generate_chat(std::uint64_t seed, double hours, std::uint32_t memory_tokens);
Load generate_agents(std::uint64_t seed, double hours, std::uint32_t memory_tokens);

} // namespace hintier::eval
