// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/control.hpp"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "hintier/types.h"

namespace hintier {

namespace {

using Json = nlohmann::json;

constexpr std::size_t max_names = 65'536;
constexpr std::size_t max_regions = 1000;

constexpr std::string_view class_names[HINTIER_CLASSES] = {"other", "weights",    "expert",
                                                           "kv",    "checkpoint", "stream"};

std::string dump(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The members of a request. The first that is wrong is remembered; what is asked for after it
// does not matter any more.
class Members {
public:
    explicit Members(const Json& request) : request_(request) {}

    std::string text(const char* name) {
        const Json* member = find(name);
        if (!member) return {};
        if (!member->is_string()) return fail(name, " must be a string"), std::string();
        return member->get<std::string>();
    }
    std::string needed_text(const char* name) {
        if (!find(name)) return fail(name, " is missing"), std::string();
        return text(name);
    }
    std::uint64_t number(const char* name,
                         std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
        const Json* member = find(name);
        if (!member) return 0;
        if (!member->is_number_unsigned()) return fail(name, " must be a whole number"), 0;
        const auto value = member->get<std::uint64_t>();
        if (value > most) return fail(name, " is too large"), 0;
        return value;
    }
    std::uint64_t needed_number(const char* name,
                                std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
        if (!find(name)) return fail(name, " is missing"), 0;
        return number(name, most);
    }
    bool has(const char* name) const { return find(name); }
    std::vector<std::string_view> names() {
        std::vector<std::string_view> names;
        const Json* member = find("names");
        if (!member) return names;
        if (!member->is_array()) return fail("names", " must be an array"), names;
        if (member->size() > max_names) return fail("names", ": at most 65536 at once"), names;
        names.reserve(member->size());
        for (const Json& name : *member) {
            if (!name.is_string()) return fail("names", " must be strings"), names;
            names.emplace_back(name.get_ref<const std::string&>());
        }
        return names;
    }

    void fail(std::string_view name, std::string_view why) {
        if (!wrong_.empty()) return;
        wrong_.append(name).append(why);
    }
    Result<void> done() const {
        if (wrong_.empty()) return {};
        return failure(wrong_, EINVAL);
    }

private:
    const Json* find(const char* name) const {
        const auto it = request_.find(name);
        return it == request_.end() ? nullptr : &*it;
    }

    const Json& request_;
    std::string wrong_;
};

struct Asked {
    ControlService& service;
    const Peer& peer;
    Members in;
    Descriptors& descriptors;
};

constexpr std::uint64_t longest_ms = 24ULL * 3600 * 1000;
constexpr std::uint64_t most_bytes = 1ULL << 50; // of one prefix: times for it are counted in ns

Spoken spoken(Members& in) {
    Spoken said;
    said.session = in.text("session");
    said.root = in.text("root");
    said.names = in.names();
    said.named = in.has("names");
    said.in_ms = static_cast<std::uint32_t>(in.number("in_ms", longest_ms));
    return said;
}

using Tell = Result<Json> (ControlService::*)(const Peer&, const Spoken&);

template <Tell tell>
Result<Json> of_session(Asked& asked) {
    (void)asked.in.needed_text("session");
    const Spoken said = spoken(asked.in);
    if (said.session.empty()) asked.in.fail("session", " must have a name");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    return (asked.service.*tell)(asked.peer, said);
}

Result<Json> of_request(Asked& asked) {
    const Spoken said = spoken(asked.in);
    if (!said.named) asked.in.fail("names", " is missing");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    return asked.service.request_queued(asked.peer, said);
}

Result<Fd> take_descriptor(Asked& asked) {
    if (asked.descriptors.empty()) {
        return failure("no descriptor has come: send it with the line, as SCM_RIGHTS", EBADF);
    }
    Fd first = std::move(asked.descriptors.front());
    asked.descriptors.pop_front();
    return first;
}

Result<Json> load(Asked& asked) {
    Load load;
    std::string klass = asked.in.text("class");
    load.in_ms = static_cast<std::uint32_t>(asked.in.number("in_ms", longest_ms));
    if (asked.in.needed_number("fds") != 1) asked.in.fail("fds", " must be 1");
    if (klass.empty()) klass = "weights";
    const auto found = std::find(std::begin(class_names), std::end(class_names), klass);
    if (found == std::end(class_names)) asked.in.fail("class", ": there is none of that name");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    load.klass = static_cast<std::uint8_t>(found - std::begin(class_names));
    auto file = take_descriptor(asked);
    if (!file) return Failure(std::move(file.error()));
    load.file = std::move(*file);
    return asked.service.load(asked.peer, load);
}

Result<Json> record(Asked& asked) {
    const std::uint64_t most = asked.in.needed_number("most");
    if (asked.in.needed_number("fds") != 1) asked.in.fail("fds", " must be 1");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    auto file = take_descriptor(asked);
    if (!file) return Failure(std::move(file.error()));
    return asked.service.record(asked.peer, std::move(*file), most);
}

Result<Json> advise(Asked& asked) {
    Question question;
    question.root = asked.in.text("root");
    question.names = asked.in.names();
    question.bytes = asked.in.number("bytes", most_bytes);
    question.recompute_ms = asked.in.needed_number("recompute_ms", longest_ms);
    if (question.names.empty() && !question.bytes) asked.in.fail("names", " or bytes are needed");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    return asked.service.advise(asked.peer, question);
}

Result<Json> explain(Asked& asked) {
    const std::string file = asked.in.needed_text("file");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    return asked.service.explain(file);
}

Result<Json> heat(Asked& asked) {
    const std::uint64_t most = asked.in.needed_number("most");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    return asked.service.heat(std::min<std::uint64_t>(most, max_regions));
}

Result<Json> models(Asked& asked) {
    const std::uint64_t most = asked.in.needed_number("most");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    return asked.service.models(std::min<std::uint64_t>(most, max_regions));
}

struct Op {
    std::string_view name;
    Result<Json> (*run)(Asked&);
};

constexpr Op ops[] = {
    {"ping",
     [](Asked&) -> Result<Json> {
         return Json{{"version", HINTIER_VERSION}};
     }},
    {"status", [](Asked& asked) { return asked.service.status(); }},
    {"session_started", of_session<&ControlService::session_started>},
    {"session_resumes", of_session<&ControlService::session_resumes>},
    {"session_ended", of_session<&ControlService::session_ended>},
    {"request_queued", of_request},
    {"load", load},
    {"advise", advise},
    {"explain", explain},
    {"heat", heat},
    {"models", models},
    {"record", record},
    {"record_stop", [](Asked& asked) { return asked.service.record_stop(asked.peer); }},
    {"stop_reaping", [](Asked& asked) { return asked.service.stop_reaping(asked.peer); }},
};

std::string op_names() {
    std::string names;
    for (const Op& op : ops) {
        names.append(names.empty() ? "" : ", ").append(op.name);
    }
    return names;
}

Result<Json> carry_out(Asked& asked) {
    const std::string name = asked.in.needed_text("op");
    if (auto fine = asked.in.done(); !fine) return Failure(std::move(fine.error()));
    for (const Op& op : ops) {
        if (op.name == name) return op.run(asked);
    }
    return failure("unknown op; known: " + op_names());
}

} // namespace

std::string refusal(std::string_view why) {
    return dump(Json{{"ok", false}, {"error", std::string(why)}});
}

std::string answer(ControlService& service, const Peer& peer, std::string_view line,
                   Descriptors& descriptors) {
    const Json request = Json::parse(line, nullptr, false);
    if (request.is_discarded()) return refusal("not JSON");
    if (!request.is_object()) return refusal("not a JSON object");
    Asked asked{service, peer, Members(request), descriptors};
    auto result = carry_out(asked);
    if (!result) return refusal(result.error().text);
    (*result)["ok"] = true;
    return dump(*result);
}

} // namespace hintier
