// SPDX-License-Identifier: Apache-2.0
// One question to hintierd over its control socket: a line of JSON there, a line of JSON back.
#pragma once

#include <string>

#include "agent/cli/command.hpp"
#include "agent/cli/fail.hpp"

namespace hintier::cli {

inline constexpr const char* agent_socket_path = "/run/hintier/hintierd.sock";

// The answer, when the agent said {"ok":true,…}; its "error" otherwise.
Result<Json> parse_answer(const std::string& line);

// `passed`: a descriptor that goes with the question.
Result<Json> ask_agent(const std::string& socket_path, const Json& request, int passed = -1);

} // namespace hintier::cli
