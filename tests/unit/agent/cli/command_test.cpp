// SPDX-License-Identifier: Apache-2.0
// hintierctl run as a user runs it: exit statuses, one-line errors, and manuals that name
// everything --help does.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Outcome {
    int status = -1;
    std::string out;
    std::string error;
};

std::string slurp(const fs::path& file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

class CommandTest : public testing::Test {
protected:
    void SetUp() override {
        char name[] = "/tmp/hintier-command-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        dir_ = name;
        fs::current_path(dir_);
        make("fast", 16 << 20);
        make("bulk", 64 << 20);
    }
    void TearDown() override {
        fs::current_path("/");
        fs::remove_all(dir_);
    }

    static void make(const char* name, std::uintmax_t bytes) {
        std::ofstream(name).close();
        fs::resize_file(name, bytes);
    }
    static Outcome run(const std::string& arguments) {
        std::string line = std::string(CTL_PATH) + " " + arguments + " >out 2>error";
        int status = std::system(line.c_str());
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, slurp("out"), slurp("error")};
    }
    // It fails with this status, and one line that matches.
    static void refused(const std::string& arguments, int status, const std::string& pattern) {
        Outcome ran = run(arguments);
        EXPECT_EQ(ran.status, status) << arguments << ": " << ran.error;
        EXPECT_TRUE(std::regex_search(ran.error, std::regex(pattern))) << ran.error;
        EXPECT_EQ(std::count(ran.error.begin(), ran.error.end(), '\n'), 1) << ran.error;
        Outcome json = run(arguments + " --json");
        Json answer = Json::parse(json.out, nullptr, false);
        ASSERT_TRUE(answer.is_object()) << json.out;
        EXPECT_EQ(answer["ok"], false);
        EXPECT_EQ(json.status, status);
    }
    static std::set<std::string> verbs(const std::string& command) {
        std::string help = run(command + " --help").out;
        std::set<std::string> found;
        std::smatch match;
        std::string rest = help.substr(std::min(help.find("Subcommands:"), help.size()));
        for (std::istringstream lines(rest); std::getline(lines, rest) && !rest.empty();)
            if (std::regex_match(rest, match, std::regex("  ([a-z-]+) .*"))) found.insert(match[1]);
        return found;
    }
    static std::set<std::string> options(const std::string& command) {
        std::string help = run(command + " --help").out;
        help = help.substr(0, help.find("Examples:"));
        std::set<std::string> found;
        std::regex option("--[a-z-]+");
        for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; ++at)
            found.insert(at->str());
        return found;
    }

    fs::path dir_;
};

TEST_F(CommandTest, FormatsAndPrintsTheTable) {
    Outcome ran =
        run("format fast bulk --extent 64K --uuid 3f0c2d8e-7b57-4384-b29e-5dbb9531ee6d --json");
    ASSERT_EQ(ran.status, 0) << ran.error;
    Json answer = Json::parse(ran.out);
    EXPECT_EQ(answer["uuid"], "3f0c2d8e-7b57-4384-b29e-5dbb9531ee6d");
    EXPECT_EQ(answer["tier_bytes"], 63 << 20);
    Outcome table = run("create kv0 fast bulk --mode writearound --opt a=1 --print-table");
    EXPECT_EQ(table.status, 0) << table.error;
    EXPECT_EQ(table.out, "0 129024 hintier fast bulk 128 4 mode writearound a 1\n");
}

TEST_F(CommandTest, NeverOverwritesWhatItRecognises) {
    ASSERT_EQ(std::system("mke2fs -q -F -t ext4 -L data bulk >/dev/null 2>&1"), 0);
    std::string before = slurp("bulk");
    refused("format fast bulk", 1, "bulk holds ext4 file system .data.: --force destroys it");
    EXPECT_EQ(slurp("bulk"), before);
    EXPECT_EQ(slurp("fast"), std::string(16 << 20, '\0')) << "nothing was written to fast either";
    EXPECT_EQ(run("format fast bulk --force").status, 0);
    refused("format fast bulk", 1, "fast holds the fast device of hintier pair [0-9a-f-]{36}");
    refused("create x bulk fast", 1, "order is FAST BULK");
    EXPECT_NE(std::system("dumpe2fs bulk >/dev/null 2>&1"), 0) << "ext4 is still there";
}

