// SPDX-License-Identifier: Apache-2.0
// All that the metadata of a pair says, judged: what is good, what is damaged, and what of the
// damage can be proved away. Nothing is written.
//
// The proof is the checksum. It starts from the pair's UUID, the kind of the sector and its place,
// so a sector that passes belongs exactly there; and CRC32C tells any two 512-byte sectors apart
// that differ in fewer than six bits, so if turning one bit back makes it pass, that was the bit.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/cli/meta/medium.hpp"
#include "kmod/core/pair.h"

namespace hintier::cli {

enum class Fault {
    unreadable,  // the device fails to read metadata
    header,      // no header, or a damaged one
    device,      // swapped, of another pair, or too small: not what repair can mend
    state_copy,  // one of the two copies of a state
    state,       // both
    epochs,      // bulk has been written without fast, or one of them is from another time
    sector,      // a record sector fails its checksum
    record,      // a record that cannot be: range, or dirty but not valid
    duplicate,   // an extent recorded in two slots
    lost_sector, // a sector of the lost map fails its checksum
    lost_entry,  // an entry of it that cannot be: range, no unit, or an extent that has another
};
const char* fault_name(Fault fault);

struct Damage {
    Fault fault = Fault::header;
    ht_role role = HT_ROLE_FAST;
    std::uint64_t sector = 0; // on the device
    std::string text;
    // How the sector must read; nothing when that cannot be proved.
    std::optional<Sector> good;
    // For records: the extents that the damaged place names, as far as its bytes make sense.
    std::vector<std::uint32_t> extents;
    std::uint32_t unnamed = 0; // slots whose record makes no sense: they may have held anything
};

struct StateCopies {
    std::array<std::optional<ht_state>, HT_STATE_COPIES> copy;
    std::optional<ht_state> newest;
};

struct Mapped {
    std::uint32_t extent = 0;
    std::uint32_t slot = 0;
};

using Units = std::array<std::uint16_t, HT_UNITS_MAX / 16>;

// An extent of which units were dropped while they were dirty: their homes are stale.
struct Lost {
    std::uint32_t extent = 0;
    std::uint32_t entry = 0; // of the lost map
    Units listed{};          // as the map says
    Units still{};           // of these, what no record claims: those read as errors
    Units without_fast{};    // and what is so when fast is given up with all that is dirty there
};

struct Survey {
    std::optional<ht_header> header[2]; // fast, bulk: as read, or proved from what else there is
    StateCopies state[2];
    bool whole = false;     // the headers make a pair that fits: the records have been looked at
    ht_pair pair{};         // as core takes the two states
    bool agree = false;     // the states belong to one time: what is recorded clean is good
    std::uint64_t seq = 0;  // newest sequence number of a record sector
    std::uint64_t used = 0; // slots with a good record
    std::uint64_t bad = 0;  // slots that are retired, or will be when they are empty
    std::uint64_t dirty = 0;
    std::uint64_t valid_units = 0;
    std::uint64_t dirty_units = 0;
    std::vector<Mapped> mapped; // good records, by extent
    std::vector<Lost> lost;     // good entries of the lost map, by extent
    std::uint64_t lost_units = 0;
    std::vector<Damage> damages;

    const ht_header& fast() const { return *header[0]; }
    const ht_geometry& geo() const { return header[0]->geo; }
    bool clean_stop() const;
    // Something may be dirty on fast, or was when bulk last heard of it.
    bool dirty_of_another_time() const;
    bool found(Fault fault) const;
};

Survey survey(Medium& medium, const Progress& progress);

// One sector after another from `start` on; `readable` is false when the device failed there.
using OnSector =
    std::function<Result<void>(std::uint32_t index, std::span<std::byte> sector, bool readable)>;
Result<void> each_record_sector(Medium& medium, const ht_geometry& geo, const OnSector& visit);
Result<void> each_lost_sector(Medium& medium, const ht_geometry& geo, const OnSector& visit);

// Slots that have a record in that sector.
std::uint32_t slots_in(const ht_geometry& geo, std::uint32_t sector);
bool any(const Units& units);

// A sector of the lost map that holds those of `lost` that are its own, each as `units` says.
Sector lost_sector(const Survey& survey, std::uint32_t index, const std::vector<Lost>& lost,
                   Units Lost::*units, std::uint64_t seq);

// Writes one copy, the one of its number, durably.
Result<void> put_state(Medium& medium, const ht_header& header, const ht_state& state);

} // namespace hintier::cli
