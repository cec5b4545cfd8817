// SPDX-License-Identifier: Apache-2.0
//
// Which file of an ended session goes next: tail of a chain first, at most 500 a second, none that
// was looked up or opened in the last 30 s, none that a new session has come back to. The same
// rules as the agent's, for the configurations that run without it.
#pragma once

#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "qemu/replay/block.hpp"
#include "qemu/replay/clock.hpp"

namespace hintier::replay {

class Reaper {
public:
    static constexpr Time kQuiet = from_ms(30'000);
    static constexpr Time kPause = from_ms(2);

    explicit Reaper(std::size_t block_limit) : blocks_(block_limit) {}

    void touched(Time now, BlockId block) { blocks_[block].touched = now; }
    void wanted(BlockId block) { blocks_[block].doomed = false; }

    void ended(Time now, std::span<const BlockId> dead) { // head of the chain first
        for (std::size_t i = dead.size(); i-- > 0;) {
            blocks_[dead[i]].doomed = true;
            queue_.push({now, order_++, dead[i]});
        }
    }

    // When `next` should be asked again.
    std::optional<Time> due() const {
        if (queue_.empty()) return std::nullopt;
        return std::max(queue_.top().due, last_ + kPause);
    }

    // The file to unlink now, if any.
    std::optional<BlockId> next(Time now) {
        while (!queue_.empty() && queue_.top().due <= now) {
            const BlockId block = queue_.top().block;
            queue_.pop();
            auto& state = blocks_[block];
            if (!state.doomed) continue;
            if (state.touched >= 0 && now - state.touched < kQuiet) {
                queue_.push({state.touched + kQuiet, order_++, block});
                postponed_++;
                continue;
            }
            state.doomed = false;
            last_ = now;
            return block;
        }
        return std::nullopt;
    }

    std::uint64_t postponed() const { return postponed_; }

private:
    struct Block {
        Time touched = -1;
        bool doomed = false;
    };
    struct Entry {
        Time due;
        std::uint64_t order;
        BlockId block;
        bool operator>(const Entry& other) const {
            return due != other.due ? due > other.due : order > other.order;
        }
    };
    std::vector<Block> blocks_;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
    std::uint64_t order_ = 0;
    std::uint64_t postponed_ = 0;
    Time last_ = -kPause;
};

} // namespace hintier::replay
