// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/tier.hpp"

#include <algorithm>

namespace hintier::eval {

void Tier::set_table(const ValueTable* table) {
    table_ = table;
    stale_ = true; // queued again when something has to go
}

void Tier::classify(Block block, Hazard::Group group, std::uint32_t depth, double used,
                    double now) {
    State& state = state_[block];
    state.group = group;
    state.depth = depth;
    state.used = used;
    if (table_ && state.fast) enqueue(block, now);
}

void Tier::write(Block block, double now) {
    State& state = state_[block];
    state.order = ++order_;
    state.used = now;
    state.dirty = true;
    state.bulk = false; // what is there is of no use any more
    counts.fast_writes++;
    state.fast ? enqueue(block, now) : admit(block, now);
}

Tier::From Tier::read(Block block, double now) {
    State& state = state_[block];
    state.order = ++order_;
    if (state.fast) {
        if (!table_) enqueue(block, now);
        return From::fast;
    }
    if (!state.bulk) return From::lost;
    counts.bulk_reads++;
    counts.fast_writes++;
    state.dirty = false;
    admit(block, now);
    return From::bulk;
}

void Tier::remove(Block block) {
    State& state = state_[block];
    resident_ -= state.fast;
    state.fast = state.dirty = state.bulk = false;
    ++state.stamp;
}

void Tier::admit(Block block, double now) {
    if (capacity_ == 0) return;
    while (resident_ >= capacity_)
        evict(now);
    state_[block].fast = true;
    ++resident_;
    fast_.push_back(block);
    enqueue(block, now);
}

void Tier::evict(double now) {
    if (stale_) requeue(now);
    std::vector<Entry> pinned;
    for (;;) {
        if (queue_.empty()) { // nothing but pinned blocks: pins are wishes
            for (const Entry& entry : pinned)
                state_[entry.block].pinned = false, queue_.push(entry);
            pinned.clear();
        }
        const Entry entry = queue_.top();
        queue_.pop();
        State& state = state_[entry.block];
        if (!state.fast || entry.stamp != state.stamp) continue;
        if (state.pinned) {
            pinned.push_back(entry);
            continue;
        }
        state.fast = false;
        --resident_;
        ++state.stamp;
        if (state.dirty) {
            const auto at = bin(state, now);
            if (table_ && (table_->rows[state.group].drop[at] || orphaned(entry.block))) {
                counts.dropped++;
                on_drop(entry.block);
            } else {
                counts.bulk_writes++;
                state.bulk = true;
            }
        }
        state.dirty = false;
        break;
    }
    for (const Entry& entry : pinned)
        queue_.push(entry);
}

double Tier::value(const State& state, double now) const {
    if (!table_) return static_cast<double>(state.order);
    const auto& row = table_->rows[state.group];
    return state.dirty ? row.dirty[bin(state, now)] : row.clean[bin(state, now)];
}

void Tier::enqueue(Block block, double now) {
    if (stale_) return;
    State& state = state_[block];
    queue_.push({value(state, now), table_ ? state.depth : 0, ++state.stamp, state.used, block});
}

void Tier::requeue(double now) {
    stale_ = false;
    queue_ = {};
    std::sort(fast_.begin(), fast_.end());
    fast_.erase(std::unique(fast_.begin(), fast_.end()), fast_.end());
    std::erase_if(fast_, [&](Block block) { return !state_[block].fast; });
    std::vector<Entry> entries;
    entries.reserve(fast_.size());
    for (const Block block : fast_) {
        State& state = state_[block];
        entries.push_back(
            {value(state, now), table_ ? state.depth : 0, ++state.stamp, state.used, block});
    }
    queue_ = std::priority_queue<Entry>(std::less<Entry>(), std::move(entries));
}

} // namespace hintier::eval
