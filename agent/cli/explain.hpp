// SPDX-License-Identifier: Apache-2.0
// Why a file's bytes are where they are: what the tier says of them, beside what the agent knows of
// the object and has said about it.
#pragma once

#include <string>
#include <vector>

#include "agent/cli/command.hpp"
#include "agent/cli/residency.hpp"

namespace hintier::cli {

struct Explained {
    std::string file;
    std::string tier;
    std::uint64_t size = 0;
    std::vector<Piece> pieces;
    Json agent;              // its answer to "explain"; null: it has none
    std::string agent_error; // why
};

Json explain_json(const Explained& explained);
std::string explain_text(const Json& answer);

} // namespace hintier::cli
