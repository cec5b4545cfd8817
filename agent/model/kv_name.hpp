// SPDX-License-Identifier: Apache-2.0
// What a framework calls the file of a KV block, and what it does to a reader when one vanishes.
//
// vLLM's file-system tier: `<hash in hex>.bin`, written as `<that>_<random>.tmp` and renamed. The
// integer that vLLM's KV events use for a block is the last 16 digits of that hash; it is the
// object id everywhere in hintier.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hintier {

// A digest as in a file name, packed: names are kept by the million.
class KvName {
public:
    static constexpr std::size_t min_digits = 16;
    static constexpr std::size_t max_digits = 64;

    // `digits` in lower case; nothing if there are too few, too many, or other characters.
    static std::optional<KvName> from_hex(std::string_view digits);

    std::uint64_t object() const; // the last 16 digits; never 0, which means no object
    std::string hex() const;

    bool operator==(const KvName&) const = default;

private:
    std::array<std::uint8_t, max_digits / 2> packed_{};
    std::uint8_t digits_ = 0;
};

struct ParsedName {
    KvName name;
    bool temporary; // still being written: the final name comes by rename
};

struct Adapter {
    std::string_view name;   // in the configuration
    std::string_view suffix; // of every final name
    bool may_reap;           // a vanished file is a clean miss to its readers
    const char* caution;     // why not, or under which condition

    std::optional<ParsedName> parse(std::string_view file_name) const;
    std::string file_name(const KvName& name) const;
};

// nullptr if there is no such adapter.
const Adapter* find_adapter(std::string_view name);

// For messages: "vllm-fs, …".
std::string adapter_names();

} // namespace hintier
