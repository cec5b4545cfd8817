// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/control_server.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include "agent/base/fd.hpp"
#include "agent/base/log.hpp"
#include "agent/base/task.hpp"

namespace hintier {

namespace {

using Protocol = net::local::stream_protocol;
using Stream = Protocol::socket;

// So much is read at once, and so much room a line gets before it is known to be longer.
constexpr std::size_t chunk = 64 << 10;

// Of one connection, come and not claimed by a line.
constexpr std::size_t max_descriptors = 16;

Result<sockaddr_un> address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path))
        return failure(path + ": path too long for a socket");
    path.copy(address.sun_path, path.size());
    return address;
}

bool somebody_answers(const sockaddr_un& address) {
    const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return fd &&
           connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

Result<Fd> listen_on(const Config::Control& config) {
    const std::string& path = config.socket;
    const auto address = address_of(path);
    if (!address) return Failure(address.error());
    if (somebody_answers(*address)) {
        return failure(path + ": another hintierd answers there; stop it first", EADDRINUSE);
    }
    struct stat st;
    if (lstat(path.c_str(), &st) == 0) {
        if (!S_ISSOCK(st.st_mode)) return failure(path + ": exists and is no socket", EEXIST);
        if (unlink(path.c_str())) return system_failure(path);
    }
    // Under systemd it is there; whoever starts the daemon by hand should not have to make it.
    (void)mkdir(path.substr(0, path.rfind('/')).c_str(), 0755);
    Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return system_failure("socket");
    // Nobody can connect before listen(), so mode and group are right by then.
    if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address))) {
        return system_failure(path);
    }
    if (!config.group.empty()) {
        const group* found = getgrnam(config.group.c_str());
        if (!found) return failure("control.group: no group " + config.group);
        if (chown(path.c_str(), static_cast<uid_t>(-1), found->gr_gid)) return system_failure(path);
    }
    if (chmod(path.c_str(), config.mode) || listen(fd.get(), 64)) return system_failure(path);
    return fd;
}

Peer peer_of(int fd) {
    ucred credentials{};
    socklen_t size = sizeof(credentials);
    Peer peer{.pid = 0, .uid = static_cast<uid_t>(-1), .gid = static_cast<gid_t>(-1)};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
        peer = {credentials.pid, credentials.uid, credentials.gid};
    }
    return peer;
}

// Requests a second of one user, over all connections: a full second's worth may come at once.
class Quotas {
public:
    explicit Quotas(std::uint32_t rate) : each_(Nanos(1s) / rate) {}

    bool take(uid_t user, Nanos now) {
        if (paid_.size() >= max_users && !paid_.contains(user)) {
            std::erase_if(paid_, [&](const auto& one) { return one.second <= now - Nanos(1s); });
            if (paid_.size() >= max_users) return false;
        }
        Nanos& paid = paid_.try_emplace(user, now - Nanos(1s)).first->second;
        paid = std::max(paid, now - Nanos(1s));
        if (paid + each_ > now) return false;
        paid += each_;
        return true;
    }

private:
    static constexpr std::size_t max_users = 4096;

    Nanos each_;
    std::unordered_map<uid_t, Nanos> paid_; // up to when the rate is used
};

// What a peer has sent and nobody has answered yet.
struct Input {
    std::string text;
    Descriptors descriptors;
};

// Takes what has come; false at the end, or when there are too many descriptors.
bool receive(int fd, std::vector<char>& buffer, Input& input) {
    alignas(cmsghdr) char control[CMSG_SPACE(max_descriptors * sizeof(int))];
    iovec data{buffer.data(), buffer.size()};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int one = -1;
            std::memcpy(&one, CMSG_DATA(part) + i * sizeof(int), sizeof(one));
            input.descriptors.emplace_back(one);
        }
    }
    input.text.append(buffer.data(), static_cast<std::size_t>(n));
    return n > 0 && !(message.msg_flags & MSG_CTRUNC) &&
           input.descriptors.size() <= max_descriptors;
}

} // namespace

