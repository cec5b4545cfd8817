// SPDX-License-Identifier: Apache-2.0
// Answers scrapers: HTTP on a Unix socket or on a loopback port. Whoever can connect may read, so
// every connection has a few seconds, one request, and one answer; there are a few at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "agent/daemon/metrics_config.hpp"

namespace boost::asio {
class io_context;
}

namespace hintier {

class MetricsServer {
public:
    // `text` makes what is told; it is asked at most once each `fresh`.
    static Result<std::unique_ptr<MetricsServer>> open(boost::asio::io_context& io,
                                                       const MetricsConfig& config,
                                                       std::function<std::string()> text);
    ~MetricsServer(); // removes the socket

    std::uint16_t port() const; // 0: a Unix socket

private:
    MetricsServer();

    struct Impl;
    std::shared_ptr<Impl> impl_;
};

} // namespace hintier
