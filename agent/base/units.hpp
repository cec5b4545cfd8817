// SPDX-License-Identifier: Apache-2.0
// Quantities as people write them: "500us", "30s", "64KiB".
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

#include "agent/base/clock.hpp"

namespace hintier {

struct Unit {
    std::string_view name;
    std::int64_t factor;
};

// `text` as a whole number of one of `units`; nothing if it is anything else or too large.
template <std::size_t N>
std::optional<std::int64_t> parse_quantity(std::string_view text, const Unit (&units)[N]) {
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc{} || number < 0) {
        return {};
    }
    const std::string_view name(rest, static_cast<std::size_t>(end - rest));
    for (const Unit& unit : units) {
        std::int64_t product = 0;
        if (unit.name == name && !__builtin_mul_overflow(number, unit.factor, &product)) {
            return product;
        }
    }
    return {};
}

inline std::optional<Nanos> parse_duration(std::string_view text) {
    static constexpr Unit units[] = {
        {"ns", 1},
        {"us", 1'000},
        {"ms", 1'000'000},
        {"s", 1'000'000'000},
        {"min", 60'000'000'000},
        {"h", 3'600'000'000'000},
    };
    const auto nanos = parse_quantity(text, units);
    return nanos ? std::optional(Nanos(*nanos)) : std::nullopt;
}

inline std::optional<std::int64_t> parse_bytes(std::string_view text) {
    static constexpr Unit units[] = {
        {"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1LL << 40},
    };
    return parse_quantity(text, units);
}

} // namespace hintier
