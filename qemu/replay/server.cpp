// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/server.hpp"

namespace hintier::replay {

Server::Server(const Plan& plan, const OperatingPoint& point)
    : plan_(plan), point_(point), dram_(plan.block_limit, point.dram_tokens / kBlockTokens),
      progress_(plan.requests.size()), outcomes_(plan.requests.size()) {}

Time Server::compute_time(std::uint64_t tokens) const {
    return static_cast<Time>(static_cast<double>(tokens) / point_.compute_tokens_per_s * 1e9);
}

// The last token is computed in any case: its output is what the user waits for.
std::uint64_t Server::tokens_left(std::uint32_t request) const {
    const std::uint64_t known = std::uint64_t{progress_[request].usable} * kBlockTokens;
    return std::max<std::uint64_t>(1, plan_.requests[request].input_tokens - known);
}

Time Server::backlog(Time now) const {
    const Time current = computing_ ? std::max<Time>(0, compute_end_ - now) : 0;
    return current + compute_time(queued_tokens_);
}

// Restoring takes R beside the queue, which takes W anyway; recomputing adds C behind W. So the
// request is served sooner by restoring when max(R, W) <= W + C.
bool Server::restore_pays(Time now, std::size_t loads, std::size_t saved_blocks) const {
    if (!point_.may_recompute) return true;
    return rate_.predict(loading_.size() + loads) <=
           backlog(now) + compute_time(saved_blocks * kBlockTokens);
}

std::vector<Action> Server::arrive(Time now, std::uint32_t request, const Exists& exists) {
    auto& mine = progress_[request];
    auto& outcome = outcomes_[request];
    const auto blocks = chain(request);
    std::vector<BlockId> loads;
    std::size_t usable = 0, first_load = blocks.size();
    for (; usable < blocks.size(); usable++) {
        const BlockId block = blocks[usable];
        if (dram_.holds(block) || loading_.count(block)) continue;
        if (!exists(block)) break;
        if (loads.empty()) first_load = usable;
        loads.push_back(block);
    }
    if (!loads.empty() && !restore_pays(now, loads.size(), usable - first_load)) {
        outcome.recomputed = true;
        rate_.forgive();
        loads.clear();
        usable = first_load;
    }

    std::vector<Action> actions;
    unfinished_++;
    outcome.arrived = now;
    outcome.from_tier = mine.asked = static_cast<std::uint32_t>(loads.size());
    outcome.from_dram = static_cast<std::uint32_t>(usable - loads.size());
    mine.usable = mine.pinned = static_cast<std::uint32_t>(usable);
    mine.ahead = static_cast<std::uint32_t>(loading_.size());
    for (const BlockId block : loads) {
        loading_[block]; // now in flight
        actions.push_back({Action::Kind::load, block, 0});
    }
    for (std::size_t i = 0; i < usable; i++) {
        dram_.pin(blocks[i]);
        if (const auto load = loading_.find(blocks[i]); load != loading_.end()) {
            load->second.push_back(request);
            mine.waiting++;
        }
    }
    if (mine.waiting == 0) enqueue(now, request, actions);
    return actions;
}

std::vector<Action> Server::loaded(Time now, BlockId block, bool found) {
    std::vector<Action> actions;
    const auto waiters = std::move(loading_.at(block));
    loading_.erase(block);
    if (found) dram_.insert(block);
    for (const std::uint32_t request : waiters) {
        auto& mine = progress_[request];
        if (!found) { // a miss: what follows in the chain cannot be used either
            const auto blocks = chain(request);
            const auto at = std::find(blocks.begin(), blocks.end(), block) - blocks.begin();
            mine.usable = std::min(mine.usable, static_cast<std::uint32_t>(at));
            outcomes_[request].failed++;
        }
        if (--mine.waiting > 0) continue;
        outcomes_[request].restored = now;
        if (mine.asked > 0)
            rate_.observe(mine.ahead + mine.asked, now - outcomes_[request].arrived);
        enqueue(now, request, actions);
    }
    return actions;
}

void Server::enqueue(Time now, std::uint32_t request, std::vector<Action>& actions) {
    queue_.push_back(request);
    queued_tokens_ += tokens_left(request);
    start_next(now, actions);
}

// The scheduler looks again when compute begins: others may have computed the same blocks since.
void Server::start_next(Time now, std::vector<Action>& actions) {
    if (computing_ || queue_.empty()) return;
    const std::uint32_t request = queue_.front();
    queued_tokens_ -= tokens_left(request);
    auto& mine = progress_[request];
    const auto blocks = chain(request);
    while (mine.usable < blocks.size() && dram_.holds(blocks[mine.usable])) {
        if (mine.usable == mine.pinned) dram_.pin(blocks[mine.pinned++]);
        mine.usable++;
        outcomes_[request].from_dram++;
    }
    const Time took = compute_time(tokens_left(request));
    computing_ = true;
    compute_end_ = std::max(now, compute_end_) + took; // an arrival may be told a little late
    busy_ += took;
    actions.push_back({Action::Kind::compute, 0, compute_end_});
}

std::vector<Action> Server::computed(Time now) {
    std::vector<Action> actions;
    const std::uint32_t request = queue_.front();
    queue_.pop_front();
    computing_ = false;
    unfinished_--;
    outcomes_[request].computed = now;

    const auto blocks = chain(request);
    const auto& mine = progress_[request];
    for (std::size_t i = mine.usable; i < blocks.size(); i++) {
        if (i >= mine.pinned) dram_.pin(blocks[i]);
        if (dram_.holds(blocks[i]) || loading_.count(blocks[i])) continue;
        dram_.pin(blocks[i]); // until it is stored
        dram_.insert(blocks[i]);
        stores_++;
        actions.push_back({Action::Kind::store, blocks[i], 0});
    }
    for (std::size_t i = blocks.size(); i-- > 0;) // the tail is let go, and evicted, first
        dram_.unpin(blocks[i]);
    start_next(now, actions);
    return actions;
}

void Server::stored(BlockId block) {
    stores_--;
    dram_.unpin(block);
}

} // namespace hintier::replay
