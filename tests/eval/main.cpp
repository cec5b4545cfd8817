// SPDX-License-Identifier: Apache-2.0
//
// ht_eval: the agent's model and planner on traces of KV blocks, against a target that is a
// capacity and a value table. Says nothing about time; says what is served from where, and what
// is programmed.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "qemu/replay/generate.hpp"
#include "tests/eval/phase.hpp"
#include "tests/eval/prefetch.hpp"
#include "tests/eval/report.hpp"

using namespace hintier::eval;
using Json = nlohmann::ordered_json;

namespace {

struct Arguments {
    std::string traces;
    std::string out;
    std::vector<std::string> loads = {"chat", "agents"};
    std::vector<std::string> sections = {"liveness", "chain", "prefetch", "phase"};

    bool wants(const std::string& section) const {
        return std::find(sections.begin(), sections.end(), section) != sections.end();
    }
    std::vector<double> percent = {1, 5, 10};
    double hours = 1;
    bool json = false;
};

// One line that is written over, on a terminal; nothing otherwise.
void progress(const std::string& what) {
    if (!isatty(STDERR_FILENO)) return;
    fmt::print(stderr, "\r\033[K{}", what);
    std::fflush(stderr);
}

std::string chat_path(const Arguments& arguments) {
    const auto path = std::filesystem::path(arguments.traces) / "mooncake-fast25" /
                      "conversation_trace.jsonl.zst";
    return !arguments.traces.empty() && std::filesystem::exists(path) ? path.string() : "";
}

Load load_named(const std::string& name, const Arguments& arguments) {
    namespace fs = std::filesystem;
    const fs::path dir = arguments.traces;
    if (name == "chat") {
        if (const auto path = chat_path(arguments); !path.empty())
            return read_chat(path, 3'000'000);
        return generate_chat(1, arguments.hours, 3'000'000);
    }
    const auto path = dir / "weka-agentic" / "traces.tar.zst";
    if (!dir.empty() && fs::exists(path)) return read_agents(path, 10'000'000);
    return generate_agents(1, arguments.hours * 12, 10'000'000);
}

constexpr const char* how =
    "In order of time, the first quarter of a load warms up, the second tunes, the second half "
    "is reported. The tables learn online and look at nothing to come. `constants` were scanned "
    "on the tuning parts of both traces (agent/model/README.md says which, and from what). "
    "`chosen`: the price that wrote least on the tuning part while it served the share asked for. "
    "`floors`: figures of a published study on the same halves, which chose its constants while "
    "looking at them; for mode wear, bulk x of our curve over prices at the study's served share.";

// What the price does that the tuning part recommends.
Json chosen_json(const std::vector<Row>& rows, const std::vector<double>& shares) {
    Json all = Json::array();
    fmt::print("\nmode wear, price chosen on the tuning part for the share to be served\n"
               " fast told   asked price  fast served usable bulk x\n");
    for (const double share : shares) {
        for (const std::string signals : {"none", "ends"}) {
            for (const double served : served_targets()) {
                const Row* row = chosen(rows, signals, share, served);
                if (!row) continue;
                const Part& part = row->outcome.report;
                fmt::print("{:>4g}% {:6}   {:.2f}  {:.2f} {:.3f}  {:.3f}  {:.3f}  {:.3f}{}\n",
                           share * 100, signals, served, row->price, fast_of(part), served_of(part),
                           usable_of(part), x_of(part),
                           served_of(row->outcome.tune) < served ? "  (no price served as much)"
                                                                 : "");
                Json one = to_json(*row);
                one["asked_served"] = served;
                all.push_back(one);
            }
        }
    }
    return all;
}

Json floors_json(const std::string& load, const std::vector<Row>& rows) {
    Json all = Json::array();
    fmt::print("\nfloors of the study, on the reported part\n");
    for (const Floor& floor : study_floors()) {
        if (floor.load != load) continue;
        if (std::none_of(rows.begin(), rows.end(),
                         [&](const Row& row) { return row.fast_share == floor.fast_share; }))
            continue;
        const Reached got = reached(floor, rows);
        const bool wear = floor.policy == "wear";
        const std::string what = wear ? "bulk_written_per_created" : "fast";
        Json wanted = {{what, wear ? floor.x : floor.fast}};
        if (wear) wanted["served"] = floor.served;
        all.push_back({{"fast_percent", floor.fast_share * 100},
                       {"policy", floor.policy},
                       {"signals", floor.signals},
                       {"wanted", wanted},
                       {"got", {{what, std::round(got.got * 1e4) / 1e4}}},
                       {"reached", got.floor}});
        const std::string text =
            wear ? fmt::format("bulk x {:.2f} at {:.2f} served", floor.x, floor.served)
                 : fmt::format("fast {:.2f}", floor.fast);
        fmt::print("{:>4g}% {} {:5} {:28} {:.3f}{}\n", floor.fast_share * 100, floor.policy,
                   floor.signals, text + ":", got.got, got.floor ? "" : "  SHORT");
    }
    return all;
}

// What a request goes on to read, from its first read on and as the rule is configured.
Json chain_json(const Load& load) {
    Json all;
    const auto run = [&](const std::string& name, const hintier::ChainRule::Config& config,
                         Reader reader, bool told) {
        progress(fmt::format("{} chain {}", load.name, name));
        const ChainOutcome outcome = run_chain(load, config, reader, told);
        const Json report = to_json(outcome.report);
        all[name] = {{"report", report}, {"tune", to_json(outcome.tune)}};
        progress("");
        fmt::print("chain, {}: {} of further reads covered, {} wasted per useful, {} requests\n",
                   name, report["covered"].dump(), report["wasted_per_useful"].dump(),
                   report["requests"].dump());
    };
    run("from_first_read", from_first_read(), Reader::one_by_one, false);
    run("from_first_read_with_kv_events", from_first_read(), Reader::one_by_one, true);
    hintier::ChainRule::Config helps_all;
    helps_all.deep_readers = 0;
    run("as_configured", helps_all, Reader::lookups_first, false);
    return all;
}

Json seconds_json(const PhaseOutcome& outcome) {
    Json rows;
    for (std::size_t is = 0; is < hintier::phase_count; is++)
        for (std::size_t taken = 0; taken < hintier::phase_count; taken++)
            rows[std::string(hintier::phase_name(hintier::Phase(is)))]
                [std::string(hintier::phase_name(hintier::Phase(taken)))] =
                    std::round(outcome.seconds[is][taken] * 100) / 100;
    return rows;
}

// What a server is at, as its files tell, and as its files and calls do.
Json phase_json(const Arguments& arguments) {
    const auto path = chat_path(arguments);
    auto trace = path.empty() ? hintier::replay::generate_trace(1, 0.5) : read_chat_trace(path);
    hintier::replay::spread_arrivals(trace);
    Json all = {{"source", path.empty() ? "generated, seed 1" : path},
                {"lasting_s", lasting_s},
                {"seen_within_s", seen_within_s}};
    const auto one = [&](const std::string& name, const hintier::replay::Trace& of,
                         const PhaseOptions& options) {
        progress("phase " + name);
        const PhaseOutcome outcome = run_phase(of, options);
        progress("");
        const double right = outcome.right(!options.calls);
        const double seen = ratio(outcome.seen, outcome.changes);
        fmt::print("phase, {}: right {:.3f} of the time, {:.3f} of {} changes seen within {:.0f} "
                   "ms, median {:.0f} ms, 99 % {:.0f} ms\n",
                   name, right, seen, outcome.changes, seen_within_s * 1e3,
                   outcome.seen_s_median * 1e3, outcome.seen_s_99 * 1e3);
        all[name] = {{"right", std::round(right * 1e4) / 1e4},
                     {"decode_and_idle_are_one", !options.calls},
                     {"changes", outcome.changes},
                     {"seen", std::round(seen * 1e4) / 1e4},
                     {"seen_s_median", outcome.seen_s_median},
                     {"seen_s_99", outcome.seen_s_99},
                     {"prompt_tokens_per_s", options.compute_tokens_per_s},
                     {"memory_tokens", options.memory_tokens},
                     {"seconds_taken_for", seconds_json(outcome)}};
    };
    PhaseOptions node; // one of many accelerators, that tells nothing
    node.until_s = 1200;
    node.memory_tokens = 1'000'000;
    one("files", trace, node);
    PhaseOptions box; // one accelerator with a library whose calls are seen
    box.until_s = 1200;
    box.compute_tokens_per_s = 4000;
    box.memory_tokens = 60'000;
    box.calls = true;
    one("files_and_calls", hintier::replay::take_chains(trace, 16), box);
    return all;
}

Json part_json(const PrefetchPart& part) {
    const auto rounded = [](double value) { return std::round(value * 1e4) / 1e4; };
    return {{"timely", part.timely},
            {"late", part.late},
            {"unused", part.unused},
            {"reads_not_in_fast", part.slow},
            {"precision", rounded(part.precision())},
            {"recall", rounded(part.recall())},
            {"timeliness", rounded(part.timeliness())},
            {"reading_s", rounded(part.reading_s)},
            {"reading_s_without", rounded(part.alone_s)}};
}

// How fetches end, rule by rule.
Json prefetch_json(const Load& load) {
    Json all;
    const auto one = [&](const std::string& name, const PrefetchOptions& options) {
        progress(fmt::format("{} prefetch {}", load.name, name));
        const PrefetchOutcome outcome = run_prefetch(load, options);
        progress("");
        const PrefetchPart& part = outcome.report;
        fmt::print("prefetch, {}: precision {:.3f}, recall {:.3f}, timely {:.3f}; {:.0f} s of "
                   "reading instead of {:.0f}\n",
                   name, part.precision(), part.recall(), part.timeliness(), part.reading_s,
                   part.alone_s);
        all[name] = {{"report", part_json(part)}, {"tune", part_json(outcome.tune)}};
    };
    PrefetchOptions options;
    options.chain = true;
    one("chain", options);
    options.told = true;
    one("chain_with_kv_events", options);
    options.chain = options.told = false;
    for (const int lead : {1, 5}) {
        options.lead = lead;
        one(fmt::format("announce_{}_s", lead), options);
    }
    return all;
}

Json evaluate(const Arguments& arguments) {
    Json result = {{"how", how}, {"constants", to_json(hintier::LivenessRule::Config())}};
    std::vector<double> shares;
    for (const double percent : arguments.percent)
        shares.push_back(percent / 100);
    for (const std::string& name : arguments.loads) {
        progress("reading " + name);
        const Load load = load_named(name, arguments);
        const auto rows =
            arguments.wants("liveness") ? run_liveness(load, shares, progress) : std::vector<Row>();
        progress("");
        fmt::print("{}: {}; {} requests, {} blocks; tuned on {:.0f} to {:.0f} s, reported from "
                   "there\n{}",
                   load.name, load.source, load.requests.size(), load.unique, load.tune_until / 2,
                   load.tune_until, rows.empty() ? "" : table_of(rows));
        Json& json = result["loads"][name] = {{"load", to_json(load)}};
        for (const Row& row : rows)
            json["liveness"].push_back(to_json(row));
        if (!rows.empty()) json["chosen"] = chosen_json(rows, shares);
        if (!rows.empty() && load.real) json["floors"] = floors_json(name, rows);
        if (arguments.wants("chain")) json["chain"] = chain_json(load);
        if (arguments.wants("prefetch")) json["prefetch"] = prefetch_json(load);
        fmt::print("\n");
        std::fflush(stdout);
    }
    if (arguments.wants("phase")) result["phase"] = phase_json(arguments);
    return result;
}

void write(const Json& result, const std::string& path) {
    std::ofstream file(path);
    file << result.dump(2) << '\n';
    file.close();
    if (!file) throw std::runtime_error("cannot write " + path);
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
    app.add_flag("--json", arguments.json, "JSON to stdout, the table to stderr");
    app.add_option("--load", arguments.loads, "which loads (chat, agents)")
        ->check(CLI::IsMember({"chat", "agents"}));
    app.add_option("--section", arguments.sections,
                   "which parts (liveness, chain, prefetch, phase)")
        ->check(CLI::IsMember({"liveness", "chain", "prefetch", "phase"}));
    app.add_option("--fast", arguments.percent, "sizes of fast, in percent of the unique blocks")
        ->check(CLI::Range(0.01, 100.0));
    app.add_option("--hours", arguments.hours, "length of generated chat; agents: 12 times that")
        ->check(CLI::Range(0.05, 24.0));
    CLI11_PARSE(app, argc, argv);
    try {
        // The table is for people; whoever wants JSON gets nothing else on stdout.
        const int out = arguments.json ? dup(STDOUT_FILENO) : -1;
        if (arguments.json) dup2(STDERR_FILENO, STDOUT_FILENO);
        const Json result = evaluate(arguments);
        std::fflush(stdout);
        if (arguments.json) {
            dup2(out, STDOUT_FILENO);
            fmt::print("{}\n", result.dump(2));
        }
        if (!arguments.out.empty()) write(result, arguments.out);
    } catch (const std::exception& error) {
        fmt::print(stderr, "ht_eval: {}\n", error.what());
        return 1;
    }
    return 0;
}
