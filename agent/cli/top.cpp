// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/top.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "agent/cli/disk.hpp"
#include "agent/cli/grid.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

constexpr double day = 86'400;

// Counters begin again when a tier is loaded anew.
std::uint64_t grown(std::uint64_t before, std::uint64_t now) {
    return now < before ? now : now - before;
}

std::uint64_t rate(std::uint64_t amount, double seconds) {
    return seconds > 0
               ? static_cast<std::uint64_t>(std::llround(static_cast<double>(amount) / seconds))
               : 0;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
    return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

// What `now` has counted since `before`; states stay as they are.
TierStats difference(const TierStats& before, const TierStats& now) {
    TierStats delta = now;
    for (IoCount& io : delta.io) {
        const auto old = std::find_if(before.io.begin(), before.io.end(), [&](const IoCount& one) {
            return one.op == io.op && one.outcome == io.outcome && one.klass == io.klass;
        });
        if (old == before.io.end()) continue;
        io.count = grown(old->count, io.count);
        io.bytes = grown(old->bytes, io.bytes);
    }
    for (IoLatency& latency : delta.latency) {
        const auto old =
            std::find_if(before.latency.begin(), before.latency.end(), [&](const IoLatency& one) {
                return one.op == latency.op && one.outcome == latency.outcome;
            });
        if (old == before.latency.end()) continue;
        for (std::size_t b = 0; b < latency.buckets.size(); b++)
            latency.buckets[b] = grown(old->buckets[b], latency.buckets[b]);
    }
    for (std::size_t i = 0; i < delta.counters.size(); i++)
        delta.counters[i] = grown(before.counters[i], delta.counters[i]);
    return delta;
}

// A tier that was not there before has counted nothing yet.
TierStats since(const Look& before, const NamedTier& now) {
    for (const NamedTier& one : before.tiers)
        if (one.stats.id == now.stats.id && one.stats.uuid == now.stats.uuid)
            return difference(one.stats, now.stats);
    return difference(now.stats, now.stats);
}

Json class_report(const TierStats& delta, unsigned klass, double seconds) {
    std::uint64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0;
    std::array<std::uint64_t, HINTIER_OUTCOMES> outcome{};
    for (const IoCount& io : delta.io) {
        if (io.klass != klass) continue;
        if (io.op == HINTIER_OP_READ) {
            reads += io.count;
            read_bytes += io.bytes;
            if (io.outcome < outcome.size()) outcome[io.outcome] += io.bytes;
        } else if (io.op == HINTIER_OP_WRITE) {
            writes += io.count;
            write_bytes += io.bytes;
        }
    }
    if (reads + writes == 0) return nullptr;
    Json from = Json::object();
    for (unsigned i = 0; i < outcome.size(); i++)
        from[outcome_name(i)] = share_of(outcome[i], read_bytes);
    return {{"class", class_name(klass)},
            {"reads_per_s", rate(reads, seconds)},
            {"read_bytes_per_s", rate(read_bytes, seconds)},
            {"read_from", std::move(from)},
            {"writes_per_s", rate(writes, seconds)},
            {"write_bytes_per_s", rate(write_bytes, seconds)}};
}

Json classes_report(const TierStats& delta, double seconds) {
    Json all = Json::array();
    for (unsigned klass = 0; klass < HINTIER_CLASSES; klass++)
        if (Json one = class_report(delta, klass, seconds); !one.is_null())
            all.push_back(std::move(one));
    return all;
}

Json latency_report(const TierStats& delta) {
    Json all = Json::array();
    for (const IoLatency& one : delta.latency)
        if (const std::uint64_t p99 = quantile(one.buckets, 0.99))
            all.push_back({{"op", op_name(one.op)},
                           {"outcome", outcome_name(one.outcome)},
                           {"p50_ns", quantile(one.buckets, 0.5)},
                           {"p99_ns", p99}});
    return all;
}

Json fetch_report(const TierStats& delta, const TierStats& now) {
    Json fetch = Json::object();
    for (unsigned i = HINTIER_C_FETCH_TIMELY; i <= HINTIER_C_FETCH_CANCELLED; i++)
        fetch[counter_name(i).substr(sizeof "fetch_" - 1)] = {{"new", delta.counters[i]},
                                                              {"all", now.counters[i]}};
    return fetch;
}

Json wear_of(std::uint64_t bytes, double seconds, std::uint64_t budget) {
    Json wear = {{"bytes_per_s", rate(bytes, seconds)},
                 {"bytes_per_day", rate(bytes, seconds / day)}};
    if (budget) {
        wear["budget_bytes_per_day"] = budget;
        wear["budget_share"] = share_of(rate(bytes, seconds / day), budget);
    }
    return wear;
}

Json tier_report(const NamedTier& tier, const TierStats& delta, double seconds,
                 const WearBudget& budget) {
    const auto& counted = delta.counters;
    const TierStats& now = tier.stats;
    const std::uint64_t ahead = bytes_of(delta, HINTIER_OP_READ, HINTIER_IO_STAGE) +
                                bytes_of(delta, HINTIER_OP_READ, HINTIER_IO_JOINED);
    return {
        {"name", tier.name},
        {"device", dev_text(now.id)},
        {"mode", mode_name(now.mode)},
        {"bytes", now.bytes},
        {"slots",
         {{"total", now.slots}, {"free", now.free}, {"dirty", now.dirty}, {"clean", now.clean}}},
        {"lost_bytes", now.lost},
        {"classes", classes_report(delta, seconds)},
        {"latency", latency_report(delta)},
        {"fetch", fetch_report(delta, now)},
        {"wear",
         {{"fast", wear_of(counted[HINTIER_C_FAST_WRITE_BYTES], seconds, budget.fast)},
          {"bulk", wear_of(counted[HINTIER_C_BULK_WRITE_BYTES], seconds, budget.bulk)},
          {"spared_bytes_per_s",
           rate(counted[HINTIER_C_DROPPED_DIRTY_BYTES] + counted[HINTIER_C_DROPPED_VOLATILE_BYTES],
                seconds)}}},
        {"stalls",
         {{"writes_without_slot_per_s", rate(counted[HINTIER_C_WAITED_SLOT], seconds)},
          {"read_ahead_bytes_per_s", rate(ahead, seconds)},
          {"fetched_in_time_per_s", rate(counted[HINTIER_C_FETCH_TIMELY], seconds)}}}};
}

// ---- the screen -------------------------------------------------------------------------------

std::uint64_t number(const Json& at, const char* name) {
    const auto found = at.find(name);
    return found != at.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

std::string word(const Json& at, const char* name, const char* otherwise = "-") {
    const auto found = at.find(name);
    return found != at.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

bool flag(const Json& at, const char* name) {
    const auto found = at.find(name);
    return found != at.end() && found->is_boolean() && found->get<bool>();
}

std::string per_second(std::uint64_t bytes) {
    return human_size(bytes) + "/s";
}

std::string part(double share) {
    return share > 0 ? fmt::format("{:.1f} %", 100 * share) : "-";
}

std::string wear_text(const Json& wear) {
    std::string text = fmt::format("{} = {} a day", per_second(number(wear, "bytes_per_s")),
                                   human_size(number(wear, "bytes_per_day")));
    if (wear.contains("budget_share"))
        text +=
            fmt::format(", {:.0f} % of the budget of {}", 100 * wear["budget_share"].get<double>(),
                        human_size(number(wear, "budget_bytes_per_day")));
    return text;
}

std::string facts_text(const Json& tier) {
    const Json& slots = tier["slots"];
    const std::uint64_t total = number(slots, "total");
    const Json& wear = tier["wear"];
    const Json& stalls = tier["stalls"];
    Facts facts;
    facts.add(word(tier, "name"),
              fmt::format("{}  {}", human_size(number(tier, "bytes")), word(tier, "mode")));
    facts.add("  slots", fmt::format("{}: {} dirty, {} clean, {} free", human_count(total),
                                     percent(number(slots, "dirty"), total),
                                     percent(number(slots, "clean"), total),
                                     percent(number(slots, "free"), total)));
    facts.add("  wear fast", wear_text(wear["fast"]));
    facts.add("  wear bulk", fmt::format("{}; spared {}", wear_text(wear["bulk"]),
                                         per_second(number(wear, "spared_bytes_per_s"))));
    facts.add("  stalls", fmt::format("{} writes/s found no slot",
                                      human_count(number(stalls, "writes_without_slot_per_s"))));
    facts.add("  avoided", fmt::format("{} read from RAM, {} fetches/s in time",
                                       per_second(number(stalls, "read_ahead_bytes_per_s")),
                                       human_count(number(stalls, "fetched_in_time_per_s"))));
    std::string fetched;
    for (const auto& [outcome, counts] : tier["fetch"].items())
        fetched += fmt::format("{}{} {} (+{})", fetched.empty() ? "" : ", ",
                               human_count(number(counts, "all")), outcome,
                               human_count(number(counts, "new")));
    facts.add("  fetches", fetched);
    if (number(tier, "lost_bytes")) facts.add("  lost", human_size(number(tier, "lost_bytes")));
    return facts.text();
}

std::string classes_text(const Json& tier) {
    Grid grid({"  CLASS", ">READS/s", ">READ", ">FAST", ">RAM", ">BULK", ">LOST", ">WRITES/s",
               ">WRITTEN"});
    for (const Json& one : tier["classes"]) {
        const Json& from = one["read_from"];
        const auto sum = [&](std::initializer_list<const char*> names) {
            double all = 0;
            for (const char* name : names)
                all += from.value(name, 0.0);
            return part(all);
        };
        grid.row({"  " + word(one, "class"), human_count(number(one, "reads_per_s")),
                  per_second(number(one, "read_bytes_per_s")), sum({"fast"}),
                  sum({"stage", "joined"}), sum({"home", "bypass"}), sum({"lost", "error"}),
                  human_count(number(one, "writes_per_s")),
                  per_second(number(one, "write_bytes_per_s"))});
    }
    return grid.empty() ? "  nobody reads or writes\n" : grid.text();
}

std::string latency_text(const Json& tier) {
    Grid grid({"  LATENCY", "FROM", ">P50 <=", ">P99 <="});
    for (const Json& one : tier["latency"])
        grid.row({"  " + word(one, "op"), word(one, "outcome"), human_time(number(one, "p50_ns")),
                  human_time(number(one, "p99_ns"))});
    return grid.empty() ? "" : grid.text();
}

std::string phase_of(const Json& agent, std::uint64_t pid) {
    const auto all = agent.find("phases");
    if (all != agent.end() && all->is_array())
        for (const Json& one : *all)
            if (number(one, "pid") == pid) return word(one, "phase");
    return "-";
}

// What the agent knows of the processes that use its roots or run a model.
std::string processes_text(const Json& agent) {
    Grid grid({">PID", "PROCESS", "PHASE", ">FILES", ">TOKENS"});
    const auto all = agent.find("processes");
    if (all == agent.end() || !all->is_array()) return "";
    for (const Json& one : *all)
        grid.row({std::to_string(number(one, "pid")), word(one, "name"),
                  phase_of(agent, number(one, "pid")), human_count(number(one, "files")),
                  human_count(number(one, "tokens"))});
    return grid.empty() ? "" : "\n" + grid.text();
}

std::string agent_text(const Json& agent) {
    if (agent.is_null()) return "agent  does not run\n";
    const auto room = [&](const char* name) { return agent.value(name, Json::object()); };
    const Json trace = room("trace"), hints = room("hints"), chain = room("chain"),
               sessions = room("sessions"), model = room("model"), reaper = room("reaper");
    Facts facts;
    facts.add("agent", fmt::format("{}, up {} s{}", word(agent, "version"),
                                   human_count(number(agent, "uptime_s")),
                                   flag(agent, "dry_run") ? ", dry run" : ""));
    facts.add("  knows", fmt::format("{} objects, {} files, {} sessions told",
                                     human_count(number(model, "objects")),
                                     human_count(number(model, "files")),
                                     human_count(number(sessions, "told"))));
    facts.add("  events",
              fmt::format("{}/s; {} in all, {} lost", human_count(number(trace, "events_per_s")),
                          human_count(number(trace, "events")),
                          human_count(number(trace, "lost"))));
    facts.add("  hints",
              fmt::format("{}/s; {} in all, {} refused", human_count(number(hints, "sent_per_s")),
                          human_count(number(hints, "sent")),
                          human_count(number(hints, "refused"))));
    facts.add("  chains",
              flag(chain, "paused") ? "paused: too few fetches were of use" : "followed");
    if (flag(reaper, "enabled"))
        facts.add("  reaper",
                  fmt::format("{} unlinked, {} wait", human_count(number(reaper, "unlinked")),
                              human_count(number(reaper, "waiting"))));
    return facts.text() + processes_text(agent);
}

} // namespace

Json top_report(const Look& before, const Look& now, const WearBudget& budget) {
    const double seconds = static_cast<double>(now.at_ns - before.at_ns) / 1e9;
    Json report = {{"interval_s", seconds}, {"tiers", Json::array()}, {"agent", now.agent}};
    for (const NamedTier& tier : now.tiers)
        report["tiers"].push_back(tier_report(tier, since(before, tier), seconds, budget));
    if (!now.agent.is_object()) return report;
    const auto add_rate = [&](const char* room, const char* name) {
        const auto is = report["agent"].find(room);
        if (is == report["agent"].end() || !is->is_object() || !is->contains(name)) return;
        const Json was =
            before.agent.is_object() ? before.agent.value(room, Json::object()) : Json();
        const std::uint64_t old = number(was.contains(name) ? was : *is, name);
        (*is)[std::string(name) + "_per_s"] = rate(grown(old, number(*is, name)), seconds);
    };
    add_rate("trace", "events");
    add_rate("hints", "sent");
    return report;
}

std::string top_text(const Json& report) {
    std::string text;
    for (const Json& tier : report["tiers"]) {
        text += facts_text(tier) + classes_text(tier);
        text += latency_text(tier) + "\n";
    }
    if (text.empty()) text = "no tiers: `hintierctl create` makes one\n\n";
    return text + agent_text(report["agent"]);
}

} // namespace hintier::cli
