// SPDX-License-Identifier: Apache-2.0
// Events and words as lines of JSON, so that what a server did can be looked at, kept, and fed
// back through the same model and rules:
//
//   {"hintier":"recording","version":1,"roots":[{"path":"/srv/kv","adapter":"vllm-fs","group":1,
//    "reap":false},…]}
//   {"t":<ns>,"event":"opened","root":0,"pid":…,"tid":…,"file":[dev,generation,inode],
//    "parent":[…],"name":"…","flags":"cw"}        what is 0 or empty is left out
//   {"t":<ns>,"event":"called","pid":…,"tid":…,"call":"decode","tokens":…}
//   {"t":<ns>,"event":"filled","file":[…],"offset":…,"bytes":…}
//   {"t":<ns>,"say":"ended","session":"s1","uid":0,"root":0,"objects":["<id>",…],"in_ms":…}
//
// Names are told as they are; they are hashes and models' names, no contents.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "agent/base/result.hpp"
#include "agent/model/event.hpp"
#include "agent/model/world.hpp"
#include "agent/plan/speech.hpp"

namespace hintier {

std::string recording_head(const std::vector<Root>& roots);
std::string to_line(const Event& event);
std::string to_line(const Words& words);

Result<std::vector<Root>> parse_recording_head(std::string_view line);

// An event's name is in `name`, where it stays.
struct RecordedEvent {
    Event event;
    std::string name;

    Event get() const {
        Event one = event;
        one.name = name;
        return one;
    }
};
using Recorded = std::variant<RecordedEvent, Words>;

// Takes any bytes.
Result<Recorded> parse_recorded(std::string_view line);

} // namespace hintier
