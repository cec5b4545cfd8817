// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/model_file.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/unit/agent/objects/builders.hpp"

namespace hintier {
namespace {

namespace fs = std::filesystem;

constexpr const char* data = SOURCE_DIR "/tests/unit/agent/objects/data/";

class ModelFileTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-model-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
    }
    void TearDown() override { fs::remove_all(dir_); }

    std::string at(const std::string& name) const { return dir_ + "/" + name; }
    static std::string error_of(const std::string& path) {
        const auto model = read_model(path);
        return model ? std::string() : model.error().text;
    }
    static std::string shard(const std::string& tensor) {
        return safetensors("{\"" + tensor + R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                           4);
    }

    std::string dir_;
};

TEST_F(ModelFileTest, OneGgufFile) {
    const auto model = read_model(std::string(data) + "moe.gguf");
    ASSERT_TRUE(model) << model.error().text;
    EXPECT_EQ(model->format, "GGUF 3");
    EXPECT_EQ(model->architecture, "qwen3moe");
    EXPECT_EQ(model->layers, 2U);
    EXPECT_EQ(model->experts, 4U);
    EXPECT_EQ(model->files.size(), 1U);
    EXPECT_EQ(model->tensors.size(), 15U);
}

TEST_F(ModelFileTest, AnyFileOfASplitModelNamesAll) {
    for (const char* name : {"split-00001-of-00002.gguf", "split-00002-of-00002.gguf"}) {
        const auto model = read_model(std::string(data) + name);
        ASSERT_TRUE(model) << model.error().text;
        EXPECT_EQ(model->files.size(), 2U);
        EXPECT_EQ(model->tensors.size(), 7U);
        EXPECT_EQ(model->tensors.back().file, 1U);
        EXPECT_EQ(model->architecture, "qwen3moe");
    }
}

TEST_F(ModelFileTest, SplitFilesMustBelongTogether) {
    fs::copy_file(std::string(data) + "split-00001-of-00002.gguf", at("m-00001-of-00002.gguf"));
    EXPECT_EQ(error_of(at("m-00001-of-00002.gguf")),
              at("m-00002-of-00002.gguf") + ": No such file or directory");
    fs::copy_file(std::string(data) + "split-00001-of-00002.gguf", at("m-00002-of-00002.gguf"));
    EXPECT_EQ(error_of(at("m-00001-of-00002.gguf")),
              at("m-00002-of-00002.gguf") + ": says that it is file 1 of 2");
    fs::copy_file(std::string(data) + "split-00001-of-00002.gguf", at("renamed.gguf"));
    EXPECT_NE(error_of(at("renamed.gguf")).find("one of 2 files"), std::string::npos);
}

TEST_F(ModelFileTest, ShardsByTheirIndexOrDirectory) {
    spill(at("a.safetensors"), shard("model.layers.0.mlp.experts.1.w1.weight"));
    spill(at("b.safetensors"), shard("lm_head.weight"));
    spill(at("model.safetensors.index.json"),
          R"({"weight_map":{"lm_head.weight":"b.safetensors",)"
          R"("model.layers.0.mlp.experts.1.w1.weight":"a.safetensors"}})");
    for (const std::string& path : {at("model.safetensors.index.json"), dir_}) {
        const auto model = read_model(path);
        ASSERT_TRUE(model) << model.error().text;
        EXPECT_EQ(model->files.size(), 2U);
        EXPECT_EQ(model->layers, 1U);
        EXPECT_EQ(model->experts, 2U);
        EXPECT_EQ(model->tensors.back().name, "lm_head.weight");
    }
    spill(at("b.safetensors"), shard("another"));
    EXPECT_EQ(error_of(dir_), at("model.safetensors.index.json") +
                                  ": tensor lm_head.weight is not in b.safetensors");
    fs::remove(at("a.safetensors"));
    EXPECT_EQ(error_of(dir_), at("a.safetensors") + ": No such file or directory");
}

TEST_F(ModelFileTest, OtherFilesAreRefusedByName) {
    EXPECT_NE(error_of(dir_).find("name a file"), std::string::npos);
    EXPECT_EQ(error_of(at("none")), at("none") + ": No such file or directory");
    spill(at("empty"), "");
    EXPECT_EQ(error_of(at("empty")), at("empty") + ": too short for a safetensors file");
    spill(at("cut.gguf"), slurp(std::string(data) + "moe.gguf").substr(0, 20'000));
    EXPECT_NE(error_of(at("cut.gguf")).find("it was cut"), std::string::npos);
    EXPECT_EQ(error_of("/dev/zero"), "/dev/zero: not a regular file");
}

TEST(SplitName, IsWhatLlamaCppWrites) {
    const SplitName split = parse_split_name("/m/a-00002-of-00009.gguf");
    EXPECT_EQ(split.prefix, "/m/a");
    EXPECT_EQ(split.number, 2U);
    EXPECT_EQ(split.count, 9U);
    EXPECT_EQ(split_name(split, 9), "/m/a-00009-of-00009.gguf");
    for (const char* path :
         {"", "a.gguf", "-00001-of-00002.gguf", "a-00000-of-00002.gguf", "a-00003-of-00002.gguf",
          "a-0001-of-00002.gguf", "a-0000x-of-00002.gguf", "a-00001-of-00002.bin"}) {
        EXPECT_EQ(parse_split_name(path).count, 0U) << path;
    }
}

} // namespace
} // namespace hintier
