// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/command.hpp"

#include <cstdio>
#include <utility>

#include <unistd.h>

namespace hintier::cli {

CLI::App* Command::verb(CLI::App& parent, const std::string& name, const std::string& about,
                        const std::string& examples) {
    CLI::App* verb = parent.add_subcommand(name, about);
    verb->add_flag("--json", json, "answer one JSON document instead of text");
    verb->footer("Examples:\n" + examples);
    return verb;
}

void Command::on(CLI::App* verb, std::function<Result<Exit>()> what) {
    verb->callback([this, verb, what = std::move(what)] {
        bool nested = verb->get_parent()->get_parent() != nullptr;
        chosen = (nested ? verb->get_parent()->get_name() + " " : "") + verb->get_name();
        action = what;
    });
}

void print(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
}

void note(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_json(const Json& document) {
    // Device names and file names may hold any bytes: replace what is not UTF-8, never throw.
    print(document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

bool stdout_is_terminal() {
    return isatty(STDOUT_FILENO) == 1;
}

bool stderr_is_terminal() {
    return isatty(STDERR_FILENO) == 1;
}

} // namespace hintier::cli
