// SPDX-License-Identifier: Apache-2.0
//
// ht_replay: an inference server's file-system KV tier under the requests of a trace.
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include <fmt/format.h>

#include "qemu/replay/generate.hpp"
#include "qemu/replay/replay.hpp"
#include "qemu/replay/simulate.hpp"
#include "qemu/replay/stats.hpp"

namespace hintier::replay {

namespace {

void emit(const nlohmann::ordered_json& json, const std::string& path) {
    if (path == "-") {
        std::cout << json.dump(2) << '\n';
        return;
    }
    std::ofstream out(path, std::ios::trunc);
    out << json.dump(2) << '\n';
    out.close();
    if (!out)
        throw std::runtime_error(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

struct PlanCommand {
    std::string trace, out, ends = "60";
    double minutes = 15, mark = 5;
    unsigned part = 1;
    bool as_stamped = false;

    void add(CLI::App& app) {
        auto* plan = app.add_subcommand("plan", "work out what a run does: requests, session ends");
        plan->add_option("--trace", trace, "Mooncake JSON lines; - is standard input")->required();
        plan->add_option("--out", out, "the plan's file")->required();
        plan->add_option("--minutes", minutes, "requests that arrive before this are replayed")
            ->check(CLI::Range(0.1, 1440.0));
        plan->add_option("--mark", mark, "figures count from this minute on");
        plan->add_option("--ends", ends,
                         "seconds after its last request at which a session's end "
                         "is told, or none");
        plan->add_option("--part", part, "take one chain family in this many")
            ->check(CLI::Range(1, 1000));
        plan->add_flag(
            "--as-stamped", as_stamped,
            "let requests with one time stamp arrive together, not spread over its tick");
        plan->callback([this] { execute(); });
    }

    void execute() const {
        PlanOptions options;
        options.length_ms = static_cast<std::uint32_t>(minutes * 60'000);
        options.mark_ms = static_cast<std::uint32_t>(mark * 60'000);
        options.ends = ends != "none";
        if (options.ends) options.notice_ms = static_cast<std::uint32_t>(std::stod(ends) * 1000);
        Trace requests = read_trace_file(trace);
        if (!as_stamped) spread_arrivals(requests);
        const Trace taken = take_chains(requests, part);
        const Plan plan = make_plan(taken, options);
        save_plan(plan, out);
        std::unordered_set<BlockId> unique;
        for (const auto& request : taken)
            unique.insert(request.blocks.begin(), request.blocks.end());
        emit({{"requests", plan.requests.size()},
              {"full_blocks", plan.blocks.size()},
              {"session_ends", plan.ends.size()},
              {"blocks_named_dead", plan.dead.size()},
              {"trace_requests", taken.size()},
              {"trace_unique_blocks", unique.size()},
              {"object_bytes", kObjectBytes},
              {"scale", kScale}},
             "-");
    }
};

struct RunCommand {
    std::string plan, out = "-";
    RunOptions options;
    DeviceModel device;
    bool buffered = false, always_restore = false;
    std::uint32_t page_tokens = kBlockTokens;

    void add_common(CLI::App& command) {
        command.add_option("--plan", plan, "file made by 'ht_replay plan'")->required();
        command.add_option("--out", out, "result (JSON); - is standard output");
        command.add_option("--compute", options.point.compute_tokens_per_s, "tokens a second")
            ->check(CLI::PositiveNumber);
        command.add_option("--dram", options.point.dram_tokens, "tokens of KV in DRAM");
        command.add_option("--ttft-limit", options.ttft_limit_ms, "ms; goodput's limit");
        command.add_option("--writers", options.writers, "writer threads")
            ->check(CLI::Range(1, 64));
        command.add_option("--readers", options.readers, "reader threads")
            ->check(CLI::Range(1, 64));
        command.add_flag("--always-restore", always_restore, "never choose recompute over restore");
    }

    void add(CLI::App& app) {
        auto* run = app.add_subcommand("run", "replay a plan against a directory");
        add_common(*run);
        run->add_option("--root", options.tier.root, "directory for the tier's files")->required();
        run->add_option("--dilation", options.dilation, "clock time per modelled time")
            ->check(CLI::PositiveNumber);
        run->add_option("--agent-socket", options.agent_socket,
                        "tell the agent of session ends instead of removing files");
        run->add_option("--at-mark", options.at_mark, "shell command run when figures begin");
        run->add_flag("--buffered", buffered, "without O_DIRECT, for file systems that refuse it");
        run->add_option("--page-tokens", page_tokens,
                        "tokens of a file, below 512: files as SGLang's file backend has them")
            ->check(CLI::Range(1u, kBlockTokens));
        run->add_option("--scale", options.tier.shape.scale,
                        "a file has this part of its bytes; 1 or 61");
        run->callback([this] {
            options.tier.direct = !buffered;
            options.tier.shape.pages = kBlockTokens / page_tokens;
            if (kBlockTokens % page_tokens || !options.tier.shape.valid())
                throw std::runtime_error("--page-tokens and --scale: a file must be whole 4 KiB, "
                                         "and pages must fill a block of 512 tokens");
            options.point.may_recompute = !always_restore;
            emit(hintier::replay::run(load_plan(plan), options), out);
        });

        auto* simulate = app.add_subcommand("simulate", "predict a run with a simple device model");
        add_common(*simulate);
        simulate->add_option("--read-gbps", device.read_gbps, "read bandwidth, full scale");
        simulate->add_option("--write-gbps", device.write_gbps, "write bandwidth, full scale");
        simulate->add_option("--latency-us", device.latency_us, "of every operation");
        simulate->callback([this] {
            options.point.may_recompute = !always_restore;
            emit(hintier::replay::simulate(load_plan(plan), options, device), out);
        });
    }
};

struct TraceCommands {
    std::string out = "-", trace;
    std::uint64_t seed = 1;
    double hours = 1;

    void add(CLI::App& app) {
        auto* generate = app.add_subcommand("generate", "make a trace like the published one");
        generate->add_option("--seed", seed, "same seed, same trace");
        generate->add_option("--hours", hours, "length")->check(CLI::Range(0.05, 24.0));
        generate->add_option("--out", out, "JSON lines; - is standard output");
        generate->callback([this] {
            const Trace made = generate_trace(seed, hours);
            if (out == "-") return write_trace(std::cout, made);
            std::ofstream file(out, std::ios::trunc);
            write_trace(file, made);
            file.close();
            if (!file) throw std::runtime_error("cannot write " + out);
        });

        auto* stats = app.add_subcommand("stats", "a trace's statistics beside the published ones");
        stats->add_option("trace", trace, "Mooncake JSON lines; - is standard input")->required();
        stats->callback(
            [this] { fmt::print("{}", format_stats(measure(read_trace_file(trace)))); });
    }
};

} // namespace

} // namespace hintier::replay

int main(int argc, char** argv) {
    using namespace hintier::replay;
    CLI::App app{"ht_replay: replay KV requests on a file-system tier"};
    app.require_subcommand(1);
    PlanCommand plan;
    RunCommand run;
    TraceCommands trace;
    plan.add(app);
    run.add(app);
    trace.add(app);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    } catch (const std::exception& error) {
        fmt::print(stderr, "ht_replay: {}\n", error.what());
        return 1;
    }
    return 0;
}
