// SPDX-License-Identifier: Apache-2.0
#include "agent/model/kv_name.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <endian.h>

namespace hintier {

namespace {

using Parsed = std::optional<ParsedName>;

Parsed parse_vllm(std::string_view name);
Parsed parse_sglang(std::string_view name);
Parsed parse_lmcache(std::string_view name);
Parsed parse_mooncake(std::string_view name);
Parsed parse_any(std::string_view name);

constexpr Adapter adapters[] = {
    {"vllm-fs",
     {".bin"},
     true,
     "needs vLLM with the fix of issue 49328: before it a failed load livelocks",
     parse_vllm},
    {"sglang-file",
     {".bin"},
     false,
     "its names hold more than a block's hash, so the reaper cannot spell them",
     parse_sglang},
    {"lmcache",
     {".pt"},
     false,
     "a vanished file is a KeyError there, and the engine dies",
     parse_lmcache},
    {"mooncake",
     {".bucket"},
     false,
     "its index still names the blocks of a vanished bucket",
     parse_mooncake},
    {"auto",
     {".bin", ".pt", ".bucket"},
     false,
     "only where the adapter is named may files be unlinked",
     parse_any},
};

constexpr const Adapter& vllm = adapters[0];
constexpr const Adapter& sglang = adapters[1];
constexpr const Adapter& lmcache = adapters[2];
constexpr const Adapter& mooncake = adapters[3];

// Each event brings a name of 32 or 64 digits: they are looked up.
constexpr std::array<std::int8_t, 256> hex_values = [] {
    std::array<std::int8_t, 256> values{};
    values.fill(-1);
    for (int i = 0; i < 10; ++i)
        values['0' + i] = static_cast<std::int8_t>(i);
    for (int i = 0; i < 6; ++i)
        values['a' + i] = static_cast<std::int8_t>(10 + i);
    return values;
}();

int hex_value(char c) {
    return hex_values[static_cast<unsigned char>(c)];
}

// Eight digits into four bytes at once; false if any is none. A byte of `digits` is a character:
// its low half, and nine more of a letter, is its value, which must be written as it is.
bool pack_eight(const char* text, std::uint8_t* packed) {
    constexpr std::uint64_t ones = 0x0101010101010101;
    std::uint64_t digits = 0;
    std::memcpy(&digits, text, sizeof(digits));
    const std::uint64_t values = (digits & 15 * ones) + 9 * (digits >> 6 & ones);
    const std::uint64_t letters = (values + 118 * ones) >> 7 & ones; // of 10 and above
    const std::uint64_t written = values + '0' * ones + ('a' - '0' - 10) * letters;
    std::uint64_t pairs = (values << 4 | values >> 8) & 0x00FF00FF00FF00FF;
    pairs = (pairs | pairs >> 8) & 0x0000FFFF0000FFFF;
    pairs |= pairs >> 16;
    std::memcpy(packed, &pairs, 4);
    return digits == written && !(values & 240 * ones);
}

std::size_t hex_run(std::string_view text) {
    std::size_t n = 0;
    while (n < text.size() && hex_value(text[n]) >= 0) {
        ++n;
    }
    return n;
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
    T number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || rest != end) return {};
    return number;
}

std::optional<std::uint32_t> number(std::string_view text) {
    return whole_number<std::uint32_t>(text);
}

// The part of `text` behind the last `mark`, which is cut off with it; all of it if there is none.
std::string_view take_last(std::string_view& text, char mark) {
    const std::size_t at = text.rfind(mark);
    const std::string_view last = text.substr(at == text.npos ? 0 : at + 1);
    text = text.substr(0, at == text.npos ? 0 : at);
    return last;
}

// Likewise the part before the first `mark`.
std::string_view take_first(std::string_view& text, char mark) {
    const std::size_t at = text.find(mark);
    const std::string_view first = text.substr(0, at);
    text.remove_prefix(at == text.npos ? text.size() : at + 1);
    return first;
}

Parsed parse_vllm(std::string_view name) {
    const std::size_t run = std::min(name.find('.'), name.size()); // from_hex() looks at them
    std::string_view rest = name.substr(run);
    if (!rest.starts_with(vllm.suffixes.front())) return {};
    rest.remove_prefix(vllm.suffixes.front().size());
    const bool temporary = rest.starts_with('_') && rest.ends_with(".tmp");
    if (!rest.empty() && !temporary) return {};
    const auto hash = KvName::from_hex(name.substr(0, run));
    if (!hash) return {};
    return ParsedName{.name = *hash, .temporary = temporary, .adapter = &vllm};
}

// "…_<a>_<b>" → a and b, cut off with their marks.
std::optional<std::pair<std::uint32_t, std::uint32_t>> take_two(std::string_view& text) {
    std::string_view rest = text;
    const auto second = number(take_last(rest, '_'));
    const auto first = number(take_last(rest, '_'));
    if (!first || !second || rest.empty()) return {};
    text = rest;
    return std::pair(*first, *second);
}

// From the back, for the model's name may hold any of the marks.
Parsed parse_sglang(std::string_view name) {
    const std::size_t run = hex_run(name);
    const auto hash = KvName::from_hex(name.substr(0, run));
    if (!hash) return {};
    ParsedName parsed{.name = hash->by_head(), .adapter = &sglang};
    std::string_view rest = name.substr(run);
    const std::string_view suffix = sglang.suffixes.front();
    const std::size_t end = rest.rfind(suffix);
    if (end == rest.npos) return {};
    const std::string_view tail = rest.substr(end + suffix.size());
    parsed.temporary = tail.starts_with(".tmp.");
    if (!tail.empty() && !parsed.temporary) return {};
    rest = rest.substr(0, end);
    if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        parsed.pool = take_first(rest, '_');
        if (parsed.pool.empty()) return {};
    } else if (rest.starts_with('_')) {
        rest.remove_prefix(1);
    } else {
        return {};
    }
    if (const std::size_t cp = rest.rfind("_cp"); cp != rest.npos && cp > 0) {
        std::string_view tried = rest.substr(cp + 3);
        const auto context = number(take_first(tried, '_'));
        if (context && number(tried)) rest = rest.substr(0, cp);
    }
    const auto last = take_two(rest);
    const auto before = last ? take_two(rest) : std::nullopt;
    const auto tp = before ? before : last; // rank, size
    const std::uint32_t stages = before ? last->first : 1;
    const std::uint32_t stage = before ? last->second : 0;
    if (tp && tp->first < tp->second && stage < stages) {
        const std::uint64_t ranks = std::uint64_t{tp->second} * stages;
        const std::uint64_t rank = std::uint64_t{stage} * tp->second + tp->first;
        if (ranks <= 65'536) {
            parsed.rank = static_cast<std::uint32_t>(rank);
            parsed.ranks = static_cast<std::uint32_t>(ranks);
        }
    }
    parsed.model = rest;
    if (parsed.model.empty()) return {};
    return parsed;
}

