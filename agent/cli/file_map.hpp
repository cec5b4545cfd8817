// SPDX-License-Identifier: Apache-2.0
// Where a file's bytes lie on the device below its file system (FIEMAP), and on which tier that
// device lies. Nothing is written or synced.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/cli/dm.hpp"

namespace hintier::cli {

struct FilePart {
    std::uint64_t logical = 0;  // offset in the file
    std::uint64_t physical = 0; // offset on the device; nothing when `usable` is false
    std::uint64_t length = 0;
    std::uint32_t flags = 0; // FIEMAP_EXTENT_*
    bool usable = false;     // whole units of plain data that the range holds alone
    bool shared = false;     // other files hold it too (reflink)
};

struct FileMap {
    std::uint64_t size = 0;
    dev_t device = 0; // of the file system
    std::vector<FilePart> parts;
};

Result<FileMap> map_file(const std::string& path, bool sync);

// "delayed allocation: not on the device yet", empty for a usable part.
std::string unusable_why(std::uint32_t flags);

// The tier below a block device, and the offset at which the device starts on it: through
// partitions and device-mapper devices that are one linear range of another device.
struct TierBelow {
    DmDevice tier;
    std::uint64_t offset = 0; // bytes on the tier
};
Result<TierBelow> tier_below(Dm& dm, dev_t device, const std::string& what);

} // namespace hintier::cli
