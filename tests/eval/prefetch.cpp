// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/prefetch.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>

#include "tests/eval/run.hpp"

namespace hintier::eval {

namespace {

constexpr std::uint32_t device = 7U << 20;
constexpr std::uint32_t process = 100;
constexpr Nanos lookup_takes = 20us;

Nanos nanos(double seconds) {
    return Nanos(std::llround(seconds * 1e9));
}

class PrefetchRun {
public:
    PrefetchRun(const Load& load, const PrefetchOptions& options)
        : load_(load), options_(options),
          tier_(std::max(1U, std::uint32_t(load.unique * options.fast_share)), load.unique),
          world_({}, {{"/kv", find_adapter("vllm-fs"), 1, false}}), chain_(chain_config(options)),
          announce_({}) {}

    PrefetchOutcome go() {
        PrefetchOutcome outcome;
        for (const Request& request : load_.requests) {
            part_ = request.at < load_.tune_until ? &outcome.tune : &outcome.report;
            now_ = std::max(now_ + 2 * World::Config().chain_gap, nanos(request.at));
            serve(request);
            chain_.tick(now_);
        }
        return outcome;
    }

private:
    // One reader at a time is never deep.
    static ChainRule::Config chain_config(const PrefetchOptions& options) {
        ChainRule::Config config;
        config.enabled = options.chain;
        config.deep_readers = 0;
        return config;
    }

    void serve(const Request& request) {
        const auto blocks = load_.blocks_of(request).first(request.full);
        const auto access = load_.access_of(request).first(request.full);
        ready_.clear();
        drive_ = now_;
        ++thread_;
        if (options_.lead >= 0) announce(blocks);

        std::vector<Block> found;
        bool asks = true;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (access[i] == Access::held || !asks) continue;
            asks = access[i] == Access::read; // no further than the first miss
            now_ += lookup_takes;
            send(EventKind::lookup, blocks[i], "", asks);
            if (asks) found.push_back(blocks[i]);
        }
        for (const Block block : found)
            read(block);
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (access[i] != Access::written) continue;
            if (options_.told) stored(blocks[i], i > 0 ? blocks[i - 1] + 1ULL : 0);
            send(EventKind::opened, blocks[i], "_1.tmp", false);
            send(EventKind::renamed, blocks[i], "", false);
            tier_.write(blocks[i], request.at);
        }
        for (std::size_t i = 0; i < ready_.size(); i++)
            ended(HINTIER_FETCH_UNUSED);
    }

    void announce(std::span<const Block> blocks) {
        std::vector<std::uint64_t> objects;
        for (const Block block : blocks)
            objects.push_back(block + 1ULL);
        plan_.clear();
        announce_.announced(world_, 0, objects, std::uint32_t(options_.lead * 1000), now_, restore_,
                            plan_);
        drive_ = now_ - nanos(options_.lead);
        fetch(drive_);
    }

    // By itself a fetch takes its turn on the drive; what fast holds needs none.
    void fetch(Nanos from) {
        for (const Advice& advice : plan_.advice) {
            const auto block = static_cast<Block>(advice.object - 1);
            if (tier_.in_fast(block) || !tier_.on_bulk(block) || ready_.contains(block)) continue;
            drive_ = std::max(drive_, from) + ms(options_.fetch_ms);
            ready_.emplace(block, drive_);
        }
    }

    void read(Block block) {
        send(EventKind::opened, block, "", false);
        const bool fast = tier_.in_fast(block);
        const Nanos from = now_;
        if (fast) {
            now_ += ms(options_.fast_ms);
        } else if (const auto it = ready_.find(block); it != ready_.end()) {
            const bool there = it->second <= now_;
            ended(there ? HINTIER_FETCH_TIMELY : HINTIER_FETCH_LATE);
            now_ = std::max(now_, it->second) + ms(options_.fast_ms);
            ready_.erase(it);
        } else {
            now_ += ms(options_.shallow_ms);
        }
        part_->slow += !fast;
        part_->reading_s += in_seconds(now_ - from);
        part_->alone_s += (fast ? options_.fast_ms : options_.shallow_ms) / 1e3;
        (void)tier_.read(block, in_seconds(now_));
    }

    void ended(hintier_fetch how) {
        (how == HINTIER_FETCH_TIMELY ? part_->timely
         : how == HINTIER_FETCH_LATE ? part_->late
                                     : part_->unused)++;
        options_.lead >= 0 ? announce_.outcome(how) : chain_.outcome(how, now_);
    }

    void stored(Block block, std::uint64_t before) {
        const std::string digits = fmt::format("{:016x}", block + 1ULL);
        Event event;
        event.kind = EventKind::stored;
        event.time = now_;
        event.before = before;
        event.name = digits;
        (void)world_.apply(event);
    }

    void send(EventKind kind, Block block, const char* suffix, bool found) {
        const std::string name = fmt::format("{:016x}.bin{}", block + 1ULL, suffix);
        Event event;
        event.kind = kind;
        event.found = found;
        event.created = event.writing = *suffix != 0;
        event.name = name;
        event.time = now_;
        event.pid = process;
        event.tid = thread_;
        event.parent = {device, 1, 2};
        if (kind != EventKind::lookup) event.file = {device, 1, block + 100ULL};
        plan_.clear();
        chain_.observe(world_, world_.apply(event), now_, restore_, plan_);
        fetch(now_);
    }

    static Nanos ms(double time) { return nanos(time / 1e3); }

    const Load& load_;
    PrefetchOptions options_;
    Tier tier_;
    World world_;
    ChainRule chain_;
    AnnounceRule announce_;
    RestoreRule restore_{RestoreConfig()}; // recomputing is given no rate: it is never faster
    Plan plan_;
    Nanos now_{};
    Nanos drive_{}; // is busy until then
    std::uint32_t thread_ = 0;
    std::unordered_map<Block, Nanos> ready_; // fetched for this request
    PrefetchPart* part_ = nullptr;
};

} // namespace

double PrefetchPart::precision() const {
    return ratio(timely + late, timely + late + unused);
}

double PrefetchPart::recall() const {
    return ratio(timely + late, slow);
}

double PrefetchPart::timeliness() const {
    return ratio(timely, timely + late);
}

PrefetchOutcome run_prefetch(const Load& load, const PrefetchOptions& options) {
    return PrefetchRun(load, options).go();
}

} // namespace hintier::eval
