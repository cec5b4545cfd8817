// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/command.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

namespace hintier::cli {

namespace {

void set_check(CLI::Option* option, Check check) {
    if (check) option->check(std::move(check));
}

} // namespace

Check must_be_one_of(std::vector<std::string> words) {
    return [words = std::move(words)](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        return fmt::format("'{}' is none of {}", text, fmt::join(words, ", "));
    };
}

Verb::Verb(CLI::App& parent, Command& command, const std::string& name, const std::string& about,
           const std::string& examples)
    : app_(parent.add_subcommand(name, about)), command_(&command) {
    app_->add_flag("--json", command.json, "answer one JSON document instead of text");
    app_->footer("Examples:\n" + examples);
    if (parent.get_parent()) app_->fallthrough(); // options of the group may stand behind
}

Verb& Verb::argument(const std::string& name, std::string& to, const std::string& about,
                     Check check) {
    set_check(app_->add_option(name, to, about)->required()->type_name(""), std::move(check));
    return *this;
}

Verb& Verb::optional_argument(const std::string& name, std::string& to, const std::string& about) {
    app_->add_option(name, to, about)->type_name("");
    return *this;
}

Verb& Verb::more_arguments(const std::string& name, std::vector<std::string>& to,
                           const std::string& about) {
    app_->add_option(name, to, about)->type_name("");
    return *this;
}

Verb& Verb::flag(const std::string& name, bool& to, const std::string& about) {
    app_->add_flag(name, to, about);
    return *this;
}

Verb& Verb::text(const std::string& name, const std::string& type, std::string& to,
                 const std::string& about, Check check) {
    CLI::Option* option = app_->add_option(name, to, about)->type_name(type);
    if (!to.empty()) option->capture_default_str();
    set_check(option, std::move(check));
    return *this;
}

Verb& Verb::texts(const std::string& name, const std::string& type, std::vector<std::string>& to,
                  const std::string& about, Check check) {
    set_check(app_->add_option(name, to, about)->type_name(type)->allow_extra_args(false),
              std::move(check));
    return *this;
}

Verb& Verb::number(const std::string& name, const std::string& type, std::uint64_t& to,
                   std::uint64_t most, const std::string& about) {
    app_->add_option(name, to, about)->type_name(type)->check([most](const std::string& text) {
        std::uint64_t value = 0;
        bool fine = CLI::detail::lexical_cast(text, value) && value <= most &&
                    text.find_first_not_of("0123456789xabcdefABCDEF") == std::string::npos;
        return fine ? std::string() : fmt::format("'{}' is no number from 0 to {}", text, most);
    });
    return *this;
}

Verb& Verb::together(std::function<std::string()> check) {
    together_ = std::move(check);
    return *this;
}

void Verb::action(std::function<Result<Exit>()> what) {
    app_->callback([app = app_, command = command_, together = together_, what = std::move(what)] {
        if (std::string wrong = together ? together() : ""; !wrong.empty())
            throw CLI::ValidationError(wrong);
        bool nested = app->get_parent()->get_parent() != nullptr;
        command->chosen = (nested ? app->get_parent()->get_name() + " " : "") + app->get_name();
        command->action = what;
    });
}

CLI::App& Verb::group(CLI::App& parent, const std::string& name, const std::string& about,
                      const std::string& examples) {
    CLI::App* group = parent.add_subcommand(name, about);
    group->require_subcommand(1);
    group->footer("Examples:\n" + examples);
    return *group;
}

void Verb::group_text(CLI::App& group, const std::string& name, const std::string& type,
                      std::string& to, const std::string& about) {
    group.add_option(name, to, about)->type_name(type)->capture_default_str();
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
