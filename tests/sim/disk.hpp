// SPDX-License-Identifier: Apache-2.0
//
// A device, sector by sector. A write is in flight from put() to complete(); what is in flight or
// in the volatile cache at a power cut is kept or lost by sector, whatever its order. A flush
// covers the writes that completed before it began, no others.

#pragma once

#include <cstdint>
#include <vector>

#include "sim/dice.hpp"

namespace hintier::sim {

template <typename Value>
class Disk {
public:
    Disk(size_t sectors, bool cached, const Value& fill = {})
        : cached_(cached), durable_(sectors, fill), current_(sectors, fill), newer_(sectors, 0) {}

    const Value& read(uint64_t sector) const { return current_[sector]; }

    // Its contents when the history begins.
    void format(uint64_t sector, const Value& value) {
        durable_[sector] = current_[sector] = value;
    }

    void put(uint64_t write, uint64_t sector, const Value& value) {
        current_[sector] = value;
        pending_.push_back({write, 0, uint32_t(sector), value});
    }

    void complete(uint64_t write, bool fua = false) {
        clock_++;
        for (Entry& e : pending_)
            if (e.write == write) e.done = clock_;
        if (!cached_ || fua)
            settle([&](const Entry& e) { return e.write == write; });
        else if (pending_.size() > CACHE)
            settle([&](const Entry& e) { return e.done; });
    }

    uint64_t flush_begin() const { return clock_; }
    void flush_end(uint64_t began) {
        settle([&](const Entry& e) { return e.done && e.done <= began; });
    }

    // What a power cut may leave of a sector.
    template <typename Visit>
    void each_possible(uint64_t sector, Visit visit) const {
        visit(durable_[sector]);
        for (const Entry& e : pending_)
            if (e.sector == sector) visit(e.value);
    }

    // What a power cut leaves of another disk. Now and then nothing, or all, is kept.
    void cut_from(const Disk& other, uint64_t number) {
        constexpr unsigned KEPT[] = {0, 100, 50, 50, 25, 75, 5, 95};
        const unsigned kept = KEPT[number % 8];
        durable_ = other.durable_;
        for (const Entry& e : other.pending_)
            if (mix(number, mix(e.write, e.sector)) % 100 < kept) durable_[e.sector] = e.value;
        current_ = durable_;
        pending_.clear();
    }

private:
    static constexpr size_t CACHE = 2048;

    struct Entry {
        uint64_t write, done; // 0: in flight
        uint32_t sector;
        Value value;
    };

    // These reach the medium, in place of what they overwrote.
    template <typename Which>
    void settle(Which which) {
        pass_++;
        for (size_t i = pending_.size(); i--;) {
            Entry& e = pending_[i];
            if (newer_[e.sector] == pass_) {
                if (e.done) e.sector = GONE;
            } else if (which(e)) {
                newer_[e.sector] = pass_;
                durable_[e.sector] = e.value;
                e.sector = GONE;
            }
        }
        std::erase_if(pending_, [](const Entry& e) { return e.sector == GONE; });
    }

    static constexpr uint32_t GONE = ~0U;

    bool cached_;
    uint64_t clock_ = 0;
    std::vector<Value> durable_, current_;
    std::vector<Entry> pending_; // in the order in which they were put
    uint32_t pass_ = 0;
    std::vector<uint32_t> newer_; // by sector: in this pass a newer value has settled
};

} // namespace hintier::sim
