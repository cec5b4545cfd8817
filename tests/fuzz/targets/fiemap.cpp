// SPDX-License-Identifier: Apache-2.0
// Extents as a file system tells them: what may be hinted lies inside what the file owns.
#include "agent/layout/fiemap.hpp"
#include "agent/cli/file_map.hpp"
#include "tests/fuzz/target.hpp"

using hintier::fuzz::Input;
using hintier::fuzz::Output;
using hintier::fuzz::require;

namespace {

constexpr std::uint64_t unit = 4096;

std::vector<fiemap_extent> extents_of(Input& in) {
    std::vector<fiemap_extent> all;
    while (!in.empty() && all.size() < 64) {
        fiemap_extent extent{};
        extent.fe_logical = in.take<std::uint64_t>();
        extent.fe_physical = in.take<std::uint64_t>();
        extent.fe_length = in.take<std::uint64_t>();
        extent.fe_flags = in.take<std::uint32_t>();
        all.push_back(extent);
    }
    return all;
}

// Is [offset, offset + length) covered by one run of the file's own extents?
bool owned(std::span<const fiemap_extent> extents, std::uint64_t offset, std::uint64_t length) {
    while (length) {
        std::uint64_t step = 0;
        for (const fiemap_extent& extent : extents) {
            if (offset < extent.fe_physical || offset - extent.fe_physical >= extent.fe_length)
                continue;
            step = std::max<std::uint64_t>(step, extent.fe_length - (offset - extent.fe_physical));
        }
        if (!step) return false;
        step = std::min(step, length);
        offset += step;
        length -= step;
    }
    return true;
}

std::vector<hintier::fuzz::Bytes> seeds() {
    Output plain;
    plain.put<std::uint64_t>(0).put<std::uint64_t>(1 << 20).put<std::uint64_t>(65536).put(0U);
    plain.put<std::uint64_t>(65536).put<std::uint64_t>((1 << 20) + 65536);
    plain.put<std::uint64_t>(5000).put<std::uint32_t>(FIEMAP_EXTENT_LAST);
    Output odd;
    odd.put<std::uint64_t>(0).put<std::uint64_t>(512).put<std::uint64_t>(~0ULL - 100).put(0U);
    odd.put<std::uint64_t>(0).put<std::uint64_t>(0).put<std::uint64_t>(4096);
    odd.put<std::uint32_t>(FIEMAP_EXTENT_SHARED | FIEMAP_EXTENT_UNWRITTEN);
    return {plain.bytes, odd.bytes};
}

} // namespace

FUZZ_TARGET(fiemap, seeds) {
    Input in(input);
    const std::vector<fiemap_extent> extents = extents_of(in);
    hintier::Mapping mapping;
    hintier::add_extents(extents, mapping);
    for (const hintier::Range& range : mapping.ranges) {
        require(range.length && range.offset % unit == 0 && range.length % unit == 0,
                "whole units");
        require(range.offset + range.length > range.offset, "a range does not wrap");
        require(owned(extents, range.offset, range.length), "only what the file owns");
    }

    hintier::cli::FileMap map;
    for (const fiemap_extent& extent : extents)
        map.parts.push_back(hintier::cli::part_of(extent));
    for (const hintier::cli::Range& wanted :
         {hintier::cli::Range{0, ~0ULL}, hintier::cli::Range{4096, 8192}}) {
        const auto found = hintier::cli::ranges_on_tier(map, 0, wanted, true);
        for (const hintier::cli::Range& range : found.ranges) {
            require(range.length && range.offset % unit == 0 && range.length % unit == 0,
                    "whole units of the tier");
            require(owned(extents, range.offset, range.length), "only what the file owns there");
        }
    }
}
