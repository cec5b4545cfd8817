// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/config.hpp"

#include <fstream>
#include <regex>
#include <sstream>

#include <gtest/gtest.h>

namespace hintier {
namespace {

std::string error_of(const std::string& text) {
    const auto config = parse_config(text, "f");
    return config ? std::string("accepted") : config.error().text;
}

constexpr const char* root = "[[root]]\npath = \"/kv\"\nadapter = \"vllm-fs\"\n";

TEST(Config, EmptyIsAllDefaults) {
    const auto config = parse_config("", "f");
    ASSERT_TRUE(config);
    EXPECT_TRUE(config->roots.empty());
    EXPECT_FALSE(config->rules.reaper.enabled);
}

TEST(Config, EverythingIsRead) {
    const auto config = parse_config(R"(
[agent]
log = "debug"
coalesce = "2ms"
[control]
socket = "/tmp/s"
mode = "0600"
[trace]
io = false
ring = "256KiB"
[world]
chain_gap = "80ms"
[rules.reaper]
enabled = true
quiet = "120s"
[rules.chain]
window = 4
[rules.restore]
rate = "2GiB"
skip = false
[[root]]
path = "/kv"
adapter = "vllm-fs"
group = 9
reap = true
recompute = "512MiB"
)",
                                     "f");
    ASSERT_TRUE(config) << config.error().text;
    EXPECT_EQ(config->agent.level, log::Level::debug);
    EXPECT_EQ(config->agent.coalesce, 2ms);
    EXPECT_EQ(config->control.mode, 0600U);
    EXPECT_EQ(config->trace.ring_bytes, 256U << 10);
    EXPECT_EQ(config->world.chain_gap, 80ms);
    EXPECT_EQ(config->rules.reaper.quiet, 120s);
    EXPECT_EQ(config->rules.chain.window, 4U);
    EXPECT_EQ(config->rules.restore.rate, 2ULL << 30);
    EXPECT_FALSE(config->rules.restore.skip);
    EXPECT_EQ(config->roots.at(0).recompute, 512ULL << 20);
    EXPECT_EQ(config->roots.at(0).group, 9);
    EXPECT_TRUE(config->roots.at(0).reap);
}

TEST(Config, ErrorsNameLineAndKey) {
    EXPECT_EQ(error_of("[agent]\ntick = \"0s\"\n"), "f:2: agent.tick is from 1ms to 10s");
    EXPECT_EQ(error_of("[agent]\n\ncoalesce = 5\n"),
              "f:3: agent.coalesce must be a time such as \"500us\", \"30s\" or \"5min\"");
    EXPECT_EQ(error_of("[rules.reaper]\nrate = 1000\n"),
              "f:1: rules.reaper: rate is from 1 to 500 files a second");
    EXPECT_EQ(error_of("[rules.reapr]\n"), "f:1: rules.reapr is no key that hintierd knows");
    EXPECT_EQ(error_of("x = 1\n"), "f:1: x is no key that hintierd knows");
    EXPECT_EQ(error_of("[control]\nmode = \"rw\"\n"),
              "f:2: control.mode must be octal in quotes, such as \"0660\"");
    EXPECT_EQ(error_of("[trace]\nring = \"1000KiB\"\n"),
              "f:2: trace.ring is a power of two from 64KiB to 256MiB");
    EXPECT_EQ(error_of("[world]\nmax_objects = -1\n"), "f:2: world.max_objects is out of range");
    EXPECT_EQ(error_of("[trace]\nio = 1\n"), "f:2: trace.io must be true or false");
}

TEST(Config, SyntaxErrorsNameTheLine) {
    EXPECT_TRUE(error_of("[agent\n").starts_with("f:1: ")) << error_of("[agent\n");
    EXPECT_TRUE(error_of("\n\na = = 1\n").starts_with("f:3: "));
}

TEST(Config, RootsAreChecked) {
    EXPECT_EQ(error_of("[[root]]\nadapter = \"vllm-fs\"\n"),
              "f:1: root.path must be an absolute path");
    EXPECT_EQ(error_of("[[root]]\npath = \"/kv\"\nadapter = \"vlm\"\n"),
              "f:3: root.adapter must be one of vllm-fs, sglang-file, lmcache, mooncake, auto, not "
              "'vlm'");
    EXPECT_EQ(error_of(std::string(root) + "group = 256\n"), "f:4: root.group is from 0 to 255");
    EXPECT_EQ(error_of(std::string(root) + root), "f:5: root.path is there twice");
    EXPECT_EQ(error_of("[root]\npath = \"/kv\"\n"), "f:1: root must be written as [[root]]");
}

TEST(Config, ReapingNeedsTwoYesesAndAnAdapterThatBearsIt) {
    EXPECT_EQ(error_of(std::string(root) + "reap = true\n"),
              "f:4: root.reap has no effect without rules.reaper.enabled = true");
    const std::string on = "[rules.reaper]\nenabled = true\n";
    EXPECT_EQ(error_of(on + root + "reap = true\n"), "accepted");
    const std::string lmcache = "[[root]]\npath = \"/kv\"\nadapter = \"lmcache\"\nreap = true\n";
    EXPECT_EQ(error_of(on + lmcache), "f:6: root.reap cannot be true with lmcache: a vanished file "
                                      "is a KeyError there, and the engine dies");
}

TEST(Config, WhatIsLearnedIsKeptWhereTold) {
    EXPECT_EQ(error_of("[learned]\nfile = \"/var/lib/hintier/learned.db\"\n"), "accepted");
    EXPECT_EQ(error_of("[learned]\nfile = \"learned.db\"\n"),
              "f:1: learned: file must be an absolute path");
    EXPECT_EQ(error_of("[learned]\nmax_objects = 3000000\n"),
              "f:1: learned: max_objects is from 1000 to 2000000");
    EXPECT_EQ(error_of("[learned]\nmax_links = 4000000\n"),
              "f:1: learned: max_links and twice max_objects are at most 5000000 together");
    EXPECT_EQ(error_of("[learned]\nmax_links = 1\n"),
              "f:1: learned: max_links is from 1000 to 4000000");
}

TEST(Config, MetricsAreOffAndLocal) {
    EXPECT_EQ(Config().metrics.listen, "");
    EXPECT_EQ(error_of("[metrics]\nlisten = \"127.0.0.1:9466\"\nmax_connections = 2\n"),
              "accepted");
    EXPECT_EQ(error_of("[metrics]\nlisten = \"0.0.0.0:9466\"\n"),
              "f:1: metrics: listen must be a loopback address");
    EXPECT_EQ(error_of("[metrics]\nmax_connections = 0\n"),
              "f:1: metrics: max_connections is from 1 to 256");
}

TEST(Config, WorthIsOffAndDroppingNeedsTheReaper) {
    EXPECT_FALSE(Config().rules.worth.enabled);
    const std::string on = "[rules.worth]\nenabled = true\n";
    EXPECT_EQ(error_of(on), "accepted");
    EXPECT_EQ(error_of("[rules.worth]\ndrop = true\n"),
              "f:1: rules.worth: drop has no effect without enabled = true");
    EXPECT_EQ(error_of(on + "drop = true\n"),
              "f:3: rules.worth.drop has no effect without rules.reaper.enabled = true");
    EXPECT_EQ(error_of("[rules.reaper]\nenabled = true\n" + on + "drop = true\n"), "accepted");
    EXPECT_EQ(error_of(on + "values = true\n"), "accepted");
    EXPECT_EQ(error_of("[rules.worth]\nvalues = true\n"),
              "f:1: rules.worth: values has no effect without enabled = true");
    EXPECT_EQ(error_of(on + "price = \"high\"\n"), "f:3: rules.worth.price must be a number");
    EXPECT_EQ(error_of(on + "price = nan\n"), "f:3: rules.worth.price must be a number");
    EXPECT_EQ(error_of(on + "price = 2\n"), "f:1: rules.worth: price is a chance, from 0 to 1");
    const auto config = parse_config(on + "price = 0.1\nuntil = \"3min\"\n", "f");
    ASSERT_TRUE(config);
    EXPECT_EQ(config->rules.worth.liveness.values.price, 0.1);
    EXPECT_EQ(config->rules.worth.until, 3min);
}

TEST(Config, EachRootHasAnAdapterOfItsOwn) {
    const auto config = parse_config("[[root]]\npath = \"/a\"\nadapter = \"vllm-fs\"\n"
                                     "[[root]]\npath = \"/b\"\nadapter = \"lmcache\"\n"
                                     "[[root]]\npath = \"/c\"\n",
                                     "f");
    ASSERT_TRUE(config) << config.error().text;
    EXPECT_EQ(config->roots[1].adapter->name, "lmcache");
    EXPECT_EQ(config->roots[2].adapter->name, "auto");
}

TEST(Config, UnreadableFiles) {
    EXPECT_EQ(load_config("/nonexistent/x.toml").error().text,
              "/nonexistent/x.toml: No such file or directory");
    EXPECT_FALSE(load_config("/"));
}

// The shipped file documents every key; with the comments taken off it must say the defaults.
TEST(Config, ShippedFileShowsTheDefaults) {
    std::ifstream in("agent/hintierd.toml");
    ASSERT_TRUE(in) << "run from the top of the source tree";
    std::ostringstream text;
    std::string line;
    while (std::getline(in, line)) {
        text << std::regex_replace(line, std::regex("^#([a-z_]+ = |\\[\\[)"), "$1") << '\n';
    }
    const auto shown = parse_config(text.str(), "f");
    ASSERT_TRUE(shown) << shown.error().text;
    const Config defaults;
    EXPECT_EQ(shown->agent.coalesce, defaults.agent.coalesce);
    EXPECT_EQ(shown->agent.tick, defaults.agent.tick);
    EXPECT_EQ(shown->agent.recheck, defaults.agent.recheck);
    EXPECT_EQ(shown->agent.scan_rate, defaults.agent.scan_rate);
    EXPECT_EQ(shown->learned.file, defaults.learned.file);
    EXPECT_EQ(shown->learned.max_links, defaults.learned.max_links);
    EXPECT_EQ(shown->rules.worth.enabled, defaults.rules.worth.enabled);
    EXPECT_EQ(shown->rules.worth.drop, defaults.rules.worth.drop);
    EXPECT_EQ(shown->rules.worth.until, defaults.rules.worth.until);
    EXPECT_EQ(shown->rules.worth.pause, defaults.rules.worth.pause);
    EXPECT_EQ(shown->rules.worth.sweep, defaults.rules.worth.sweep);
    const LivenessRule::Config& liveness = defaults.rules.worth.liveness;
    EXPECT_EQ(shown->rules.worth.liveness.values.price, liveness.values.price);
    EXPECT_EQ(shown->rules.worth.liveness.table_every, liveness.table_every);
    EXPECT_EQ(shown->rules.worth.liveness.guard.tolerance, liveness.guard.tolerance);
    EXPECT_EQ(shown->rules.worth.liveness.guard.ghosts, liveness.guard.ghosts);
    EXPECT_EQ(shown->rules.worth.liveness.guard.pause, liveness.guard.pause);
    EXPECT_EQ(shown->rules.worth.liveness.model.max_requests, liveness.model.max_requests);
    EXPECT_EQ(shown->control.socket, defaults.control.socket);
    EXPECT_EQ(shown->control.mode, defaults.control.mode);
    EXPECT_EQ(shown->control.max_connections, defaults.control.max_connections);
    EXPECT_EQ(shown->control.max_line, defaults.control.max_line);
    EXPECT_EQ(shown->control.max_requests, defaults.control.max_requests);
    EXPECT_EQ(shown->trace.io, defaults.trace.io);
    EXPECT_EQ(shown->trace.files, defaults.trace.files);
    EXPECT_EQ(shown->trace.ring_bytes, defaults.trace.ring_bytes);
    EXPECT_EQ(shown->world.max_objects, defaults.world.max_objects);
    EXPECT_EQ(shown->world.max_names, defaults.world.max_names);
    EXPECT_EQ(shown->world.chain_gap, defaults.world.chain_gap);
    EXPECT_EQ(shown->rules.classify.remap_after, defaults.rules.classify.remap_after);
    EXPECT_EQ(shown->rules.classify.remap_tries, defaults.rules.classify.remap_tries);
    EXPECT_EQ(shown->rules.classify.catch_up, defaults.rules.classify.catch_up);
    EXPECT_EQ(shown->rules.reaper.enabled, defaults.rules.reaper.enabled);
    EXPECT_EQ(shown->rules.reaper.quiet, defaults.rules.reaper.quiet);
    EXPECT_EQ(shown->rules.reaper.silent_after, defaults.rules.reaper.silent_after);
    EXPECT_EQ(shown->rules.reaper.rate, defaults.rules.reaper.rate);
    EXPECT_EQ(shown->rules.chain.trigger, defaults.rules.chain.trigger);
    EXPECT_EQ(shown->rules.chain.window, defaults.rules.chain.window);
    EXPECT_EQ(shown->rules.chain.deep_readers, defaults.rules.chain.deep_readers);
    EXPECT_EQ(shown->rules.chain.forget_after, defaults.rules.chain.forget_after);
    EXPECT_EQ(shown->rules.chain.min_useful, defaults.rules.chain.min_useful);
    EXPECT_EQ(shown->rules.chain.pause, defaults.rules.chain.pause);
    ASSERT_EQ(shown->roots.size(), 1U);
    EXPECT_EQ(shown->roots.front().group, 1);
}

} // namespace
} // namespace hintier
