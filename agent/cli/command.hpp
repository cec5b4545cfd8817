// SPDX-License-Identifier: Apache-2.0
// What every verb shares: how it is declared, how it answers, and which exit status it leaves.
//
// A verb declares its options and leaves an action. The action returns the exit status, or an
// Error that main() prints as one line (and as {"ok":false,…} under --json).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "agent/cli/fail.hpp"

namespace CLI {
class App;
}

namespace hintier::cli {

using Json = nlohmann::ordered_json;

enum class Exit { ok = 0, failure = 1, usage = 2 };

// What the user chose, once the arguments have been read.
struct Command {
    bool json = false;
    std::string chosen; // "status", "agent status"
    std::function<Result<Exit>()> action;
};

// What is wrong with an argument: wrong usage, in these words. Empty when it is right.
using Check = std::function<std::string(const std::string&)>;

// Right is what `parse` can read.
template <class Parse>
Check must_parse(Parse parse) {
    return [parse](const std::string& text) {
        auto value = parse(text);
        return value ? std::string() : value.error().text;
    };
}
Check must_be_one_of(std::vector<std::string> words);

// The declaration of one verb. Every verb has --json and --help; members outlive the parsing.
class Verb {
public:
    Verb(CLI::App& parent, Command& command, const std::string& name, const std::string& about,
         const std::string& examples);

    Verb& argument(const std::string& name, std::string& to, const std::string& about,
                   Check check = {});
    Verb& optional_argument(const std::string& name, std::string& to, const std::string& about);
    Verb& more_arguments(const std::string& name, std::vector<std::string>& to,
                         const std::string& about);
    Verb& flag(const std::string& name, bool& to, const std::string& about);
    Verb& text(const std::string& name, const std::string& type, std::string& to,
               const std::string& about, Check check = {});
    Verb& texts(const std::string& name, const std::string& type, std::vector<std::string>& to,
                const std::string& about, Check check = {});
    Verb& number(const std::string& name, const std::string& type, std::uint64_t& to,
                 std::uint64_t most, const std::string& about);
    // What is wrong with the arguments taken together.
    Verb& together(std::function<std::string()> check);
    void action(std::function<Result<Exit>()> what);

    // A verb that only has verbs of its own; options declared on it may stand behind them.
    static CLI::App& group(CLI::App& parent, const std::string& name, const std::string& about,
                           const std::string& examples);
    static void group_text(CLI::App& group, const std::string& name, const std::string& type,
                           std::string& to, const std::string& about);

private:
    CLI::App* app_;
    Command* command_;
    std::function<std::string()> together_;
};

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
void add_top(CLI::App& app, Command& command);
void add_where(CLI::App& app, Command& command);
void add_explain(CLI::App& app, Command& command);
void add_hint(CLI::App& app, Command& command);
void add_objects(CLI::App& app, Command& command);
void add_record(CLI::App& app, Command& command);
void add_replay(CLI::App& app, Command& command);
void add_simulate(CLI::App& app, Command& command);
void add_doctor(CLI::App& app, Command& command);
void add_meta(CLI::App& app, Command& command);
void add_agent(CLI::App& app, Command& command);
void add_completion(CLI::App& app, Command& command);

} // namespace hintier::cli
