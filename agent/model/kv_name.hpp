// SPDX-License-Identifier: Apache-2.0
// What a framework calls the file of a KV block, and what it does to a reader when one vanishes.
//
//   vllm-fs      <hash>.bin, below <base>_r<rank>/<hhh>/<hh>_g<group>/; while it is written,
//                <hash>.bin_<random>.tmp
//   sglang-file  <hash>[.<pool>]_<model>[_<tp rank>_<tp size>][_<pp size>_<pp
//   rank>][_cp<r>_<n>].bin,
//                while it is written with .tmp.<pid>.<tid>.<uuid> behind
//   lmcache      <model>@<world>@<worker>@<hash>@<dtype>[@<layer>][@<tag>%<value>]….pt
//   mooncake     <ms>-<number>.bucket, up to 500 blocks each; also, known by path only,
//                file_per_key_dir/<a-p>/<a-p>/<key> and kv_cache.data
//   auto         whichever of these it is
//
// The integer that a server's KV events use for a block is the object id everywhere in hintier: of
// vLLM's the last 16 digits of its hash, of SGLang's the first 16.
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
    static KvName from_number(std::uint64_t number);

    // The id is the first 16 digits then.
    KvName by_head() const;

    std::uint64_t object() const; // 16 of the digits; never 0, which means no object
    std::string hex() const;
    std::size_t digits() const { return digits_; }

    bool operator==(const KvName&) const = default;

private:
    std::array<std::uint8_t, max_digits / 2> packed_{};
    std::uint8_t digits_ = 0;
    bool by_head_ = false;
};

struct Adapter;

// What a name tells; its words are good as long as the name.
struct ParsedName {
    KvName name;
    bool temporary = false; // still being written: the final name comes by rename
    const Adapter* adapter = nullptr;
    std::string_view model = {}; // as it is written there
    std::string_view pool = {};  // sglang-file: of which of a model's pools
    std::optional<std::uint32_t> rank = {};
    std::optional<std::uint32_t> ranks = {};
    std::optional<std::uint32_t> layer = {};
    std::optional<std::uint32_t> group = {};
};

struct Adapter {
    static constexpr std::size_t max_suffixes = 4;

    std::string_view name;                               // in the configuration
    std::array<std::string_view, max_suffixes> suffixes; // of final names; empty behind the last
    bool may_reap;                                       // a vanished file is a clean miss
    const char* caution;                                 // why not, or under which condition
    std::optional<ParsedName> (*parse)(std::string_view file_name);

    // Of adapters that may reap: a name is its hash and the suffix.
    std::string file_name(const KvName& kv) const { return kv.hex().append(suffixes.front()); }
};

// nullptr if there is no such adapter.
const Adapter* find_adapter(std::string_view name);

// For messages: "vllm-fs, …".
std::string adapter_names();

// By name and directories, whoever's it is; nothing when it looks like no KV file.
std::optional<ParsedName> parse_kv_path(std::string_view path);

} // namespace hintier
