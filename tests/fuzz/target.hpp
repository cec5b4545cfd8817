// SPDX-License-Identifier: Apache-2.0
//
// A fuzz target takes any bytes and must neither crash nor break what it requires. The targets are
// linked into two programs: `fuzz`, where libFuzzer drives one of them, and `replay_test`, where
// GoogleTest runs the seeds and a fixed number of mutations of each.

#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hintier::fuzz {

using Bytes = std::vector<std::uint8_t>;

struct Target {
    const char* name;
    void (*run)(std::span<const std::uint8_t> input);
    std::vector<Bytes> (*seeds)(); // beside the files below tests/fuzz/corpus/NAME
};

std::vector<Target>& targets();
const Target* find_target(std::string_view name);

struct Registration {
    explicit Registration(Target target) { targets().push_back(target); }
};

inline std::vector<Bytes> no_seeds() {
    return {};
}

inline void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "broken: %s\n", what);
    std::abort();
}

// What a target makes of its bytes: numbers from the front, zeros when they run out.
class Input {
public:
    explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    template <class T>
    T take() {
        T value{};
        const std::size_t have = std::min(sizeof value, bytes_.size());
        if (have) std::memcpy(&value, bytes_.data(), have);
        bytes_ = bytes_.subspan(have);
        return value;
    }
    bool empty() const { return bytes_.empty(); }
    std::span<const std::uint8_t> rest() const { return bytes_; }
    std::string text() const { return {bytes_.begin(), bytes_.end()}; }

private:
    std::span<const std::uint8_t> bytes_;
};

// Seeds of structured targets are written with the same widths as they are taken.
class Output {
public:
    template <class T>
    Output& put(T value) {
        const auto* from = reinterpret_cast<const std::uint8_t*>(&value);
        bytes.insert(bytes.end(), from, from + sizeof value);
        return *this;
    }
    Bytes bytes;
};

} // namespace hintier::fuzz

#define FUZZ_TARGET(name, seeds)                                                                   \
    static void run_##name(std::span<const std::uint8_t> input);                                   \
    static const hintier::fuzz::Registration registered_##name({#name, run_##name, seeds});        \
    static void run_##name(std::span<const std::uint8_t> input)
