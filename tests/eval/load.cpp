// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/load.hpp"

#include <algorithm>
#include <list>

#include <fmt/format.h>

#include "qemu/replay/generate.hpp"
#include "qemu/replay/trace.hpp"

namespace hintier::eval {

namespace {

constexpr std::uint32_t block_tokens = 512;

} // namespace

void LoadBuilder::add(double at, std::span<const std::uint64_t> ids, std::uint32_t full) {
    load_.requests.push_back({at, static_cast<std::uint32_t>(load_.blocks.size()),
                              static_cast<std::uint32_t>(ids.size()), full, 0});
    for (const auto id : ids)
        load_.blocks.push_back(
            numbers_.try_emplace(id, static_cast<Block>(numbers_.size())).first->second);
}

Load LoadBuilder::finish(std::uint32_t memory_tokens) {
    load_.unique = static_cast<std::uint32_t>(numbers_.size());
    load_.memory_blocks = memory_tokens / block_tokens;
    look_through_memory();
    find_sessions();
    return std::move(load_);
}

void LoadBuilder::look_through_memory() {
    std::vector<std::list<Block>::iterator> place(load_.unique);
    std::vector<std::uint8_t> state(load_.unique); // 0 never seen, 1 seen, 2 in memory
    std::list<Block> memory;
    for (const Block block : load_.blocks) {
        if (state[block] == 2) {
            memory.splice(memory.end(), memory, place[block]);
            load_.access.push_back(Access::held);
            continue;
        }
        load_.access.push_back(state[block] ? Access::read : Access::written);
        state[block] = 2;
        place[block] = memory.insert(memory.end(), block);
        if (memory.size() > load_.memory_blocks) {
            state[memory.front()] = 1;
            memory.pop_front();
        }
    }
}

// A request goes on with the session that made its deepest known block if it has all full blocks
// of that session's last request.
void LoadBuilder::find_sessions() {
    constexpr std::uint32_t nobody = ~0U;
    std::vector<std::uint32_t> maker(load_.unique, nobody);
    std::vector<std::uint32_t> last;
    for (std::uint32_t i = 0; i < load_.requests.size(); i++) {
        const Request& request = load_.requests[i];
        const auto blocks = load_.blocks_of(request);
        std::size_t known = 0;
        while (known < blocks.size() && maker[blocks[known]] != nobody)
            known++;
        auto session = static_cast<std::uint32_t>(last.size());
        if (known > 0) {
            const auto candidate = maker[blocks[known - 1]];
            const auto said = load_.requests[last[candidate]].full;
            if (said > 0 && known >= said) session = candidate;
        }
        if (session == last.size()) last.push_back(i);
        last[session] = i;
        load_.requests[i].session = session;
        for (const Block block : blocks)
            if (maker[block] == nobody) maker[block] = session;
    }
    for (const auto request : last)
        load_.ends.push_back({load_.requests[request].at, request});
    std::sort(load_.ends.begin(), load_.ends.end(), [](const End& a, const End& b) {
        return a.at != b.at ? a.at < b.at : a.request < b.request;
    });
}

Load chat_load(const replay::Trace& trace, std::uint32_t memory_tokens, const std::string& source) {
    LoadBuilder builder;
    std::vector<std::uint64_t> ids;
    for (const auto& request : trace) {
        ids.assign(request.blocks.begin(), request.blocks.end());
        builder.add(double(request.arrival_ms) / 1000, ids,
                    static_cast<std::uint32_t>(request.full_blocks()));
    }
    Load load = builder.finish(memory_tokens);
    load.name = "chat";
    load.source = source;
    load.tune_until = double(trace.back().arrival_ms) / 2000;
    return load;
}

Load generate_chat(std::uint64_t seed, double hours, std::uint32_t memory_tokens) {
    return chat_load(replay::generate_trace(seed, hours), memory_tokens,
                     fmt::format("generated, seed {}, {} h", seed, hours));
}

} // namespace hintier::eval
