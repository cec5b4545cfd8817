// SPDX-License-Identifier: Apache-2.0
//
// The blocks in DRAM above the tier: LRU over those nobody holds. A holder is a request that waits
// or computes, a load or a store in flight; held blocks stay, so DRAM may exceed its size for the
// time of a burst (counted). Free blocks are evicted in the order they were let go.
#pragma once

#include <algorithm>
#include <cassert>
#include <vector>

#include "qemu/replay/block.hpp"

namespace hintier::replay {

class Dram {
public:
    Dram(std::size_t block_limit, std::size_t capacity)
        : nodes_(block_limit + 1), head_(static_cast<BlockId>(block_limit)), capacity_(capacity) {
        nodes_[head_].prev = nodes_[head_].next = head_;
    }

    bool holds(BlockId block) const { return nodes_[block].resident; }
    std::size_t size() const { return size_; }
    std::size_t peak() const { return peak_; }

    // A block may be pinned before its data arrives.
    void pin(BlockId block) {
        if (nodes_[block].pins++ == 0 && nodes_[block].resident) unlink(block);
    }

    void unpin(BlockId block) {
        assert(nodes_[block].pins > 0);
        if (--nodes_[block].pins == 0 && nodes_[block].resident) {
            link_newest(block);
            shrink();
        }
    }

    // The data of a pinned block has arrived (by compute or by a load).
    void insert(BlockId block) {
        assert(nodes_[block].pins > 0 && !nodes_[block].resident);
        nodes_[block].resident = true;
        peak_ = std::max(peak_, ++size_);
        shrink();
    }

private:
    struct Node {
        BlockId prev = 0, next = 0;
        std::uint32_t pins = 0;
        bool resident = false;
    };

    void unlink(BlockId block) {
        nodes_[nodes_[block].prev].next = nodes_[block].next;
        nodes_[nodes_[block].next].prev = nodes_[block].prev;
    }

    void link_newest(BlockId block) {
        const BlockId newest = nodes_[head_].prev;
        nodes_[block].prev = newest;
        nodes_[block].next = head_;
        nodes_[newest].next = nodes_[head_].prev = block;
    }

    void shrink() {
        while (size_ > capacity_ && nodes_[head_].next != head_) {
            const BlockId oldest = nodes_[head_].next;
            unlink(oldest);
            nodes_[oldest].resident = false;
            size_--;
        }
    }

    std::vector<Node> nodes_; // by block; the last one is the list's head
    BlockId head_;
    std::size_t capacity_;
    std::size_t size_ = 0;
    std::size_t peak_ = 0;
};

} // namespace hintier::replay
