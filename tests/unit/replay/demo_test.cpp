// SPDX-License-Identifier: Apache-2.0
//
// The demo's scripts as their users run them; nothing here needs a guest.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using testing::HasSubstr;
using testing::Not;

struct Ran {
    int status;
    std::string output; // both streams
};

// From the top of the tree, where make runs the tests.
Ran run(const std::string& command) {
    Ran ran{-1, {}};
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (!pipe) return ran;
    char chunk[4096];
    while (const std::size_t n = fread(chunk, 1, sizeof(chunk), pipe))
        ran.output.append(chunk, n);
    const int status = pclose(pipe);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
}

TEST(DemoRun, BadSettingsAreOneLineAndAFailure) {
    const std::pair<const char*, const char*> cases[] = {
        {"ROWS='bulk magic'", "no such row: magic"},
        {"TRACE=/nonexistent.jsonl", "TRACE=/nonexistent.jsonl: no such file"},
        {"LOAD=heavy", "LOAD must be"},
        {"MINUTES=soon", "MINUTES"},
        {"MINUTES=0", "must be positive"},
        {"ENDS=later", "ENDS"},
    };
    for (const auto& [setting, message] : cases) {
        const Ran ran = run(std::string(setting) + " qemu/demo/run");
        EXPECT_EQ(ran.status, 1) << setting;
        EXPECT_THAT(ran.output, HasSubstr(message));
        EXPECT_EQ(std::count(ran.output.begin(), ran.output.end(), '\n'), 1) << ran.output;
    }
}

TEST(DemoRun, HelpNamesEverySetting) {
    const Ran help = run("qemu/demo/run --help");
    EXPECT_EQ(help.status, 0);
    for (const char* name : {"TRACE", "ENDS", "LOAD", "ROWS", "MINUTES", "JOBS"})
        EXPECT_THAT(help.output, HasSubstr(name));
    EXPECT_EQ(run("qemu/demo/run --frobnicate").status, 2);
}

class TableTest : public testing::Test {
protected:
    const std::string path_ = testing::TempDir() + "ht-table-" + std::to_string(getpid());
    void TearDown() override { std::remove(path_.c_str()); }
};

TEST_F(TableTest, ComparesRowsWithBulkAndWithTheBound) {
    std::ofstream(path_) << R"({"trace": "t.jsonl", "generated": true, "scale": 61,
        "time_dilation": 4, "minutes": 15, "figures_from_minute": 5, "ends_s": "60",
        "chains": "1/1", "ttft_limit_ms": 1000,
        "plan": {"fast_bytes": 5390696448, "dram_tokens": 3000000, "compute_tokens_per_s": 64000},
        "rows": [
          {"config": "bulk", "ttft_ms": {"p50": 100, "p90": 200, "p99": 400}, "reads_wrong": 0},
          {"config": "ideal", "ttft_ms": {"p50": 80, "p90": 100, "p99": 400}, "reads_wrong": 0}]})";
    const Ran ran = run("qemu/demo/table " + path_);
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("t.jsonl (generated)"));
    EXPECT_THAT(ran.output, testing::ContainsRegex("ideal +0\\.800 +0\\.500 +1\\.000"));
    EXPECT_THAT(ran.output, testing::ContainsRegex("bulk +1\\.250 +2\\.000 +1\\.000"));
}

TEST_F(TableTest, ShallowReadersHaveATableOfTheirOwn) {
    std::ofstream(path_) << R"({"time_dilation": 4, "rows": [], "pages": {
        "minutes": 4, "figures_from_minute": 1.333, "chains": "1/8", "page_tokens": 64,
        "plan": {"fast_bytes": 5390696448, "dram_tokens": 100000, "compute_tokens_per_s": 64000},
        "rows": [
          {"config": "bulk+readahead", "load_ms": 200, "load_bytes": 1073741824,
           "restore_ms": {"p50": 100, "p90": 200, "p99": 400}, "reads_wrong": 0},
          {"config": "hintier", "load_ms": 150, "load_bytes": 1073741824,
           "restore_ms": {"p50": 50, "p90": 80, "p99": 400}, "reads_wrong": 0}]}})";
    const Ran ran = run("qemu/demo/table " + path_);
    EXPECT_EQ(ran.status, 0) << ran.output;
    EXPECT_THAT(ran.output, HasSubstr("files of 64 tokens"));
    EXPECT_THAT(ran.output, testing::ContainsRegex("hintier +0\\.750 +0\\.500 +0\\.400"));
}

TEST_F(TableTest, AnUnreadableResultIsOneLine) {
    std::ofstream(path_) << "{";
    const Ran ran = run("qemu/demo/table " + path_);
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.output, Not(HasSubstr("Traceback")));
    EXPECT_EQ(run("qemu/demo/table /nonexistent").status, 1);
}

} // namespace
