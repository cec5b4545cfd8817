// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/tier.hpp"

#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

namespace hintier::replay {
namespace {

class TierTest : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "ht-tier-XXXXXX";
        ASSERT_TRUE(mkdtemp(pattern.data()));
        root_ = pattern;
        tier_ = std::make_unique<Tier>(Tier::Options{root_, false, {}});
    }
    void TearDown() override { std::filesystem::remove_all(root_); }

    std::string path(BlockId block) const { return root_ + "/" + BlockPath(block).c_str(); }

    void overwrite(BlockId block, off_t at, const std::string& bytes) const {
        const int fd = open(path(block).c_str(), O_WRONLY);
        ASSERT_EQ(pwrite(fd, bytes.data(), bytes.size(), at), ssize_t(bytes.size()));
        close(fd);
    }

    std::string root_;
    std::unique_ptr<Tier> tier_;
    ObjectBuffer buffer_, other_;
};

TEST(BlockPath, IsVllmsWithTheHashInItsLastDigits) {
    std::set<std::string> names;
    for (BlockId block = 0; block < 1000; block++) {
        const BlockPath path(block);
        const std::string text = path.c_str(), name = path.name();
        ASSERT_THAT(text, testing::MatchesRegex("[0-9a-f]*/[0-9a-f]*_g0/[0-9a-f]*\\.bin"));
        ASSERT_EQ(name.size(), 68u);
        ASSERT_EQ(text, name.substr(0, 3) + "/" + name.substr(3, 2) + "_g0/" + name);
        ASSERT_EQ(std::stoull(name.substr(48, 16), nullptr, 16), hash_of(block));
        ASSERT_TRUE(names.insert(name).second);
    }
}

TEST_F(TierTest, AFileAppearsWholeAndReadsBackRight) {
    EXPECT_FALSE(tier_->exists(7));
    EXPECT_EQ(tier_->store(7, buffer_), StoreResult::written);
    EXPECT_TRUE(tier_->exists(7));
    EXPECT_EQ(std::filesystem::file_size(path(7)), kObjectBytes);
    EXPECT_EQ(tier_->load(7, other_), LoadResult::right);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root_))
        files += entry.is_regular_file();
    EXPECT_EQ(files, 1u) << "no temporary file is left";
}

TEST_F(TierTest, AnExistingFileIsNotWrittenAgain) {
    tier_->store(7, buffer_);
    overwrite(7, 0, "x");
    EXPECT_EQ(tier_->store(7, buffer_), StoreResult::skipped);
    EXPECT_EQ(tier_->load(7, buffer_), LoadResult::wrong);
}

TEST_F(TierTest, OneWrongUnitAnywhereIsSeen) {
    for (const std::size_t unit : {std::size_t{0}, std::size_t{71}, kUnits - 1}) {
        tier_->store(7, buffer_);
        overwrite(7, off_t(unit * kUnit + 8), "y"); // its tag
        EXPECT_EQ(tier_->load(7, buffer_), LoadResult::wrong) << unit;
        tier_->remove(7);
        tier_->store(7, buffer_);
        overwrite(7, off_t(unit * kUnit), "y"); // its marker
        EXPECT_EQ(tier_->load(7, other_), LoadResult::wrong) << unit;
        tier_->remove(7);
    }
}

TEST_F(TierTest, AnotherBlocksDataOrNoneIsWrong) {
    tier_->store(7, buffer_);
    tier_->store(8, buffer_);
    std::filesystem::copy_file(path(8), path(7), std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(tier_->load(7, buffer_), LoadResult::wrong);
    std::filesystem::resize_file(path(8), kObjectBytes - kUnit);
    other_.fill(hash_of(8)); // what a reader finds in its buffer from before must not count
    EXPECT_EQ(tier_->load(8, other_), LoadResult::wrong);
}

TEST_F(TierTest, AMissingFileIsAnAnswer) {
    EXPECT_EQ(tier_->load(9, buffer_), LoadResult::missing);
    EXPECT_FALSE(tier_->remove(9));
    tier_->store(9, buffer_);
    EXPECT_TRUE(tier_->remove(9));
    EXPECT_FALSE(tier_->exists(9));
}

TEST_F(TierTest, InPagesABlockIsSglangsFilesInOrder) {
    const Shape shape{8, 1};
    ASSERT_TRUE(shape.valid());
    EXPECT_EQ(shape.file_bytes(), std::size_t{64} * kBytesPerToken);
    const Tier pages({root_, false, shape});
    ObjectBuffer page(shape.file_bytes());
    EXPECT_EQ(pages.store(7, page), StoreResult::written);
    EXPECT_EQ(pages.store(7, page), StoreResult::skipped);
    EXPECT_TRUE(pages.exists(7));
    EXPECT_EQ(pages.load(7, page), LoadResult::right);
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(root_))
        if (entry.is_regular_file()) {
            files++;
            EXPECT_EQ(entry.file_size(), shape.file_bytes());
            EXPECT_THAT(entry.path().filename().string(),
                        testing::MatchesRegex("[0-9a-f]*_DeepSeek-V3\\.bin"));
        }
    EXPECT_EQ(files, 8u);
    const auto last = root_ + "/" + PagePath(7, 7).c_str();
    std::filesystem::copy_file(root_ + "/" + PagePath(7, 0).c_str(), last,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(pages.load(7, page), LoadResult::wrong);
    std::filesystem::remove(last);
    EXPECT_FALSE(pages.exists(7)) << "a block that lacks a page is none";
    EXPECT_EQ(pages.load(7, page), LoadResult::missing);
    EXPECT_TRUE(pages.remove(7));
    EXPECT_FALSE(pages.remove(7));
}

TEST(Shape, IsOfWholeUnits) {
    EXPECT_TRUE(Shape{}.valid());
    EXPECT_EQ(Shape{}.block_bytes(), kObjectBytes);
    EXPECT_FALSE((Shape{8, kScale}.valid() && Shape{8, kScale}.file_bytes() % kUnit));
    EXPECT_FALSE((Shape{3, 1}.valid()));
    EXPECT_FALSE((Shape{512, 61}.valid()));
}

TEST_F(TierTest, WhatAServerCannotGoOnFromIsAnError) {
    EXPECT_THROW(Tier({root_ + "/none", false, {}}), std::system_error);
    std::filesystem::create_directory(path(9));
    EXPECT_THROW(tier_->load(9, buffer_), std::system_error);
    std::filesystem::remove_all(root_);
    EXPECT_THROW(tier_->store(10, buffer_), std::system_error);
}

} // namespace
} // namespace hintier::replay
