// SPDX-License-Identifier: Apache-2.0
// Serves the control socket: connections, lines, quotas. What a line means is control.hpp's.
#pragma once

#include <memory>

#include "agent/daemon/config.hpp"
#include "agent/daemon/control.hpp"

namespace boost::asio {
class io_context;
}

namespace hintier {

class ControlServer {
public:
    // EADDRINUSE: another daemon answers there. A socket that nobody answers is replaced.
    static Result<std::unique_ptr<ControlServer>>
    open(boost::asio::io_context& io, const Config::Control& config, ControlService& service);
    ~ControlServer(); // removes the socket

private:
    ControlServer();

    struct Impl;
    std::shared_ptr<Impl> impl_;
};

} // namespace hintier
