// SPDX-License-Identifier: Apache-2.0
#include "agent/model/kv_name.hpp"

namespace hintier {

namespace {

constexpr Adapter adapters[] = {
    {"vllm-fs", ".bin", true,
     "needs vLLM with the fix of issue 49328: before it a failed load livelocks"},
    {"lmcache", ".pt", false, "a vanished file is a KeyError there, and the engine dies"},
};

constexpr std::string_view temporary_suffix = ".tmp";

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return -1;
}

std::size_t hex_run(std::string_view text) {
    std::size_t n = 0;
    while (n < text.size() && hex_value(text[n]) >= 0) {
        ++n;
    }
    return n;
}

// `model@world_size@worker_id@chunk_hash@dtype…` → the chunk's hash.
std::string_view lmcache_hash(std::string_view key) {
    for (int field = 0; field < 3; ++field) {
        const std::size_t at = key.find('@');
        if (at == key.npos) return {};
        key.remove_prefix(at + 1);
    }
    return key.substr(0, key.find('@'));
}

} // namespace

std::optional<KvName> KvName::from_hex(std::string_view digits) {
    if (digits.size() < min_digits || digits.size() > max_digits) return {};
    KvName name;
    name.digits_ = static_cast<std::uint8_t>(digits.size());
    for (std::size_t i = 0; i < digits.size(); ++i) {
        const int value = hex_value(digits[i]);
        if (value < 0) return {};
        name.packed_[i / 2] |= static_cast<std::uint8_t>(i % 2 ? value : value << 4);
    }
    return name;
}

std::uint64_t KvName::object() const {
    std::uint64_t low = 0;
    for (std::size_t i = digits_ - min_digits; i < digits_; ++i) {
        const unsigned digit = i % 2 ? packed_[i / 2] & 15U : packed_[i / 2] >> 4U;
        low = low << 4U | digit;
    }
    return low ? low : 1;
}

std::string KvName::hex() const {
    std::string text(digits_, '0');
    for (std::size_t i = 0; i < digits_; ++i) {
        text[i] = "0123456789abcdef"[i % 2 ? packed_[i / 2] & 15U : packed_[i / 2] >> 4U];
    }
    return text;
}

std::optional<ParsedName> Adapter::parse(std::string_view file_name) const {
    const bool temporary = file_name.ends_with(temporary_suffix);
    if (!temporary && !file_name.ends_with(suffix)) return {};

    std::string_view digits = file_name;
    if (name == "lmcache") {
        digits = lmcache_hash(file_name);
    } else {
        const std::size_t run = hex_run(file_name);
        if (!file_name.substr(run).starts_with(suffix)) return {};
        digits = file_name.substr(0, run);
        // Nothing but the suffix may follow a final name.
        if (!temporary && run + suffix.size() != file_name.size()) return {};
    }
    const auto parsed = KvName::from_hex(digits);
    if (!parsed) return {};
    return ParsedName{*parsed, temporary};
}

std::string Adapter::file_name(const KvName& kv) const {
    return kv.hex().append(suffix);
}

const Adapter* find_adapter(std::string_view name) {
    for (const Adapter& adapter : adapters) {
        if (adapter.name == name) return &adapter;
    }
    return nullptr;
}

std::string adapter_names() {
    std::string names;
    for (const Adapter& adapter : adapters) {
        names.append(names.empty() ? "" : ", ").append(adapter.name);
    }
    return names;
}

} // namespace hintier
