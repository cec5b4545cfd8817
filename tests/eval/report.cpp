// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/report.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hintier::eval {

namespace {

using Json = nlohmann::ordered_json;

constexpr double ends_after = 60;
constexpr double prices[] = {.02, .03, .04, .05, .06, .07, .08, .10, .15};
constexpr double default_price = .05; // with lead, and where there is no price

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
                    if (!wear && price != default_price) continue;
                    options.rule.values.price = price;
                    add(policy, after < 0 ? "none" : "ends", options);
                }
            }
            options.ends_after = -1;
            options.rule.values.price = default_price;
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

const std::vector<double>& served_targets() {
    static const std::vector<double> targets = {.98, .96, .94, .90};
    return targets;
}

namespace {

std::vector<const Row*> of_prices(const std::vector<Row>& rows, const std::string& signals,
                                  double fast_share) {
    std::vector<const Row*> found;
    for (const Row& row : rows)
        if (row.policy == "wear" && row.signals == signals && row.fast_share == fast_share)
            found.push_back(&row);
    return found;
}

} // namespace

const Row* chosen(const std::vector<Row>& rows, const std::string& signals, double fast_share,
                  double served) {
    const Row* best = nullptr;
    const auto better = [served](const Part& a, const Part& b) {
        const bool enough = served_of(a) >= served;
        if (enough != (served_of(b) >= served)) return enough;
        return enough ? x_of(a) < x_of(b) : served_of(a) > served_of(b);
    };
    for (const Row* row : of_prices(rows, signals, fast_share))
        if (!best || better(row->outcome.tune, best->outcome.tune)) best = row;
    return best;
}

double curve_x(const std::vector<Row>& rows, const std::string& signals, double fast_share,
               double served) {
    double best = -1;
    const auto consider = [&](double x) { best = best < 0 ? x : std::min(best, x); };
    const auto points = of_prices(rows, signals, fast_share);
    for (std::size_t i = 0; i < points.size(); i++) {
        const Part& here = points[i]->outcome.report;
        if (served_of(here) >= served) consider(x_of(here));
        if (i == 0) continue;
        const Part& before = points[i - 1]->outcome.report;
        const double low = std::min(served_of(here), served_of(before));
        const double high = std::max(served_of(here), served_of(before));
        if (low >= served || high < served) continue;
        const double at = (served - served_of(before)) / (served_of(here) - served_of(before));
        consider(x_of(before) + at * (x_of(here) - x_of(before)));
    }
    return best;
}

Reached reached(const Floor& floor, const std::vector<Row>& rows) {
    const auto hundredths = [](double value) { return std::round(value * 100); };
    if (floor.policy == "wear") {
        const double x = curve_x(rows, floor.signals, floor.fast_share, floor.served);
        return {x, x >= 0 && hundredths(x) <= hundredths(floor.x)};
    }
    for (const Row& row : rows) {
        if (row.policy != floor.policy || row.signals != floor.signals ||
            row.fast_share != floor.fast_share)
            continue;
        const double fast = fast_of(row.outcome.report);
        return {fast, hundredths(fast) >= hundredths(floor.fast)};
    }
    return {};
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
            {"tune_from_s", rounded(load.tune_until / 2)},
            {"tune_until_s", rounded(load.tune_until)}};
}

Json to_json(const LivenessRule::Config& config) {
    return {{"kappa_requests", config.model.hazard.kappa},
            {"prior", config.model.hazard.prior},
            {"memory_s", config.model.hazard.memory_s},
            {"fork", config.model.fork},
            {"forked", config.model.forked},
            {"shared", config.model.shared},
            {"table_every_s", in_seconds(config.table_every)},
            {"hit", config.values.hit},
            {"reads_requests", config.model.hazard.reads},
            {"keep", "shared"},
            {"warm_reads", config.warm_reads},
            {"warm_ages", config.warm_ages},
            {"guard_tolerance", config.guard.tolerance},
            {"guard_enough", config.guard.enough}};
}

} // namespace hintier::eval
