// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/gguf.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/agent/objects/builders.hpp"

namespace hintier {
namespace {

constexpr std::uint32_t f32 = 0;
constexpr std::uint32_t q8_0 = 8;
constexpr std::uint32_t text_type = 8;
constexpr std::uint32_t array_type = 9;

Result<Gguf> read(const std::string& bytes) {
    return read_gguf(MemoryBytes(bytes));
}

std::string error_of(const std::string& bytes) {
    const auto read_in = read(bytes);
    const std::string text = read_in ? std::string() : read_in.error().text;
    EXPECT_TRUE(printable(text)) << text;
    return text;
}

GgufBuilder small() {
    GgufBuilder file;
    file.key("general.architecture", text_type, gguf_text("llama"));
    file.tensor("blk.0.ffn_up.weight", {4, 2}, f32, 0);
    file.data = 32;
    return file;
}

// What @huggingface/gguf found in files that it helped to write; see data/make.mjs.
class GgufFixture : public testing::TestWithParam<const char*> {};

TEST_P(GgufFixture, ReadAsByAnIndependentReader) {
    const std::string place =
        std::string(SOURCE_DIR "/tests/unit/agent/objects/data/") + GetParam();
    const std::string bytes = slurp(place + ".gguf");
    const auto theirs = nlohmann::json::parse(slurp(place + ".json"));
    const auto ours = read(bytes);
    ASSERT_TRUE(ours) << ours.error().text;

    const auto& keys = theirs["metadata"];
    EXPECT_EQ(ours->version, keys["version"]);
    EXPECT_EQ(ours->keys, keys["kv_count"]);
    EXPECT_EQ(ours->architecture, keys.value("general.architecture", ""));
    EXPECT_EQ(ours->name, keys.value("general.name", ""));
    EXPECT_EQ(ours->alignment, keys.value("general.alignment", 32));
    EXPECT_EQ(ours->layers, keys.value(ours->architecture + ".block_count", 0));
    EXPECT_EQ(ours->experts, keys.value(ours->architecture + ".expert_count", 0));
    EXPECT_EQ(ours->experts_used, keys.value(ours->architecture + ".expert_used_count", 0));
    EXPECT_EQ(ours->split_no, keys.value("split.no", 0));
    EXPECT_EQ(ours->split_count, keys.value("split.count", 0));
    EXPECT_EQ(ours->split_tensors, keys.value("split.tensors.count", 0));
    EXPECT_EQ(ours->data, theirs["data"]);
    const std::map<int, std::string> names = {{0, "F32"},   {1, "F16"},   {8, "Q8_0"},
                                              {12, "Q4_K"}, {14, "Q6_K"}, {30, "BF16"},
                                              {39, "MXFP4"}};
    ASSERT_EQ(ours->tensors.size(), theirs["tensors"].size());
    std::uint64_t end = ours->data;
    for (std::size_t i = 0; i < ours->tensors.size(); ++i) {
        const Tensor& tensor = ours->tensors[i];
        const auto& wanted = theirs["tensors"][i];
        EXPECT_EQ(tensor.name, wanted["name"]);
        EXPECT_EQ(tensor.shape, wanted["shape"].get<std::vector<std::uint64_t>>());
        EXPECT_EQ(tensor.offset, ours->data + wanted["offset"].get<std::uint64_t>());
        EXPECT_EQ(tensor.type, names.at(wanted["dtype"]));
        // Written one behind the other, so the sizes that no reader stores must lead there too.
        EXPECT_EQ(tensor.offset, (end + ours->alignment - 1) / ours->alignment * ours->alignment);
        end = tensor.offset + tensor.bytes;
    }
    EXPECT_LE(bytes.size() - end, ours->alignment);
}

INSTANTIATE_TEST_SUITE_P(Files, GgufFixture,
                         testing::Values("moe", "old", "split-00001-of-00002",
                                         "split-00002-of-00002"));

TEST(Gguf, ExpertsOfAFusedTensorAreSlices) {
    GgufBuilder file;
    file.key("general.architecture", text_type, gguf_text("m"));
    file.key("m.expert_count", 4, u32(3));
    file.tensor("blk.0.ffn_up_exps.weight", {64, 5, 3}, q8_0, 0);
    file.data = 64 / 32 * 34 * 5 * 3;
    const auto gguf = read(file.bytes());
    ASSERT_TRUE(gguf) << gguf.error().text;
    const Tensor& tensor = gguf->tensors.at(0);
    EXPECT_EQ(tensor.experts, 3U);
    EXPECT_EQ(tensor.slice(2)->offset, gguf->data + 2 * 340);
    EXPECT_EQ(tensor.slice(2)->length, 340U);
}

TEST(Gguf, ExpertsThatAreNotAsCountedAreNotSliced) {
    GgufBuilder file;
    file.key("general.architecture", text_type, gguf_text("m"));
    file.key("m.expert_count", 4, u32(8));
    file.tensor("blk.0.ffn_up_exps.weight", {4, 3}, f32, 0);
    file.data = 48;
    EXPECT_EQ(read(file.bytes())->tensors.at(0).experts, 0U);
}

TEST(Gguf, TypesYoungerThanWeAreEndAtTheNextTensor) {
    GgufBuilder file;
    file.tensor("a", {1000}, 99, 64).tensor("b", {4}, f32, 0).tensor("c", {7}, 98, 128);
    file.data = 160;
    const auto gguf = read(file.bytes());
    ASSERT_TRUE(gguf) << gguf.error().text;
    EXPECT_EQ(gguf->tensors[0].type, "type 99");
    EXPECT_EQ(gguf->tensors[0].bytes, 64U);
    EXPECT_EQ(gguf->tensors[2].bytes, 32U);
}

TEST(Gguf, ArraysOfAnyKindAreStepped) {
    GgufBuilder file = small();
    const std::string words = u32(text_type) + u64(2) + gguf_text("ab") + gguf_text("");
    file.key("words", array_type, words);
    file.key("nested", array_type, u32(array_type) + u64(2) + words + u32(0) + u64(3) + "xyz");
    file.key("none", array_type, u32(12) + u64(0));
    const auto gguf = read(file.bytes());
    ASSERT_TRUE(gguf) << gguf.error().text;
    EXPECT_EQ(gguf->tensors.size(), 1U);
}

TEST(Gguf, EveryTruncationIsRefusedInOneLine) {
    GgufBuilder file = small();
    file.key("words", array_type, u32(text_type) + u64(2) + gguf_text("ab") + gguf_text("c"));
    const std::string whole = file.bytes();
    ASSERT_EQ(error_of(whole), "");
    for (std::size_t n = 0; n < whole.size(); ++n) {
        EXPECT_NE(error_of(whole.substr(0, n)), "") << n;
    }
}

TEST(Gguf, SaysWhatItDoesNotTake) {
    GgufBuilder file = small();
    file.version = 1;
    EXPECT_EQ(error_of(file.bytes()), "at byte 8: GGUF version 1: not supported");
    file.version = 0x03000000;
    EXPECT_EQ(error_of(file.bytes()), "at byte 8: a big-endian GGUF file: not supported");
    EXPECT_EQ(error_of("PK\3\4 and more"), "at byte 4: no GGUF file");
    EXPECT_FALSE(is_gguf(MemoryBytes(std::string_view("PK\3\4"))));
    EXPECT_FALSE(is_gguf(MemoryBytes(std::string_view("GG"))));
}

TEST(Gguf, HostileCountsKeepNothing) {
    const std::string head = "GGUF" + u32(3);
    const std::uint64_t huge = ~0ULL;
    EXPECT_NE(error_of(head + u64(huge) + u64(0)), "");
    EXPECT_NE(error_of(head + u64(0) + u64(huge)), "");
    EXPECT_NE(error_of(head + u64(200'000) + u64(0)), ""); // allowed, but not in so few bytes
    EXPECT_NE(error_of(head + u64(0) + u64(1) + u64(huge)), "");
    EXPECT_NE(error_of(GgufBuilder().key("a", text_type, u64(huge)).bytes()), "");
    EXPECT_NE(error_of(GgufBuilder().key("a", array_type, u32(10) + u64(huge)).bytes()), "");
    EXPECT_NE(error_of(GgufBuilder().key("a", array_type, u32(10) + u64(1ULL << 61)).bytes()), "");
    EXPECT_NE(error_of(GgufBuilder().key("a", array_type, u32(text_type) + u64(huge)).bytes()), "");
    EXPECT_NE(error_of(GgufBuilder().key("a", 13, "").bytes()), "");
    std::string deep;
    for (int i = 0; i < 1000; ++i) {
        deep += u32(array_type) + u64(1);
    }
    EXPECT_NE(error_of(GgufBuilder().key("a", array_type, deep + u32(0) + u64(0)).bytes()), "");
}

TEST(Gguf, HostileTensorsAreRefused) {
    const auto with = [](std::vector<std::uint64_t> shape, std::uint32_t type, std::uint64_t offset,
                         std::string_view name = "t") {
        GgufBuilder file;
        file.tensor(name, std::move(shape), type, offset);
        file.data = 64;
        return error_of(file.bytes());
    };
    EXPECT_EQ(with({16}, f32, 0), "");
    EXPECT_EQ(with({}, f32, 0), "");
    EXPECT_NE(with({17}, f32, 0).find("ends beyond the file"), std::string::npos);
    EXPECT_NE(with({1}, f32, 64).find("ends beyond the file"), std::string::npos);
    EXPECT_NE(with({1}, f32, ~31ULL), "");
    EXPECT_NE(with({1}, f32, 4).find("not aligned"), std::string::npos);
    EXPECT_NE(with({1ULL << 62}, f32, 0).find("too large"), std::string::npos);
    EXPECT_NE(with({1ULL << 32, 1ULL << 32}, f32, 0).find("too large"), std::string::npos);
    EXPECT_NE(with({33}, q8_0, 0).find("whole blocks"), std::string::npos);
    EXPECT_NE(with({1, 1, 1, 1, 1}, f32, 0).find("5 dimensions"), std::string::npos);
    EXPECT_NE(with({1}, f32, 0, ""), "");
    EXPECT_NE(with({1}, f32, 0, "a\x1b[2J"), "");
    EXPECT_NE(with({1}, f32, 0, std::string(513, 'a')), "");
    for (const std::uint64_t alignment : {0ULL, 3ULL, 1ULL << 62, 1ULL << 63}) {
        GgufBuilder file;
        file.key("general.alignment", 10, u64(alignment)).tensor("t", {1}, f32, 0);
        file.data = 64;
        EXPECT_NE(error_of(file.bytes()), "") << alignment;
    }
}

// The rest of the fuzzing is libFuzzer's; this much is always run.
TEST(Gguf, AnyChangeOfAFewBytesIsReadOrRefused) {
    const std::string whole = slurp(SOURCE_DIR "/tests/unit/agent/objects/data/moe.gguf");
    ASSERT_FALSE(whole.empty());
    std::mt19937_64 dice(7);
    unsigned taken = 0;
    for (int round = 0; round < 3000; ++round) {
        std::string bytes = whole;
        for (int n = 0; n < 3; ++n) {
            bytes[dice() % 1504] = static_cast<char>(dice()); // in the header
        }
        const auto gguf = read(bytes);
        if (!gguf) {
            EXPECT_TRUE(printable(gguf.error().text));
            continue;
        }
        ++taken;
        for (const Tensor& tensor : gguf->tensors) {
            EXPECT_LE(tensor.offset, bytes.size());
            EXPECT_LE(tensor.bytes, bytes.size() - tensor.offset);
        }
    }
    EXPECT_GT(taken, 100U); // else it would be the same refusal each time
    EXPECT_LT(taken, 2900U);
}

} // namespace
} // namespace hintier
