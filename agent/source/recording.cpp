// SPDX-License-Identifier: Apache-2.0
#include "agent/source/recording.hpp"

#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "hintier/trace.h"
#include "hintier/types.h"

namespace hintier {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_line = 4 << 20;
constexpr std::size_t max_objects = 65'536;

constexpr std::string_view event_names[] = {"opened", "renamed", "unlinked", "lookup",   "exited",
                                            "seen",   "stored",  "called",   "returned", "filled"};
constexpr std::string_view call_names[] = {"", "decode", "encode", "state_save", "state_load"};
constexpr std::string_view say_names[] = {"started", "resumes", "ended", "queued"};

struct Flag {
    char letter;
    bool Event::*member;
};
constexpr Flag flags[] = {
    {'c', &Event::created}, {'w', &Event::writing}, {'f', &Event::found}, {'o', &Event::outside}};

std::string line_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_number(Json& json, const char* name, std::uint64_t number) {
    if (number) json[name] = number;
}

void add_file(Json& json, const char* name, const FileId& file) {
    if (file) json[name] = {file.device, file.generation, file.inode};
}

// The members of a line; the first that is wrong makes the line wrong.
class Line {
public:
    explicit Line(const Json& json) : json_(json) {}

    std::uint64_t number(const char* name,
                         std::uint64_t most = std::numeric_limits<std::uint32_t>::max()) {
        const auto it = json_.find(name);
        if (it == json_.end()) return 0;
        return number_of(*it, name, most);
    }
    std::string text(const char* name) {
        const auto it = json_.find(name);
        if (it == json_.end()) return {};
        if (!it->is_string()) return wrong(name), std::string();
        return it->get<std::string>();
    }
    FileId file(const char* name) {
        const auto it = json_.find(name);
        if (it == json_.end()) return {};
        if (!it->is_array() || it->size() != 3) return wrong(name), FileId();
        FileId id;
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        id.device = static_cast<std::uint32_t>(number_of((*it)[0], name, most));
        id.generation = static_cast<std::uint32_t>(number_of((*it)[1], name, most));
        id.inode = number_of((*it)[2], name, std::numeric_limits<std::uint64_t>::max());
        return id;
    }
    Nanos time() {
        constexpr std::uint64_t most = std::numeric_limits<Nanos::rep>::max() / 2;
        return Nanos(static_cast<Nanos::rep>(number("t", most)));
    }
    // The place of the member's text in `names`.
    template <std::size_t N>
    std::size_t one_of(const char* name, const std::string_view (&names)[N]) {
        const std::string word = text(name);
        for (std::size_t i = 0; i < N; ++i) {
            if (names[i] == word) return i;
        }
        return wrong(name), 0;
    }
    void wrong(std::string_view name) {
        if (wrong_.empty()) wrong_ = name;
    }
    Result<void> done() const {
        if (wrong_.empty()) return {};
        return failure("odd \"" + wrong_ + "\"", EINVAL);
    }

private:
    std::uint64_t number_of(const Json& value, const char* name, std::uint64_t most) {
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
            return wrong(name), 0;
        }
        return value.get<std::uint64_t>();
    }

    const Json& json_;
    std::string wrong_;
};

Result<Json> parse_line(std::string_view line) {
    if (line.size() > max_line) return failure("a line of more than 4 MiB", EINVAL);
    Json json = Json::parse(line, nullptr, false);
    if (!json.is_object()) return failure("no JSON object", EINVAL);
    return json;
}

RecordedEvent parse_event(Line& in) {
    RecordedEvent recorded;
    Event& event = recorded.event;
    event.kind = static_cast<EventKind>(in.one_of("event", event_names));
    event.time = in.time();
    event.root = static_cast<std::uint32_t>(in.number("root"));
    event.pid = static_cast<std::uint32_t>(in.number("pid"));
    event.tid = static_cast<std::uint32_t>(in.number("tid"));
    event.file = in.file("file");
    event.parent = in.file("parent");
    event.replaced = in.number("replaced", std::numeric_limits<std::uint64_t>::max());
    event.before = in.number("before", std::numeric_limits<std::uint64_t>::max());
    event.call = static_cast<Call>(in.one_of("call", call_names));
    event.tokens = static_cast<std::uint32_t>(in.number("tokens"));
    event.offset = in.number("offset", std::numeric_limits<std::uint64_t>::max());
    event.bytes = in.number("bytes", std::numeric_limits<std::uint64_t>::max());
    recorded.name = in.text("name");
    for (const char letter : in.text("flags")) {
        for (const Flag& flag : flags) {
            if (flag.letter == letter) event.*flag.member = true;
        }
    }
    return recorded;
}

