// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "agent/cli/doctor/machine.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

// An attribute of the queue; a partition's queue is its disk's.
std::string queue(const Machine& machine, const std::string& id, const std::string& name) {
    namespace fs = std::filesystem;
    std::string base = "/sys/dev/block/" + id;
    if (machine.exists(base + "/queue")) return machine.read(base + "/queue/" + name);
    std::error_code ignored;
    fs::path real = fs::canonical(machine.path(base), ignored);
    return Machine{real.parent_path(), machine.release}.read("/queue/" + name);
}

std::uint64_t number(const std::string& text) {
    return text.empty() ? 0 : std::strtoull(text.c_str(), nullptr, 10);
}

Finding check_medium(const std::string& check, const std::string& rotational) {
    if (rotational == "1")
        return odd(check, "reports rotating disks",
                   "a tier is made for flash; echo 0 > …/queue/"
                   "rotational if the report is wrong");
    return good(check, "flash");
}

Finding check_cache(const std::string& check, const std::string& mode) {
    if (mode == "write back") return good(check, "volatile write cache: every commit flushes it");
    return good(check, "no volatile write cache");
}

Finding check_discard(const std::string& check, const std::string& most, bool needed) {
    if (number(most) > 0) return good(check, "discard up to " + human_size(number(most)));
    if (!needed) return good(check, "no discard, and none needed");
    return odd(check, "no discard: dead data stays allocated on the drive",
               "update the drive's firmware or the layer in between");
}

bool has_option(const std::string& options, const std::string& wanted) {
    return ("," + options + ",").find("," + wanted + ",") != std::string::npos;
}

} // namespace

Findings check_device(const Machine& machine, const std::string& id, const std::string& role) {
    if (!machine.exists("/sys/dev/block/" + id))
        return {bad(role, "there is no block device " + id, "name a block device")};
    Findings found;
    found.push_back(check_medium(role + " medium", queue(machine, id, "rotational")));
    found.push_back(check_cache(role + " cache", queue(machine, id, "write_cache")));
    found.push_back(
        check_discard(role + " discard", queue(machine, id, "discard_max_bytes"), role != "fast"));
    std::string logical = queue(machine, id, "logical_block_size");
    if (number(logical) > 4096)
        found.push_back(bad(role + " blocks", logical + " bytes: larger than a unit of 4096",
                            "format the namespace with 512 or 4096 bytes: nvme format"));
    else
        found.push_back(good(role + " blocks", logical + " bytes"));
    return found;
}

Findings check_mounts(const Machine& machine, const std::string& id, const std::string& tier) {
    Findings found;
    for (const Mount& mount : machine.mounts()) {
        if (mount.device != id) continue;
        std::string check = tier + " " + mount.point;
        if (mount.type == "btrfs" || mount.type == "f2fs" || has_option(mount.options, "discard") ||
            has_option(mount.options, "discard=async"))
            found.push_back(good(check, mount.type + ", mounted with discard"));
        else
            found.push_back(odd(check,
                                mount.type + ", mounted without discard: deleted files are "
                                             "destaged like living ones",
                                "mount -o remount,discard " + mount.point));
    }
    return found;
}

} // namespace hintier::cli
