// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/doctor/machine.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <sys/utsname.h>

namespace hintier::cli {

Machine Machine::here() {
    utsname name{};
    uname(&name);
    return {"", name.release};
}

bool Machine::exists(const std::string& name) const {
    std::error_code ignored;
    return std::filesystem::exists(path(name), ignored);
}

std::string Machine::read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    std::string all = text.str();
    while (!all.empty() && all.back() == '\n')
        all.pop_back();
    return all;
}

// "36 35 98:0 /sub /mnt rw,noatime shared:1 - ext4 /dev/root rw,errors=continue"
std::vector<Mount> Machine::mounts() const {
    std::vector<Mount> found;
    std::istringstream lines(read("/proc/self/mountinfo"));
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string skip;
        Mount mount;
        std::string super;
        words >> skip >> skip >> mount.device >> skip >> mount.point >> mount.options;
        while (words >> skip && skip != "-") {
        }
        if (!(words >> mount.type >> mount.source >> super)) continue;
        mount.options += "," + super;
        found.push_back(std::move(mount));
    }
    return found;
}

std::uint64_t Machine::capabilities() const {
    std::istringstream lines(read("/proc/self/status"));
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("CapEff:")) continue;
        std::uint64_t mask = 0;
        std::istringstream(line.substr(7)) >> std::hex >> mask;
        return mask;
    }
    return 0;
}

} // namespace hintier::cli
