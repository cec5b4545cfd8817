// SPDX-License-Identifier: Apache-2.0
//
// crash_sim: explore histories, or replay one.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>
#include <sstream>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "sim/history.hpp"

namespace {

using namespace hintier::sim;
using Clock = std::chrono::steady_clock;

struct Arguments {
    uint64_t first = 1, histories = 2400, seconds = 0, stop_after = 3;
    unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
    uint64_t seed = 0, until = 0;
    bool cut = false, verbose = false, whole = false;
    std::string steps, config, json;
};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

bool apply_config(const std::string& config, Options& options) {
    std::istringstream words(config);
    for (std::string word; std::getline(words, word, ',');) {
        const size_t equals = word.find('=');
        if (equals == std::string::npos ||
            !set_option(options, word.substr(0, equals),
                        uint32_t(std::strtoul(word.c_str() + equals + 1, nullptr, 0)))) {
            std::cerr << "crash_sim: no such setting: " << word << "\n";
            return false;
        }
    }
    return true;
}

// 3,17-20,29
std::string list_of(const Steps& steps) {
    std::string text;
    for (size_t i = 0; i < steps.size(); i++) {
        size_t end = i;
        while (end + 1 < steps.size() && steps[end + 1].number == steps[end].number + 1)
            end++;
        text += (i ? "," : "") + std::to_string(steps[i].number);
        if (end > i) text += "-" + std::to_string(steps[end].number);
        i = end;
    }
    return text;
}

Steps parse_steps(uint64_t seed, const std::string& list) {
    Steps steps;
    std::istringstream words(list);
    for (std::string word; std::getline(words, word, ',');) {
        char* rest = nullptr;
        const uint64_t from = std::strtoull(word.c_str(), &rest, 10);
        const uint64_t to = *rest == '-' ? std::strtoull(rest + 1, nullptr, 10) : from;
        for (const Step& s : steps_of(seed, from, to))
            steps.push_back(s);
    }
    return steps;
}

// ---- exploring ------------------------------------------------------------------------------

class Exploration {
public:
    explicit Exploration(const Arguments& arguments) : arguments_(arguments) {}

    int run() {
        std::vector<std::thread> workers;
        for (unsigned i = 0; i < arguments_.jobs; i++)
            workers.emplace_back([this] { work(); });
        for (auto told = Clock::now(); ended_ < arguments_.jobs;) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            if (seconds_since(told) < 5) continue;
            told = Clock::now();
            tell();
        }
        for (std::thread& worker : workers)
            worker.join();
        tell();
        if (totals_.counts.clean_before >= ENOUGH && kept_share() < KEPT)
            totals_.violations++, std::printf("VIOLATION: a cut loses clean extents (C4)\n");
        report();
        return totals_.violations ? 1 : 0;
    }

private:
    // C4: of the clean extents that a commit has seen, a crash keeps at least so many.
    static constexpr double KEPT = 0.95;
    static constexpr uint64_t ENOUGH = 1000;

    double kept_share() const {
        const Sim::Counts& n = totals_.counts;
        return n.clean_before ? double(n.clean_kept) / double(n.clean_before) : 1.0;
    }

    bool wanted() const {
        return totals_.violations < arguments_.stop_after &&
               (!arguments_.seconds || seconds_since(start_) < double(arguments_.seconds));
    }

    void work() {
        for (;;) {
            const uint64_t nth = next_++;
            if (nth >= arguments_.histories) break;
            const uint64_t seed = arguments_.first + nth;
            Options options = options_of(seed);
            apply_config(arguments_.config, options);
            Totals totals;
            Violation violation;
            const bool ok = explore(seed, options, plan_of(seed), totals, violation);
            const std::lock_guard lock(mutex_);
            totals_.add(totals);
            if (!ok) complain(options, violation);
            if (!wanted()) next_ = arguments_.histories;
        }
        ended_++;
    }

