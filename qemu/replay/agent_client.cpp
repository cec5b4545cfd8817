// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/agent_client.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace hintier::replay {

AgentClient::AgentClient(const std::string& socket_path, std::string root)
    : root_(std::move(root)), fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket_path.size() >= sizeof(address.sun_path))
        throw std::runtime_error("agent socket: path too long: " + socket_path);
    std::memcpy(address.sun_path, socket_path.c_str(), socket_path.size() + 1);
    if (fd_ < 0 || connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) < 0)
        throw std::system_error(errno, std::generic_category(),
                                "cannot reach the agent at " + socket_path);
}

AgentClient::~AgentClient() {
    close(fd_);
}

std::string AgentClient::ask(const std::string& line) {
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t n = send(fd_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (n < 0)
            throw std::system_error(errno, std::generic_category(), "cannot write to the agent");
        sent += static_cast<std::size_t>(n);
    }
    std::size_t end;
    while ((end = pending_.find('\n')) == std::string::npos) {
        char chunk[4096];
        const ssize_t n = recv(fd_, chunk, sizeof(chunk), 0);
        if (n <= 0) throw std::runtime_error("the agent closed its socket without an answer");
        pending_.append(chunk, static_cast<std::size_t>(n));
    }
    std::string answer = pending_.substr(0, end);
    pending_.erase(0, end + 1);
    return answer;
}

std::uint32_t AgentClient::session_ended(SessionId session, std::span<const BlockId> dead) {
    std::string line = fmt::format(R"({{"op":"session_ended","session":"{}","root":"{}","names":[)",
                                   session, root_);
    for (std::size_t i = 0; i < dead.size(); i++)
        line.append(i ? ",\"" : "\"").append(BlockPath(dead[i]).c_str()).append("\"");
    line += "]}\n";
    const std::string answer = ask(line);
    const auto json = nlohmann::json::parse(answer, nullptr, false);
    if (!json.is_object() || !json.value("ok", false))
        throw std::runtime_error("the agent refused session_ended: " + answer);
    return json.value("unknown", 0u);
}

} // namespace hintier::replay
