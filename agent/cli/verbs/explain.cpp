// SPDX-License-Identifier: Apache-2.0
// explain: why a file's bytes are where they are.
#include <memory>
#include <string>

#include "agent/cli/agent_socket.hpp"
#include "agent/cli/command.hpp"
#include "agent/cli/explain.hpp"

namespace hintier::cli {

namespace {

struct Options {
    std::string socket = agent_socket_path;
    std::string file;
};

Result<Exit> explain(const Options& options, bool json) {
    Dm dm;
    auto file = find_file(dm, options.file, false);
    if (!file) return Failure(file.error());
    const auto& [below, map] = *file;
    auto control = ControlDevice::bind(dm_node(below.tier), ControlDevice::Access::advise);
    if (!control) return Failure(control.error());
    auto pieces = look_at(map, *control, below.offset);
    if (!pieces) return Failure(pieces.error());

    Explained explained{options.file, below.tier.name, map.size, std::move(*pieces), {}, {}};
    auto agent = ask_agent(options.socket, {{"op", "explain"}, {"file", options.file}});
    if (agent) {
        agent->erase("ok");
        explained.agent = std::move(*agent);
    } else {
        explained.agent_error = agent.error().text;
    }
    const Json answer = explain_json(explained);
    if (json)
        print_json(answer);
    else
        print(explain_text(answer));
    return Exit::ok;
}

} // namespace

void add_explain(CLI::App& app, Command& command) {
    auto options = std::make_shared<Options>();
    Verb(app, command, "explain", "why a file's bytes are where they are",
         "  hintierctl explain /srv/kv/1f/1f3a.bin\n"
         "  hintierctl explain /srv/kv/1f/1f3a.bin --json | jq .agent.worth\n")
        .argument("FILE", options->file, "a regular file on a tier")
        .text("--socket", "PATH", options->socket, "hintierd's control socket")
        .action([options, &command] { return explain(*options, command.json); });
}

} // namespace hintier::cli
