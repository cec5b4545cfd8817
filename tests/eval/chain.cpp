// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/chain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include <fmt/format.h>

namespace hintier::eval {

namespace {

constexpr std::uint32_t device = 7U << 20;
constexpr std::uint32_t process = 100;

class ChainRun {
public:
    ChainRun(const Load& load, const ChainRule::Config& config, Reader reader, bool told)
        : load_(load), reader_(reader), told_(told),
          world_({}, {{"/kv", find_adapter("vllm-fs"), 1, false}}), rule_(config) {}

    ChainOutcome go() {
        ChainOutcome outcome;
        for (const Request& request : load_.requests) {
            ChainPart& part = request.at < load_.tune_until ? outcome.tune : outcome.report;
            // Far enough from the request before for nobody to take them for one.
            now_ = std::max(now_ + 2 * World::Config().chain_gap,
                            Nanos(std::llround(request.at * 1e9)));
            ++thread_;
            serve(request, part);
            rule_.tick(now_ += 1ms);
        }
        return outcome;
    }

private:
    void serve(const Request& request, ChainPart& part) {
        const auto blocks = load_.blocks_of(request).first(request.full);
        const auto access = load_.access_of(request).first(request.full);
        fetched_.clear();
        std::vector<Block> found;
        bool asks = true;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (access[i] == Access::held || !asks) continue;
            asks = access[i] == Access::read; // no further than the first miss
            apply(EventKind::lookup, blocks[i], asks);
            if (!asks) continue;
            found.push_back(blocks[i]);
            if (reader_ == Reader::one_by_one) open(blocks[i], found.size() > 1, part);
        }
        if (reader_ == Reader::lookups_first) {
            for (const Block block : found)
                open(block, block != found.front(), part);
        }
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (access[i] != Access::written) continue;
            if (told_) stored(blocks[i], i > 0 ? blocks[i - 1] + 1ULL : 0);
            write(blocks[i]);
        }

        if (found.size() > 1) {
            part.requests++;
            part.whole += missed_ == 0;
        }
        missed_ = 0;
        const std::unordered_set<Block> wanted(blocks.begin(), blocks.end());
        for (const Block block : fetched_)
            wanted.contains(block) ? part.useful++ : part.wasted++;
    }

    void open(Block block, bool further, ChainPart& part) {
        if (further) {
            part.further++;
            const bool covered = fetched_.contains(block);
            part.covered += covered;
            missed_ += !covered;
        }
        apply(EventKind::opened, block, true);
    }

    void write(Block block) {
        Event event;
        event.kind = EventKind::opened;
        event.created = event.writing = true;
        send(event, block, "_1.tmp");
        event.kind = EventKind::renamed;
        event.created = event.writing = false;
        send(event, block, "");
    }

    void stored(Block block, std::uint64_t before) {
        const std::string digits = fmt::format("{:016x}", block + 1ULL);
        Event event;
        event.kind = EventKind::stored;
        event.time = now_ += 1us;
        event.before = before;
        event.name = digits;
        (void)world_.apply(event);
    }

    void apply(EventKind kind, Block block, bool found) {
        Event event;
        event.kind = kind;
        event.found = found;
        send(event, block, "");
    }

    void send(Event event, Block block, const char* suffix) {
        const std::string name = fmt::format("{:016x}.bin{}", block + 1ULL, suffix);
        event.name = name;
        event.time = now_ += 1us;
        event.pid = process;
        event.tid = thread_;
        event.parent = {device, 1, 2};
        if (event.kind != EventKind::lookup) event.file = {device, 1, block + 100ULL};
        plan_.clear();
        rule_.observe(world_, world_.apply(event), now_, restore_, plan_);
        for (const Advice& advice : plan_.advice)
            fetched_.insert(static_cast<Block>(advice.object - 1));
    }

    const Load& load_;
    Reader reader_;
    bool told_;
    World world_;
    ChainRule rule_;
    RestoreRule restore_{RestoreConfig{}}; // nobody says what is faster to compute
    Plan plan_;
    Nanos now_{};
    std::uint32_t thread_ = 0;
    std::unordered_set<Block> fetched_;
    std::uint64_t missed_ = 0;
};

} // namespace

ChainOutcome run_chain(const Load& load, const ChainRule::Config& config, Reader reader,
                       bool told) {
    return ChainRun(load, config, reader, told).go();
}

ChainRule::Config from_first_read() {
    ChainRule::Config config;
    config.trigger = std::numeric_limits<std::uint32_t>::max();
    config.window = 4096;
    config.deep_readers = 0;
    config.forget_after = 1us;
    return config;
}

} // namespace hintier::eval
