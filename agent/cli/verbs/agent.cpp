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
    std::uint64_t most = 20;
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
    CLI::App& agent = Verb::group(app, "agent", "ask the running hintierd",
                                  "  hintierctl agent status --json\n"
                                  "  hintierctl agent explain /srv/kv/1f3a\n");
    Verb::group_text(agent, "--socket", "PATH", options->socket, "hintierd's control socket");

    auto question = [&](const std::string& name, const std::string& about,
                        const std::string& arguments) {
        return Verb(agent, command, name, about, "  hintierctl agent " + name + arguments + "\n");
    };
    auto answer = [options, &command](std::function<Json()> request) {
        return [options, &command, request] { return ask(*options, request(), command.json); };
    };
    question("ping", "is it there", "").action(answer([] { return Json{{"op", "ping"}}; }));
    question("status", "what it knows and has said", "").action(answer([] {
        return Json{{"op", "status"}};
    }));
    question("explain", "what it knows about a file, and why", " /srv/kv/1f3a")
        .argument("FILE", options->file, "name or path of a watched file")
        .action(answer([options] {
            return Json{{"op", "explain"}, {"file", options->file}};
        }));
    question("heat", "the regions that are read most", " --most 5")
        .number("--most", "N", options->most, 1000, "how many regions")
        .action(answer([options] {
            return Json{{"op", "heat"}, {"most", options->most}};
        }));
    question("models", "which parts of models came into the page cache", " --most 5")
        .number("--most", "N", options->most, 1000, "how many experts of each")
        .action(answer([options] {
            return Json{{"op", "models"}, {"most", options->most}};
        }));
    question("stop-reaping", "forget which files wait to be unlinked", "").action(answer([] {
        return Json{{"op", "stop_reaping"}};
    }));
}

} // namespace hintier::cli
