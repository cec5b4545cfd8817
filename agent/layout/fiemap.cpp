// SPDX-License-Identifier: Apache-2.0
#include "agent/layout/fiemap.hpp"

#include <cstring>

#include <linux/fs.h>
#include <sys/ioctl.h>

#include "hintier/types.h"

namespace hintier {

namespace {

constexpr std::uint32_t not_placed = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC;
constexpr std::uint32_t not_owned = FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_NOT_ALIGNED |
                                    FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL |
                                    FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_SHARED;

// Extents asked for at once: a KV file has one or two.
constexpr std::uint32_t at_once = 32;
// A file in more pieces than this is not worth hints.
constexpr std::size_t most_ranges = 16'384;

} // namespace

void add_extents(std::span<const fiemap_extent> extents, Mapping& mapping) {
    constexpr std::uint64_t unit = HINTIER_UNIT_BYTES;
    for (const fiemap_extent& extent : extents) {
        if (extent.fe_flags & (not_placed | not_owned)) {
            mapping.complete = false;
            continue;
        }
        if (extent.fe_physical > largest_place || extent.fe_length > largest_place) {
            continue;
        }
        const std::uint64_t begin = (extent.fe_physical + unit - 1) / unit * unit;
        const std::uint64_t end = (extent.fe_physical + extent.fe_length) / unit * unit;
        if (begin >= end) continue;
        if (!mapping.ranges.empty()) {
            Range& last = mapping.ranges.back();
            if (last.offset + last.length == begin) {
                last.length += end - begin;
                continue;
            }
        }
        mapping.ranges.push_back({begin, end - begin});
    }
}

Result<Mapping> map_file(int fd) {
    alignas(fiemap) char buffer[sizeof(fiemap) + at_once * sizeof(fiemap_extent)];
    Mapping mapping;
    std::uint64_t start = 0;

    while (mapping.ranges.size() < most_ranges) {
        std::memset(buffer, 0, sizeof(fiemap));
        auto* map = reinterpret_cast<fiemap*>(buffer);
        map->fm_start = start;
        map->fm_length = FIEMAP_MAX_OFFSET - start;
        map->fm_extent_count = at_once;
        if (ioctl(fd, FS_IOC_FIEMAP, map)) return system_failure("FIEMAP");
        if (!map->fm_mapped_extents) break;

        const std::span<const fiemap_extent> extents(map->fm_extents, map->fm_mapped_extents);
        add_extents(extents, mapping);
        const fiemap_extent& last = extents.back();
        if (last.fe_flags & FIEMAP_EXTENT_LAST) break;
        start = last.fe_logical + last.fe_length;
    }
    if (mapping.ranges.empty()) {
        mapping.complete = false;
    }
    return mapping;
}

} // namespace hintier
