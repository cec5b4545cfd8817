// SPDX-License-Identifier: Apache-2.0
// What the daemon answers operators on its control socket; see control.hpp.
#include <algorithm>
#include <map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "agent/base/log.hpp"
#include "agent/daemon/agent.hpp"

namespace hintier {

namespace {

using Json = nlohmann::json;

constexpr const char* op_names[HINTIER_OPS] = {"read", "write", "discard", "flush"};
constexpr const char* outcome_names[HINTIER_OUTCOMES] = {"fast",   "home", "stage", "joined",
                                                         "bypass", "lost", "error"};
constexpr const char* class_names[HINTIER_CLASSES] = {"other", "weights",    "expert",
                                                      "kv",    "checkpoint", "stream"};

std::string hex(std::uint64_t id) {
    return id ? fmt::format("{:016x}", id) : std::string();
}

std::string_view last_component(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == path.npos ? path : path.substr(slash + 1);
}

Json tier_json(const TierInfo& tier, const HintSink& sink) {
    return {{"device", device_text(tier.device)},
            {"mode", mode_text(tier.mode)},
            {"bytes", tier.bytes},
            {"extent_bytes", tier.extent_bytes},
            {"slots", tier.slots},
            {"free", tier.free},
            {"dirty", tier.dirty},
            {"clean", tier.clean},
            {"bound", sink.bound(tier.device)}};
}

Json io_json(const IoCounter& io) {
    Json all = Json::array();
    for (const IoCount& one : io.counts()) {
        if (one.key.op >= HINTIER_OPS || one.key.outcome >= HINTIER_OUTCOMES ||
            one.key.klass >= HINTIER_CLASSES) {
            continue;
        }
        all.push_back({{"tier", device_text(one.key.dev)},
                       {"op", op_names[one.key.op]},
                       {"outcome", outcome_names[one.key.outcome]},
                       {"class", class_names[one.key.klass]},
                       {"count", one.sum.count},
                       {"bytes", one.sum.bytes}});
    }
    return all;
}

Json outcomes_json(const std::array<std::uint64_t, HINTIER_FETCHES>& outcomes) {
    return {{"timely", outcomes[HINTIER_FETCH_TIMELY]},
            {"late", outcomes[HINTIER_FETCH_LATE]},
            {"unused", outcomes[HINTIER_FETCH_UNUSED]},
            {"cancelled", outcomes[HINTIER_FETCH_CANCELLED]}};
}

Json worth_json(const WorthRule& rule, std::uint64_t tables, Nanos now) {
    const LivenessRule& liveness = rule.liveness();
    return {{"requests", liveness.model().requests()},
            {"sessions", liveness.model().sessions()},
            {"reads", static_cast<std::uint64_t>(liveness.model().hazard().reads())},
            {"drops", liveness.drops(now)},
            {"tables", tables},
            {"given_up", rule.given_up()},
            {"promised", static_cast<std::uint64_t>(liveness.guard().promised())},
            {"missed", liveness.guard().lost()},
            {"guard_trips", liveness.guard().trips()}};
}

Json kv_events_json(const std::vector<std::unique_ptr<KvEventSource>>& sources) {
    Json all = Json::array();
    for (const auto& source : sources) {
        const KvEventSource::Counts& counts = source->counts();
        all.push_back({{"endpoint", source->endpoint()},
                       {"batches", counts.batches},
                       {"stored", counts.stored},
                       {"removed", counts.removed},
                       {"cleared", counts.cleared},
                       {"gaps", counts.gaps},
                       {"replayed", counts.replayed},
                       {"lost", counts.lost},
                       {"wrong", counts.wrong},
                       {"restarts", counts.restarts}});
    }
    return all;
}

Json processes_json(const Processes& processes) {
    constexpr const char* call_names[Processes::calls] = {"", "decode", "encode", "state_save",
                                                          "state_load"};
    Json all = Json::array();
    for (const auto& [pid, process] : processes.all()) {
        Json calls = Json::object();
        for (std::size_t i = 1; i < Processes::calls; ++i) {
            calls[call_names[i]] = process.entered[i];
        }
        all.push_back({{"pid", pid},
                       {"name", process.name},
                       {"files", process.files},
                       {"calls", calls},
                       {"tokens", process.tokens},
                       {"inside", call_names[static_cast<std::size_t>(process.inside)]}});
    }
    return all;
}

Json phases_json(const Phases& phases, Nanos now) {
    Json all = Json::array();
    for (const Phases::View& view : phases.all(now)) {
        all.push_back({{"pid", view.pid},
                       {"phase", std::string(phase_name(view.phase))},
                       {"chance", view.chance},
                       {"for_s", std::chrono::duration<double>(now - view.since).count()}});
    }
    return all;
}

// How much of each role came in, and the experts of which most did.
Json model_json(const Models::Model& model, std::size_t most) {
    Json json = {{"path", model.path}, {"known", model.known}, {"filled", model.filled}};
    if (!model.known) {
        json["wrong"] = model.wrong;
        return json;
    }
    json["layers"] = model.files.layers;
    json["experts_of_layer"] = model.files.experts;
    std::array<std::uint64_t, roles> by_role{};
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>> sums;
    for (const ModelPart& part : model.parts) {
        by_role[static_cast<std::size_t>(part.role)] += part.filled;
        if (part.role != Role::expert) continue;
        auto& [bytes, filled] = sums[{part.layer, part.expert}];
        bytes += part.bytes;
        filled += part.filled;
    }
    for (std::size_t i = 0; i < roles; ++i) {
        if (by_role[i]) {
            json["roles"][std::string(role_name(static_cast<Role>(i)))] = by_role[i];
        }
    }
    std::vector<std::pair<decltype(sums)::key_type, decltype(sums)::mapped_type>> experts(
        sums.begin(), sums.end());
    std::stable_sort(experts.begin(), experts.end(), [](const auto& a, const auto& b) {
        return a.second.second > b.second.second;
    });
    if (experts.size() > most) experts.resize(most);
    json["experts"] = Json::array();
    for (const auto& [which, sum] : experts) {
        json["experts"].push_back({{"layer", which.first},
                                   {"expert", which.second},
                                   {"bytes", sum.first},
                                   {"filled", sum.second}});
    }
    return json;
}

} // namespace

Result<Json> Agent::models(std::size_t most) {
    Json all = Json::array();
    for (const Models::Model& model : models_.all()) {
        all.push_back(model_json(model, most));
    }
    return Json{{"models", all}, {"lost", fills_ ? fills_->lost() : 0}};
}

Result<Json> Agent::status() {
    Json tiers = Json::array();
    if (auto now = kernel_->tiers()) {
        for (const TierInfo& tier : *now) {
            tiers.push_back(tier_json(tier, *sink_));
        }
    }
    Json roots = Json::array();
    for (std::size_t i = 0; i < world_.roots().size(); ++i) {
        const Root& root = world_.roots()[i];
        roots.push_back(
            {{"path", root.path},
             {"adapter", std::string(root.adapter->name)},
             {"group", root.group},
             {"reap", root.reap},
             {"recompute_bytes_per_s", static_cast<std::uint64_t>(planner_.restore.recompute(
                                           world_, static_cast<std::uint32_t>(i), clock_.now()))},
             {"watching", roots_.watching(i)}});
    }
    const Executor::Counts& done = executor_.counts();
    const SinkCounts& sent = sink_->counts();
    const Nanos now = clock_.now();
    Json json = {
        {"version", HINTIER_VERSION},
        {"uptime_s", std::chrono::duration_cast<std::chrono::seconds>(now - started_).count()},
        {"dry_run", options_.dry_run},
        {"module", tiers_.module_there()},
        {"tiers", tiers},
        {"roots", roots},
        {"model",
         {{"objects", world_.objects()}, {"files", world_.files()}, {"names", world_.names()}}},
        {"phases", phases_json(world_.phases(), now)},
        {"layout", {{"files", layout_.files()}, {"mapped", layout_.mapped()}}},
        {"classify",
         {{"files", done.classified},
          {"unmapped", done.unmapped},
          {"waiting", planner_.classify.waiting()},
          {"given_up", planner_.classify.given_up()}}},
        {"reaper",
         {{"enabled", config_.rules.reaper.enabled},
          {"waiting", planner_.reaper.waiting()},
          {"unlinked", done.unlinked},
          {"not_unlinked", done.not_unlinked},
          {"let_off", planner_.reaper.let_off()}}},
        {"worth", worth_json(planner_.worth, sink_->counts().tables, now)},
        {"sessions",
         {{"told", speech_.sessions().size()}, {"blocks", speech_.sessions().objects()}}},
        {"announce",
         {{"fetched", planner_.announce.fetched()},
          {"useful", planner_.announce.score().useful()},
          {"budget", planner_.announce.most()},
          {"outcomes", outcomes_json(announce_outcomes_)}}},
        {"processes", processes_json(processes_)},
        {"delay",
         {{"events", delays_.count()},
          {"p50_ns", delays_.quantile(0.5).count()},
          {"p99_ns", delays_.quantile(0.99).count()}}},
        {"recording", recorder_.on()},
        {"kv_events", kv_events_json(kv_events_)},
        {"load", {{"files", done.loads}}},
        {"restore",
         {{"bytes_per_s", static_cast<std::uint64_t>(planner_.restore.rate().bytes_per_second())},
          {"skipped", planner_.restore.skipped()},
          {"left", done.left}}},
        {"chain",
         {{"fetched", done.fetched},
          {"led", done.led},
          {"left_alone", planner_.chain.left_alone()},
          {"paused", planner_.chain.paused(now)},
          {"useful", planner_.chain.score().useful()},
          {"budget", planner_.chain.window()},
          {"outcomes", outcomes_json(fetch_outcomes_)}}},
        {"hints",
         {{"sent", sent.sent},
          {"refused", sent.refused},
          {"batches", sent.batches},
          {"classify", sent.by_verb[HINTIER_VERB_CLASSIFY]},
          {"fetch", sent.by_verb[HINTIER_VERB_FETCH]},
          {"off_tier", done.off_tier},
          {"vanished", done.vanished}}},
        {"trace",
         {{"events", events_},
          {"lost", bpf_ ? bpf_->lost() : 0},
          {"calls_lost", calls_ ? calls_->lost() : 0},
          {"fills_lost", fills_ ? fills_->lost() : 0}}},
    };
    if (learned_) {
        json["learned"] = {{"links_read", learned_->links().size()},
                           {"links_written", learned_->written().links},
                           {"links_lost", learned_->lost().links},
                           {"objects_read", planner_.worth.remembered()},
                           {"objects_recalled", planner_.worth.recalled()},
                           {"objects_written", learned_->written().objects},
                           {"objects_lost", learned_->lost().objects}};
    }
    if (const IoCounter* io = tiers_.io()) {
        json["trace"]["io"] = io_json(*io);
        json["trace"]["io_lost"] = io->lost();
    }
    return json;
}

Result<Json> Agent::stop_reaping(const Peer& peer) {
    if (peer.uid != 0) return failure("only root may stop the reaper", EPERM);
    const std::size_t n = planner_.reaper.stop();
    log::info("pid {} had {} files let off", peer.pid, n);
    return Json{{"let_off", n}};
}

Result<Json> Agent::explain(std::string_view file) {
    ObjectIndex index = no_object;
    for (const Root& root : world_.roots()) {
        const auto parsed = root.adapter->parse(last_component(file));
        if (!parsed) continue;
        index = world_.find(parsed->name.object());
        if (index != no_object) break;
    }
    if (index == no_object) return failure("no KV file that the agent knows");

    const Object& object = world_.object(index);
    Json files = Json::array();
    for (const Place& place : object.places) {
        Json one = {{"root", world_.roots()[place.root].path}, {"inode", place.file.inode}};
        if (const auto found = layout_.find(place.file, place.root)) {
            one["tier"] = device_text((*found)->tier);
            one["complete"] = (*found)->complete;
            for (const Range& range : (*found)->ranges) {
                one["ranges"].push_back({{"offset", range.offset}, {"length", range.length}});
            }
        } else {
            one["error"] = found.error().text;
        }
        files.push_back(std::move(one));
    }
    dirs_.close_all();
    Json json = {
        {"object", hex(object.id)},
        {"depth", object.depth},
        {"before", hex(object.before)},
        {"after", hex(object.after)},
        {"idle_s",
         std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - object.touched).count()},
        {"files", files},
        {"session", speech_.sessions().of(object.id)}};
    const Executor::LastHint hint = executor_.last_hint(object.id);
    json["why"] = std::string(describe(hint.reason));
    if (hint.reason != Reason::none) {
        const auto ago = std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - hint.at);
        json["hint"] = {{"verb", std::string(describe(hint.verb))},
                        {"reason", std::string(describe(hint.reason))},
                        {"ago_s", ago.count()}};
    }
    if (const auto judged = planner_.worth.judge(world_, index, clock_.now())) {
        const GroupKey group = Hazard::key(judged->group);
        json["worth"] = {{"chance", judged->chance}, {"drop", judged->drop}, {"ended", group.ended},
                         {"turn", group.turn},       {"size", group.size},   {"kind", group.kind}};
    }
    return json;
}

Result<Json> Agent::heat(std::size_t most) {
    const IoCounter* io = tiers_.io();
    if (!io) return failure("accesses are not counted: there is no tier, or trace.io is off");
    Json regions = Json::array();
    for (const HeatRegion& region : io->hottest(most)) {
        regions.push_back({{"tier", device_text(region.key.dev)},
                           {"offset", std::uint64_t{region.key.region} << HINTIER_HEAT_SHIFT},
                           {"reads", region.heat.reads},
                           {"writes", region.heat.writes},
                           {"last_ns", region.heat.last_ns}});
    }
    return Json{{"region_bytes", 1U << HINTIER_HEAT_SHIFT}, {"regions", regions}};
}

} // namespace hintier
