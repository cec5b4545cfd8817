// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/meta/report.hpp"

#include <algorithm>

#include <hintier/types.h>

#include "agent/cli/grid.hpp"
#include "agent/cli/pair.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/units.hpp"

namespace hintier::cli {

namespace {

constexpr ht_role roles[] = {HT_ROLE_FAST, HT_ROLE_BULK};

Json flags_json(std::uint32_t flags) {
    Json names = Json::array();
    if (flags & HT_STATE_CLEAN_STOP) names.push_back("clean_stop");
    if (flags & HT_STATE_HAS_DIRTY) names.push_back("has_dirty");
    if (flags & HT_STATE_MOVING) names.push_back("moving");
    if (flags & HT_STATE_MOVED) names.push_back("moved");
    return names;
}

Json state_json(const std::optional<ht_state>& state) {
    if (!state) return nullptr;
    return {{"seq", state->seq},
            {"epoch", state->epoch},
            {"commit_seq", state->commit_seq},
            {"extents", state->extents},
            {"flags", flags_json(state->flags)}};
}

Json device_json(const Medium& medium, const Survey& survey, ht_role role) {
    const unsigned at = index_of(role);
    Json copies = Json::array();
    for (const auto& copy : survey.state[at].copy)
        copies.push_back(state_json(copy));
    return {{"path", medium.name(role)},
            {"bytes", medium.bytes(role)},
            {"uuid", survey.header[at] ? Json(uuid_text(uuid_of(*survey.header[at]))) : Json()},
            {"state", state_json(survey.state[at].newest)},
            {"state_copies", std::move(copies)}};
}

Json geometry_json(const ht_geometry& geo) {
    return {{"extent_bytes", byte_of(ht_extent_sectors(&geo))},
            {"extents", geo.extents},
            {"slots", geo.slots},
            {"record_sectors", geo.meta_sectors},
            {"records_in_sector", geo.per_sector},
            {"meta_start", geo.meta_start},
            {"lost_sectors", geo.lost_sectors},
            {"lost_in_sector", geo.lost_per_sector},
            {"lost_start", geo.lost_start},
            {"slot_start", geo.slot_start},
            {"home_start", geo.home_start}};
}

Json damage_json(const Damage& damage) {
    Json json = {{"fault", fault_name(damage.fault)},
                 {"device", role_name(damage.role)},
                 {"sector", damage.sector},
                 {"text", damage.text},
                 {"proved", damage.good.has_value()}};
    if (!damage.extents.empty()) json["extents"] = damage.extents;
    if (damage.unnamed) json["unnamed_slots"] = damage.unnamed;
    return json;
}

// The runs of set bits, each [first unit, count].
Json runs_json(const std::uint16_t* bits, std::uint32_t units) {
    Json runs = Json::array();
    for (std::uint32_t unit = 0; unit < units; unit++) {
        if (!(bits[unit / 16] >> unit % 16 & 1)) continue;
        const std::uint32_t first = unit;
        while (unit < units && bits[unit / 16] >> unit % 16 & 1)
            unit++;
        runs.push_back({first, unit - first});
    }
    return runs;
}

std::string state_text(ht_role role, const StateCopies& states) {
    if (!states.newest) return "no good state";
    const std::uint32_t flags = states.newest->flags;
    const char* what =
        role == HT_ROLE_BULK
            ? (flags & HT_STATE_HAS_DIRTY ? "fast may hold newer data" : "complete in itself")
            : (flags & HT_STATE_CLEAN_STOP ? "stopped cleanly" : "was running");
    return fmt::format("epoch {}, {}", states.newest->epoch, what);
}

// At most so many of a list, and how many more there are.
std::string some(const std::vector<std::uint32_t>& numbers, std::size_t most) {
    std::string text;
    for (std::size_t i = 0; i < std::min(most, numbers.size()); i++)
        text += (i ? ", " : "") + std::to_string(numbers[i]);
    if (numbers.size() > most) text += fmt::format(" and {} more", numbers.size() - most);
    return text;
}

std::string damage_text(const Damage& damage) {
    std::string text =
        fmt::format("{} sector {}: {}", role_name(damage.role), damage.sector, damage.text);
    if (damage.good) text += "; what it must hold is proved";
    if (!damage.extents.empty()) text += "; names extents " + some(damage.extents, 16);
    if (damage.unnamed) text += fmt::format("; {} slots may have held any extent", damage.unnamed);
    return text;
}

// Sixteen on a line.
std::string extents_text(const char* word, const std::vector<std::uint32_t>& extents) {
    std::string text;
    for (std::size_t i = 0; i < extents.size(); i++)
        text += i % 16 ? fmt::format(", {}", extents[i])
                       : fmt::format("{}{}  extents {}", i ? "\n" : "", word, extents[i]);
    return text.empty() ? text : text + "\n";
}

std::string lost_text(const Survey& survey) {
    std::vector<std::uint32_t> extents;
    for (const Lost& lost : survey.lost)
        if (any(lost.still)) extents.push_back(lost.extent);
    return fmt::format("{} dropped and not written again: they read as errors; extents {}",
                       human_size(survey.lost_units * HINTIER_UNIT_BYTES), some(extents, 16));
}

Json lost_json(const Survey& survey) {
    Json lost = Json::array();
    for (const Lost& one : survey.lost)
        lost.push_back({{"entry", one.entry},
                        {"extent", one.extent},
                        {"listed", runs_json(one.listed.data(), survey.geo().units)},
                        {"lost", runs_json(one.still.data(), survey.geo().units)}});
    return lost;
}

} // namespace

Json survey_json(const Medium& medium, const Survey& survey) {
    Json damages = Json::array();
    for (const Damage& damage : survey.damages)
        damages.push_back(damage_json(damage));
    Json json = {{"ok", survey.damages.empty()}};
    for (ht_role role : roles)
        json[role_name(role)] = device_json(medium, survey, role);
    if (survey.whole) {
        json["geometry"] = geometry_json(survey.geo());
        json["epochs_agree"] = survey.agree;
        json["clean_stop"] = survey.clean_stop();
        json["slots_used"] = survey.used;
        json["slots_bad"] = survey.bad;
        json["slots_dirty"] = survey.dirty;
        json["dirty_bytes"] = survey.dirty_units * HINTIER_UNIT_BYTES;
        json["lost_bytes"] = survey.lost_units * HINTIER_UNIT_BYTES;
        json["clean_bytes"] = (survey.valid_units - survey.dirty_units) * HINTIER_UNIT_BYTES;
    }
    json["damages"] = std::move(damages);
    return json;
}

std::string survey_text(const Medium& medium, const Survey& survey) {
    Facts facts;
    if (survey.header[0]) facts.add("pair", uuid_text(uuid_of(*survey.header[0])));
    for (ht_role role : roles)
        facts.add(role_name(role),
                  fmt::format("{}  {}, {}", medium.name(role), human_size(medium.bytes(role)),
                              state_text(role, survey.state[index_of(role)])));
    if (survey.whole)
        facts.add("slots",
                  fmt::format("{} of {}: {} used, {} dirty ({})", human_count(survey.geo().slots),
                              human_size(byte_of(ht_extent_sectors(&survey.geo()))),
                              human_count(survey.used), human_count(survey.dirty),
                              human_size(survey.dirty_units * HINTIER_UNIT_BYTES)));
    if (survey.bad)
        facts.add("bad", fmt::format("{} slots, where the medium has failed", survey.bad));
    if (survey.lost_units) facts.add("lost", lost_text(survey));
    for (const Damage& damage : survey.damages)
        facts.add("damaged", damage_text(damage));
    facts.add("verdict", survey.damages.empty()
                             ? std::string("clean")
                             : fmt::format("damage at {} places: `hintierctl meta repair` tells "
                                           "what can be done",
                                           survey.damages.size()));
    return facts.text();
}

Json plan_json(const RepairPlan& plan) {
    Json steps = Json::array();
    for (const Repair& step : plan.steps)
        steps.push_back(
            {{"device", role_name(step.role)}, {"sector", step.sector}, {"text", step.text}});
    return {{"steps", std::move(steps)},       {"left", plan.left},
            {"unknown_extents", plan.unknown}, {"unknown_slots", plan.unknown_slots},
            {"stale_extents", plan.stale},     {"stale_entries", plan.stale_entries}};
}

std::string plan_text(const RepairPlan& plan) {
    std::string text;
    for (const Repair& step : plan.steps)
        text += fmt::format("repair   {} sector {}: {}\n", role_name(step.role), step.sector,
                            step.text);
    for (const std::string& left : plan.left)
        text += fmt::format("left     {}\n", left);
    text += extents_text("unknown", plan.unknown);
    if (plan.unknown_slots)
        text += fmt::format("unknown  {} slots that may have held any other extent\n",
                            plan.unknown_slots);
    text += extents_text("stale  ", plan.stale);
    if (plan.stale_entries)
        text += fmt::format("stale    {} entries of the lost map that may have named any extent\n",
                            plan.stale_entries);
    return text;
}

Json drained_json(const Survey& survey, const Drained& drained) {
    Json unread = Json::array();
    for (const Unread& one : drained.unread)
        unread.push_back(
            {{"extent", one.extent},
             {"slot", one.slot},
             {"unit", one.unit},
             {"tier_offset", std::uint64_t{one.extent} * byte_of(ht_extent_sectors(&survey.geo())) +
                                 std::uint64_t{one.unit} * HINTIER_UNIT_BYTES}});
    return {{"ok", drained.unread.empty()},
            {"slots", drained.slots},
            {"bytes", drained.bytes},
            {"dirty_slots_left", survey.dirty - drained.slots},
            {"lost_bytes", survey.lost_units * HINTIER_UNIT_BYTES},
            {"bulk_offset", byte_of(survey.geo().home_start)},
            {"unread", std::move(unread)}};
}

Result<void> print_dump(Medium& medium, const Survey& survey) {
    Json json = survey_json(medium, survey);
    if (survey.whole) json["lost"] = lost_json(survey);
    std::string head = json.dump(2, ' ', false, Json::error_handler_t::replace);
    print(head.substr(0, head.rfind("\n}")) + ",\n  \"records\": [");
    const char* before = "\n    ";
    if (survey.whole) {
        const ht_geometry& geo = survey.geo();
        auto done = each_record_sector(
            medium, geo,
            [&](std::uint32_t index, std::span<std::byte> sector, bool) -> Result<void> {
                std::uint64_t seq = 0;
                const bool good =
                    ht_records_check(survey.fast().uuid, index, sector.data(), &seq) == HT_OK;
                for (std::uint32_t nth = 0; nth < slots_in(geo, index); nth++) {
                    ht_record record{};
                    const bool fine =
                        ht_record_get(&geo, sector.data(), nth, &record) == HT_OK && good;
                    if (fine && !record.used && !record.bad) continue;
                    Json json = {{"slot", index * geo.per_sector + nth},
                                 {"good", fine},
                                 {"bad", record.bad},
                                 {"seq", seq},
                                 {"extent", record.used ? Json(record.extent) : Json()},
                                 {"class", class_name(record.klass)},
                                 {"group", record.group},
                                 {"valid", runs_json(record.valid, geo.units)},
                                 {"dirty", runs_json(record.dirty, geo.units)}};
                    print(before + json.dump());
                    before = ",\n    ";
                }
                return {};
            });
        if (!done) return done;
    }
    print("\n  ]\n}\n");
    return {};
}

} // namespace hintier::cli
