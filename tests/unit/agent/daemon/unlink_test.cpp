// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/unlink.hpp"

#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <gtest/gtest.h>

#include "agent/base/fd.hpp"
#include "agent/layout/handle.hpp"
#include "hintier/trace.h"

namespace hintier {
namespace {

namespace fs = std::filesystem;

// A tree on a real filesystem: root/a/f, and a directory outside of root.
class Unlink : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/var/tmp/hintier_test.XXXXXX";
        top_ = mkdtemp(name);
        fs::create_directories(top_ / "root/a");
        fs::create_directories(top_ / "outside");
        std::ofstream(top_ / "root/a/f") << "x";
        root_ = Fd(open((top_ / "root").c_str(), O_RDONLY | O_DIRECTORY));
        const auto file = id("root/a/f");
        if (!file) GTEST_SKIP() << "filesystem of /var/tmp: " << file.error().text;
        place_ = {*file, *id("root/a"), 0};
        if (!open_by_id(root_.get(), place_.directory, O_PATH | O_DIRECTORY)) {
            GTEST_SKIP() << "needs CAP_DAC_READ_SEARCH and ext4 or XFS below /var/tmp";
        }
    }

    void TearDown() override {
        if (!top_.empty()) fs::remove_all(top_);
    }

    Result<FileId> id(const char* path) const {
        struct stat st;
        stat((top_ / path).c_str(), &st);
        return identify(AT_FDCWD, (top_ / path).c_str(),
                        HINTIER_TRACE_DEV(major(st.st_dev), minor(st.st_dev)));
    }

    bool there(const char* path) const { return fs::exists(top_ / path); }

    fs::path top_;
    Fd root_;
    Place place_;
};

TEST_F(Unlink, RemovesTheFile) {
    const auto done = unlink_below(root_.get(), place_, "f");
    EXPECT_TRUE(done) << done.error().text;
    EXPECT_FALSE(there("root/a/f"));
}

TEST_F(Unlink, FollowsADirectoryThatWasRenamedBelowTheRoot) {
    fs::rename(top_ / "root/a", top_ / "root/b");
    EXPECT_TRUE(unlink_below(root_.get(), place_, "f"));
    EXPECT_FALSE(there("root/b/f"));
}

TEST_F(Unlink, LeavesANameThatMeansAnotherFile) {
    std::ofstream(top_ / "root/a/g") << "new";
    fs::rename(top_ / "root/a/g", top_ / "root/a/f");
    const auto done = unlink_below(root_.get(), place_, "f");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ESTALE);
    EXPECT_TRUE(there("root/a/f"));
}

TEST_F(Unlink, LeavesADirectoryThatHasLeftTheRoot) {
    fs::rename(top_ / "root/a", top_ / "outside/a");
    const auto done = unlink_below(root_.get(), place_, "f");
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, EXDEV);
    EXPECT_TRUE(there("outside/a/f"));
}

TEST_F(Unlink, VanishedFilesAndDirectoriesAreErrors) {
    fs::remove(top_ / "root/a/f");
    EXPECT_EQ(unlink_below(root_.get(), place_, "f").error().code, ENOENT);
    fs::remove(top_ / "root/a");
    EXPECT_EQ(unlink_below(root_.get(), place_, "f").error().code, ESTALE);
}

} // namespace
} // namespace hintier
