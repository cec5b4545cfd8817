// SPDX-License-Identifier: Apache-2.0
// What already lies on a device: anything libblkid recognises (file systems, RAID, LVM, crypto,
// partition tables, swap). hintier's own headers are pair.hpp's business.
#pragma once

#include <string>
#include <vector>

#include "agent/cli/disk.hpp"

namespace hintier::cli {

// Each as "ext4 file system 'data'", "LVM2_member (raid)", "gpt partition table".
Result<std::vector<std::string>> foreign_signatures(const Disk& disk);

// Erases every magic that libblkid recognises, so that nobody takes the device for what it was.
Result<void> erase_signatures(const Disk& disk);

} // namespace hintier::cli
