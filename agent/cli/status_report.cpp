// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/status_report.hpp"

#include <array>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "agent/cli/disk.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

constexpr double middle = 0.5;
constexpr double tail = 0.99;

std::string line_of(const DmDevice& tier) {
    return tier.targets.empty() ? "" : tier.targets.front().params;
}

// "3 in, 2 out": extents on the move.
std::string moving_text(const DmDevice& tier) {
    Json target = parse_status_line(line_of(tier));
    if (!target.contains("moving_out") || target["moving_out"].is_null()) return "";
    return fmt::format("; moving {} in, {} out", target["moving_in"].dump(),
                       target["moving_out"].dump());
}

// Of a budget of bytes a day; empty without one.
std::string budget_text(const char* device, std::int64_t left, bool over, const char* gives_way) {
    if (left == 0 && !over) return "";
    const auto bytes = human_size(static_cast<std::uint64_t>(left < 0 ? -left : left));
    return fmt::format("{} {} {}{}", device, bytes, left < 0 ? "owed" : "left",
                       over ? fmt::format(": {}", gives_way) : "");
}

std::string budgets_text(const TierStats& stats) {
    const std::string fast = budget_text("fast", stats.fast_left, stats.over & HINTIER_OVER_FAST,
                                         "no promotion, new writes go home");
    const std::string bulk = budget_text("bulk", stats.bulk_left, stats.over & HINTIER_OVER_BULK,
                                         "destages only to make room");
    return fast + (fast.empty() || bulk.empty() ? "" : "; ") + bulk;
}

std::string head_text(const DmDevice& tier, const TierStats& stats) {
    Facts facts;
    facts.add(tier.name, fmt::format("{}  {}, {}{}", dm_node(tier), human_size(stats.bytes),
                                     mode_name(stats.mode), tier.suspended ? ", suspended" : ""));
    facts.add("pair", uuid_text(stats.uuid));
    facts.add("slots",
              fmt::format("{} of {}: {} dirty ({}), {} clean, {} free{}", human_count(stats.slots),
                          human_size(stats.extent_bytes), human_count(stats.dirty),
                          percent(stats.dirty, stats.slots), human_count(stats.clean),
                          human_count(stats.free), moving_text(tier)));
    if (stats.lost)
        facts.add("lost", fmt::format("{}: dropped while volatile, reads fail until it is written "
                                      "or discarded",
                                      human_size(stats.lost)));
    std::uint64_t read = bytes_of(stats, HINTIER_OP_READ);
    std::uint64_t fast = bytes_of(stats, HINTIER_OP_READ, HINTIER_IO_FAST);
    facts.add("reads", fmt::format("{}, {} from fast", human_size(read), percent(fast, read)));
    facts.add("written", fmt::format("{} by users; programmed {} on fast, {} on bulk",
                                     human_size(bytes_of(stats, HINTIER_OP_WRITE)),
                                     human_size(stats.counters[HINTIER_C_FAST_WRITE_BYTES]),
                                     human_size(stats.counters[HINTIER_C_BULK_WRITE_BYTES])));
    if (const std::string budgets = budgets_text(stats); !budgets.empty())
        facts.add("budget", budgets);
    return facts.text();
}

std::string io_text(const TierStats& stats) {
    Grid grid({"OP", "OUTCOME", "CLASS", ">REQUESTS", ">BYTES"});
    for (const IoCount& io : stats.io)
        grid.row({op_name(io.op), outcome_name(io.outcome), class_name(io.klass),
                  human_count(io.count), human_size(io.bytes)});
    return grid.empty() ? "no requests yet\n" : grid.text();
}

std::string latency_text(const TierStats& stats) {
    Grid grid({"OP", "OUTCOME", ">P50 <=", ">P99 <="});
    for (const IoLatency& one : stats.latency)
        grid.row({op_name(one.op), outcome_name(one.outcome),
                  human_time(quantile(one.buckets, middle)),
                  human_time(quantile(one.buckets, tail))});
    return grid.empty() ? "" : "\n" + grid.text();
}

