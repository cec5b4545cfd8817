// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/control_server.hpp"

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

// Requests a second: a full second's worth may come at once.
class Quota {
public:
    Quota(std::uint32_t rate, Nanos now) : each_(Nanos(1s) / rate), paid_(now - Nanos(1s)) {}

    bool take(Nanos now) {
        paid_ = std::max(paid_, now - Nanos(1s));
        if (paid_ + each_ > now) return false;
        paid_ += each_;
        return true;
    }

private:
    Nanos each_;
    Nanos paid_;
};

} // namespace

struct ControlServer::Impl : std::enable_shared_from_this<Impl> {
    Impl(net::io_context& io, const Config::Control& control, ControlService& on)
        : config(control), service(&on), acceptor(io) {}

    Config::Control config;
    ControlService* service; // nullptr once the server is closed
    SystemClock clock;
    Protocol::acceptor acceptor;
    std::uint32_t connections = 0;

    static Task<> accept_all(std::shared_ptr<Impl> self);
    static Task<> serve(std::shared_ptr<Impl> self, Stream stream);

    // The answers to all whole lines in `input`, which keeps what is left. False: hang up.
    bool answer_lines(std::string& input, const Peer& peer, Quota& quota, std::string& output);
};

bool ControlServer::Impl::answer_lines(std::string& input, const Peer& peer, Quota& quota,
                                       std::string& output) {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool stay = true;
    while (stay && (end = input.find('\n', begin)) != input.npos) {
        const std::string_view line = std::string_view(input).substr(begin, end - begin);
        begin = end + 1;
        if (!quota.take(clock.now())) {
            output +=
                refusal(fmt::format("too many requests: at most {} a second", config.max_requests));
            stay = false;
        } else if (line.size() > config.max_line) {
            output += refusal("line too long");
            stay = false;
        } else {
            output += answer(*service, peer, line);
        }
        output += '\n';
    }
    input.erase(0, begin);
    if (stay && input.size() > config.max_line) {
        output += refusal("line too long") + '\n';
        stay = false;
    }
    return stay;
}

Task<> ControlServer::Impl::serve(std::shared_ptr<Impl> self, Stream stream) {
    const Peer peer = peer_of(stream.native_handle());
    log::debug("control: connection of pid {} uid {}", peer.pid, peer.uid);
    Quota quota(self->config.max_requests, self->clock.now());
    std::vector<char> buffer(chunk);
    std::string input;
    std::string output;
    bool stay = true;
    while (stay && self->service) {
        const auto space = net::buffer(buffer);
        auto [error, n] = co_await stream.async_read_some(space, as_result);
        if (error || !self->service) break;
        input.append(buffer.data(), n);
        output.clear();
        stay = self->answer_lines(input, peer, quota, output);
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
