// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/plan.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>

namespace hintier::replay {

namespace {

struct Header {
    char magic[8];
    std::uint32_t length_ms, mark_ms, block_limit;
    std::uint32_t requests, blocks, ends, dead;
};

constexpr char kMagic[8] = {'H', 'T', 'P', 'L', 'A', 'N', '1', '\0'};

template <typename T>
void put(std::ofstream& out, const std::vector<T>& values) {
    out.write(reinterpret_cast<const char*>(values.data()),
              static_cast<std::streamsize>(values.size() * sizeof(T)));
}

template <typename T>
bool get(std::ifstream& in, std::vector<T>& values, std::uint32_t count) {
    constexpr std::uint32_t kMost = 1u << 26; // a damaged count must not ask for all memory
    if (count > kMost) return false;
    values.resize(count);
    in.read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(T)));
    return bool(in);
}

template <typename Item>
bool spans_fit(const std::vector<Item>& items, std::size_t limit) {
    return std::all_of(items.begin(), items.end(), [&](const Item& item) {
        return std::uint64_t{item.first} + item.count <= limit;
    });
}

bool consistent(const Plan& plan) {
    const auto known = [&](BlockId block) { return block < plan.block_limit; };
    return spans_fit(plan.requests, plan.blocks.size()) && spans_fit(plan.ends, plan.dead.size()) &&
           std::all_of(plan.blocks.begin(), plan.blocks.end(), known) &&
           std::all_of(plan.dead.begin(), plan.dead.end(), known) &&
           std::all_of(plan.requests.begin(), plan.requests.end(), [](const PlanRequest& r) {
               return r.count <= r.input_tokens / kBlockTokens;
           });
}

} // namespace

Plan make_plan(const Trace& trace, const PlanOptions& options) {
    Plan plan;
    plan.length_ms = options.length_ms;
    plan.mark_ms = options.mark_ms;
    for (const auto& request : trace) {
        if (request.arrival_ms < 0 || request.arrival_ms >= options.length_ms) continue;
        const auto full = request.full_blocks();
        plan.requests.push_back(
            {static_cast<std::uint32_t>(request.arrival_ms), request.input_tokens,
             static_cast<std::uint32_t>(plan.blocks.size()), static_cast<std::uint32_t>(full)});
        plan.blocks.insert(plan.blocks.end(), request.blocks.begin(),
                           request.blocks.begin() + static_cast<std::ptrdiff_t>(full));
    }
    if (options.ends)
        for (const auto& end : find_ends(trace, find_sessions(trace), options.notice_ms)) {
            if (end.at_ms >= options.length_ms) break;
            plan.ends.push_back({static_cast<std::uint32_t>(end.at_ms), end.session,
                                 static_cast<std::uint32_t>(plan.dead.size()),
                                 static_cast<std::uint32_t>(end.dead.size())});
            plan.dead.insert(plan.dead.end(), end.dead.begin(), end.dead.end());
        }
    if (!plan.blocks.empty())
        plan.block_limit = *std::max_element(plan.blocks.begin(), plan.blocks.end()) + 1;
    return plan;
}

void save_plan(const Plan& plan, const std::string& path) {
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof(kMagic));
    header.length_ms = plan.length_ms;
    header.mark_ms = plan.mark_ms;
    header.block_limit = plan.block_limit;
    header.requests = static_cast<std::uint32_t>(plan.requests.size());
    header.blocks = static_cast<std::uint32_t>(plan.blocks.size());
    header.ends = static_cast<std::uint32_t>(plan.ends.size());
    header.dead = static_cast<std::uint32_t>(plan.dead.size());

    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&header), sizeof(header));
    put(out, plan.requests);
    put(out, plan.blocks);
    put(out, plan.ends);
    put(out, plan.dead);
    out.close();
    if (!out)
        throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

Plan load_plan(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in)
        throw std::runtime_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    Header header{};
    in.read(reinterpret_cast<char*>(&header), sizeof(header));
    if (!in || std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
        throw std::runtime_error(path + " is not a plan; make one with 'ht_replay plan'");
    Plan plan;
    plan.length_ms = header.length_ms;
    plan.mark_ms = header.mark_ms;
    plan.block_limit = header.block_limit;
    if (!get(in, plan.requests, header.requests) || !get(in, plan.blocks, header.blocks) ||
        !get(in, plan.ends, header.ends) || !get(in, plan.dead, header.dead) || !consistent(plan))
        throw std::runtime_error(path + " is damaged; make it again with 'ht_replay plan'");
    return plan;
}

} // namespace hintier::replay