Parsed parse_lmcache(std::string_view name) {
    if (!name.ends_with(lmcache.suffixes.front())) return {};
    std::string_view rest = name.substr(0, name.size() - lmcache.suffixes.front().size());
    ParsedName parsed{.name = {}, .adapter = &lmcache};
    parsed.model = take_first(rest, '@');
    parsed.ranks = number(take_first(rest, '@'));
    parsed.rank = number(take_first(rest, '@'));
    const std::string_view digits = take_first(rest, '@');
    if (parsed.model.empty() || !parsed.rank || !parsed.ranks || digits.empty()) return {};
    if (digits.size() < KvName::min_digits) { // a number without its leading zeroes
        std::uint64_t value = 0;
        const char* end = digits.data() + digits.size();
        if (hex_run(digits) != digits.size()) return {};
        if (std::from_chars(digits.data(), end, value, 16).ec != std::errc{}) return {};
        parsed.name = KvName::from_number(value);
    } else {
        const auto hash = KvName::from_hex(digits);
        if (!hash) return {};
        parsed.name = *hash;
    }
    (void)take_first(rest, '@'); // dtype
    parsed.layer = number(take_first(rest, '@'));
    return parsed;
}

// A bucket's number counts within its millisecond.
Parsed parse_mooncake(std::string_view name) {
    constexpr std::uint64_t most = 1ULL << 20;
    if (!name.ends_with(mooncake.suffixes.front())) return {};
    std::string_view rest = name.substr(0, name.size() - mooncake.suffixes.front().size());
    const auto ms = whole_number<std::uint64_t>(take_first(rest, '-'));
    const auto count = whole_number<std::uint64_t>(rest);
    if (!ms || !count || *ms >= 1ULL << 44 || *count >= most) return {};
    return ParsedName{.name = KvName::from_number(*ms * most + *count), .adapter = &mooncake};
}

