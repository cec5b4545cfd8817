// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/learned.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>

#include <sys/resource.h>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace hintier {
namespace {

namespace fs = std::filesystem;

class LearnedTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-learned-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        file_ = dir_ / "learned.db";
    }
    void TearDown() override { fs::remove_all(dir_); }

    std::unique_ptr<Learned> open(std::uint32_t max_links = 1'000'000) const {
        auto learned = Learned::open({file_, max_links});
        EXPECT_TRUE(learned) << learned.error().text;
        return learned ? std::move(*learned) : nullptr;
    }
    void fill(std::uint64_t links) const {
        const auto learned = open();
        for (std::uint64_t i = 1; i <= links; ++i)
            learned->link(i, i - 1);
        learned->hazard({1, 2, 0.5}, 60);
        learned->remember(memories(1, links / 5));
    }
    static Memories memories(std::uint64_t first, std::uint64_t last) {
        Memories all;
        for (std::uint64_t i = first; i <= last; ++i) {
            const auto small = static_cast<std::uint32_t>(i);
            all.objects.push_back({.id = i,
                                   .used_s = 1e9 + 0.25 * small,
                                   .made_by = small / 4,
                                   .used_by = small / 2,
                                   .depth = small % 7,
                                   .successors = 2,
                                   .group = 33,
                                   .partial = i % 2 == 0});
            if (i % 2 == 0) all.sessions.push_back({small / 2, small % 9, 4, i % 3 == 0});
        }
        return all;
    }
    // In another program's words.
    void sql(const char* text) const {
        sqlite3* db = nullptr;
        ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(db, text, nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(db);
    }
    fs::path aside() const { return file_.string() + ".damaged"; }

    fs::path dir_;
    fs::path file_;
};

TEST_F(LearnedTest, IsThereAfterARestart) {
    {
        const auto learned = open();
        EXPECT_TRUE(learned->links().empty());
        EXPECT_TRUE(learned->hazard().empty());
        learned->link(~0ULL, 1ULL << 63);
        learned->link(5, 4);
        learned->link(5, 3); // the last word holds
        learned->hazard({1, 2, 0.5}, 60);
    }
    const auto learned = open();
    EXPECT_EQ(learned->links(), (Learned::Links{{~0ULL, 1ULL << 63}, {5, 3}}));
    EXPECT_EQ(learned->hazard(), (std::vector<double>{1, 2, 0.5}));
    EXPECT_EQ(learned->watched_s(), 60);
    EXPECT_FALSE(fs::exists(aside()));
}

TEST_F(LearnedTest, MemoriesAreTheSameAfterARestart) {
    Memories said = memories(1, 20);
    said.objects[3] = {.id = ~0ULL, .used_s = -0.5, .made_by = ~0U, .used_by = 7, .group = 239};
    open()->remember(said);
    said.objects[5].successors = 9; // the last word holds
    open()->remember({{said.objects[5]}, {}});
    auto kept = open()->take_memories();
    const auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
    const auto by_number = [](const auto& a, const auto& b) { return a.number < b.number; };
    for (Memories* one : {&said, &kept}) {
        std::sort(one->objects.begin(), one->objects.end(), by_id);
        std::sort(one->sessions.begin(), one->sessions.end(), by_number);
    }
    EXPECT_EQ(kept.objects, said.objects);
    EXPECT_EQ(kept.sessions, said.sessions);
}

TEST_F(LearnedTest, TheObjectsUsedLongestAgoAreForgotten) {
    open()->remember(memories(1, 1500));
    open()->remember(memories(1, 1)); // used again
    auto learned = Learned::open({file_, 1000, 1000});
    ASSERT_TRUE(learned);
    (*learned)->remember(memories(2000, 2000));
    learned->reset();
    const Memories kept = open()->take_memories();
    EXPECT_EQ(kept.objects.size(), 1000U);
    const auto has = [&](std::uint64_t id) {
        return std::any_of(kept.objects.begin(), kept.objects.end(),
                           [&](const auto& one) { return one.id == id; });
    };
    EXPECT_TRUE(has(1) && has(1500) && has(2000));
    EXPECT_FALSE(has(2) || has(500));
}

// As the first version made it.
constexpr const char* version_1 =
    "PRAGMA journal_mode=WAL;"
    "CREATE TABLE link(object INTEGER PRIMARY KEY, before INTEGER NOT NULL, at INTEGER NOT NULL);"
    "CREATE INDEX link_at ON link(at);"
    "CREATE TABLE hazard(one INTEGER PRIMARY KEY CHECK(one = 1), cells BLOB NOT NULL);"
    "INSERT INTO link VALUES(5, 4, 1);"
    "INSERT INTO hazard VALUES(1, x'000000000000f03f');"
    "PRAGMA application_id=1752452145; PRAGMA user_version=1;";

TEST_F(LearnedTest, AFileOfTheFirstVersionIsBroughtUpToDate) {
    sql(version_1);
    {
        const auto learned = open();
        EXPECT_EQ(learned->links(), (Learned::Links{{5, 4}}));
        EXPECT_EQ(learned->hazard(), (std::vector<double>{1}));
        EXPECT_EQ(learned->watched_s(), 0);
        EXPECT_TRUE(learned->take_memories().empty());
        learned->remember(memories(1, 2));
        learned->hazard({2}, 7);
    }
    EXPECT_FALSE(fs::exists(aside()));
    const auto learned = open();
    EXPECT_EQ(learned->links().size(), 1U);
    EXPECT_EQ(learned->watched_s(), 7);
    EXPECT_EQ(learned->take_memories().objects.size(), 2U);
}

