// SPDX-License-Identifier: Apache-2.0
// Where scrapers are answered: nowhere, on a Unix socket, or on a loopback port.
#pragma once

#include <cstdint>
#include <string>

#include <sys/socket.h>

#include "agent/base/clock.hpp"
#include "agent/base/result.hpp"

namespace hintier {

struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

// "/path/of/a/socket", "127.0.0.1:9466", "[::1]:9466"; port 0 is any that is free.
Result<SocketAddress> metrics_address(const std::string& listen);

struct MetricsConfig {
    std::string listen; // empty: nowhere
    std::uint32_t max_connections = 8;
    Nanos patience = 5s; // with one connection
    Nanos fresh = 200ms; // an answer so old is given again

    Result<void> validate() const;
};

} // namespace hintier
