// SPDX-License-Identifier: Apache-2.0
// completion: the shell's part of the command line, so that it is there without installation.
#include <memory>
#include <string>

#include "agent/cli/command.hpp"

namespace hintier::cli {

namespace {

// agent/completion/hintierctl as a string literal, made by the build.
constexpr const char* bash_completion =
#include "completion.inc"
    ;

} // namespace

void add_completion(CLI::App& app, Command& command) {
    auto shell = std::make_shared<std::string>();
    Verb(app, command, "completion", "print the shell's completion rules",
         "  source <(hintierctl completion bash)\n")
        .argument("SHELL", *shell, "bash", must_be_one_of({"bash"}))
        .action([shell, &command]() -> Result<Exit> {
            if (command.json)
                print_json({{"shell", *shell}, {"script", bash_completion}});
            else
                print(bash_completion);
            return Exit::ok;
        });
}

} // namespace hintier::cli
