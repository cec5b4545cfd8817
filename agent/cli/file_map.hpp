// SPDX-License-Identifier: Apache-2.0
// Where a file's bytes lie on the device below its file system (FIEMAP), and on which tier that
// device lies. Nothing is written or synced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/cli/dm.hpp"
#include "agent/cli/units.hpp"

struct fiemap_extent;

namespace hintier::cli {

struct FilePart {
    std::uint64_t logical = 0;  // offset in the file
    std::uint64_t physical = 0; // offset on the device; nothing when `placed` is false
    std::uint64_t length = 0;
    std::uint32_t flags = 0; // FIEMAP_EXTENT_*
    bool placed = false;     // plain data with a place of its own on the device
    bool shared = false;     // other files hold it too (reflink)
};

struct FileMap {
    std::uint64_t size = 0;
    std::vector<FilePart> parts;
};

// What a file system says of one extent; no place if its numbers are beyond any device's.
FilePart part_of(const fiemap_extent& extent);

// "not written to the device yet", empty for a part with a place.
std::string unplaced_why(std::uint32_t flags);

// The ranges of the tier that hold a part of the file, cut to whole units: at the edges of smaller
// blocks lie other files' bytes. `alone` leaves out what other files share.
struct FileRanges {
    std::vector<Range> ranges;
    std::uint64_t skipped = 0; // bytes of the file that no hint can name
};
FileRanges ranges_on_tier(const FileMap& map, std::uint64_t start, const Range& wanted, bool alone);

// The tier below a block device, and the offset at which the device starts on it: through
// partitions and device-mapper devices that are one linear range of another device.
struct TierBelow {
    DmDevice tier;
    std::uint64_t offset = 0; // bytes on the tier
};
Result<TierBelow> tier_below(Dm& dm, dev_t device, const std::string& what);

// Both for one file; `sync` has it written to the device first.
struct FileOnTier {
    TierBelow below;
    FileMap map;
};
Result<FileOnTier> find_file(Dm& dm, const std::string& path, bool sync);

} // namespace hintier::cli