TEST_F(CommandTest, RefusesAPartitionTable) {
    std::fstream image("bulk", std::ios::in | std::ios::out | std::ios::binary);
    char mbr[512] = {};
    mbr[446 + 4] = '\x83'; // one Linux partition from sector 2048, 1 MiB
    mbr[446 + 9] = 8;
    mbr[446 + 13] = 8;
    mbr[510] = '\x55';
    mbr[511] = '\xaa';
    image.write(mbr, sizeof mbr);
    image.close();
    refused("format fast bulk", 1, "bulk holds dos partition table");
}

TEST_F(CommandTest, RefusesWhatCannotBeAPair) {
    make("tiny", 64 << 10);
    refused("format fast fast", 1, "same device");
    refused("format bulk fast", 1, "are they swapped");
    refused("format tiny bulk", 1, "fast device is too small");
    refused("format tiny tiny2", 1, "tiny2: No such file");
    refused("format fast bulk --extent 96K", 2, "power of two");
    refused("format fast bulk --uuid x", 2, "not a UUID");
    refused("format fast", 2, "BULK is required");
    refused("create kv0 fast bulk", 1, "no hintier header");
}

TEST_F(CommandTest, WrongUsageIsTwo) {
    refused("", 2, "subcommand is required");
    refused("nosuchverb", 2, "hintierctl");
    refused("hint fetch", 2, "FILE or --device");
    refused("hint fetch --device /dev/x", 2, "--range");
    refused("hint fetch --device /dev/x --range 5", 2, "not a range");
    refused("hint pin fast", 2, "pin");
    refused("hint classify fast --class kw", 2, "unknown class 'kw'");
    refused("hint classify fast --group 256", 2, "256");
    refused("create kv0 fast bulk --mode fast", 2, "fast");
    refused("create kv0 fast bulk --opt x", 2, "KEY=VALUE");
    refused("agent explain", 2, "FILE is required");
    EXPECT_EQ(run("--version").status, 0);
    EXPECT_EQ(run("--help").status, 0);
}

TEST_F(CommandTest, FailuresAreOne) {
    run("format fast bulk");
    refused("create a/b fast bulk", 1, "cannot be the name of a tier");
    refused("create kv0 fast bulk", 1, "image file");
    refused("where nosuch", 1, "nosuch: No such file");
    refused("where .", 1, "not a regular file");
    refused("agent --socket nosuch.sock ping", 1, "hintierd does not run");
}

TEST_F(CommandTest, ObjectsOfAModel) {
    const std::string data = SOURCE_DIR "/tests/unit/agent/objects/data/";
    Outcome ran = run("objects " + data + "moe.gguf --list --json");
    ASSERT_EQ(ran.status, 0) << ran.error;
    Json answer = Json::parse(ran.out);
    EXPECT_EQ(answer["format"], "GGUF 3");
    EXPECT_EQ(answer["experts"], 4);
    EXPECT_EQ(answer["roles"]["expert"]["tensors"], 6);
    // 15 tensors, of which 6 hold 4 experts each.
    ASSERT_EQ(answer["objects"].size(), 15u - 6u + 6u * 4u);
    std::uint64_t end = 0;
    for (const Json& object : answer["objects"]) {
        EXPECT_GE(object["offset"], end) << object;
        end = object["offset"].get<std::uint64_t>() + object["length"].get<std::uint64_t>();
    }
    EXPECT_LE(end, fs::file_size(data + "moe.gguf"));
    Outcome text = run("objects " + data + "split-00002-of-00002.gguf");
    EXPECT_EQ(text.status, 0) << text.error;
    EXPECT_TRUE(std::regex_search(text.out, std::regex("expert +3 +")));
    refused("objects nosuch", 1, "nosuch: No such file");
    refused("objects fast", 1, "no safetensors file");
    refused("objects .", 1, "name a file");
    refused("objects --map " + data + "moe.gguf", 1, "not on a hintier tier");
}

