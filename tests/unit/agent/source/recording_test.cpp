// SPDX-License-Identifier: Apache-2.0
#include "agent/source/recording.hpp"

#include <cstdio>
#include <fstream>

#include <gtest/gtest.h>

#include "agent/source/recording_file.hpp"
#include "agent/source/replay.hpp"
#include "tests/unit/agent/builders.hpp"

namespace hintier {
namespace {

std::vector<Root> one_root(bool reap = false) {
    return {{"/kv", find_adapter("vllm-fs"), 3, reap}};
}

Event full_event() {
    Event event;
    event.kind = EventKind::renamed;
    event.created = event.outside = true;
    event.root = 2;
    event.pid = 11;
    event.tid = 12;
    event.time = 123'456'789'012ns;
    event.file = {7, 8, 1ULL << 60};
    event.parent = {7, 9, 2};
    event.replaced = 99;
    event.before = ~0ULL;
    event.call = Call::state_load;
    event.tokens = 512;
    event.offset = 1ULL << 40;
    event.bytes = 65536;
    return event;
}

TEST(Recording, EventsComeBackAsTheyWere) {
    Event event = full_event();
    event.name = "a \"b\"\n.bin";
    const std::string line = to_line(event);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const auto recorded = parse_recorded(line);
    ASSERT_TRUE(recorded) << recorded.error().text;
    const Event back = std::get<RecordedEvent>(*recorded).get();
    EXPECT_EQ(back.kind, event.kind);
    EXPECT_EQ(back.created, event.created);
    EXPECT_EQ(back.writing, event.writing);
    EXPECT_EQ(back.found, event.found);
    EXPECT_EQ(back.outside, event.outside);
    EXPECT_EQ(back.root, event.root);
    EXPECT_EQ(back.pid, event.pid);
    EXPECT_EQ(back.tid, event.tid);
    EXPECT_EQ(back.time, event.time);
    EXPECT_EQ(back.file, event.file);
    EXPECT_EQ(back.parent, event.parent);
    EXPECT_EQ(back.replaced, event.replaced);
    EXPECT_EQ(back.before, event.before);
    EXPECT_EQ(back.call, event.call);
    EXPECT_EQ(back.tokens, event.tokens);
    EXPECT_EQ(back.offset, event.offset);
    EXPECT_EQ(back.bytes, event.bytes);
    EXPECT_EQ(back.name, event.name);
    EXPECT_EQ(to_line(back), line);
}

TEST(Recording, EveryKindOfEventHasAName) {
    for (int kind = 0; kind <= static_cast<int>(EventKind::filled); ++kind) {
        Event event;
        event.kind = static_cast<EventKind>(kind);
        const auto recorded = parse_recorded(to_line(event));
        ASSERT_TRUE(recorded) << kind;
        EXPECT_EQ(std::get<RecordedEvent>(*recorded).event.kind, event.kind);
    }
}

TEST(Recording, WordsComeBackAsTheyWere) {
    Words words;
    words.kind = Words::Kind::queued;
    words.named = true;
    words.teller = 1000;
    words.root = 1;
    words.in_ms = 250;
    words.time = 5s;
    words.session = "s1";
    words.objects = {1, ~0ULL};
    const auto recorded = parse_recorded(to_line(words));
    ASSERT_TRUE(recorded) << recorded.error().text;
    const Words& back = std::get<Words>(*recorded);
    EXPECT_EQ(to_line(back), to_line(words));
    EXPECT_EQ(back.objects, words.objects);
    EXPECT_TRUE(back.named);
    words.named = false;
    EXPECT_FALSE(std::get<Words>(*parse_recorded(to_line(words))).named);
}

TEST(Recording, HeadHoldsTheRoots) {
    const auto roots = parse_recording_head(recording_head(one_root(true)));
    ASSERT_TRUE(roots) << roots.error().text;
    ASSERT_EQ(roots->size(), 1U);
    EXPECT_EQ(roots->front().path, "/kv");
    EXPECT_EQ(roots->front().adapter->name, "vllm-fs");
    EXPECT_EQ(roots->front().group, 3);
    EXPECT_TRUE(roots->front().reap);
    for (const char* head :
         {"", "{}", "[]", R"({"hintier":"recording"})", R"({"hintier":"recording","version":2})",
          R"({"hintier":"recording","version":1,"roots":1})",
          R"({"hintier":"recording","version":1,"roots":[1]})",
          R"({"hintier":"recording","version":1,"roots":[{"adapter":"x"}]})",
          R"({"hintier":"recording","version":1,"roots":[{"adapter":"auto","group":256}]})"}) {
        EXPECT_FALSE(parse_recording_head(head)) << head;
    }
}

TEST(Recording, AFileIsReadLineByLine) {
    const std::string path = testing::TempDir() + "hintier-recording";
    Event event = full_event();
    event.name = "x";
    const auto lines_of = [&](const std::string& text) {
        std::ofstream(path) << recording_head(one_root()) << text;
        std::uint64_t lines = 0;
        auto file = RecordingFile::open(path);
        EXPECT_TRUE(file);
        const auto read = file->each([&](const Recorded&) { ++lines; });
        return read ? std::to_string(lines) : read.error().text;
    };
    const std::string line = to_line(event);
    EXPECT_EQ(lines_of(line + line), "2");
    EXPECT_EQ(lines_of(line + line.substr(0, 20)), "1") << "cut short";
    EXPECT_TRUE(lines_of(line + "{}\n" + line).starts_with(path + ":3: "));
    std::ofstream(path) << "";
    EXPECT_EQ(RecordingFile::open(path).error().text, path + ": empty");
    std::ofstream(path) << "no head\n";
    EXPECT_TRUE(RecordingFile::open(path).error().text.starts_with(path + ":1: "));
    std::remove(path.c_str());
    EXPECT_EQ(RecordingFile::open(path).error().text, path + ": No such file or directory");
}

TEST(Recording, OddLinesAreRefusedByMember) {
    EXPECT_EQ(parse_recorded(R"({"event":"opend"})").error().text, "odd \"event\"");
    EXPECT_EQ(parse_recorded(R"({"event":"opened","t":-1})").error().text, "odd \"t\"");
    EXPECT_EQ(parse_recorded(R"({"event":"opened","pid":4294967296})").error().text, "odd \"pid\"");
    EXPECT_EQ(parse_recorded(R"({"event":"opened","file":[1,2]})").error().text, "odd \"file\"");
    EXPECT_EQ(parse_recorded(R"({"event":"opened","name":1})").error().text, "odd \"name\"");
    EXPECT_EQ(parse_recorded(R"({"say":"queued","objects":["x"]})").error().text,
              "odd \"objects\"");
    EXPECT_EQ(parse_recorded(R"({"say":"queued","objects":[1]})").error().text, "odd \"objects\"");
    for (const char* line : {"", "x", "{}", "[]", "{\"say\":1}", "{\"t\":1e99}"}) {
        EXPECT_FALSE(parse_recorded(line)) << line;
    }
}

// A golden recording: two blocks written, a chain walked, a session that ends.
class ReplayTest : public testing::Test {
protected:
    void say(EventKind kind, std::uint64_t object, bool created = false) {
        Event event;
        event.kind = kind;
        event.created = event.writing = created;
        event.found = kind == EventKind::lookup;
        event.pid = 7;
        event.tid = 8;
        event.time = now_;
        event.file = kind == EventKind::lookup ? FileId() : test::Builder::file(100 + object);
        const std::string name = test::file_name(object);
        event.name = name;
        lines_.push_back(to_line(event));
    }
    void say(Words words) {
        words.time = now_;
        lines_.push_back(to_line(words));
    }
    const ReplayCounts& play(const Planner::Config& rules) {
        replay_ = std::make_unique<Replay>(World::Config(), rules, one_root(true),
                                           [&](const Plan& plan, Nanos) {
                                               for (const Reap& reap : plan.reap)
                                                   reaped_.push_back(reap.object);
                                           });
        for (const std::string& line : lines_) {
            const auto recorded = parse_recorded(line);
            EXPECT_TRUE(recorded) << line;
            replay_->feed(*recorded);
        }
        replay_->finish(2min);
        return replay_->counts();
    }

