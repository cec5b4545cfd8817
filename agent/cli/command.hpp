// SPDX-License-Identifier: Apache-2.0
// What every verb shares: how it is declared, how it answers, and which exit status it leaves.
//
// A verb declares its options on a CLI11 subcommand and leaves an action. The action returns the
// exit status, or an Error that main() prints as one line (or as {"ok":false,…} under --json).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "agent/cli/fail.hpp"

namespace hintier::cli {

using Json = nlohmann::ordered_json;

enum class Exit { ok = 0, failure = 1, usage = 2 };

struct Command {
    bool json = false;  // --json of the verb that was chosen
    std::string chosen; // its name
    std::function<Result<Exit>()> action;

    // Declares a verb with --json, and the examples that close its --help.
    CLI::App* verb(CLI::App& parent, const std::string& name, const std::string& about,
                   const std::string& examples);
    void on(CLI::App* verb, std::function<Result<Exit>()> what);
};

// A check for CLI11: what `parse` refuses is wrong usage, with its own words.
template <class Parse>
auto must_parse(Parse parse) {
    return [parse](const std::string& text) {
        auto value = parse(text);
        return value ? std::string() : value.error().text;
    };
}

// The answer of a verb: one JSON document, or text for people.
void print_json(const Json& document);
void print(std::string_view text);
void note(std::string_view text); // to stderr: progress and warnings
bool stdout_is_terminal();
bool stderr_is_terminal();

// Each adds one verb.
void add_format(CLI::App& app, Command& command);
void add_create(CLI::App& app, Command& command);
void add_remove(CLI::App& app, Command& command);
void add_list(CLI::App& app, Command& command);
void add_status(CLI::App& app, Command& command);
void add_where(CLI::App& app, Command& command);
void add_hint(CLI::App& app, Command& command);
void add_doctor(CLI::App& app, Command& command);
void add_agent(CLI::App& app, Command& command);
void add_completion(CLI::App& app, Command& command);

} // namespace hintier::cli