    void complain(const Options& options, const Violation& violation) {
        std::string config;
        if (!arguments_.config.empty()) config = " --config " + arguments_.config;
        std::printf("VIOLATION seed %llu, %s step %llu: %s\n  %s\n  crash_sim --seed %llu%s "
                    "--until %llu%s -v\n",
                    ull(violation.seed), violation.cut ? "a cut after" : "by", ull(violation.until),
                    violation.what.c_str(), describe(options).c_str(), ull(violation.seed),
                    config.c_str(), ull(violation.until), violation.cut ? " --cut" : "");
        std::fflush(stdout);
        if (arguments_.whole) return;
        std::string what;
        const Steps steps = shrink(options, violation, what);
        if (what.empty()) return;
        std::printf("  shrunk to %zu steps: %s\n  crash_sim --seed %llu%s --steps %s%s -v\n",
                    steps.size(), what.c_str(), ull(violation.seed), config.c_str(),
                    list_of(steps).c_str(), violation.cut ? " --cut" : "");
        std::fflush(stdout);
    }

    static unsigned long long ull(uint64_t value) { return value; }

    void tell() {
        const std::lock_guard lock(mutex_);
        std::fprintf(stderr, "  %llu histories, %llu crash points, %llu violations, %.0f s\n",
                     ull(totals_.histories), ull(totals_.crash_points), ull(totals_.violations),
                     seconds_since(start_));
    }

    void report() const {
        const Sim::Counts& n = totals_.counts;
        nlohmann::ordered_json json;
        json["histories"] = totals_.histories;
        json["crash_points"] = totals_.crash_points;
        json["violations"] = totals_.violations;
        json["clean_kept_share"] = kept_share();
        json["clean_extents"] = n.clean_before;
        json["clean_extents_younger_than_a_commit"] = n.clean_all - n.clean_before;
        json["steps"] = totals_.steps;
        json["seconds"] = std::round(seconds_since(start_) * 10) / 10;
        for (const auto& [name, count] : n.named())
            json["work"][name] = count;
        if (arguments_.json.empty())
            std::cout << json.dump(1) << "\n";
        else
            std::ofstream(arguments_.json) << json.dump(1) << "\n";
    }

    const Arguments arguments_;
    const Clock::time_point start_ = Clock::now();
    std::atomic<uint64_t> next_ = 0;
    std::atomic<unsigned> ended_ = 0;
    std::mutex mutex_;
    Totals totals_;
};

// ---- replay ---------------------------------------------------------------------------------

int replay(const Arguments& arguments) {
    Options options = options_of(arguments.seed);
    if (!apply_config(arguments.config, options)) return 2;
    const Steps steps = arguments.steps.empty() ? steps_of(arguments.seed, 1, arguments.until)
                                                : parse_steps(arguments.seed, arguments.steps);
    std::printf("%s\n", describe(options).c_str());
    const std::string what =
        replay_steps(options, steps,
                     {arguments.seed, steps.empty() ? 0 : steps.back().number, arguments.cut, {}},
                     arguments.verbose);
    std::printf("%s\n", what.empty() ? "nothing failed" : what.c_str());
    return what.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    Arguments a;
    CLI::App app{"Run kmod/core on two simulated devices, cut their power, recover, and check what "
                 "a user may see. Without --seed: explore histories; with it: replay one.",
                 "crash_sim"};
    app.add_option("--first", a.first, "first seed")->capture_default_str();
    app.add_option("--histories", a.histories, "how many seeds")->capture_default_str();
    app.add_option("--seconds", a.seconds, "start no history after this; 0: no limit")
        ->capture_default_str();
    app.add_option("--jobs", a.jobs, "threads")->capture_default_str();
    app.add_option("--stop-after", a.stop_after, "violations")->capture_default_str();
    app.add_flag("--no-shrink", a.whole, "do not look for a shorter history that fails");
    app.add_option("--json", a.json, "write the result to this file");
    app.add_option("--config", a.config, "settings in place of the seed's own: key=value,...");
    auto* seed = app.add_option("--seed", a.seed, "replay this history");
    app.add_option("--until", a.until, "up to this step")->needs(seed);
    app.add_option("--steps", a.steps, "only these steps: 3,17-20,29")->needs(seed);
    app.add_flag("--cut", a.cut, "then cut the power, recover and check")->needs(seed);
    app.add_flag("-v,--verbose", a.verbose, "say what each step does")->needs(seed);
    CLI11_PARSE(app, argc, argv);

    Options checked;
    if (!apply_config(a.config, checked)) return 2;
    if (a.seed) return replay(a);
    return Exploration(a).run();
}
