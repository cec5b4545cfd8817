// SPDX-License-Identifier: Apache-2.0
// A tier's statistics as text and as JSON.
#pragma once

#include <string>

#include "agent/cli/command.hpp"
#include "agent/cli/dm.hpp"
#include "agent/cli/stats.hpp"

namespace hintier::cli {

std::string status_text(const DmDevice& tier, const TierStats& stats);
// The target's own line as named numbers; null for what it does not tell while suspended.
Json parse_status_line(const std::string& line);

Json status_json(const DmDevice& tier, const TierStats& stats);

} // namespace hintier::cli
