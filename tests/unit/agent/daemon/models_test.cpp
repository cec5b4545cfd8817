// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/models.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "hintier/trace.h"
#include "tests/unit/agent/objects/builders.hpp"

namespace hintier {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t region = 1ULL << HINTIER_FILL_SHIFT;

ModelFiles two_tensors() {
    ModelFiles model;
    Tensor plain;
    plain.parts.role = Role::attention;
    plain.offset = 100;
    plain.bytes = region - 100;
    Tensor fused;
    fused.parts.role = Role::expert;
    fused.parts.layer = 3;
    fused.experts = 4;
    fused.offset = region;
    fused.bytes = 8 * region;
    model.tensors = {plain, fused};
    return model;
}

TEST(ModelParts, AreTensorsAndExperts) {
    const auto parts = parts_of(two_tensors());
    ASSERT_EQ(parts.size(), 5U);
    EXPECT_EQ(parts[0].role, Role::attention);
    EXPECT_EQ(parts[4].expert, 3U);
    EXPECT_EQ(parts[4].layer, 3U);
    EXPECT_EQ(parts[4].offset, 7 * region);
    EXPECT_EQ(parts[4].bytes, 2 * region);
}

TEST(ModelParts, ShareWhatComesIn) {
    auto parts = parts_of(two_tensors());
    fill(parts, 0, 0, region, 65536);
    EXPECT_EQ(parts[0].filled, 65536U) << "the head before it has none of it";
    fill(parts, 0, 3 * region, region, 4096);
    EXPECT_EQ(parts[2].filled, 4096U);
    EXPECT_EQ(parts[1].filled, 0U);
    fill(parts, 1, 0, region, 4096);            // another file
    fill(parts, 0, 100 * region, region, 4096); // behind all
    fill(parts, 0, ~0ULL - region, region, 1);
    EXPECT_EQ(parts[0].filled + parts[1].filled + parts[2].filled + parts[3].filled +
                  parts[4].filled,
              65536U + 4096U);
    // Two experts in one region have their shares of it.
    parts[1].bytes = region / 4;
    parts[2].offset = region + region / 4;
    parts[2].bytes = 3 * region / 4;
    parts[1].filled = parts[2].filled = 0;
    fill(parts, 0, region, region, 4000);
    EXPECT_EQ(parts[1].filled, 1000U);
    EXPECT_EQ(parts[2].filled, 3000U);
}

// What a hostile file may claim: parts of no length, parts that overlap, parts out of order.
TEST(ModelParts, BearOddOnes) {
    std::vector<ModelPart> parts(4);
    fill(parts, 0, 0, region, 4096);
    parts[0].offset = 10 * region;
    parts[0].bytes = region;
    parts[1].offset = 0;
    parts[1].bytes = 20 * region;
    parts[2].offset = 5;
    fill(parts, 0, 2 * region, region, 4096);
    fill(parts, 0, 10 * region, region, 4096);
    for (const ModelPart& part : parts) {
        EXPECT_LE(part.filled, 3 * 4096U);
    }
}

class ModelsTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-models-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
    }
    void TearDown() override { fs::remove_all(dir_); }
    void write_model(std::uint64_t experts) {
        GgufBuilder file;
        file.key("general.architecture", 8, gguf_text("llama"));
        file.tensor("blk.0.ffn_up_exps.weight", {64, 256, experts}, 0, 0);
        file.data = 64 * 256 * experts * 4;
        spill(dir_ + "/next", file.bytes());
        fs::rename(dir_ + "/next", dir_ + "/m.gguf");
    }
    Event filled(std::uint64_t offset) const {
        struct stat st;
        EXPECT_EQ(stat((dir_ + "/m.gguf").c_str(), &st), 0);
        Event event;
        event.kind = EventKind::filled;
        event.file = {HINTIER_TRACE_DEV(major(st.st_dev), minor(st.st_dev)), 77, st.st_ino};
        event.offset = offset;
        event.bytes = 8192;
        return event;
    }

    std::string dir_;
};

TEST_F(ModelsTest, AreWaitedForAndReplaced) {
    Models models({dir_ + "/m.gguf"}, nullptr);
    models.check();
    ASSERT_FALSE(models.all()[0].known);
    EXPECT_NE(models.all()[0].wrong.find("m.gguf"), std::string::npos);
    write_model(8);
    models.check();
    ASSERT_TRUE(models.all()[0].known) << models.all()[0].wrong;
    EXPECT_EQ(models.all()[0].parts.size(), 8U);
    EXPECT_TRUE(models.all()[0].files.tensors.empty());
    models.apply(filled(3 * region));
    EXPECT_EQ(models.all()[0].filled, 8192U);
    EXPECT_GT(models.all()[0].parts[3].filled, 7000U);
    models.check();
    EXPECT_EQ(models.all()[0].filled, 8192U) << "nothing has changed";

    const Event of_the_old = filled(0);
    write_model(4);
    models.check();
    EXPECT_EQ(models.all()[0].parts.size(), 4U);
    EXPECT_EQ(models.all()[0].filled, 0U);
    models.apply(of_the_old);
    EXPECT_EQ(models.all()[0].filled, 0U);

    spill(dir_ + "/next", "GGUF rubbish");
    fs::rename(dir_ + "/next", dir_ + "/m.gguf");
    models.check();
    EXPECT_FALSE(models.all()[0].known);
    fs::remove(dir_ + "/m.gguf");
    models.check();
    EXPECT_FALSE(models.all()[0].known);
}

} // namespace
} // namespace hintier
