// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/file_map.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <hintier/trace.h>
#include <hintier/types.h>

#include "agent/base/fd.hpp"
#include "agent/cli/disk.hpp"
#include "agent/cli/tiers.hpp"
#include "agent/layout/device.hpp"
#include "agent/layout/fiemap.hpp"

namespace hintier::cli {

namespace {

constexpr std::uint32_t batch = 512; // extents asked for at once

constexpr std::uint32_t unplaced_flags = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC |
                                         FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_ENCRYPTED |
                                         FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_DATA_INLINE |
                                         FIEMAP_EXTENT_DATA_TAIL | FIEMAP_EXTENT_UNWRITTEN;

// As agent/layout numbers devices.
std::uint32_t kernel_number(dev_t device) {
    return HINTIER_TRACE_DEV(major(device), minor(device));
}

Result<void> read_extents(const Fd& fd, const std::string& path, bool sync, FileMap& map) {
    std::vector<std::uint64_t> memory(
        (sizeof(fiemap) + batch * sizeof(fiemap_extent)) / sizeof(std::uint64_t) + 1);
    auto* request = reinterpret_cast<fiemap*>(memory.data());
    std::uint64_t from = 0;
    for (;;) {
        std::memset(request, 0, sizeof *request);
        request->fm_start = from;
        request->fm_length = FIEMAP_MAX_OFFSET - from;
        request->fm_flags = sync ? FIEMAP_FLAG_SYNC : 0;
        request->fm_extent_count = batch;
        if (ioctl(fd.get(), FS_IOC_FIEMAP, request) != 0)
            return fail(errno, "{}: its file system cannot tell where the data lies: {}", path,
                        std::strerror(errno));
        if (request->fm_mapped_extents == 0) return {};
        for (std::uint32_t i = 0; i < request->fm_mapped_extents; i++)
            map.parts.push_back(part_of(request->fm_extents[i]));
        const FilePart& last = map.parts.back();
        if (last.flags & FIEMAP_EXTENT_LAST) return {};
        from = last.logical + last.length;
    }
}

} // namespace

FilePart part_of(const fiemap_extent& extent) {
    FilePart part;
    part.logical = extent.fe_logical;
    part.physical = extent.fe_physical;
    part.length = extent.fe_length;
    part.flags = extent.fe_flags;
    part.shared = extent.fe_flags & FIEMAP_EXTENT_SHARED;
    part.placed = (extent.fe_flags & unplaced_flags) == 0 &&
                  std::max({part.logical, part.physical, part.length}) <= largest_place;
    return part;
}

std::string unplaced_why(std::uint32_t flags) {
    if (flags & FIEMAP_EXTENT_DELALLOC) return "not written to the device yet";
    if (flags & FIEMAP_EXTENT_UNWRITTEN) return "allocated, never written";
    if (flags & (FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL))
        return "kept among the file system's metadata";
    if (flags & (FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_DATA_ENCRYPTED))
        return "compressed or encrypted by the file system";
    if (flags & (FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_NOT_ALIGNED))
        return "place not known to 4 KiB";
    return {};
}

FileRanges ranges_on_tier(const FileMap& map, std::uint64_t start, const Range& wanted,
                          bool alone) {
    constexpr std::uint64_t unit = HINTIER_UNIT_BYTES;
    FileRanges found;
    for (const FilePart& part : map.parts) {
        std::uint64_t from = std::max(part.logical, wanted.offset);
        std::uint64_t to = part.logical + part.length;
        if (wanted.offset + wanted.length >= wanted.offset) // a sum that wraps means: to the end
            to = std::min(to, wanted.offset + wanted.length);
        if (from >= to) continue;
        std::uint64_t home = start + part.physical - part.logical;
        std::uint64_t begin = (home + from + unit - 1) / unit * unit;
        std::uint64_t end = (home + to) / unit * unit;
        bool useful = part.placed && !(alone && part.shared) && begin < end;
        found.skipped += useful ? (to - from) - (end - begin) : to - from;
        if (useful) found.ranges.push_back({begin, end - begin});
    }
    return found;
}

Result<TierBelow> tier_below(Dm& dm, dev_t device, const std::string& what) {
    if (major(device) == 0)
        return fail(ENXIO,
                    "{} is not on a hintier tier: its file system has no block device of "
                    "its own (overlay, tmpfs, btrfs, network)",
                    what);
    std::vector<DmDevice> tiers;
    if (device_mapper_present()) {
        auto all = dm.devices_of(target_type, DmAsk::table);
        if (!all) return Failure(all.error());
        tiers = std::move(*all);
    }
    auto tier_of = [&](std::uint32_t number) {
        return std::find_if(tiers.begin(), tiers.end(),
                            [&](const DmDevice& tier) { return kernel_number(tier.id) == number; });
    };
    auto found = hintier::find_tier(kernel_number(device), [&](std::uint32_t number) {
        return tier_of(number) != tiers.end();
    });
    if (!found && found.error().code != ENODEV)
        return fail(found.error().code, "{}: cannot tell whether it is on a tier: {}", what,
                    found.error().text);
    if (!found)
        return fail(ENXIO,
                    "{} is not on a hintier tier, or not directly: it lies on {} (followed "
                    "are partitions and one-piece linear devices)",
                    what, device_name(dev_text(device)));
    return TierBelow{std::move(*tier_of(found->tier)), found->offset};
}

Result<FileOnTier> find_file(Dm& dm, const std::string& path, bool sync) {
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat st {};
    if (!fd || fstat(fd.get(), &st) != 0) return fail(errno, "{}: {}", path, std::strerror(errno));
    if (!S_ISREG(st.st_mode)) return fail(EINVAL, "{} is not a regular file", path);
    auto below = tier_below(dm, st.st_dev, path);
    if (!below) return Failure(below.error());
    FileOnTier found{std::move(*below), {}};
    found.map.size = static_cast<std::uint64_t>(st.st_size);
    if (auto done = read_extents(fd, path, sync, found.map); !done) return Failure(done.error());
    return found;
}

} // namespace hintier::cli
