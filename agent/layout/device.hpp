// SPDX-License-Identifier: Apache-2.0
// Where a filesystem's device lies on a tier: the tier itself, a partition of it, or a linear
// device-mapper device on it, in any order of nesting.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "agent/base/result.hpp"

namespace hintier {

struct OnTier {
    std::uint32_t tier = 0;   // kernel number of the tier device
    std::uint64_t offset = 0; // bytes from its start
};

// ENODEV when there is no tier below; EPERM when what is below cannot be seen through without
// CAP_SYS_ADMIN (device-mapper tables).
Result<OnTier> find_tier(std::uint32_t device, const std::function<bool(std::uint32_t)>& is_tier);

// "253:0"
std::string device_text(std::uint32_t device);

// What a device is called in /dev, from sysfs: works without udev.
Result<std::string> device_node(std::uint32_t device);

// dm-linear's parameters, "<major>:<minor> <sector>".
struct LinearTarget {
    std::uint32_t device = 0;
    std::uint64_t sector = 0;
};
Result<LinearTarget> parse_linear(std::string_view params);

} // namespace hintier
