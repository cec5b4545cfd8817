// SPDX-License-Identifier: Apache-2.0
// hintierd: arguments, configuration, then the loop. Exit status: 0 stopped as told, 1 cannot run
// (one line says why), 2 wrong arguments or configuration.
#include <csignal>
#include <cstdlib>
#include <exception>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "agent/base/log.hpp"
#include "agent/daemon/app.hpp"

namespace {

using namespace hintier;

constexpr int cannot_run = 1;
constexpr int misused = 2;

struct Arguments {
    std::string config = "/etc/hintier/hintierd.toml";
    bool check_config = false;
    bool dry_run = false;
    bool foreground = false;
};

int run(const Arguments& arguments) {
    log::set_prefix(!arguments.foreground);
    const auto config = load_config(arguments.config);
    if (!config) {
        log::error("{}", config.error().text);
        return misused;
    }
    if (arguments.check_config) {
        fmt::print("{}: correct, {} watched director{}\n", arguments.config, config->roots.size(),
                   config->roots.size() == 1 ? "y" : "ies");
        return EXIT_SUCCESS;
    }
    log::set_level(config->agent.level);
    const auto stopped = run_app(*config, {.dry_run = arguments.dry_run});
    if (!stopped) {
        log::error("{}", stopped.error().text);
        return cannot_run;
    }
    return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    CLI::App cli("Watches KV files of inference servers and tells hintier tiers what is coming.",
                 "hintierd");
    cli.add_option("--config", arguments.config, "configuration file")->capture_default_str();
    cli.add_flag("--check-config", arguments.check_config, "say whether it is correct, and end");
    cli.add_flag("--dry-run", arguments.dry_run, "log hints and unlinks instead of doing them");
    cli.add_flag("--foreground", arguments.foreground,
                 "plain log lines, for a terminal; else with levels for the journal");
    cli.set_version_flag("--version", "hintierd " HINTIER_VERSION);
    try {
        cli.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return cli.exit(error) == 0 ? EXIT_SUCCESS : misused;
    }

    std::signal(SIGPIPE, SIG_IGN);
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        log::error("cannot go on: {}", error.what());
        return cannot_run;
    }
}
