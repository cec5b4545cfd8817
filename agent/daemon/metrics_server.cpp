// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/metrics_server.hpp"

#include <optional>

#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/socket_base.hpp>
#include <boost/asio/write.hpp>

#include "agent/base/log.hpp"
#include "agent/base/task.hpp"
#include "agent/daemon/http.hpp"

// gcc 12 sees Asio's operator new of a coroutine's frame, which it inlines, and not its delete.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace hintier {

namespace {

using Protocol = net::generic::stream_protocol;
using Stream = Protocol::socket;
using Acceptor = net::basic_socket_acceptor<Protocol>;

constexpr const char* metrics_path = "/metrics";

// A socket that nobody answers any more is in the way.
Result<void> clear_way(const std::string& path) {
    struct stat st;
    if (!path.starts_with('/') || lstat(path.c_str(), &st)) return {};
    if (!S_ISSOCK(st.st_mode)) return failure("exists and is no socket", EEXIST);
    if (unlink(path.c_str())) return system_failure("cannot be replaced");
    return {};
}

} // namespace

struct MetricsServer::Impl {
    Impl(net::io_context& io, const MetricsConfig& on, std::function<std::string()> make)
        : config(on), text(std::move(make)), acceptor(io) {}

    MetricsConfig config;
    std::function<std::string()> text; // empty once the server is closed
    SystemClock clock;
    Acceptor acceptor;
    std::uint32_t connections = 0;
    std::string told;
    std::optional<Nanos> told_at;

    const std::string& current() {
        const Nanos now = clock.now();
        if (!told_at || now - *told_at >= config.fresh) {
            told = text();
            told_at = now;
        }
        return told;
    }

    static Task<> accept_all(std::shared_ptr<Impl> self);
    static Task<> serve(std::shared_ptr<Impl> self, std::shared_ptr<Stream> stream);
};

Task<> MetricsServer::Impl::serve(std::shared_ptr<Impl> self, std::shared_ptr<Stream> stream) {
    net::steady_timer patience(stream->get_executor());
    patience.expires_after(self->config.patience);
    patience.async_wait([stream](const boost::system::error_code& error) {
        boost::system::error_code ignored;
        if (!error) stream->close(ignored);
    });
    std::string head;
    char chunk[2048];
    const auto room = net::buffer(chunk);
    while (!http_head_complete(head) && head.size() < http_max_head) {
        auto [error, bytes] = co_await stream->async_read_some(room, as_result);
        if (error) break;
        head.append(chunk, bytes);
    }
    std::string answer;
    if (!head.empty() && stream->is_open() && self->text) {
        answer = http_head_complete(head)
                     ? http_answer(head, metrics_path, [&] { return self->current(); })
                     : http_refusal("431 Request Header Fields Too Large");
        const auto bytes = net::buffer(answer);
        auto [failed, written] = co_await net::async_write(*stream, bytes, as_result);
        (void)failed;
        (void)written;
        boost::system::error_code ignored;
        stream->shutdown(net::socket_base::shutdown_both, ignored);
    }
    --self->connections;
}

Task<> MetricsServer::Impl::accept_all(std::shared_ptr<Impl> self) {
    while (self->text) {
        auto [error, accepted] = co_await self->acceptor.async_accept(as_result);
        if (!self->text) break;
        if (error) {
            log::warning("metrics: accept: {}", error.message());
            net::steady_timer pause(self->acceptor.get_executor());
            pause.expires_after(1s);
            auto [cancelled] = co_await pause.async_wait(as_result);
            (void)cancelled;
            continue;
        }
        if (self->connections >= self->config.max_connections) continue; // hangs up
        ++self->connections;
        auto stream = std::make_shared<Stream>(std::move(accepted));
        auto session = serve(self, std::move(stream));
        net::co_spawn(self->acceptor.get_executor(), std::move(session), net::detached);
    }
}

MetricsServer::MetricsServer() = default;

Result<std::unique_ptr<MetricsServer>> MetricsServer::open(net::io_context& io,
                                                           const MetricsConfig& config,
                                                           std::function<std::string()> text) {
    const std::string doing = "metrics: " + config.listen;
    const auto address = metrics_address(config.listen);
    if (!address) return Failure(Error(address.error()).within(doing));
    const int family = address->storage.ss_family;
    const Protocol protocol(family, family == AF_UNIX ? 0 : IPPROTO_TCP);
    const Protocol::endpoint endpoint(&address->storage, address->size, protocol.protocol());
    if (auto clear = clear_way(config.listen); !clear) {
        return Failure(std::move(clear.error()).within(doing));
    }
    std::unique_ptr<MetricsServer> server(new MetricsServer);
    server->impl_ = std::make_shared<Impl>(io, config, std::move(text));
    Acceptor& acceptor = server->impl_->acceptor;
    boost::system::error_code error;
    acceptor.open(protocol, error);
    if (!error && family != AF_UNIX) {
        acceptor.set_option(net::socket_base::reuse_address(true), error);
    }
    if (!error) acceptor.bind(endpoint, error);
    if (!error && family == AF_UNIX && chmod(config.listen.c_str(), 0666)) {
        error.assign(errno, boost::system::system_category());
    }
    if (!error) acceptor.listen(16, error);
    if (error) return failure(doing + ": " + error.message(), error.value());
    net::co_spawn(io, Impl::accept_all(server->impl_), net::detached);
    return server;
}

std::uint16_t MetricsServer::port() const {
    boost::system::error_code ignored;
    const auto endpoint = impl_->acceptor.local_endpoint(ignored);
    const auto* address = reinterpret_cast<const sockaddr*>(endpoint.data());
    if (address->sa_family == AF_INET) {
        return ntohs(reinterpret_cast<const sockaddr_in*>(address)->sin_port);
    }
    if (address->sa_family == AF_INET6) {
        return ntohs(reinterpret_cast<const sockaddr_in6*>(address)->sin6_port);
    }
    return 0;
}

MetricsServer::~MetricsServer() {
    if (!impl_) return;
    impl_->text = nullptr;
    boost::system::error_code ignored;
    impl_->acceptor.close(ignored);
    if (impl_->config.listen.starts_with('/')) (void)unlink(impl_->config.listen.c_str());
}

} // namespace hintier
