// SPDX-License-Identifier: Apache-2.0
// The two devices of a tier as their headers describe them: read, checked against each other and
// against the devices, and written anew.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "agent/cli/disk.hpp"
#include "agent/cli/fail.hpp"
#include "kmod/core/format.h"

namespace hintier::cli {

using Uuid = std::array<std::uint8_t, 16>;

Uuid random_uuid();
Result<Uuid> parse_uuid(const std::string& text);
// "256K": bytes of an extent, a power of two that tiers can have.
Result<std::uint64_t> parse_extent(const std::string& text);
Uuid uuid_of(const ht_header& header);

// The header of one device; the error says why there is none.
Result<ht_header> read_header(const Disk& disk);

// What hintier left on a device: "fast device of pair …, 12 slots dirty". Nothing if it has no
// header of ours; a damaged one is described too.
Result<std::optional<std::string>> describe_ours(const Disk& disk);

struct Pair {
    ht_header fast;
    ht_header bulk;

    std::uint64_t extent_bytes() const;
    std::uint64_t tier_bytes() const;
    std::uint64_t tier_sectors() const;
    std::uint64_t fast_bytes() const;                      // room for data
    std::uint64_t extents_of(const Disk& bulk_disk) const; // that fit there
    void resize(std::uint64_t extents);
};

// Both headers, each in its role and of one pair, and fitting the devices; with the tier's size of
// now.
Result<Pair> read_pair(const Disk& fast, const Disk& bulk);

// The headers of a new, empty pair.
Result<Pair> plan_pair(std::uint64_t fast_bytes, std::uint64_t bulk_bytes,
                       std::uint64_t extent_bytes, const Uuid& uuid);

// Where a pair is written: two devices, or whatever a test puts in their place.
class PairMedium {
public:
    virtual ~PairMedium() = default;
    virtual Result<void> write(ht_role role, std::uint64_t offset,
                               std::span<const std::byte> data) = 0;
    virtual Result<void> sync(ht_role role) = 0;
    // Makes whatever else may be recognised there unrecognisable.
    virtual Result<void> erase_foreign(ht_role role) = 0;
};

// Writes the pair so that a cut at any instant leaves either no valid pair or the whole new one:
// old headers go first, records and states follow, the fast header is the last write.
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;
Result<void> write_pair(PairMedium& medium, const Pair& pair, const Progress& progress);

} // namespace hintier::cli
