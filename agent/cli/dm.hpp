// SPDX-License-Identifier: Apache-2.0
// Device-mapper as the command line needs it, over libdevmapper. With udev running, creation and
// removal wait for its rules; without it (a small initramfs) libdevmapper makes the nodes itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/cli/fail.hpp"

namespace hintier::cli {

struct DmTarget {
    std::uint64_t start = 0;  // sectors
    std::uint64_t length = 0; // sectors
    std::string type;
    std::string params; // of the table or of the status, as asked
};

struct DmDevice {
    std::string name;
    std::string uuid;
    dev_t id = 0;
    int open_count = 0;
    bool suspended = false;
    std::vector<DmTarget> targets;
};

enum class DmAsk { table, status };

class Dm {
public:
    Dm();
    ~Dm();
    Dm(const Dm&) = delete;
    Dm& operator=(const Dm&) = delete;

    Result<std::vector<std::string>> names();
    Result<DmDevice> ask(const std::string& name, DmAsk what);
    // All devices with at least one target of that type.
    Result<std::vector<DmDevice>> devices_of(const std::string& target_type, DmAsk what);
    Result<void> create(const std::string& name, const std::string& uuid, const DmTarget& target);
    Result<void> remove(const std::string& name);
    Result<void> message(const std::string& name, const std::string& text);
    // True when the kernel has a target of that type loaded.
    Result<bool> has_target(const std::string& type);
};

// The kernel has device-mapper, whatever nodes lie about.
bool device_mapper_present();

// A node under which the device can be opened.
std::string dm_node(const DmDevice& device);

} // namespace hintier::cli
