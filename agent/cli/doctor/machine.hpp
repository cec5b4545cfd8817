// SPDX-License-Identifier: Apache-2.0
// The machine as doctor sees it: files below a root, so that a test can show it any machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/cli/doctor/finding.hpp"

namespace hintier::cli {

struct Mount {
    std::string device; // "8:1"
    std::string point;
    std::string type;
    std::string options; // of the mount and of the file system, comma-separated
    std::string source;
};

struct Machine {
    std::string root;    // "" on the real one
    std::string release; // uname -r

    static Machine here();

    std::string path(const std::string& name) const { return root + name; }
    bool exists(const std::string& name) const;
    std::string read(const std::string& name) const; // whole file, without the last newline
    std::vector<Mount> mounts() const;
    std::uint64_t capabilities() const; // effective mask of this process
};

// Kernel, module, privileges, services. Each looks at one thing.
Finding check_kernel(const Machine& machine);
Finding check_headers(const Machine& machine);
Finding check_device_mapper(const Machine& machine);
Finding check_module(const Machine& machine);
Finding check_control(const Machine& machine);
Finding check_btf(const Machine& machine);
Finding check_tracing(const Machine& machine);
Finding check_privileges(const Machine& machine);
Finding check_unit(const Machine& machine);
Finding check_containers(const Machine& machine);

// One device: what it is to a tier. `role` is "fast", "bulk" or "device".
Findings check_device(const Machine& machine, const std::string& id, const std::string& role);
// The file systems that lie on the device with that id.
Findings check_mounts(const Machine& machine, const std::string& id, const std::string& tier);

} // namespace hintier::cli
