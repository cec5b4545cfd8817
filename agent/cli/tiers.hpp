// SPDX-License-Identifier: Apache-2.0
// A tier as device-mapper knows it: its table line, both ways, and how it is found by name.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "agent/cli/dm.hpp"
#include "agent/cli/fail.hpp"

namespace hintier::cli {

inline constexpr const char* target_type = "hintier";

// The one option without a value.
inline constexpr const char* discard_dirty = "discard_dirty";

using TierOptions = std::vector<std::pair<std::string, std::string>>;

// What follows "hintier" in the table: <fast> <bulk> <extent sectors> [<#opts> <key> <value> …].
struct TierTable {
    std::string fast; // a path when written, "major:minor" when the kernel tells it
    std::string bulk;
    std::uint64_t extent_sectors = 0;
    TierOptions options;
};

std::string table_params(const TierTable& table);
TierTable parse_tier_table(const std::string& params);

// The tier of that name (or node path, /dev/mapper/NAME); an error says what it is instead.
Result<DmDevice> find_tier(Dm& dm, const std::string& name);

// "/dev/sda" for "8:0", the text itself when the kernel knows no such device.
std::string device_name(const std::string& text);

} // namespace hintier::cli