Words parse_words(Line& in, const Json& json) {
    Words words;
    words.kind = static_cast<Words::Kind>(in.one_of("say", say_names));
    words.time = in.time();
    words.session = in.text("session");
    words.teller = static_cast<std::uint32_t>(in.number("uid"));
    words.root = static_cast<std::uint32_t>(in.number("root"));
    words.in_ms = static_cast<std::uint32_t>(in.number("in_ms"));
    const auto objects = json.find("objects");
    if (objects == json.end()) return words;
    words.named = true;
    if (!objects->is_array() || objects->size() > max_objects) return in.wrong("objects"), words;
    for (const Json& object : *objects) {
        std::uint64_t id = 0;
        const std::string text = object.is_string() ? object.get<std::string>() : std::string();
        const char* end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, id, 16);
        if (text.empty() || error != std::errc{} || rest != end) in.wrong("objects");
        words.objects.push_back(id);
    }
    return words;
}

} // namespace

std::string recording_head(const std::vector<Root>& roots) {
    Json list = Json::array();
    for (const Root& root : roots) {
        list.push_back({{"path", root.path},
                        {"adapter", std::string(root.adapter->name)},
                        {"group", root.group},
                        {"reap", root.reap}});
    }
    return line_of({{"hintier", "recording"}, {"version", 1}, {"roots", list}});
}

std::string to_line(const Event& event) {
    Json json = {{"t", event.time.count()},
                 {"event", event_names[static_cast<std::size_t>(event.kind)]}};
    add_number(json, "root", event.root);
    add_number(json, "pid", event.pid);
    add_number(json, "tid", event.tid);
    add_file(json, "file", event.file);
    add_file(json, "parent", event.parent);
    add_number(json, "replaced", event.replaced);
    add_number(json, "before", event.before);
    if (event.call != Call::none) {
        json["call"] = call_names[static_cast<std::size_t>(event.call)];
    }
    add_number(json, "tokens", event.tokens);
    add_number(json, "offset", event.offset);
    add_number(json, "bytes", event.bytes);
    if (!event.name.empty()) json["name"] = event.name;
    std::string letters;
    for (const Flag& flag : flags) {
        if (event.*flag.member) letters += flag.letter;
    }
    if (!letters.empty()) json["flags"] = letters;
    return line_of(json);
}

std::string to_line(const Words& words) {
    Json json = {{"t", words.time.count()},
                 {"say", say_names[static_cast<std::size_t>(words.kind)]}};
    if (!words.session.empty()) json["session"] = words.session;
    add_number(json, "uid", words.teller);
    add_number(json, "root", words.root);
    add_number(json, "in_ms", words.in_ms);
    if (words.named) {
        json["objects"] = Json::array();
        for (const std::uint64_t object : words.objects) {
            json["objects"].push_back(fmt::format("{:016x}", object));
        }
    }
    return line_of(json);
}

Result<std::vector<Root>> parse_recording_head(std::string_view line) {
    const auto json = parse_line(line);
    if (!json || json->value("hintier", Json()) != "recording") {
        return failure("no recording of hintier", EINVAL);
    }
    if (json->value("version", Json()) != 1) {
        return failure("a recording of a version that is not known", EINVAL);
    }
    const auto list = json->find("roots");
    if (list == json->end() || !list->is_array() || list->size() > HINTIER_TRACE_ROOTS) {
        return failure("a recording without roots", EINVAL);
    }
    std::vector<Root> roots;
    for (const Json& one : *list) {
        if (!one.is_object()) return failure("odd root", EINVAL);
        Line in(one);
        Root root;
        root.path = in.text("path");
        root.adapter = find_adapter(in.text("adapter"));
        root.group = static_cast<std::uint16_t>(in.number("group", HINTIER_GROUPS - 1));
        root.reap = one.value("reap", Json()) == true;
        if (!root.adapter) in.wrong("adapter");
        if (auto fine = in.done(); !fine) return Failure(std::move(fine.error()).within("root"));
        roots.push_back(std::move(root));
    }
    return roots;
}

Result<Recorded> parse_recorded(std::string_view line) {
    const auto json = parse_line(line);
    if (!json) return Failure(json.error());
    Line in(*json);
    Recorded recorded =
        json->contains("say") ? Recorded(parse_words(in, *json)) : Recorded(parse_event(in));
    if (auto fine = in.done(); !fine) return Failure(std::move(fine.error()));
    return recorded;
}

} // namespace hintier
