// SPDX-License-Identifier: Apache-2.0
#include "agent/base/log.hpp"

#include <cstdio>
#include <string>

namespace hintier::log {

namespace {
Level most = Level::info;
bool prefix = false;
} // namespace

void set_level(Level level) {
    most = level;
}
void set_prefix(bool on) {
    prefix = on;
}
bool enabled(Level level) {
    return level <= most;
}

void write(Level level, std::string_view line) {
    std::string out = prefix ? fmt::format("<{}>", static_cast<int>(level)) : std::string();
    for (char c : line) {
        out += c == '\n' ? ' ' : c; // what peers and files are called must not forge lines
    }
    out += '\n';
    (void)std::fwrite(out.data(), 1, out.size(), stderr);
}

} // namespace hintier::log