// The words of the target's status line; kmod/target.c has the grammar.
constexpr std::array target_fields = {
    "extent_sectors",      "slots",       "free",          "dirty",      "clean",
    "moving_in",           "moving_out",  "reads_fast",    "reads_bulk", "reads_joined",
    "writes_fast",         "writes_bulk", "bytes_fast",    "bytes_bulk", "bytes_destaged",
    "bytes_dropped_dirty", "promoted",    "evicted",       "commits",    "errors_fast",
    "errors_bulk",         "units_lost",  "requests_lost", "slots_bad"};

bool is_bytes(const std::string& counter) {
    return counter.ends_with("_bytes");
}

std::string counters_text(const TierStats& stats) {
    Facts facts;
    bool any = false;
    for (unsigned i = 0; i < stats.counters.size(); i++) {
        if (stats.counters[i] == 0) continue;
        std::string name = counter_name(i);
        facts.add(name,
                  is_bytes(name) ? human_size(stats.counters[i]) : human_count(stats.counters[i]));
        any = true;
    }
    return any ? "\n" + facts.text() : "";
}

Json io_json(const TierStats& stats) {
    Json list = Json::array();
    for (const IoCount& io : stats.io)
        list.push_back({{"op", op_name(io.op)},
                        {"outcome", outcome_name(io.outcome)},
                        {"class", class_name(io.klass)},
                        {"count", io.count},
                        {"bytes", io.bytes}});
    return list;
}

Json latency_json(const TierStats& stats) {
    Json list = Json::array();
    for (const IoLatency& one : stats.latency)
        list.push_back({{"op", op_name(one.op)},
                        {"outcome", outcome_name(one.outcome)},
                        {"p50_ns", quantile(one.buckets, middle)},
                        {"p99_ns", quantile(one.buckets, tail)},
                        {"histogram", one.buckets}});
    return list;
}

Json fetches_json(const TierStats& stats) {
    Json list = Json::array();
    for (const FetchCount& one : stats.fetches) {
        Json entry =
            one.by_source ? Json{{"source", one.which}} : Json{{"class", class_name(one.which)}};
        for (unsigned how = 0; how < one.bytes.size(); how++)
            entry[fetch_name(how)] = one.bytes[how];
        list.push_back(std::move(entry));
    }
    return list;
}

} // namespace

Json parse_status_line(const std::string& line) {
    Json fields = Json::object();
    std::istringstream words(line);
    std::string word;
    if (words >> word) fields["mode"] = word;
    for (const char* name : target_fields) {
        if (!(words >> word)) break;
        std::uint64_t value = 0;
        const char* end = word.data() + word.size();
        auto [rest, error] = std::from_chars(word.data(), end, value);
        fields[name] = error == std::errc() && rest == end ? Json(value) : Json(nullptr);
    }
    return fields;
}

std::string status_text(const DmDevice& tier, const TierStats& stats) {
    return head_text(tier, stats) + "\n" + io_text(stats) + latency_text(stats) +
           counters_text(stats);
}

Json status_json(const DmDevice& tier, const TierStats& stats) {
    Json counters = Json::object();
    for (unsigned i = 0; i < stats.counters.size(); i++)
        counters[counter_name(i)] = stats.counters[i];
    return {
        {"name", tier.name},
        {"device", dev_text(tier.id)},
        {"uuid", uuid_text(stats.uuid)},
        {"mode", mode_name(stats.mode)},
        {"suspended", tier.suspended},
        {"bytes", stats.bytes},
        {"extent_bytes", stats.extent_bytes},
        {"slots",
         {{"total", stats.slots},
          {"free", stats.free},
          {"dirty", stats.dirty},
          {"clean", stats.clean},
          {"pinned", stats.pinned}}},
        {"lost_bytes", stats.lost},
        {"budget",
         {{"fast", {{"over", bool(stats.over & HINTIER_OVER_FAST)}, {"left", stats.fast_left}}},
          {"bulk", {{"over", bool(stats.over & HINTIER_OVER_BULK)}, {"left", stats.bulk_left}}}}},
        {"io", io_json(stats)},
        {"latency", latency_json(stats)},
        {"fetches", fetches_json(stats)},
        {"counters", std::move(counters)},
        {"target", parse_status_line(line_of(tier))},
        {"dm_status", line_of(tier)}};
}

} // namespace hintier::cli
