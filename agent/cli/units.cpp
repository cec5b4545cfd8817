// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/units.hpp"

#include <array>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace hintier::cli {

namespace {

// The multiplier a suffix stands for; 0 when it stands for nothing.
std::uint64_t multiplier(std::string_view suffix) {
    if (suffix.empty()) return 1;
    char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(suffix.front())));
    std::string_view rest = suffix.substr(1);
    if (letter == 'S' || letter == 'B') return rest.empty() ? (letter == 'S' ? 512 : 1) : 0;
    if (!rest.empty() && rest != "B" && rest != "b" && rest != "iB" && rest != "ib") return 0;
    std::size_t power = std::string_view("KMGTPE").find(letter);
    return power == std::string_view::npos ? 0 : 1ULL << (10 * (power + 1));
}

} // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
    std::uint64_t number = 0;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc::result_out_of_range)
        return fail(ERANGE, "size '{}' is too large", text);
    std::uint64_t factor =
        error == std::errc() ? multiplier({rest, static_cast<std::size_t>(end - rest)}) : 0;
    if (factor == 0)
        return fail(EINVAL, "'{}' is not a size: write bytes, or 4K, 256K, 1M, 2G, 61T", text);
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(number, factor, &bytes))
        return fail(ERANGE, "size '{}' is too large", text);
    return bytes;
}

Result<Range> parse_range(std::string_view text) {
    std::size_t colon = text.find(':');
    if (colon == std::string_view::npos)
        return fail(EINVAL, "'{}' is not a range: write OFFSET:LENGTH, as in 0:64M", text);
    auto offset = parse_size(text.substr(0, colon));
    if (!offset) return Failure(offset.error());
    auto length = parse_size(text.substr(colon + 1));
    if (!length) return Failure(length.error());
    return Range{*offset, *length};
}

std::string human_size(std::uint64_t bytes) {
    static constexpr std::array names = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    std::size_t power = 0;
    auto value = static_cast<double>(bytes);
    while (value >= 1024 && power + 1 < names.size()) {
        value /= 1024;
        power++;
    }
    bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
    return whole ? fmt::format("{:.0f} {}", value, names[power])
                 : fmt::format("{:.1f} {}", value, names[power]);
}

std::string human_count(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3; at -= 3)
        digits.insert(at - 3, ",");
    return digits;
}

std::string human_time(std::uint64_t ns) {
    if (ns < 1000) return fmt::format("{} ns", ns);
    if (ns < 1000 * 1000) return fmt::format("{:.3g} us", static_cast<double>(ns) / 1e3);
    if (ns < 1000 * 1000 * 1000) return fmt::format("{:.3g} ms", static_cast<double>(ns) / 1e6);
    return fmt::format("{:.3g} s", static_cast<double>(ns) / 1e9);
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
    if (whole == 0) return "-";
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

} // namespace hintier::cli