TEST_F(CommandTest, ObjectsOfAKvBlock) {
    Outcome ran = run("objects /kv/llama_r3/0f1/e2_g1/0f1e2d3c4b5a6978.bin --json");
    ASSERT_EQ(ran.status, 0) << ran.error;
    EXPECT_EQ(Json::parse(ran.out), (Json{{"file", "/kv/llama_r3/0f1/e2_g1/0f1e2d3c4b5a6978.bin"},
                                          {"framework", "vllm-fs"},
                                          {"block", "0f1e2d3c4b5a6978"},
                                          {"object", "0f1e2d3c4b5a6978"},
                                          {"rank", 3},
                                          {"group", 1}}));
    refused("objects 0f1e2d3c4b5a6978.bin --list", 1, "one KV block");
}

// 20 blocks a second apart; a minute after it was written each is read once.
TEST_F(CommandTest, SimulateTellsHowLongFastMustKeep) {
    std::ofstream out("recording");
    out << R"({"hintier":"recording","version":1,"roots":[)"
           R"({"path":"/kv","adapter":"vllm-fs","group":1,"reap":false}]})"
        << '\n';
    const auto event = [&](const char* kind, int second, int block) {
        char name[32];
        snprintf(name, sizeof(name), "%016x.bin", block);
        out << Json{{"t", second * 1'000'000'000LL},
                    {"event", kind},
                    {"pid", 7},
                    {"tid", 7},
                    {"file", {1, 1, 100 + block}},
                    {"parent", {1, 1, 2}},
                    {"name", name}}
            << '\n';
    };
    for (int block = 1; block <= 20; ++block)
        event("renamed", block, block);
    for (int block = 1; block <= 20; ++block)
        event("opened", 60 + block, block);
    out.close();
    Outcome ran = run("simulate recording --block 1M --json");
    ASSERT_EQ(ran.status, 0) << ran.error;
    const Json answer = Json::parse(ran.out);
    EXPECT_EQ(answer["writes"], 20);
    EXPECT_EQ(answer["reads"], 20);
    EXPECT_EQ(answer["seconds"], 79);
    ASSERT_EQ(answer["kept"].size(), 3U) << "as long as the recording is";
    EXPECT_EQ(answer["kept"][1], (Json{{"seconds", 30},
                                       {"reads_served", 0},
                                       {"blocks_at_once", 20},
                                       {"blocks_written_to_fast", 40},
                                       {"bytes_at_once", 20 << 20}}));
    EXPECT_EQ(answer["kept"][2]["reads_served"], 20);
    EXPECT_EQ(answer["kept"][2]["blocks_written_to_fast"], 20);
    Outcome text = run("simulate recording --block 1M");
    EXPECT_TRUE(std::regex_search(text.out, std::regex("60 s +100.* +20 +20 MiB +20\n")))
        << text.out;
    refused("simulate nosuch", 1, "nosuch: No such file");
    refused("simulate fast", 1, "fast:1: ");
}

TEST_F(CommandTest, EveryVerbHelpsWithExamples) {
    std::set<std::string> all = verbs("");
    EXPECT_GE(all.size(), 10u);
    for (const std::string& verb : all) {
        Outcome help = run(verb + " --help");
        EXPECT_EQ(help.status, 0) << verb;
        EXPECT_NE(help.out.find("Examples:"), std::string::npos) << verb;
        EXPECT_EQ(options(verb).contains("--json"), verb != "agent" && verb != "meta") << verb;
    }
}

TEST_F(CommandTest, ManualAndCompletionNameEverything) {
    std::string manual = slurp(fs::path(SOURCE_DIR) / "agent/man/hintierctl.8");
    std::string completion = slurp(fs::path(SOURCE_DIR) / "agent/completion/hintierctl");
    ASSERT_FALSE(manual.empty());
    EXPECT_EQ(run("completion bash").out, completion);
    auto named = [&](const std::string& word) {
        std::string in_mdoc = word.starts_with("--") ? "Fl -" + word.substr(2) : "Cm " + word;
        EXPECT_TRUE(std::regex_search(manual, std::regex(in_mdoc + "( |\n)"))) << in_mdoc;
        EXPECT_TRUE(std::regex_search(completion, std::regex("[ ']" + word + "[ ')\n]"))) << word;
    };
    for (const std::string& verb : verbs("")) {
        named(verb);
        for (const std::string& option : options(verb))
            named(option);
    }
    for (const char* group : {"agent", "meta"})
        for (const std::string& verb : verbs(group)) {
            named(verb);
            for (const std::string& option : options(std::string(group) + " " + verb))
                named(option);
        }
}

} // namespace
