// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/run.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace hintier::eval {

namespace {

Nanos nanos(double seconds) {
    return Nanos(std::llround(seconds * 1e9));
}

std::uint32_t capacity_of(const Load& load, double share) {
    return std::max(1U, static_cast<std::uint32_t>(load.unique * share));
}

Tier::Counts operator-(const Tier::Counts& a, const Tier::Counts& b) {
    return {a.fast_writes - b.fast_writes, a.bulk_writes - b.bulk_writes,
            a.bulk_reads - b.bulk_reads, a.dropped - b.dropped};
}

// Sorts what is counted into the parts of time.
class Parts {
public:
    Part& at(const Load& load, double now, const Tier::Counts& counts) {
        const std::size_t part = now < load.tune_until / 2 ? 0 : now < load.tune_until ? 1 : 2;
        for (; part_ < part; part_++)
            close(counts);
        return *parts_[part_];
    }
    Outcome finish(const Tier::Counts& counts) {
        close(counts);
        return outcome;
    }
    Outcome outcome;

private:
    void close(const Tier::Counts& counts) {
        parts_[part_]->tier = counts - before_;
        before_ = counts;
    }

    std::array<Part*, 3> parts_ = {&outcome.warm, &outcome.tune, &outcome.report};
    std::size_t part_ = 0;
    Tier::Counts before_;
};

class Run {
public:
    Run(const Load& load, const Options& options)
        : load_(load), options_(options), rule_(options.rule),
          tier_(capacity_of(load, options.fast_share), load.unique), staged_(load.unique) {
        if (!told()) return;
        tier_.orphaned = [this](Block block) {
            return rule_.drops(nanos(now_)) && rule_.model().orphaned(block);
        };
        tier_.on_drop = [this](Block block) { rule_.dropped(block, block); };
    }

    Outcome go() {
        Parts parts;
        for (const Request& request : load_.requests) {
            Part& part = parts.at(load_, request.at, tier_.counts);
            until(request.at);
            serve(request, part);
        }
        Outcome outcome = parts.finish(tier_.counts);
        outcome.guard_trips = rule_.guard().trips();
        outcome.promised = rule_.guard().promised();
        outcome.ghosts_read = rule_.guard().lost();
        return outcome;
    }

private:
    bool told() const { return options_.policy == Policy::values; }

    void until(double now) {
        now_ = now;
        if (options_.ends_after >= 0) {
            for (; end_ < load_.ends.size() && load_.ends[end_].at + options_.ends_after <= now;
                 end_++)
                tell_end(load_.ends[end_]);
        }
        if (told()) {
            if (const ValueTable* table = rule_.tick(nanos(now))) tier_.set_table(table);
        }
        if (options_.lead > 0) {
            for (; announced_ < load_.requests.size() &&
                   load_.requests[announced_].at - options_.lead <= now;
                 announced_++)
                announce(load_.requests[announced_]);
        }
    }

    void tell_end(const End& end) {
        if (!told()) return;
        moved_.clear();
        rule_.ended(nanos(end.at + options_.ends_after),
                    load_.blocks_of(load_.requests[end.request]), moved_);
        for (const Block block : moved_)
            classify(block);
    }

    void classify(Block block) {
        const Liveness& model = rule_.model();
        tier_.classify(block, model.group(block), model.depth(block), model.touched_s(block), now_);
    }

    // What is in fast stays there; of the rest, as much as the time allows is read ahead.
    void announce(const Request& request) {
        auto room = static_cast<std::uint32_t>(options_.lead * options_.stage_rate);
        const auto blocks = load_.blocks_of(request);
        const auto access = load_.access_of(request);
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (access[i] != Access::read) continue;
            if (tier_.in_fast(blocks[i])) {
                tier_.pin(blocks[i], true);
            } else if (room > 0 && tier_.on_bulk(blocks[i])) {
                room--;
                staged_[blocks[i]] = true;
            }
        }
    }

    void serve(const Request& request, Part& part) {
        const auto blocks = load_.blocks_of(request);
        const auto access = load_.access_of(request);
        if (told()) {
            touches_.clear();
            for (std::size_t i = 0; i < blocks.size(); i++) {
                touches_.push_back({blocks[i], Liveness::Use(access[i]), i >= request.full});
                if (access[i] == Access::read) rule_.asked(blocks[i], nanos(request.at));
            }
            rule_.request(nanos(request.at), touches_);
            for (const Block block : blocks)
                classify(block);
        }
        bool whole = true;
        for (std::size_t i = 0; i < blocks.size(); i++) {
            if (access[i] == Access::held) continue;
            if (access[i] == Access::written) {
                part.created++;
                tier_.write(blocks[i], request.at);
                continue;
            }
            part.reads++;
            const Tier::From from = tier_.read(blocks[i], request.at);
            part.fast += from == Tier::From::fast;
            part.bulk += from == Tier::From::bulk;
            part.staged += from == Tier::From::bulk && staged_[blocks[i]];
            if (from == Tier::From::lost) {
                part.lost++;
                whole = false;
                tier_.write(blocks[i], request.at);
            }
            part.usable += whole;
            tier_.pin(blocks[i], false);
            staged_[blocks[i]] = false;
        }
    }

    const Load& load_;
    const Options& options_;
    LivenessRule rule_;
    Tier tier_;
    std::vector<bool> staged_;
    std::vector<Liveness::Touch> touches_;
    std::vector<Block> moved_;
    std::size_t end_ = 0;
    std::size_t announced_ = 0;
    double now_ = 0;
};

} // namespace

Outcome run(const Load& load, const Options& options) {
    return Run(load, options).go();
}

// What is used next last goes; what is never read again is dropped, or not admitted at all.
Outcome run_oracle(const Load& load, double fast_share) {
    constexpr std::size_t never = std::numeric_limits<std::size_t>::max();
    const std::size_t capacity = capacity_of(load, fast_share);
    std::vector<std::size_t> next(load.blocks.size(), never); // read of the same block
    std::vector<std::size_t> upcoming(load.unique, never);
    for (std::size_t i = load.blocks.size(); i-- > 0;) {
        next[i] = upcoming[load.blocks[i]];
        if (load.access[i] == Access::read) upcoming[load.blocks[i]] = i;
    }
    struct Held {
        Block block;
        bool dirty;
    };
    std::map<std::size_t, Held> fast; // by next read
    Tier::Counts counts;
    Parts parts;
    const auto admit = [&](Block block, std::size_t read, bool dirty) {
        if (read == never) return;
        if (fast.size() >= capacity) {
            const auto last = std::prev(fast.end());
            if (last->first < read) { // goes by, to bulk
                counts.bulk_writes += dirty;
                return;
            }
            counts.bulk_writes += last->second.dirty;
            fast.erase(last);
        }
        counts.fast_writes++;
        fast.emplace(read, Held{block, dirty});
    };
    for (const Request& request : load.requests) {
        Part& part = parts.at(load, request.at, counts);
        for (std::size_t i = request.first; i < request.first + request.count; i++) {
            if (load.access[i] == Access::held) continue;
            if (load.access[i] == Access::written) {
                part.created++;
                admit(load.blocks[i], next[i], true);
                continue;
            }
            part.reads++;
            part.usable++;
            const auto held = fast.find(i);
            const bool hit = held != fast.end();
            const bool dirty = hit && held->second.dirty;
            part.fast += hit;
            part.bulk += !hit;
            if (hit) fast.erase(held);
            counts.fast_writes -= hit && next[i] != never; // it is there already
            admit(load.blocks[i], next[i], dirty);
        }
    }
    return parts.finish(counts);
}

} // namespace hintier::eval
