// SPDX-License-Identifier: Apache-2.0
//
// The same server against a device that is two numbers and a latency: what a run should come to,
// in seconds instead of minutes. Says nothing about tiers; `run` is what is measured.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "qemu/replay/replay.hpp"

namespace hintier::replay {

struct DeviceModel {
    double read_gbps = 7.0;
    double write_gbps = 3.3;
    double latency_us = 300;
};

nlohmann::ordered_json simulate(const Plan& plan, const RunOptions& options,
                                const DeviceModel& device);

} // namespace hintier::replay
