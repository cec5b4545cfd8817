// SPDX-License-Identifier: Apache-2.0
// A block device, or a regular file that stands for one: opened, measured, and what the kernel
// says about it. Files let images be prepared and examined where no device is at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/base/fd.hpp"
#include "agent/cli/fail.hpp"

namespace hintier::cli {

struct Disk {
    std::string path;
    Fd fd;
    bool block = false;
    std::uint64_t bytes = 0;
    std::uint32_t logical = 512; // smallest addressable block
    dev_t id = 0;                // of the device; for a file, of the file system below it

    Result<void> read(std::uint64_t offset, std::span<std::byte> to) const;
    Result<void> write(std::uint64_t offset, std::span<const std::byte> from) const;
    Result<void> sync() const;
    // After sync(): later reads see what is on the medium, not the page cache.
    void forget_cache() const;
};

// Two paths of one device or file. False when either cannot be looked at.
bool same_disk(const std::string& a, const std::string& b);

enum class Open {
    read,
    exclusive,      // for writing; refused while mounted, claimed by another device, or locked
    read_exclusive, // refused likewise, but for reading: nobody writes meanwhile
};

Result<Disk> open_disk(const std::string& path, Open how);

// Who has the block device: "mounted on /mnt", "held by dm-3"; empty when nobody is known.
std::vector<std::string> users_of(dev_t id);

// First line of /sys/dev/block/M:m/<attribute>, empty when there is none. Partitions answer for
// the disk they are on.
std::string block_attribute(dev_t id, const std::string& attribute);
std::string dev_text(dev_t id); // "8:0"

} // namespace hintier::cli
