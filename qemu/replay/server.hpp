// SPDX-License-Identifier: Apache-2.0
//
// The inference server as the tier sees it, as a state machine without clock, threads or files:
// events go in with the modelled time, actions come out. A request looks its chain up, restores
// what the tier has, waits in a FIFO compute queue, computes the rest and has its new full blocks
// stored. Restores run beside others' compute.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "qemu/replay/clock.hpp"
#include "qemu/replay/dram.hpp"
#include "qemu/replay/plan.hpp"

namespace hintier::replay {

struct OperatingPoint {
    double compute_tokens_per_s = 64000;
    std::uint64_t dram_tokens = 3'000'000;
    bool may_recompute = true; // false: always restore what the tier has
};

struct Action {
    enum class Kind { load, store, compute };
    Kind kind;
    BlockId block; // load, store
    Time until;    // compute: when it is done
};

// What one request met; -1 where it has not come to that.
struct Outcome {
    Time arrived = 0;
    Time restored = -1; // the last block it waited for was in DRAM; -1: nothing came from the tier
    Time computed = -1;
    std::uint32_t from_dram = 0; // blocks
    std::uint32_t from_tier = 0;
    std::uint32_t failed = 0; // loads that found no file
    bool recomputed = false;  // the rule chose recompute
};

// Drain rate of the reader pool as seen by the requests that used it. A restore that is skipped
// forgives a part of the past, so that one slow spell cannot stop restores for good.
class RestoreRate {
public:
    Time predict(std::uint64_t blocks) const {
        return blocks_ > 0 ? static_cast<Time>(static_cast<double>(blocks) * time_ / blocks_) : 0;
    }
    void observe(std::uint64_t blocks, Time took) {
        blocks_ = blocks_ * kKeep + static_cast<double>(blocks);
        time_ = time_ * kKeep + static_cast<double>(took);
    }
    void forgive() { time_ *= kKeep; }

private:
    static constexpr double kKeep = 0.95;
    double blocks_ = 0;
    double time_ = 0;
};

class Server {
public:
    // Asked in chain order, at arrival, for blocks that are not in DRAM.
    using Exists = std::function<bool(BlockId)>;

    Server(const Plan& plan, const OperatingPoint& point);

    std::vector<Action> arrive(Time now, std::uint32_t request, const Exists& exists);
    std::vector<Action> loaded(Time now, BlockId block, bool found);
    std::vector<Action> computed(Time now);
    void stored(BlockId block);

    bool idle() const { return unfinished_ == 0 && stores_ == 0; }
    Time busy() const { return busy_; } // compute time so far
    const std::vector<Outcome>& outcomes() const { return outcomes_; }
    const Dram& dram() const { return dram_; }

private:
    struct Progress {
        std::uint32_t usable = 0;  // blocks of the chain it counts on
        std::uint32_t pinned = 0;  // blocks of the chain it holds in DRAM or will
        std::uint32_t waiting = 0; // loads still to come
        std::uint32_t asked = 0;   // loads of its own, and those ahead of them in the pool
        std::uint32_t ahead = 0;
    };

    Time compute_time(std::uint64_t tokens) const;
    Time backlog(Time now) const;
    std::uint64_t tokens_left(std::uint32_t request) const;
    bool restore_pays(Time now, std::size_t loads, std::size_t saved_blocks) const;
    void enqueue(Time now, std::uint32_t request, std::vector<Action>& actions);
    void start_next(Time now, std::vector<Action>& actions);
    std::span<const BlockId> chain(std::uint32_t request) const {
        return plan_.blocks_of(plan_.requests[request]);
    }

    const Plan& plan_;
    OperatingPoint point_;
    Dram dram_;
    RestoreRate rate_;
    std::vector<Progress> progress_;
    std::vector<Outcome> outcomes_;
    std::unordered_map<BlockId, std::vector<std::uint32_t>> loading_; // block -> who waits for it
    std::deque<std::uint32_t> queue_; // front: being computed, if computing_
    bool computing_ = false;
    Time compute_end_ = 0;
    std::uint64_t queued_tokens_ = 0; // of the queue behind its front
    std::size_t unfinished_ = 0;
    std::size_t stores_ = 0;
    Time busy_ = 0;
};

} // namespace hintier::replay