Parsed parse_any(std::string_view name) {
    for (const Adapter& adapter : adapters) {
        if (adapter.parse == parse_any) break;
        if (const Parsed parsed = adapter.parse(name)) return parsed;
    }
    return {};
}

std::uint64_t fnv1a(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    return hash;
}

bool is_nibble(std::string_view directory) {
    return directory.size() == 1 && directory.front() >= 'a' && directory.front() <= 'p';
}

// "…_r3" → 3
std::optional<std::uint32_t> numbered(std::string_view directory, std::string_view mark) {
    const std::size_t at = directory.rfind(mark);
    return at == directory.npos ? std::nullopt : number(directory.substr(at + mark.size()));
}

} // namespace

std::optional<KvName> KvName::from_hex(std::string_view digits) {
    if (digits.size() < min_digits || digits.size() > max_digits) return {};
    KvName name;
    name.digits_ = static_cast<std::uint8_t>(digits.size());
    std::size_t i = 0;
    for (; i + 8 <= digits.size(); i += 8) {
        if (!pack_eight(digits.data() + i, name.packed_.data() + i / 2)) return {};
    }
    int wrong = 0; // negative if any digit is
    for (; i + 1 < digits.size(); i += 2) {
        const int high = hex_value(digits[i]);
        const int low = hex_value(digits[i + 1]);
        wrong |= high | low;
        name.packed_[i / 2] = static_cast<std::uint8_t>(high * 16 + low);
    }
    if (digits.size() % 2) {
        const int last = hex_value(digits.back());
        wrong |= last;
        name.packed_[digits.size() / 2] = static_cast<std::uint8_t>(last * 16);
    }
    if (wrong < 0) return {};
    return name;
}

KvName KvName::from_number(std::uint64_t number) {
    KvName name;
    name.digits_ = min_digits;
    for (std::size_t i = 0; i < min_digits / 2; ++i) {
        name.packed_[i] = static_cast<std::uint8_t>(number >> (8 * (min_digits / 2 - 1 - i)));
    }
    return name;
}

KvName KvName::by_head() const {
    KvName name = *this;
    name.by_head_ = true;
    return name;
}

std::uint64_t KvName::object() const {
    const std::size_t first = by_head_ ? 0 : digits_ - min_digits;
    const std::uint8_t* bytes = packed_.data() + first / 2;
    std::uint64_t id = 0;
    std::memcpy(&id, bytes, sizeof(id));
    id = be64toh(id);
    if (first % 2) id = id << 4U | bytes[min_digits / 2] >> 4U; // the half before it falls out
    return id ? id : 1;
}

std::string KvName::hex() const {
    std::string text(digits_, '0');
    for (std::size_t i = 0; i < digits_; ++i) {
        text[i] = "0123456789abcdef"[i % 2 ? packed_[i / 2] & 15U : packed_[i / 2] >> 4U];
    }
    return text;
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

std::optional<ParsedName> parse_kv_path(std::string_view path) {
    std::string_view rest = path;
    const std::string_view file = take_last(rest, '/');
    const std::string_view parent = take_last(rest, '/');
    const std::string_view second = take_last(rest, '/');
    const std::string_view third = take_last(rest, '/');
    Parsed parsed = parse_any(file);
    if (parsed && parsed->adapter == &vllm) {
        parsed->group = numbered(parent, "_g");
        parsed->rank = numbered(third, "_r");
    }
    const bool by_key = third == "file_per_key_dir" && is_nibble(parent) && is_nibble(second);
    if (!file.empty() && (by_key || (!parsed && file == "kv_cache.data"))) {
        parsed = ParsedName{.name = KvName::from_number(fnv1a(file)), .adapter = &mooncake};
    }
    return parsed;
}

} // namespace hintier
