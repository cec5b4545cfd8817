// SPDX-License-Identifier: Apache-2.0
// Recordings: any line is an event, a word or a head, or an error of one line; what was taken is
// written and taken again the same.
#include "agent/source/recording.hpp"
#include "hintier/trace.h"
#include "hintier/types.h"
#include "tests/fuzz/target.hpp"

using hintier::fuzz::Bytes;
using hintier::fuzz::require;

namespace {

std::vector<Bytes> seeds() {
    hintier::Event event;
    event.time = hintier::Nanos(5);
    event.file = {1, 2, 3};
    event.name = "00112233445566778899aabbccddeeff.bin";
    event.created = event.writing = true;
    hintier::Words words;
    words.kind = hintier::Words::Kind::ended;
    words.named = true;
    words.session = "s1";
    words.objects = {1, ~0ULL};
    const std::vector<hintier::Root> roots = {
        {.path = "/srv/kv", .adapter = hintier::find_adapter("vllm-fs"), .group = 1}};
    std::vector<Bytes> all;
    for (const std::string& line :
         {hintier::to_line(event), hintier::to_line(words), hintier::recording_head(roots)})
        all.emplace_back(line.begin(), line.end());
    return all;
}

std::string line_of(const hintier::Recorded& recorded) {
    if (const auto* event = std::get_if<hintier::RecordedEvent>(&recorded))
        return hintier::to_line(event->get());
    return hintier::to_line(std::get<hintier::Words>(recorded));
}

template <class T>
void check_error(const hintier::Result<T>& result) {
    const std::string& why = result.error().text;
    require(!why.empty() && why.find('\n') == why.npos, "an error is one line");
}

} // namespace

FUZZ_TARGET(recording, seeds) {
    const std::string line(input.begin(), input.end());
    if (const auto recorded = hintier::parse_recorded(line)) {
        const std::string written = line_of(*recorded);
        const auto again = hintier::parse_recorded(written);
        require(again && line_of(*again) == written, "a line reads back");
        require(written.find('\n') == written.size() - 1, "and is one line");
    } else {
        check_error(recorded);
    }
    if (const auto roots = hintier::parse_recording_head(line)) {
        require(roots->size() <= HINTIER_TRACE_ROOTS, "roots are bounded");
        for (const hintier::Root& root : *roots)
            require(root.adapter && root.group < HINTIER_GROUPS, "a root is valid");
        const std::string written = hintier::recording_head(*roots);
        const auto again = hintier::parse_recording_head(written);
        require(again && hintier::recording_head(*again) == written, "a head reads back");
    } else {
        check_error(roots);
    }
}
