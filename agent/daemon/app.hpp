// SPDX-License-Identifier: Apache-2.0
// The loop around an Agent: waits for its descriptors and times, serves the control socket,
// tells systemd, and ends on SIGTERM or SIGINT.
#pragma once

#include "agent/daemon/agent.hpp"

namespace hintier {

// Returns when the daemon has been told to stop.
Result<void> run_app(const Config& config, const Agent::Options& options);

} // namespace hintier
