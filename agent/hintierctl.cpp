// SPDX-License-Identifier: Apache-2.0
// hintierctl: the administrator's command. Exit status 0 done, 1 failed, 2 wrong usage.
#include <csignal>
#include <exception>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <hintier/types.h>

#include "agent/cli/command.hpp"

namespace {

using namespace hintier::cli;

std::string version_text() {
    return fmt::format("hintierctl {} (ABI {}.{})", HINTIER_VERSION, HINTIER_ABI_MAJOR,
                       HINTIER_ABI_MINOR);
}

void add_verbs(CLI::App& app, Command& command) {
    add_format(app, command);
    add_create(app, command);
    add_remove(app, command);
    add_list(app, command);
    add_status(app, command);
    add_top(app, command);
    add_where(app, command);
    add_explain(app, command);
    add_hint(app, command);
    add_objects(app, command);
    add_doctor(app, command);
    add_meta(app, command);
    add_agent(app, command);
    add_record(app, command);
    add_replay(app, command);
    add_simulate(app, command);
    add_completion(app, command);
}

// --json is looked for by hand: when parsing fails, nobody has read it yet.
bool wants_json(int argc, char** argv) {
    for (int i = 1; i < argc; i++)
        if (std::string_view(argv[i]) == "--json") return true;
    return false;
}

int report(const std::string& text, int code, bool json, Exit exit) {
    if (json) print_json({{"ok", false}, {"error", text}, {"errno", code}});
    note(fmt::format("hintierctl: {}\n", text));
    return static_cast<int>(exit);
}

int parse_failed(const CLI::App& app, const CLI::ParseError& error, bool json) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) // --help, --version
        return app.exit(error);
    std::string command = "hintierctl";
    for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
        at = at->get_subcommands().front();
        command += " " + at->get_name();
    }
    return report(fmt::format("{}: see `{} --help`", error.what(), command), 0, json, Exit::usage);
}

int run(int argc, char** argv) {
    CLI::App app{"hintierctl makes, watches and examines hintier tiers", "hintierctl"};
    app.set_version_flag("--version", version_text());
    app.require_subcommand(1);
    app.get_formatter()->column_width(26);
    app.footer(
        "Exit status: 0 done, 1 failed, 2 wrong usage. `hintierctl VERB --help` has examples;\n"
        "start with `hintierctl doctor`.");
    Command command;
    add_verbs(app, command);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return parse_failed(app, error, wants_json(argc, argv));
    }
    auto outcome = command.action();
    if (!outcome)
        return report(fmt::format("{}: {}", command.chosen, outcome.error().text),
                      outcome.error().code, command.json, Exit::failure);
    return static_cast<int>(*outcome);
}

} // namespace

int main(int argc, char** argv) {
    std::signal(SIGPIPE, SIG_IGN); // `hintierctl … | head` is not a crash
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        return report(error.what(), 0, wants_json(argc, argv), Exit::failure);
    }
}
