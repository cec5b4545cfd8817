// SPDX-License-Identifier: Apache-2.0
//
// The target as the planner sees it: so many blocks in fast, a home for each on bulk, a value
// table or none. Evicts as the table says: the lowest value first, of equals the deepest, then
// the one used longest ago; without a table the least recently used, and destages everything.
#pragma once

#include <functional>
#include <queue>

#include "agent/plan/values.hpp"
#include "tests/eval/load.hpp"

namespace hintier::eval {

class Tier {
public:
    enum class From : std::uint8_t { fast, bulk, lost };

    struct Counts {
        std::uint64_t fast_writes = 0;
        std::uint64_t bulk_writes = 0;
        std::uint64_t bulk_reads = 0; // promotions among them
        std::uint64_t dropped = 0;
    };

    Tier(std::uint32_t capacity, std::uint32_t blocks) : capacity_(capacity), state_(blocks) {}

    // Asked before a dirty block is destaged: is it of no use to anyone?
    std::function<bool(Block)> orphaned = [](Block) { return false; };
    std::function<void(Block)> on_drop = [](Block) {};

    // No table: nullptr. The table must live until the next call.
    void set_table(const ValueTable* table);

    // Its group, and the time of its last use.
    void classify(Block block, Hazard::Group group, std::uint32_t depth, double used, double now);
    void write(Block block, double now);
    From read(Block block, double now); // what bulk serves is promoted
    void pin(Block block, bool on) { state_[block].pinned = on; }
    void remove(Block block); // discarded: gone from both, without a copy

    bool in_fast(Block block) const { return state_[block].fast; }
    bool on_bulk(Block block) const { return state_[block].bulk; }
    bool there(Block block) const { return state_[block].fast || state_[block].bulk; }
    std::uint32_t resident() const { return resident_; }

    Counts counts;

private:
    struct State {
        double used = 0;
        std::uint64_t order = 0; // of the last read or write
        std::uint32_t depth = 0;
        std::uint32_t stamp = 0; // entries of the queue that lack it are stale
        bool pinned = false;
        Hazard::Group group = 0;
        bool fast = false;
        bool dirty = false;
        bool bulk = false;
    };
    struct Entry {
        double value;
        std::uint32_t depth;
        std::uint32_t stamp;
        double used;
        Block block;
        bool operator<(const Entry& other) const { // the queue's top is what goes first
            if (value != other.value) return value > other.value;
            if (depth != other.depth) return depth < other.depth;
            if (used != other.used) return used > other.used;
            return block > other.block;
        }
    };

    void admit(Block block, double now);
    void evict(double now);
    void enqueue(Block block, double now);
    void requeue(double now);
    double value(const State& state, double now) const;
    unsigned bin(const State& state, double now) const { return age_bin(now - state.used); }

    std::uint32_t capacity_;
    std::uint32_t resident_ = 0;
    std::vector<State> state_;
    std::vector<Block> fast_; // residents and some that were, for requeue()
    const ValueTable* table_ = nullptr;
    bool stale_ = false; // ages have moved on since the queue was made
    std::uint64_t order_ = 0;
    std::priority_queue<Entry> queue_;
};

} // namespace hintier::eval
