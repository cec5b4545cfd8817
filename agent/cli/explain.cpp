// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/explain.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "agent/cli/grid.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

// What follows from each state, in the order of how much it matters.
Json reasons(const Sums& sums, const Json& agent) {
    Json why = Json::array();
    const Json hint =
        agent.is_object() ? agent.value("hint", Json::object()) : Json(Json::object());
    const bool fetched = hint.is_object() && hint.value("verb", "") == "fetch";
    if (sums.lost) why.push_back("lost: it was volatile, and dropped; to be written or discarded");
    if (sums.moving) why.push_back("moving: on its way between fast and bulk");
    if (sums.dirty) why.push_back("in fast, dirty: written, and not destaged yet");
    if (sums.fast > sums.dirty)
        why.push_back(fetched ? "in fast, clean: it was fetched: " + hint.value("reason", "")
                              : "in fast, clean: destaged or read before, and its slot was not "
                                "needed for anything of more worth since");
    if (sums.bulk)
        why.push_back("on bulk only: it has never had a slot, or has lost it to something newer");
    if (sums.nowhere) why.push_back("nowhere yet: the file system has given it no place");
    return why;
}

// Bytes for each (class, group, object) that the tier has for the file.
Json marks_json(const std::vector<Piece>& pieces) {
    std::map<std::tuple<std::uint8_t, std::uint16_t, std::uint64_t>, std::uint64_t> marks;
    for (const Piece& piece : pieces)
        if (piece.nowhere.empty()) marks[{piece.klass, piece.group, piece.object}] += piece.length;
    Json all = Json::array();
    for (const auto& [mark, bytes] : marks)
        all.push_back({{"class", class_name(std::get<0>(mark))},
                       {"group", std::get<1>(mark)},
                       {"object", fmt::format("{:016x}", std::get<2>(mark))},
                       {"bytes", bytes}});
    std::stable_sort(all.begin(), all.end(), [](const Json& a, const Json& b) {
        return a["bytes"].get<std::uint64_t>() > b["bytes"].get<std::uint64_t>();
    });
    return all;
}

std::string where_text(const Json& where) {
    const std::uint64_t all = where["all"].get<std::uint64_t>();
    std::string text;
    for (const char* name : {"fast", "dirty", "bulk", "lost", "moving", "nowhere"}) {
        const auto bytes = where[name].get<std::uint64_t>();
        if (!bytes) continue;
        text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", name, human_size(bytes),
                            percent(bytes, all));
    }
    return text.empty() ? "it has no data" : text;
}

void add_agent_facts(const Json& agent, Facts& facts) {
    const auto text = [&](const char* name) { return agent.value(name, ""); };
    if (!text("object").empty())
        facts.add("object", fmt::format("{}, {} in its chain", text("object"),
                                        agent.value("depth", std::uint64_t{0})));
    if (!text("before").empty()) facts.add("  after", text("before"));
    if (!text("after").empty()) facts.add("  before", text("after"));
    if (!text("session").empty()) facts.add("session", text("session"));
    if (agent.contains("idle_s")) facts.add("idle", fmt::format("{} s", agent["idle_s"].dump()));
    if (const auto worth = agent.find("worth"); worth != agent.end() && worth->is_object())
        facts.add("value",
                  fmt::format("read again with a chance of {:.3f}{}", worth->value("chance", 0.0),
                              worth->value("drop", false) ? ": not worth a program on bulk" : ""));
    const auto hint = agent.find("hint");
    if (hint != agent.end() && hint->is_object())
        facts.add("last hint",
                  fmt::format("{}, {} s ago: {}", hint->value("verb", ""),
                              hint->value("ago_s", std::uint64_t{0}), hint->value("reason", "")));
    else
        facts.add("last hint", "none that is remembered");
}

} // namespace

Json explain_json(const Explained& explained) {
    const Sums sums = sum_of(explained.pieces);
    Json answer = {{"file", explained.file},
                   {"size", explained.size},
                   {"tier", explained.tier},
                   {"marks", marks_json(explained.pieces)},
                   {"where",
                    {{"all", sums.all()},
                     {"fast", sums.fast},
                     {"dirty", sums.dirty},
                     {"bulk", sums.bulk},
                     {"lost", sums.lost},
                     {"moving", sums.moving},
                     {"nowhere", sums.nowhere}}},
                   {"why", reasons(sums, explained.agent)},
                   {"agent", explained.agent}};
    if (!explained.agent_error.empty()) answer["agent_error"] = explained.agent_error;
    return answer;
}

std::string explain_text(const Json& answer) {
    Facts facts;
    facts.add("file", fmt::format("{}  {}", answer["file"].get<std::string>(),
                                  human_size(answer["size"].get<std::uint64_t>())));
    facts.add("tier", answer["tier"].get<std::string>());
    facts.add("where", where_text(answer["where"]));
    const char* name = "why";
    for (const Json& why : answer["why"]) {
        facts.add(name, why.get<std::string>());
        name = "";
    }
    for (const Json& mark : answer["marks"])
        facts.add("class",
                  fmt::format("{}, group {}, object {}: {}", mark["class"].get<std::string>(),
                              mark["group"].dump(), mark["object"].get<std::string>(),
                              human_size(mark["bytes"].get<std::uint64_t>())));
    if (answer["agent"].is_object())
        add_agent_facts(answer["agent"], facts);
    else
        facts.add("agent", answer.value("agent_error", ""));
    return facts.text();
}

} // namespace hintier::cli
