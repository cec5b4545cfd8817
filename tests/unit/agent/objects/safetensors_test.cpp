// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/safetensors.hpp"

#include <gtest/gtest.h>

#include "tests/unit/agent/objects/builders.hpp"

namespace hintier {
namespace {

std::string error_of(const std::string& bytes) {
    const auto tensors = read_safetensors(MemoryBytes(bytes));
    const std::string text = tensors ? std::string() : tensors.error().text;
    EXPECT_TRUE(printable(text)) << text;
    return text;
}

std::string error_of(std::string_view header, std::uint64_t data) {
    return error_of(safetensors(header, data));
}

std::string index_error(std::string_view text) {
    const auto map = read_shard_map(MemoryBytes(text));
    return map ? std::string() : map.error().text;
}

// The example of the format's documentation, and one more.
constexpr std::string_view two =
    R"({"__metadata__":{"format":"pt"},)"
    R"("model.layers.1.mlp.experts.3.up_proj.weight":{"dtype":"F16","shape":[1,16,256],"data_offsets":[0,8192]},)"
    R"("lm_head.weight":{"data_offsets":[8192,8196],"dtype":"F32","shape":[]}})";

TEST(Safetensors, TensorsWithTheirPlaceInTheFile) {
    const auto tensors = read_safetensors(MemoryBytes(safetensors(two, 8196)));
    ASSERT_TRUE(tensors) << tensors.error().text;
    ASSERT_EQ(tensors->size(), 2U);
    const Tensor& expert = tensors->at(0);
    EXPECT_EQ(expert.type, "F16");
    EXPECT_EQ(expert.shape, (std::vector<std::uint64_t>{1, 16, 256}));
    EXPECT_EQ(expert.offset, 8 + two.size());
    EXPECT_EQ(expert.bytes, 8192U);
    EXPECT_EQ(expert.parts.layer, 1U);
    EXPECT_EQ(expert.parts.expert, 3U);
    EXPECT_EQ(tensors->at(1).offset, 8 + two.size() + 8192);
}

TEST(Safetensors, FusedExpertsAreCountedByTheFirstDimension) {
    const auto tensors = read_safetensors(MemoryBytes(safetensors(
        R"({"model.layers.0.mlp.experts.down_proj":{"dtype":"BF16","shape":[4,2,3],"data_offsets":[0,48]}})",
        48)));
    ASSERT_TRUE(tensors) << tensors.error().text;
    EXPECT_EQ(tensors->at(0).experts, 4U);
    EXPECT_EQ(tensors->at(0).slice(3)->length, 12U);
}

TEST(Safetensors, EmptyModelsAndPaddedHeadersAreFine) {
    EXPECT_EQ(error_of("{}", 0), "");
    EXPECT_EQ(error_of("{}      ", 0), "");
}

TEST(Safetensors, SubByteTypes) {
    EXPECT_EQ(error_of(R"({"a":{"dtype":"F4","shape":[3,2],"data_offsets":[0,3]}})", 3), "");
    EXPECT_NE(error_of(R"({"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}})", 2), "");
    EXPECT_EQ(error_of(R"({"a":{"dtype":"NEW","shape":[3],"data_offsets":[0,2]}})", 2), "");
}

TEST(Safetensors, EveryTruncationIsRefusedInOneLine) {
    const std::string whole = safetensors(two, 8196);
    for (std::size_t n = 0; n < 8 + two.size(); ++n) {
        EXPECT_NE(error_of(whole.substr(0, n)), "") << n;
    }
    EXPECT_NE(error_of(whole.substr(0, whole.size() - 1)).find("ends beyond the file"),
              std::string::npos);
}

TEST(Safetensors, HostileHeadersAreRefused) {
    EXPECT_NE(error_of(u64(~0ULL) + "{}"), "");
    EXPECT_NE(error_of(u64(100'000'001) + "{}"), "");
    EXPECT_NE(error_of(u64(0)), "");
    for (const char* header : {
             "[]",
             "{",
             "{}x",
             "{\"a\":1}",
             "{\"a\":\"b\"}",
             "{\"a\":null}",
             "{\"a\":[1]}",
             "{\"a\":{}}",
             "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}",
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
             R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
             R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
             R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})",
             R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})",
             R"({"a":{"dtype":{"b":1},"shape":[1],"data_offsets":[0,4]}})",
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}})",
             R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,0],"data_offsets":[0,0]}})",
             R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})",
             R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
             R"({"a\u001b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
             R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
             R"({"__metadata__":{"a":{}}})",
         }) {
        EXPECT_NE(error_of(header, 8), "") << header;
    }
    EXPECT_NE(error_of("{\"a\":" + std::string(100'000, '['), 0), "");
    EXPECT_NE(error_of(std::string(100'000, '{'), 0), "");
}

TEST(ShardMap, NamesTheShardOfEachTensor) {
    const auto map = read_shard_map(MemoryBytes(std::string_view(
        R"({"metadata":{"total_size":8,"x":[{"y":1}]},"weight_map":{"a":"m-1.safetensors","b":"m-2.safetensors"}})")));
    ASSERT_TRUE(map) << map.error().text;
    EXPECT_EQ(*map, (ShardMap{{"a", "m-1.safetensors"}, {"b", "m-2.safetensors"}}));
}

TEST(ShardMap, StaysBesideItsIndex) {
    for (const char* file : {"../../etc/shadow", "/etc/shadow", "a/b", "..", ".", ""}) {
        EXPECT_EQ(index_error(std::string(R"({"weight_map":{"a":")") + file + "\"}}"),
                  "weight_map names a file that is no plain file name")
            << file;
    }
}

TEST(ShardMap, RefusesWhatIsNone) {
    for (const char* text :
         {"", "{}", "[]", "{\"weight_map\":{}}", "{\"weight_map\":[]}",
          "{\"weight_map\":{\"a\":1}}", "{\"weight_map\":{\"a\":[\"b\"]}}",
          "{\"weight_map\":{\"a\":{\"b\":\"c\"}}}", "{\"x\":{\"weight_map\":{\"a\":\"b\"}}}",
          "{\"weight_map\":{\"a\":\"b\"}"}) {
        EXPECT_NE(index_error(text), "") << text;
    }
    EXPECT_NE(index_error("{\"a\":" + std::string(100'000, '[')), "");
}

} // namespace
} // namespace hintier
