// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/report.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hintier::eval {

namespace {

using Json = nlohmann::ordered_json;

constexpr double ends_after = 60;
constexpr double prices[] = {.02, .05, .07, .10, .15};
constexpr double chosen_price = .05;

// So that the last digits of a float do not differ between compilers.
double rounded(double value) {
    return std::round(value * 1e4) / 1e4;
}

Json part_json(const Part& part) {
    return {{"reads", part.reads},
            {"created", part.created},
            {"fast", rounded(fast_of(part))},
            {"served", rounded(served_of(part))},
            {"usable", rounded(usable_of(part))},
            {"bulk_written_per_created", rounded(x_of(part))},
            {"fast_written_per_created", rounded(ratio(part.tier.fast_writes, part.created))},
            {"bulk_read_per_created", rounded(ratio(part.tier.bulk_reads, part.created))}};
}

} // namespace

std::vector<Row> run_liveness(const Load& load, const std::vector<double>& fast_shares,
                              const std::function<void(const std::string&)>& progress) {
    std::vector<Row> rows;
    for (const double share : fast_shares) {
        const auto add = [&](const std::string& policy, const std::string& signals,
                             const Options& options) {
            const double price = policy == "wear" ? options.rule.values.price : 0;
            progress(fmt::format("{} {:g} % {} {} {}", load.name, share * 100, policy, signals,
                                 price > 0 ? fmt::format("price {:g}", price) : ""));
            rows.push_back({policy, signals, share, price,
                            policy == "oracle" ? run_oracle(load, share) : run(load, options)});
        };
        const auto with_lead = [&](const std::string& policy, Options options) {
            for (const int lead : {1, 5}) {
                options.lead = lead;
                add(policy, fmt::format("lead{}", lead), options);
            }
        };
        Options options;
        options.fast_share = share;
        options.rule.table_every = std::chrono::seconds(std::lround(load.table_every));
        add("oracle", "none", options);
        add("lru", "none", options);
        with_lead("lru", options);
        options.policy = Policy::values;
        for (const auto mode : {ValueConfig::Mode::fast, ValueConfig::Mode::wear}) {
            const bool wear = mode == ValueConfig::Mode::wear;
            const std::string policy = wear ? "wear" : "fast";
            options.rule.values.mode = mode;
            for (const double after : {-1.0, ends_after}) {
                options.ends_after = after;
                for (const double price : prices) {
                    if (!wear && price != chosen_price) continue;
                    options.rule.values.price = price;
                    add(policy, after < 0 ? "none" : "ends", options);
                }
            }
            options.ends_after = -1;
            options.rule.values.price = chosen_price;
            with_lead(policy, options);
        }
    }
    return rows;
}

const std::vector<Floor>& study_floors() {
    static const std::vector<Floor> floors = {
        {"chat", "fast", "none", .05, .47, 1, 0},     {"chat", "wear", "none", .05, 0, .98, .82},
        {"chat", "wear", "none", .05, 0, .96, .72},   {"chat", "fast", "ends", .05, .81, 1, 0},
        {"chat", "wear", "ends", .05, 0, .96, .07},   {"chat", "fast", "none", .10, .70, 1, 0},
        {"chat", "wear", "none", .10, 0, .96, .60},   {"chat", "fast", "ends", .10, .95, 1, 0},
        {"chat", "wear", "ends", .10, 0, .96, .02},   {"agents", "fast", "none", .10, .39, 1, 0},
        {"agents", "wear", "none", .10, 0, .91, .48}, {"agents", "fast", "ends", .10, .78, 1, 0},
        {"agents", "wear", "ends", .10, 0, .94, .21},
    };
    return floors;
}

namespace {

// How far below the floor, in hundredths as the floors are given; 0: reached.
double shortfall(const Floor& floor, const Row& row) {
    const Part& part = row.outcome.report;
    const auto hundredths = [](double value) { return std::round(value * 100); };
    double below = std::max(0.0, hundredths(floor.served) - hundredths(served_of(part)));
    if (floor.fast > 0) below += std::max(0.0, hundredths(floor.fast) - hundredths(fast_of(part)));
    if (floor.x > 0) below += std::max(0.0, hundredths(x_of(part)) - hundredths(floor.x));
    return below;
}

} // namespace

bool reached(const Floor& floor, const Row& row) {
    return shortfall(floor, row) == 0;
}

const Row* closest(const Floor& floor, const std::vector<Row>& rows) {
    const Row* best = nullptr;
    const auto worse = [&](const Row& a, const Row& b) {
        const double x = shortfall(floor, a), y = shortfall(floor, b);
        return x != y ? x > y : x_of(a.outcome.report) > x_of(b.outcome.report);
    };
    for (const Row& row : rows) {
        if (row.policy != floor.policy || row.signals != floor.signals ||
            row.fast_share != floor.fast_share)
            continue;
        if (!best || worse(*best, row)) best = &row;
    }
    return best;
}

std::string table_of(const std::vector<Row>& rows) {
    std::string text =
        fmt::format("{:>5} {:7} {:6} {:>5}  {:>6} {:>6} {:>6} {:>6}  {:>6}\n", "fast", "policy",
                    "told", "price", "fast", "served", "usable", "bulk x", "fast x");
    for (const Row& row : rows) {
        const Part& part = row.outcome.report;
        text += fmt::format(
            "{:>4g}% {:7} {:6} {:>5}  {:6.3f} {:6.3f} {:6.3f} {:6.3f}  {:6.3f}{}\n",
            row.fast_share * 100, row.policy, row.signals,
            row.price > 0 ? fmt::format("{:g}", row.price) : "", fast_of(part), served_of(part),
            usable_of(part), x_of(part), ratio(part.tier.fast_writes, part.created),
            row.outcome.guard_trips ? fmt::format("  guard spoke {} times", row.outcome.guard_trips)
                                    : "");
    }
    return text;
}

Json to_json(const Row& row) {
    Json json = {{"fast_percent", rounded(row.fast_share * 100)},
                 {"policy", row.policy},
                 {"signals", row.signals}};
    if (row.policy == "wear") json["price"] = row.price;
    json["report"] = part_json(row.outcome.report);
    json["tune"] = part_json(row.outcome.tune);
    json["guard_trips"] = row.outcome.guard_trips;
    return json;
}

Json to_json(const ChainPart& part) {
    return {{"requests", part.requests},
            {"whole", rounded(ratio(part.whole, part.requests))},
            {"covered", rounded(ratio(part.covered, part.further))},
            {"wasted_per_useful", rounded(ratio(part.wasted, part.useful))}};
}

Json to_json(const Load& load) {
    return {{"source", load.source},
            {"requests", load.requests.size()},
            {"accesses", load.blocks.size()},
            {"unique_blocks", load.unique},
            {"sessions", load.ends.size()},
            {"memory_blocks", load.memory_blocks},
            {"tune_until_s", rounded(load.tune_until)},
            {"table_every_s", load.table_every}};
}

Json to_json(const LivenessRule::Config& config) {
    return {{"kappa_objects", config.model.hazard.kappa},
            {"prior", config.model.hazard.prior},
            {"memory_s", config.model.hazard.memory_s},
            {"fork", config.model.fork},
            {"forked", config.model.forked},
            {"shared", config.model.shared},
            {"hit", config.values.hit},
            {"keep", "shared"},
            {"warm_reads", config.warm_reads},
            {"warm_ages", config.warm_ages},
            {"guard_tolerance", config.guard.tolerance},
            {"guard_enough", config.guard.enough}};
}

} // namespace hintier::eval