    Nanos now_ = 1000s;
    std::vector<std::string> lines_;
    std::unique_ptr<Replay> replay_;
    std::vector<std::uint64_t> reaped_;
};

TEST_F(ReplayTest, RulesActAsTheyWouldHave) {
    for (std::uint64_t id : {1, 2, 3, 4}) {
        say(EventKind::opened, id, true);
        now_ += 1ms;
    }
    now_ += 60s;
    for (int round = 0; round < 2; ++round) {
        for (std::uint64_t id : {1, 2, 3, 4}) {
            say(EventKind::lookup, id);
            now_ += 1ms;
        }
        now_ += 60s;
    }
    for (std::uint64_t id : {1, 2, 3, 4}) {
        say(EventKind::opened, id);
        now_ += 1ms;
    }
    Words words;
    words.named = true;
    words.session = "s";
    words.objects = {1, 2, 3, 4, 99};
    say(words);
    words.kind = Words::Kind::ended;
    words.named = false;
    now_ += 1s;
    say(words);

    Planner::Config rules;
    rules.reaper.enabled = true;
    const ReplayCounts& counts = play(rules);
    EXPECT_EQ(counts.events, 16U);
    EXPECT_EQ(counts.words, 2U);
    EXPECT_EQ(counts.refused, 0U);
    EXPECT_EQ(counts.opened, 4U);
    EXPECT_GT(counts.opened_fetched, 0U);
    EXPECT_EQ(counts.reaped, 4U);
    EXPECT_EQ(reaped_, (std::vector<std::uint64_t>{4, 3, 2, 1})); // tail first
    EXPECT_EQ(counts.reasons[static_cast<std::size_t>(Reason::session_ended)], 4U);
    EXPECT_EQ(replay_->world().objects(), 0U);
}

TEST_F(ReplayTest, WordsThatAreNotAllowedAreCounted) {
    Words words;
    words.kind = Words::Kind::ended;
    words.session = "never told of";
    say(words);
    words.named = true;
    words.root = 5;
    say(words);
    EXPECT_EQ(play({}).refused, 2U);
}

} // namespace
} // namespace hintier
