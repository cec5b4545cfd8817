// SPDX-License-Identifier: Apache-2.0
// agent: ask the running hintierd; agent/daemon/control.hpp has the questions and the answers.
#include <functional>
#include <memory>
#include <string>

#include "agent/cli/agent_socket.hpp"
#include "agent/cli/command.hpp"
#include "agent/cli/grid.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string socket = agent_socket_path;
    std::string file;
    std::uint32_t most = 20;
};

// {"rules":{"reap":{"sent":3}}} → "rules.reap.sent  3"
void flatten(const Json& value, const std::string& name, Facts& facts) {
    if (!value.is_structured() || value.empty()) {
        facts.add(name, value.is_string() ? value.get<std::string>() : value.dump());
        return;
    }
    std::string prefix = name.empty() ? "" : name + ".";
    for (const auto& [key, member] : value.items())
        flatten(member, prefix + key, facts);
}

Result<Exit> ask(const Options& options, const Json& request, bool json) {
    auto answer = ask_agent(options.socket, request);
    if (!answer) return Failure(answer.error());
    if (json) {
        print_json(*answer);
        return Exit::ok;
    }
    answer->erase("ok");
    Facts facts;
    flatten(*answer, "", facts);
    print(answer->empty() ? "done\n" : facts.text());
    return Exit::ok;
}

} // namespace

void add_agent(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    CLI::App* agent = app.add_subcommand("agent", "ask the running hintierd");
    agent->require_subcommand(1);
    agent->add_option("--socket", options->socket, "hintierd's control socket")
        ->capture_default_str()
        ->type_name("PATH");
    agent->footer("Examples:\n  hintierctl agent status --json\n"
                  "  hintierctl agent explain /srv/kv/1f3a\n");

    auto question = [&](const std::string& name, const std::string& about,
                        const std::string& arguments, std::function<Json()> request) {
        CLI::App* verb =
            command.verb(*agent, name, about, "  hintierctl agent " + name + arguments + "\n");
        verb->fallthrough(); // --socket may stand behind
        command.on(verb,
                   [options, &command, request] { return ask(*options, request(), command.json); });
        return verb;
    };
    question("ping", "is it there", "", [] { return Json{{"op", "ping"}}; });
    question("status", "what it knows and has said", "", [] { return Json{{"op", "status"}}; });
    question("explain", "what it knows about a file, and why", " /srv/kv/1f3a",
             [options] {
                 return Json{{"op", "explain"}, {"file", options->file}};
             })
        ->add_option("FILE", options->file, "name or path of a watched file")
        ->required()
        ->type_name("");
    question("heat", "the regions that are read most", " --most 5",
             [options] {
                 return Json{{"op", "heat"}, {"most", options->most}};
             })
        ->add_option("--most", options->most, "how many regions")
        ->capture_default_str()
        ->type_name("N");
    question("stop-reaping", "forget which files wait to be unlinked", "", [] {
        return Json{{"op", "stop_reaping"}};
    });
}

} // namespace hintier::cli
