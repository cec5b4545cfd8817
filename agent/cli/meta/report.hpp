// SPDX-License-Identifier: Apache-2.0
// A survey, a repair and a drain in words and as JSON.
#pragma once

#include <string>

#include "agent/cli/command.hpp"
#include "agent/cli/meta/drain.hpp"
#include "agent/cli/meta/repair.hpp"
#include "agent/cli/meta/survey.hpp"

namespace hintier::cli {

Json survey_json(const Medium& medium, const Survey& survey);
std::string survey_text(const Medium& medium, const Survey& survey);

Json plan_json(const RepairPlan& plan);
std::string plan_text(const RepairPlan& plan);

Json drained_json(const Survey& survey, const Drained& drained);

// Everything on the devices, one record after another: for a terabyte this is millions of lines.
Result<void> print_dump(Medium& medium, const Survey& survey);

} // namespace hintier::cli
