// SPDX-License-Identifier: Apache-2.0
#include "agent/layout/device.hpp"

#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/base/fd.hpp"
#include "hintier/trace.h"

namespace hintier {

namespace {

constexpr int deepest = 8; // devices under one another
constexpr std::uint64_t sector_bytes = 512;

std::string sysfs(std::uint32_t device, std::string_view file) {
    return std::string("/sys/dev/block/").append(device_text(device)).append("/").append(file);
}

std::optional<std::string> first_line(const std::string& path) {
    std::ifstream in(path);
    std::string line;
    if (!std::getline(in, line)) return {};
    return line;
}

template <class T>
bool take_number(std::string_view& text, T& number) {
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    return true;
}

bool take(std::string_view& text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
}

std::optional<std::uint32_t> parse_device(std::string_view& text) {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    if (!take_number(text, major) || !take(text, ':') || !take_number(text, minor)) return {};
    return HINTIER_TRACE_DEV(major, minor);
}

// The one linear target of a device-mapper device.
Result<LinearTarget> read_linear(std::uint32_t device) {
    Fd control(open("/dev/mapper/control", O_RDWR | O_CLOEXEC));
    if (!control) return system_failure("/dev/mapper/control");
    alignas(dm_ioctl) char buffer[4096] = {};
    auto* io = reinterpret_cast<dm_ioctl*>(buffer);
    io->version[0] = DM_VERSION_MAJOR;
    io->data_size = sizeof(buffer);
    io->data_start = sizeof(dm_ioctl);
    io->flags = DM_STATUS_TABLE_FLAG;
    io->dev = makedev(device >> 20U, device & 0xFFFFFU);
    if (ioctl(control.get(), DM_TABLE_STATUS, io)) return system_failure("device-mapper table");
    if (io->target_count != 1 || io->flags & DM_BUFFER_FULL_FLAG) {
        return failure("more than one target", ENODEV);
    }
    const auto* spec = reinterpret_cast<const dm_target_spec*>(buffer + io->data_start);
    if (std::strcmp(spec->target_type, "linear") != 0) {
        return failure(std::string("target ").append(spec->target_type), ENODEV);
    }
    return parse_linear(reinterpret_cast<const char*>(spec + 1));
}

// One step down; ENODEV at the bottom.
Result<OnTier> below(std::uint32_t device) {
    if (const auto start = first_line(sysfs(device, "start"))) {
        const auto parent = first_line(sysfs(device, "../dev"));
        std::string_view sectors = *start;
        std::string_view number = parent ? std::string_view(*parent) : std::string_view();
        std::uint64_t first = 0;
        const auto whole = parse_device(number);
        if (!take_number(sectors, first) || !whole) return failure("odd partition in sysfs", EIO);
        return OnTier{*whole, first * sector_bytes};
    }
    if (first_line(sysfs(device, "dm/name"))) {
        auto linear = read_linear(device);
        if (!linear) return Failure(std::move(linear.error()));
        return OnTier{linear->device, linear->sector * sector_bytes};
    }
    return failure("no hintier tier below it", ENODEV);
}

} // namespace

std::string device_text(std::uint32_t device) {
    return std::to_string(device >> 20U).append(":").append(std::to_string(device & 0xFFFFFU));
}

Result<std::string> device_node(std::uint32_t device) {
    std::ifstream in(sysfs(device, "uevent"));
    std::string line;
    while (std::getline(in, line)) {
        if (line.starts_with("DEVNAME=")) return "/dev/" + line.substr(8);
    }
    return failure("no block device " + device_text(device), ENODEV);
}

Result<LinearTarget> parse_linear(std::string_view params) {
    LinearTarget target;
    const auto device = parse_device(params);
    if (!device || !take(params, ' ') || !take_number(params, target.sector) || !params.empty()) {
        return failure("odd parameters of a linear target", EINVAL);
    }
    target.device = *device;
    return target;
}

Result<OnTier> find_tier(std::uint32_t device, const std::function<bool(std::uint32_t)>& is_tier) {
    OnTier at{device, 0};
    for (int level = 0; level < deepest; ++level) {
        if (is_tier(at.tier)) return at;
        auto next = below(at.tier);
        if (!next) return Failure(std::move(next.error()).within("device " + device_text(at.tier)));
        at = {next->tier, at.offset + next->offset};
    }
    return failure("too many devices under " + device_text(device), ENODEV);
}

} // namespace hintier
