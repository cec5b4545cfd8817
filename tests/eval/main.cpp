// SPDX-License-Identifier: Apache-2.0
//
// ht_eval: the agent's model and planner on traces of KV blocks, against a target that is a
// capacity and a value table. Says nothing about time; says what is served from where, and what
// is programmed.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/eval/report.hpp"

using namespace hintier::eval;
using Json = nlohmann::ordered_json;

namespace {

struct Arguments {
    std::string traces;
    std::string out;
    std::vector<std::string> loads = {"chat", "agents"};
    std::vector<double> percent = {1, 5, 10};
    double hours = 1;
};

// One line that is written over, on a terminal; nothing otherwise.
void progress(const std::string& what) {
    if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K{}", what);
}

Load load_named(const std::string& name, const Arguments& arguments) {
    namespace fs = std::filesystem;
    const fs::path dir = arguments.traces;
    if (name == "chat") {
        const auto path = dir / "mooncake-fast25" / "conversation_trace.jsonl.zst";
        if (!dir.empty() && fs::exists(path)) return read_chat(path, 3'000'000);
        return generate_chat(1, arguments.hours, 3'000'000);
    }
    const auto path = dir / "weka-agentic" / "traces.tar.zst";
    if (!dir.empty() && fs::exists(path)) return read_agents(path, 10'000'000);
    return generate_agents(1, arguments.hours * 12, 10'000'000);
}

Json floors_json(const std::string& load, const std::vector<Row>& rows) {
    Json all = Json::array();
    for (const Floor& floor : study_floors()) {
        if (floor.load != load) continue;
        const Row* row = closest(floor, rows);
        if (!row) continue;
        Json one = {{"fast_percent", floor.fast_share * 100},
                    {"policy", floor.policy},
                    {"signals", floor.signals}};
        Json wanted, got;
        if (floor.fast > 0) {
            wanted["fast"] = floor.fast;
        } else {
            wanted = {{"served", floor.served}, {"bulk_written_per_created", floor.x}};
            one["price"] = row->price;
        }
        one["wanted"] = wanted;
        one["got"] = to_json(*row)["report"];
        one["reached"] = reached(floor, *row);
        all.push_back(one);
        const Part& part = row->outcome.report;
        const std::string price = row->price > 0 ? fmt::format(" at price {:g}", row->price) : "";
        if (floor.fast > 0)
            fmt::print("{:>4g}% {} {:5} fast {:.2f}: {:.3f}{}\n", floor.fast_share * 100,
                       floor.policy, floor.signals, floor.fast, fast_of(part),
                       reached(floor, *row) ? "" : "  SHORT");
        else
            fmt::print("{:>4g}% {} {:5} served {:.2f}, bulk x {:.2f}: {:.3f}, {:.3f}{}{}\n",
                       floor.fast_share * 100, floor.policy, floor.signals, floor.served, floor.x,
                       served_of(part), x_of(part), price, reached(floor, *row) ? "" : "  SHORT");
    }
    return all;
}

// What a request goes on to read, from its first read on and as the rule is configured.
Json chain_json(const Load& load) {
    Json all;
    const auto run = [&](const std::string& name, const hintier::ChainRule::Config& config,
                         Reader reader) {
        progress(fmt::format("{} chain {}", load.name, name));
        const ChainOutcome outcome = run_chain(load, config, reader);
        const Json report = to_json(outcome.report);
        all[name] = {{"report", report}, {"tune", to_json(outcome.tune)}};
        progress("");
        fmt::print("chain, {}: {} of further reads covered, {} wasted per useful, {} requests\n",
                   name, report["covered"].dump(), report["wasted_per_useful"].dump(),
                   report["requests"].dump());
    };
    run("from_first_read", from_first_read(), Reader::one_by_one);
    hintier::ChainRule::Config helps_all;
    helps_all.deep_readers = 0;
    run("as_configured", helps_all, Reader::lookups_first);
    return all;
}

void evaluate(const Arguments& arguments) {
    Json result = {{"constants", to_json(hintier::LivenessRule::Config())}};
    std::vector<double> shares;
    for (const double percent : arguments.percent)
        shares.push_back(percent / 100);
    for (const std::string& name : arguments.loads) {
        progress("reading " + name);
        const Load load = load_named(name, arguments);
        const auto rows = run_liveness(load, shares, progress);
        progress("");
        fmt::print("{}: {}; {} requests, {} blocks, {} s and later\n{}", load.name, load.source,
                   load.requests.size(), load.unique, load.tune_until, table_of(rows));
        Json& json = result["loads"][name] = {{"load", to_json(load)}};
        for (const Row& row : rows)
            json["liveness"].push_back(to_json(row));
        json["chain"] = chain_json(load);
        const bool real = load.source.find("generated") == std::string::npos;
        if (real) {
            fmt::print("\nfloors of the study\n");
            json["floors"] = floors_json(name, rows);
        }
        fmt::print("\n");
        std::fflush(stdout);
    }
    if (arguments.out.empty()) return;
    std::ofstream file(arguments.out);
    file << result.dump(2) << '\n';
    file.close();
    if (!file) throw std::runtime_error("cannot write " + arguments.out);
}

} // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    CLI::App app("What the agent's model and planner reach on traces of KV blocks: share of reads "
                 "served from fast, served at all, and blocks written to bulk for each created.");
    app.add_option("--traces", arguments.traces,
                   "directory with mooncake-fast25/ and weka-agentic/; what is not there is "
                   "generated");
    app.add_option("--out", arguments.out, "JSON goes here");
    app.add_option("--load", arguments.loads, "which loads (chat, agents)")
        ->check(CLI::IsMember({"chat", "agents"}));
    app.add_option("--fast", arguments.percent, "sizes of fast, in percent of the unique blocks")
        ->check(CLI::Range(0.01, 100.0));
    app.add_option("--hours", arguments.hours, "length of generated chat; agents: 12 times that")
        ->check(CLI::Range(0.05, 24.0));
    CLI11_PARSE(app, argc, argv);
    try {
        evaluate(arguments);
    } catch (const std::exception& error) {
        fmt::print(stderr, "ht_eval: {}\n", error.what());
        return 1;
    }
    return 0;
}