// Cut off in the middle, with nothing that an update could stand on.
TEST_F(LearnedTest, AnOldFileThatIsNotWhatItSaysIsPutAside) {
    sql("CREATE TABLE link(x); PRAGMA application_id=1752452145; PRAGMA user_version=1;");
    EXPECT_TRUE(open()->links().empty());
    EXPECT_TRUE(fs::exists(aside()));
    fs::remove(file_);
    sql(version_1);
    sql("CREATE TABLE object(x)"); // in the update's way
    EXPECT_TRUE(open()->links().empty());
    fill(10);
    EXPECT_EQ(open()->links().size(), 10U);
}

TEST_F(LearnedTest, IsWrittenWithinASecondWithoutBeingClosed) {
    const auto learned = open();
    learned->link(2, 1);
    for (int i = 0; i < 100 && learned->written().links == 0; ++i)
        std::this_thread::sleep_for(50ms);
    EXPECT_EQ(learned->written().links, 1U);
    const auto other = open(); // a daemon killed here would have left this
    EXPECT_EQ(other->links().size(), 1U);
}

TEST_F(LearnedTest, TheOldestAreForgotten) {
    fill(1500);
    {
        const auto learned = open(1000);
        EXPECT_EQ(learned->links().size(), 1000U);
        learned->link(7, 6); // used again: the newest now
    }
    const auto learned = open(1000);
    EXPECT_EQ(learned->links().size(), 1000U);
    EXPECT_TRUE(learned->links().contains(1500));
    EXPECT_TRUE(learned->links().contains(7));
    EXPECT_FALSE(learned->links().contains(501));
}

TEST_F(LearnedTest, WhatIsNotOursIsPutAside) {
    std::ofstream(file_) << "this is no database, and long enough to be read as one: " +
                                std::string(4096, 'x');
    EXPECT_TRUE(open()->links().empty());
    EXPECT_TRUE(fs::exists(aside()));
    fs::remove(file_);
    sql("CREATE TABLE link(x)");
    EXPECT_TRUE(open()->links().empty());
    fs::remove(file_);
    fill(10);
    sql("PRAGMA user_version=3");
    EXPECT_TRUE(open()->links().empty());
    fill(10);
    EXPECT_EQ(open()->links().size(), 10U) << "and learning goes on";
}

// Any damage: it opens, and what comes out is a part of what went in, or nothing.
TEST_F(LearnedTest, SurvivesDamage) {
    fill(5000);
    std::ifstream in(file_, std::ios::binary);
    const std::string whole((std::istreambuf_iterator<char>(in)), {});
    ASSERT_GT(whole.size(), 20'000U);
    std::mt19937_64 random(1);
    for (int round = 0; round < 40; ++round) {
        std::string bytes = whole;
        if (round % 4 == 0) {
            bytes.resize(random() % bytes.size());
        } else {
            const std::size_t at = random() % bytes.size();
            for (std::size_t i = at; i < std::min(at + 200, bytes.size()); ++i)
                bytes[i] = static_cast<char>(random());
        }
        for (const char* part : {"", "-wal", "-shm", ".damaged"})
            fs::remove(file_.string() + part);
        std::ofstream(file_, std::ios::binary) << bytes;
        const auto learned = open();
        ASSERT_TRUE(learned);
        EXPECT_LE(learned->links().size(), 5000U);
        EXPECT_LE(learned->take_memories().objects.size(), 1000U);
        learned->link(9'000, 1);
    }
}

TEST_F(LearnedTest, AFullDiskCostsLearningAndNothingElse) {
    const auto learned = open();
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit small = before;
    small.rlim_cur = 64 << 10;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    for (std::uint64_t i = 1; i <= 50'000; ++i)
        learned->link(i, i - 1);
    for (int i = 0; i < 200 && learned->lost().links == 0; ++i)
        std::this_thread::sleep_for(50ms);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(learned->lost().links, 50'000U);
    learned->link(1, 2); // there is room again
    for (int i = 0; i < 100 && learned->written().links == 0; ++i)
        std::this_thread::sleep_for(50ms);
    EXPECT_EQ(learned->written().links, 1U);
}

// It may not open then; but what is in the file stays where it is.
TEST_F(LearnedTest, AFullDiskAtTheStartPutsNothingAside) {
    fill(1000);
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit none = before;
    none.rlim_cur = 0;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    EXPECT_FALSE(Learned::open({file_.string(), 1'000'000})) << "no journal can be made";
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(fs::exists(aside()));
    EXPECT_EQ(open()->links().size(), 1000U);
}

TEST_F(LearnedTest, NoDirectoryIsAnErrorWithItsName) {
    const auto learned = Learned::open({"/nonexistent/learned.db", 1000});
    ASSERT_FALSE(learned);
    EXPECT_TRUE(learned.error().text.find("/nonexistent/learned.db") != std::string::npos)
        << learned.error().text;
}

} // namespace
} // namespace hintier
