// SPDX-License-Identifier: Apache-2.0
// Words from people and file systems: KV file names, sizes, ranges, durations, UUIDs.
#include "agent/base/units.hpp"
#include "agent/cli/pair.hpp"
#include "agent/cli/stats.hpp"
#include "agent/cli/units.hpp"
#include "agent/model/kv_name.hpp"
#include "tests/fuzz/target.hpp"

using hintier::fuzz::require;

namespace {

bool inside(std::string_view part, const std::string& text) {
    return part.empty() ||
           (part.data() >= text.data() && part.data() + part.size() <= text.data() + text.size());
}

void check(const hintier::ParsedName& parsed, const std::string& text) {
    require(parsed.name.object() != 0, "an object has a number");
    require(parsed.adapter, "a name is some framework's");
    const auto again = hintier::KvName::from_hex(parsed.name.hex());
    require(again && again->hex() == parsed.name.hex(), "a name reads back");
    require(inside(parsed.model, text) && inside(parsed.pool, text), "words lie in the name");
}

} // namespace

FUZZ_TARGET(names, hintier::fuzz::no_seeds) {
    const std::string text(input.begin(), input.end());
    for (const char* name : {"vllm-fs", "sglang-file", "lmcache", "mooncake", "auto"}) {
        const hintier::Adapter* adapter = hintier::find_adapter(name);
        require(adapter, "an adapter of that name");
        if (const auto parsed = adapter->parse(text)) check(*parsed, text);
    }
    if (const auto parsed = hintier::parse_kv_path(text)) check(*parsed, text);
    if (const auto nanos = hintier::parse_duration(text)) require(nanos->count() >= 0, "duration");
    if (const auto bytes = hintier::parse_bytes(text)) require(*bytes >= 0, "bytes");
    (void)hintier::cli::parse_size(text);
    (void)hintier::cli::parse_range(text);
    (void)hintier::cli::parse_extent(text);
    if (const auto uuid = hintier::cli::parse_uuid(text)) {
        std::string lower = text;
        for (char& c : lower)
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        require(hintier::cli::uuid_text(*uuid) == lower, "a UUID reads back");
    }
}
