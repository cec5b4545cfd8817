// SPDX-License-Identifier: Apache-2.0
// Sizes and times as people write and read them. Binary multiples throughout: 256K is 262144.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/cli/fail.hpp"

namespace hintier::cli {

// "4096", "256K", "1M", "1MiB", "2T"; "s" counts sectors of 512 bytes. Case does not matter.
Result<std::uint64_t> parse_size(std::string_view text);

// "OFFSET:LENGTH", both as parse_size reads them.
struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};
Result<Range> parse_range(std::string_view text);

std::string human_size(std::uint64_t bytes);  // "1.5 GiB"
std::string human_count(std::uint64_t count); // "12,345"
std::string human_time(std::uint64_t ns);     // "80 us"
std::string percent(std::uint64_t part, std::uint64_t whole);

} // namespace hintier::cli
