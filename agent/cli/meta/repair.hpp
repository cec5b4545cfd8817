// SPDX-License-Identifier: Apache-2.0
// What repair would do about a survey's damages, as data; and doing it. Without leave only what
// is proved is written. Each leave gives something up, and the plan says what.
#pragma once

#include <string>
#include <vector>

#include "agent/cli/meta/survey.hpp"

namespace hintier::cli {

struct Leave {
    bool drop_records = false;   // records that cannot be read: their extents are then unknown
    bool drop_lost = false;      // which units are lost: they then read as what bulk has
    bool discard_dirty = false;  // dirty data of a fast device that bulk went on without
    bool assume_current = false; // a device whose state is lost is up to date
};

struct Repair {
    enum class Kind {
        put_sector,    // `data` at `sector`
        put_state,     // `state`, both copies
        drop_sector,   // an empty record sector in place of `sector`
        drop_records,  // out of record sector `sector`: what cannot be true
        empty_records, // every record
    };
    Kind kind = Kind::put_sector;
    ht_role role = HT_ROLE_FAST;
    std::uint64_t sector = 0;
    Sector data{};
    ht_state state{};
    std::vector<std::uint32_t> slots; // drop_records: of these
    std::string text;
};

struct RepairPlan {
    std::vector<Repair> steps;
    std::vector<std::string> left;      // what stays damaged, and which leave would help
    std::vector<std::uint32_t> unknown; // extents whose newest data may be gone, by number
    std::uint64_t unknown_slots = 0;    // and slots that may have held any other extent
    std::vector<std::uint32_t> stale;   // extents of which units may have been lost: now old data
    std::uint64_t stale_entries = 0;    // and entries that may have named any other
};

RepairPlan plan_repair(const Survey& survey, const Leave& leave);

// In order, each durable before the next: a repair that was cut off is begun again.
Result<void> carry_out(Medium& medium, const Survey& survey, const RepairPlan& plan);

} // namespace hintier::cli
