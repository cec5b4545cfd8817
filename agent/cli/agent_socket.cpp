// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/agent_socket.hpp"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "agent/base/fd.hpp"

namespace hintier::cli {

namespace {

constexpr timeval patience = {5, 0};
constexpr std::size_t longest_answer = 64UL << 20;

Result<Fd> connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return fail(ENAMETOOLONG, "{}: the path of a socket must be shorter", path);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd) return fail(errno, "cannot make a socket: {}", std::strerror(errno));
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return fd;
    if (errno == ENOENT || errno == ECONNREFUSED)
        return fail(errno, "hintierd does not run (nobody answers on {}): systemctl start hintierd",
                    path);
    return fail(errno, "{}: {}", path, std::strerror(errno));
}

// The descriptor travels with the first byte.
Result<void> send_line(const Fd& fd, const std::string& line, int passed) {
    for (std::size_t at = 0; at < line.size();) {
        alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
        iovec data{const_cast<char*>(line.data()) + at, line.size() - at};
        msghdr message{};
        message.msg_iov = &data;
        message.msg_iovlen = 1;
        if (passed >= 0 && at == 0) {
            auto* part = reinterpret_cast<cmsghdr*>(control);
            part->cmsg_level = SOL_SOCKET;
            part->cmsg_type = SCM_RIGHTS;
            part->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(part), &passed, sizeof(int));
            message.msg_control = control;
            message.msg_controllen = sizeof control;
        }
        ssize_t sent = sendmsg(fd.get(), &message, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return fail(errno, "hintierd hung up: {}", std::strerror(errno));
        at += static_cast<std::size_t>(sent);
    }
    return {};
}

Result<std::string> receive_line(const Fd& fd) {
    std::string line;
    char part[65536];
    while (line.size() < longest_answer) {
        ssize_t got = recv(fd.get(), part, sizeof part, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return fail(ETIMEDOUT, "hintierd did not answer within {} s", patience.tv_sec);
        if (got <= 0) return fail(EPIPE, "hintierd hung up without an answer");
        line.append(part, static_cast<std::size_t>(got));
        if (std::size_t end = line.find('\n'); end != std::string::npos) return line.substr(0, end);
    }
    return fail(EMSGSIZE, "hintierd's answer is too long");
}

} // namespace

Result<Json> parse_answer(const std::string& line) {
    Json answer = Json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.contains("ok"))
        return fail(EPROTO, "hintierd's answer makes no sense: {}", line.substr(0, 80));
    if (answer["ok"] == true) return answer;
    const Json& why = answer["error"];
    return fail(EINVAL, "hintierd: {}", why.is_string() ? why.get<std::string>() : "refused");
}

Result<Json> ask_agent(const std::string& socket_path, const Json& request, int passed) {
    auto fd = connect_to(socket_path);
    if (!fd) return Failure(fd.error());
    if (auto sent = send_line(*fd, request.dump() + "\n", passed); !sent)
        return Failure(sent.error());
    auto line = receive_line(*fd);
    if (!line) return Failure(line.error());
    return parse_answer(*line);
}

} // namespace hintier::cli
