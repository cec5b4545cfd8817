// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/control.hpp"

#include <nlohmann/json.hpp>

namespace hintier {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_names = 65'536;
constexpr std::size_t max_regions = 1000;

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A member that must be a string; an absent one is empty if it may be.
Result<std::string> text_member(const Json& request, const char* name, bool may_lack) {
    const auto it = request.find(name);
    if (it == request.end()) {
        if (may_lack) return std::string();
        return failure(std::string(name).append(" is missing"));
    }
    if (!it->is_string()) return failure(std::string(name).append(" must be a string"));
    return it->get<std::string>();
}

Result<Json> session_ended(ControlService& service, const Peer& peer, const Json& request) {
    SessionEnded ended;
    auto session = text_member(request, "session", false);
    if (!session) return Failure(session.error());
    auto root = text_member(request, "root", true);
    if (!root) return Failure(root.error());
    const auto names = request.find("names");
    if (names == request.end() || !names->is_array()) return failure("names must be an array");
    if (names->size() > max_names) return failure("too many names: at most 65536 in one message");

    ended.session = std::move(*session);
    ended.root = std::move(*root);
    ended.names.reserve(names->size());
    for (const Json& name : *names) {
        if (!name.is_string()) return failure("names must be strings");
        ended.names.emplace_back(name.get_ref<const std::string&>());
    }
    return service.session_ended(peer, ended);
}

Result<Json> carry_out(ControlService& service, const Peer& peer, const Json& request) {
    const auto op = text_member(request, "op", false);
    if (!op) return Failure(op.error());
    if (*op == "ping") return Json{{"version", HINTIER_VERSION}};
    if (*op == "status") return service.status();
    if (*op == "session_ended") return session_ended(service, peer, request);
    if (*op == "stop_reaping") return service.stop_reaping(peer);
    if (*op == "explain") {
        const auto file = text_member(request, "file", false);
        if (!file) return Failure(file.error());
        return service.explain(*file);
    }
    if (*op == "heat") {
        const auto most = request.find("most");
        if (most == request.end() || !most->is_number_unsigned()) {
            return failure("most must be a whole number");
        }
        return service.heat(std::min(most->get<std::size_t>(), max_regions));
    }
    return failure("unknown op; known: ping, status, session_ended, explain, heat, stop_reaping");
}

} // namespace

std::string refusal(std::string_view why) {
    return dump(Json{{"ok", false}, {"error", std::string(why)}});
}

std::string answer(ControlService& service, const Peer& peer, std::string_view line) {
    const Json request = Json::parse(line, nullptr, false);
    if (request.is_discarded()) return refusal("not JSON");
    if (!request.is_object()) return refusal("not a JSON object");
    auto result = carry_out(service, peer, request);
    if (!result) return refusal(result.error().text);
    (*result)["ok"] = true;
    return dump(*result);
}

} // namespace hintier
