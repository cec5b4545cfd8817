// SPDX-License-Identifier: Apache-2.0
// Which bytes of the filesystem's device a file owns alone and for good, in whole units.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <linux/fiemap.h>

#include "agent/base/result.hpp"

namespace hintier {

struct Range {
    std::uint64_t offset = 0; // bytes of the device
    std::uint64_t length = 0;

    bool operator==(const Range&) const = default;
};

// No file and no device is larger: numbers up to it are added without wrapping.
inline constexpr std::uint64_t largest_place = std::numeric_limits<std::uint64_t>::max() / 4;

struct Mapping {
    std::vector<Range> ranges; // in the order of the file, neighbours joined
    bool complete = true;      // false: part of the file has no place yet, or one it does not own
};

// Left out: extents that are shared, inline, encoded, packed into a tail, preallocated and not
// written, or not placed yet. The rest is cut to whole units inward: the edge units may hold
// other files' bytes.
void add_extents(std::span<const fiemap_extent> extents, Mapping& mapping);

// Asks the filesystem, without making it write anything back.
Result<Mapping> map_file(int fd);

} // namespace hintier
