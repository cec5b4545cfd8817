// SPDX-License-Identifier: Apache-2.0
//
// What a user of the tier may see, kept by a naive table: for each sector the newest version that
// was issued, the newest acknowledged, and the newest that a flush has made durable. Versions
// grow; writes to one sector never overlap in time, reads overlap with anything.

#pragma once

#include <cstdint>
#include <vector>

namespace hintier::sim {

// Contents of a sector: where it was meant to go, and which write of it this is.
struct Tag {
    uint32_t sector = ~0U;
    uint32_t version = 0;

    bool operator==(const Tag&) const = default;
};

class Oracle {
public:
    explicit Oracle(size_t sectors) : sectors_(sectors) {}

    struct Seen {
        uint32_t issued = 0, acked = 0, durable = 0;
        uint32_t ever = 0;    // the newest issued, also if a cut has undone it
        uint32_t cleared = 0; // when it was last discarded: from then on any version will do
    };

    uint32_t now() { return ++clock_; }

    void issue(uint32_t sector, uint32_t version) {
        sectors_[sector].issued = sectors_[sector].ever = version;
    }
    void ack(uint32_t sector, uint32_t version) { sectors_[sector].acked = version; }
    void discard(uint32_t sector) {
        Seen& s = sectors_[sector];
        s.acked = s.durable = 0;
        s.issued = s.ever;
        s.cleared = now();
    }

    uint32_t floor(uint32_t sector) const { return sectors_[sector].acked; }
    uint32_t cleared(uint32_t sector) const { return sectors_[sector].cleared; }
    uint32_t ceiling(uint32_t sector) const { return sectors_[sector].issued; }
    uint32_t durable(uint32_t sector) const { return sectors_[sector].durable; }

    // A FUA write of the sector was acknowledged.
    void ack_durable(uint32_t sector, uint32_t version) {
        ack(sector, version);
        sectors_[sector].durable = version;
    }

    // What a flush covers: all that is acknowledged when it is submitted.
    struct Covered {
        uint32_t when = 0;
        std::vector<uint32_t> acked;
    };

    Covered flush_submitted() {
        Covered covered{.when = now(), .acked = {}};
        covered.acked.reserve(sectors_.size());
        for (const Seen& s : sectors_)
            covered.acked.push_back(s.acked);
        return covered;
    }

    void flush_completed(const Covered& covered) {
        for (size_t i = 0; i < sectors_.size(); i++) {
            Seen& s = sectors_[i];
            if (s.cleared < covered.when && covered.acked[i] > s.durable)
                s.durable = covered.acked[i];
        }
    }

    // After a cut this version was read: it is what the sector holds until it is written again.
    void settle(uint32_t sector, uint32_t version) {
        Seen& s = sectors_[sector];
        s.issued = s.acked = s.durable = version;
        s.cleared = 0;
    }

private:
    uint32_t clock_ = 0;
    std::vector<Seen> sectors_;
};

} // namespace hintier::sim
