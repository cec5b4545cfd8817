// SPDX-License-Identifier: Apache-2.0
//
// The server's side of the agent's socket: one JSON object a line, one answer each.
#pragma once

#include <span>
#include <string>

#include "qemu/replay/block.hpp"
#include "qemu/replay/sessions.hpp"

namespace hintier::replay {

class AgentClient {
public:
    // `root` is the watched directory that holds the tier's files. Throws std::system_error.
    AgentClient(const std::string& socket_path, std::string root);
    ~AgentClient();
    AgentClient(const AgentClient&) = delete;
    AgentClient& operator=(const AgentClient&) = delete;

    // How many of the names mean no file to the agent. Throws std::runtime_error if it refuses.
    std::uint32_t session_ended(SessionId session, std::span<const BlockId> dead);

private:
    std::string ask(const std::string& line);

    std::string root_;
    std::string pending_; // received beyond the last answer
    int fd_;
};

} // namespace hintier::replay
