// SPDX-License-Identifier: Apache-2.0
//
// The regression half: every target over its corpus, and over mutations that are the same each
// time. A crash ends the program, which counts as a failed test.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <gtest/gtest.h>

#include "tests/fuzz/target.hpp"

namespace hintier::fuzz {
namespace {

constexpr unsigned mutations = 300; // of each seed, at most `most` in all
constexpr unsigned most = 2000;

std::vector<Bytes> corpus(const Target& target) {
    std::vector<Bytes> all = target.seeds();
    std::filesystem::path dir = std::filesystem::path(CORPUS_DIR) / target.name;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(dir, none)) {
        std::ifstream in(entry.path(), std::ios::binary);
        all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return all;
}

Bytes mutate(Bytes bytes, std::mt19937& dice) {
    for (unsigned n = 1 + dice() % 4; n; n--) {
        const std::size_t at = bytes.empty() ? 0 : dice() % bytes.size();
        switch (dice() % 5) {
        case 0:
            if (!bytes.empty()) bytes[at] ^= static_cast<std::uint8_t>(1U << dice() % 8);
            break;
        case 1:
            if (!bytes.empty()) bytes[at] = static_cast<std::uint8_t>(dice());
            break;
        case 2:
            bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         static_cast<std::uint8_t>(dice()));
            break;
        case 3:
            if (!bytes.empty()) bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at));
            break;
        case 4:
            bytes.resize(at);
            break;
        }
    }
    return bytes;
}

class Replay : public testing::TestWithParam<Target> {};

TEST_P(Replay, SeedsAndTheirMutations) {
    const Target& target = GetParam();
    const std::vector<Bytes> seeds = corpus(target);
    ASSERT_FALSE(seeds.empty()) << target.name << " has no seed";
    std::mt19937 dice(1);
    target.run({});
    for (const Bytes& seed : seeds)
        target.run(seed);
    for (unsigned i = 0; i < std::min<std::size_t>(most, mutations * seeds.size()); i++)
        target.run(mutate(seeds[i % seeds.size()], dice));
}

INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(targets()),
                         [](const auto& one) { return std::string(one.param.name); });

} // namespace
} // namespace hintier::fuzz
