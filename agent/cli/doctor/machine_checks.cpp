// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <hintier/types.h>
#include <linux/capability.h>
#include <unistd.h>

#include "agent/cli/control_device.hpp"
#include "agent/cli/doctor/machine.hpp"

namespace hintier::cli {

namespace {

constexpr std::pair<int, int> oldest = {6, 1}; // what the module is built and tested for

// Where `make install` and dkms leave the module.
std::string installed_module(const Machine& machine) {
    for (const char* place : {"/updates/dkms/hintier.ko", "/updates/dkms/hintier.ko.xz",
                              "/updates/hintier.ko", "/extra/hintier.ko"}) {
        std::string file = "/lib/modules/" + machine.release + place;
        if (machine.exists(file)) return file;
    }
    return {};
}

bool in_list(const std::string& file, const std::string& wanted) {
    return ("\n" + file + "\n").find("\n" + wanted + "\n") != std::string::npos;
}

} // namespace

Finding check_kernel(const Machine& machine) {
    std::pair<int, int> version;
    if (std::sscanf(machine.release.c_str(), "%d.%d", &version.first, &version.second) != 2)
        return odd("kernel", "release '" + machine.release + "' cannot be read",
                   "use a kernel from 6.1 on");
    if (version < oldest)
        return bad("kernel", machine.release + " is older than 6.1",
                   "boot Debian 12's kernel or a newer one");
    return good("kernel", machine.release);
}

Finding check_headers(const Machine& machine) {
    if (machine.exists("/lib/modules/" + machine.release + "/build"))
        return good("kernel headers", "/lib/modules/" + machine.release + "/build");
    if (machine.exists("/sys/module/hintier") || !installed_module(machine).empty())
        return good("kernel headers", "not here, and not needed: the module is built");
    return odd("kernel headers",
               "none for " + machine.release + ": the module cannot be built here",
               "apt-get install linux-headers-" + machine.release);
}

Finding check_device_mapper(const Machine& machine) {
    if (machine.read("/proc/misc").find("device-mapper") != std::string::npos)
        return good("device-mapper", "loaded");
    std::string modules = "/lib/modules/" + machine.release;
    if (in_list(machine.read(modules + "/modules.builtin"), "kernel/drivers/md/dm-mod.ko"))
        return good("device-mapper", "built into the kernel");
    if (machine.exists(modules + "/kernel/drivers/md/dm-mod.ko") ||
        machine.exists(modules + "/kernel/drivers/md/dm-mod.ko.xz"))
        return odd("device-mapper", "not loaded", "modprobe dm-mod (create does it by itself)");
    return bad("device-mapper", "this kernel has none", "use a distribution's kernel");
}

Finding check_module(const Machine& machine) {
    std::string installed = installed_module(machine);
    if (!machine.exists("/sys/module/hintier")) {
        if (!installed.empty()) return odd("module", "installed, not loaded", "modprobe hintier");
        return bad("module", "neither loaded nor installed for " + machine.release,
                   "make install, or insmod build/kmod/6.1/hintier.ko");
    }
    std::string version = machine.read("/sys/module/hintier/version");
    if (!version.empty() && version != HINTIER_VERSION)
        return odd(
            "module",
            fmt::format("loaded, version {}; this is hintierctl {}", version, HINTIER_VERSION),
            "install both from one build, then rmmod hintier && modprobe hintier");
    return good("module", version.empty() ? "loaded" : "loaded, version " + version);
}

// The real device whatever the root is: there is no other way to ask a module its version.
Finding check_control(const Machine& machine) {
    if (!machine.exists(HINTIER_CONTROL_PATH))
        return bad("control device", HINTIER_CONTROL_PATH " is missing",
                   "modprobe hintier; without udev or devtmpfs make the node from /proc/misc");
    auto version = control_version();
    if (!version) return bad("control device", version.error().text, "run as root");
    if (version->major != HINTIER_ABI_MAJOR)
        return bad("control device",
                   fmt::format("ABI {}.{}, hintierctl speaks {}", version->major, version->minor,
                               HINTIER_ABI_MAJOR),
                   "install the module and hintierctl from one build");
    return good("control device", fmt::format("ABI {}.{}, features {:#x}", version->major,
                                              version->minor, version->features));
}

Finding check_btf(const Machine& machine) {
    if (machine.exists("/sys/kernel/btf/vmlinux")) return good("BTF", "/sys/kernel/btf/vmlinux");
    return odd("BTF", "this kernel has none: the agent cannot watch files and accesses",
               "use a kernel with CONFIG_DEBUG_INFO_BTF, as distributions build it");
}

Finding check_tracing(const Machine& machine) {
    for (const char* place : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
        if (!machine.exists(std::string(place) + "/events")) continue;
        if (machine.exists("/sys/module/hintier") &&
            !machine.exists(std::string(place) + "/events/hintier"))
            return odd("tracing", std::string(place) + " has no hintier events",
                       "reload the module: rmmod hintier && modprobe hintier");
        return good("tracing", place);
    }
    return odd("tracing", "tracefs is not mounted or not readable",
               "mount -t tracefs nodev /sys/kernel/tracing, as root");
}

Finding check_privileges(const Machine& machine) {
    static constexpr std::pair<int, const char*> needed[] = {
        {CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
        {CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
        {CAP_PERFMON, "CAP_PERFMON"},
        {CAP_BPF, "CAP_BPF"},
    };
    std::uint64_t mask = machine.capabilities();
    std::string missing;
    for (const auto& [bit, name] : needed)
        if (!(mask >> bit & 1)) missing += std::string(missing.empty() ? "" : ", ") + name;
    if (missing.empty())
        return good("privileges", "create, hint and the agent's programs are allowed");
    return odd("privileges", "this shell lacks " + missing,
               "sudo hintierctl …; the agent gets its own from its unit");
}

Finding check_unit(const Machine& machine) {
    if (!machine.exists("/run/systemd/system"))
        return odd("agent service", "systemd does not run here", "start hintierd by other means");
    for (const char* place :
         {"/etc/systemd/system", "/lib/systemd/system", "/usr/lib/systemd/system"}) {
        if (!machine.exists(std::string(place) + "/hintierd.service")) continue;
        if (machine.exists("/run/hintier/hintierd.sock"))
            return good("agent service", "installed and running");
        return odd("agent service", "installed, not running: the tier works, unhinted",
                   "systemctl enable --now hintierd");
    }
    return odd("agent service", "hintierd.service is not installed", "make install");
}

Finding check_containers(const Machine& machine) {
    std::string point;
    for (const Mount& mount : machine.mounts())
        if (mount.type == "overlay") point = mount.point;
    if (point.empty()) return good("containers", "no overlay file systems");
    return odd("containers",
               "overlay file systems are mounted, as on " + point +
                   ": files in them cannot be mapped to a tier",
               "give the server the tier as a volume: docker run -v /srv/kv:/srv/kv …");
}

} // namespace hintier::cli