struct ControlServer::Impl : std::enable_shared_from_this<Impl> {
    Impl(net::io_context& io, const Config::Control& control, ControlService& on)
        : config(control), service(&on), acceptor(io), quotas(control.max_requests) {}

    Config::Control config;
    ControlService* service; // nullptr once the server is closed
    SystemClock clock;
    Protocol::acceptor acceptor;
    std::uint32_t connections = 0;
    Quotas quotas;

    static Task<> accept_all(std::shared_ptr<Impl> self);
    static Task<> serve(std::shared_ptr<Impl> self, Stream stream);

    // The answers to all whole lines in `input`, which keeps what is left. False: hang up.
    bool answer_lines(Input& input, const Peer& peer, std::string& output);
};

bool ControlServer::Impl::answer_lines(Input& input, const Peer& peer, std::string& output) {
    std::string& text = input.text;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool stay = true;
    while (stay && (end = text.find('\n', begin)) != text.npos) {
        const std::string_view line = std::string_view(text).substr(begin, end - begin);
        begin = end + 1;
        if (!quotas.take(peer.uid, clock.now())) {
            output +=
                refusal(fmt::format("too many requests: at most {} a second", config.max_requests));
            stay = false;
        } else if (line.size() > config.max_line) {
            output += refusal("line too long");
            stay = false;
        } else {
            output += answer(*service, peer, line, input.descriptors);
        }
        output += '\n';
    }
    text.erase(0, begin);
    if (stay && text.size() > config.max_line) {
        output += refusal("line too long") + '\n';
        stay = false;
    }
    return stay;
}

Task<> ControlServer::Impl::serve(std::shared_ptr<Impl> self, Stream stream) {
    const Peer peer = peer_of(stream.native_handle());
    log::debug("control: connection of pid {} uid {}", peer.pid, peer.uid);
    std::vector<char> buffer(chunk);
    Input input;
    std::string output;
    bool stay = true;
    while (stay && self->service) {
        auto [error] = co_await stream.async_wait(Stream::wait_read, as_result);
        if (error || !self->service || !receive(stream.native_handle(), buffer, input)) break;
        output.clear();
        stay = self->answer_lines(input, peer, output);
        if (output.empty()) continue;
        const auto bytes = net::buffer(output);
        auto [failed, written] = co_await net::async_write(stream, bytes, as_result);
        (void)written;
        if (failed) break;
    }
    --self->connections;
}

Task<> ControlServer::Impl::accept_all(std::shared_ptr<Impl> self) {
    while (self->service) {
        auto [error, stream] = co_await self->acceptor.async_accept(as_result);
        if (!self->service) break;
        if (error) {
            // Out of descriptors, most likely: the connection waits in the queue meanwhile.
            log::warning("control: accept: {}", error.message());
            net::steady_timer pause(self->acceptor.get_executor());
            pause.expires_after(1s);
            auto [cancelled] = co_await pause.async_wait(as_result);
            (void)cancelled;
            continue;
        }
        if (self->connections >= self->config.max_connections) {
            const std::string full = refusal("too many connections") + '\n';
            (void)send(stream.native_handle(), full.data(), full.size(),
                       MSG_DONTWAIT | MSG_NOSIGNAL);
            continue;
        }
        ++self->connections;
        auto session = serve(self, std::move(stream));
        net::co_spawn(self->acceptor.get_executor(), std::move(session), net::detached);
    }
}

ControlServer::ControlServer() = default;

Result<std::unique_ptr<ControlServer>>
ControlServer::open(net::io_context& io, const Config::Control& config, ControlService& service) {
    auto fd = listen_on(config);
    if (!fd) return Failure(std::move(fd.error()));
    std::unique_ptr<ControlServer> server(new ControlServer);
    server->impl_ = std::make_shared<Impl>(io, config, service);
    server->impl_->acceptor.assign(Protocol(), fd->release());
    net::co_spawn(io, Impl::accept_all(server->impl_), net::detached);
    return server;
}

ControlServer::~ControlServer() {
    if (!impl_) return;
    impl_->service = nullptr;
    boost::system::error_code ignored;
    impl_->acceptor.close(ignored);
    (void)unlink(impl_->config.socket.c_str());
}

} // namespace hintier
