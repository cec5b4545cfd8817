// SPDX-License-Identifier: Apache-2.0
// A value table as a JSON file:
//
//   {"ttl_ms": 60000, "edges_ms": [0, 15000, …],
//    "groups": [{"clean": […], "dirty": […], "drop": […]}, …]}
//
// Every list but `groups` has one entry for each age bin; `drop` holds true or false, and may be
// left out.
#pragma once

#include <string>
#include <vector>

#include <hintier/ioctl.h>

#include "agent/cli/fail.hpp"

namespace hintier::cli {

struct ValueFile {
    hintier_values head{}; // but for `rows`
    std::vector<hintier_value_row> rows;
};

Result<ValueFile> parse_values(const std::string& text);
Result<ValueFile> read_values(const std::string& path);

} // namespace hintier::cli
