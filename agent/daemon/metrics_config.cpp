// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/metrics_config.hpp"

#include <charconv>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

namespace hintier {

namespace {

template <class Address>
SocketAddress stored(const Address& address) {
    SocketAddress ret;
    std::memcpy(&ret.storage, &address, sizeof(address));
    ret.size = sizeof(address);
    return ret;
}

Result<SocketAddress> unix_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() > 100) return failure("a socket's path has at most 100 characters");
    path.copy(address.sun_path, path.size());
    return stored(address);
}

bool is_loopback(const in_addr& address) {
    return ntohl(address.s_addr) >> 24 == 127;
}

} // namespace

Result<SocketAddress> metrics_address(const std::string& listen) {
    if (listen.starts_with('/')) return unix_address(listen);

    const auto wrong = [] {
        return failure("must be a path, or an address and a port as in \"127.0.0.1:9466\"");
    };
    const std::size_t colon = listen.rfind(':');
    if (colon == listen.npos) return wrong();
    std::uint16_t port = 0;
    const char* end = listen.data() + listen.size();
    const auto [rest, error] = std::from_chars(listen.data() + colon + 1, end, port);
    if (error != std::errc{} || rest != end) return wrong();

    const std::string host = listen.substr(0, colon);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
        if (!is_loopback(v4.sin_addr)) return failure("must be a loopback address");
        return stored(v4);
    }
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']' &&
        inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6.sin6_addr) == 1) {
        if (!IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) return failure("must be a loopback address");
        return stored(v6);
    }
    return wrong();
}

Result<void> MetricsConfig::validate() const {
    if (max_connections < 1 || max_connections > 256) {
        return failure("max_connections is from 1 to 256");
    }
    if (listen.empty()) return {};
    if (const auto address = metrics_address(listen); !address) {
        return failure("listen " + address.error().text);
    }
    return {};
}

} // namespace hintier
