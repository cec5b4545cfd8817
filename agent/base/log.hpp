// SPDX-License-Identifier: Apache-2.0
// Log lines on stderr. For the journal each begins with its level as "<6>", which it strips; a
// terminal gets plain lines. Only the daemon and the mains log.
#pragma once

#include <string_view>

#include <fmt/core.h>

namespace hintier::log {

enum class Level { error = 3, warning = 4, info = 6, debug = 7 }; // as in syslog(3)

void set_level(Level most); // what is less urgent is not written
void set_prefix(bool on);
bool enabled(Level level);
void write(Level level, std::string_view line);

template <class... Args>
void print(Level level, fmt::format_string<Args...> format, Args&&... args) {
    if (enabled(level)) {
        write(level, fmt::format(format, std::forward<Args>(args)...));
    }
}

template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::error, format, std::forward<Args>(args)...);
}

template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::warning, format, std::forward<Args>(args)...);
}

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::info, format, std::forward<Args>(args)...);
}

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
    print(Level::debug, format, std::forward<Args>(args)...);
}

} // namespace hintier::log
