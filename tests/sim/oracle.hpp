// SPDX-License-Identifier: Apache-2.0
//
// What a user of the tier may see, kept by a naive table: for each sector the newest version that
// was issued, the newest acknowledged, and the newest that a flush has made durable. Versions
// grow; writes to one sector never overlap in time, reads overlap with anything.
//
// Units that are volatile: their owner gives up what was written to them up to a version. What is
// dropped has to have been given up; from then on reads fail, until a newer version is written or
// the unit is discarded.

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "types.h"

namespace hintier::sim {

// Contents of a sector: where it was meant to go, and which write of it this is.
struct Tag {
    uint32_t sector = ~0U;
    uint32_t version = 0;

    bool operator==(const Tag&) const = default;
};

class Oracle {
public:
    explicit Oracle(size_t sectors) : sectors_(sectors), units_(sectors / HT_UNIT_SECTORS) {}

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
        Loss& u = units_[sector / HT_UNIT_SECTORS];
        u.gone = u.gone_durably = 0; // any version will do, and a refusal until it has ended
        u.cleared = s.cleared;
    }

    uint32_t floor(uint32_t sector) const { return sectors_[sector].acked; }
    uint32_t cleared(uint32_t sector) const {
        return std::max(sectors_[sector].cleared, loss(sector).cleared);
    }
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
        std::vector<uint32_t> gone; // by unit
    };

    Covered flush_submitted() {
        Covered covered{.when = now(), .acked = {}, .gone = {}};
        covered.acked.reserve(sectors_.size());
        for (const Seen& s : sectors_)
            covered.acked.push_back(s.acked);
        for (const Loss& u : units_)
            covered.gone.push_back(u.gone);
        return covered;
    }

    // Without fast nothing is recorded: what was dropped may be found again.
    void flush_completed(const Covered& covered, bool fast) {
        for (size_t i = 0; i < sectors_.size(); i++) {
            Seen& s = sectors_[i];
            if (s.cleared < covered.when && covered.acked[i] > s.durable)
                s.durable = covered.acked[i];
        }
        for (size_t i = 0; i < units_.size(); i++) {
            Loss& u = units_[i];
            if (u.cleared >= covered.when) continue;
            if (!fast) continue;
            u.gone_durably = std::max(u.gone_durably, covered.gone[i]);
            u.haunts = 0;
        }
    }

    // After a cut this version was read: it is what the sector holds until it is written again.
    void settle(uint32_t sector, uint32_t version) {
        Seen& s = sectors_[sector];
        s.issued = s.acked = s.durable = version;
        s.cleared = 0;
    }

    // After a cut the medium fails there: what is there nobody has seen.
    void unread(uint32_t sector) { sectors_[sector].acked = sectors_[sector].durable; }
    void unread_unit(uint32_t unit) {
        Loss& u = units_[unit];
        u.given_up = 0;
        u.lost = std::max(u.lost, u.haunts);
        u.gone = u.gone_durably;
    }

    // ---- volatile units -------------------------------------------------------------------

    // What lies in each unit when a write epoch begins: whoever maps a file later owns no more.
    std::vector<uint32_t> epoch() const {
        std::vector<uint32_t> issued(units_.size(), 0);
        for (size_t i = 0; i < sectors_.size(); i++)
            issued[i / HT_UNIT_SECTORS] = std::max(issued[i / HT_UNIT_SECTORS], sectors_[i].issued);
        return issued;
    }
    void give_up(uint32_t unit, uint32_t version) {
        units_[unit].given_up = std::max(units_[unit].given_up, version);
    }
    // False if that may not be: somebody needs what was there.
    bool drop(uint32_t unit) {
        Loss& u = units_[unit];
        const uint32_t acked = newest(unit, &Seen::acked);
        if (u.given_up < acked) return false;
        // A write that has not been acknowledged may have been dropped, or is still to come; so is
        // a discard that makes anything good that was ever there.
        u.lost = std::max({1U, u.given_up, acked ? 0 : newest(unit, &Seen::ever)});
        u.gone = acked;
        return true;
    }
    void discard_ended(uint32_t unit) {
        Loss& u = units_[unit];
        if (!u.lost && !u.haunts) return;
        u.haunts = std::max(u.haunts, u.lost);
        u.lost = 0;
        u.cleared = now();
    }
    // What was written since it was dropped is given up: a cut may have brought the loss back.
    void haunt(uint32_t unit) { units_[unit].haunts = std::max(1U, newest(unit, &Seen::ever)); }
    // Newest version that a read may be refused for; versions up to `gone` may not be read.
    uint32_t lost(uint32_t sector) const { return loss(sector).lost; }
    uint32_t gone(uint32_t sector) const { return loss(sector).gone; }
    // The same after a cut.
    uint32_t lost_at_cut(uint32_t sector) const {
        return std::max(loss(sector).lost, loss(sector).haunts);
    }
    uint32_t gone_at_cut(uint32_t sector) const { return loss(sector).gone_durably; }
    // A read after a cut was refused, or was not: that is so from now on. Marks are forgotten.
    void settle_unit(uint32_t unit, bool lost) {
        Loss& u = units_[unit];
        u = {};
        if (!lost) return;
        for (uint32_t s = unit * HT_UNIT_SECTORS; s < (unit + 1) * HT_UNIT_SECTORS; s++)
            settle(s, sectors_[s].ever);
        u.given_up = u.lost = u.gone = u.gone_durably = std::max(1U, newest(unit, &Seen::ever));
    }

private:
    struct Loss {
        uint32_t given_up = 0; // by the owner
        uint32_t lost = 0;     // a read may be refused for versions up to this one
        uint32_t gone = 0;     // and must not return them
        uint32_t gone_durably = 0;
        uint32_t haunts = 0; // discarded, and a cut may undo that
        uint32_t cleared = 0;
    };

    const Loss& loss(uint32_t sector) const { return units_[sector / HT_UNIT_SECTORS]; }
    uint32_t newest(uint32_t unit, uint32_t Seen::*member) const {
        uint32_t n = 0;
        for (uint32_t s = unit * HT_UNIT_SECTORS; s < (unit + 1) * HT_UNIT_SECTORS; s++)
            n = std::max(n, sectors_[s].*member);
        return n;
    }

    uint32_t clock_ = 0;
    std::vector<Seen> sectors_;
    std::vector<Loss> units_;
};

} // namespace hintier::sim
