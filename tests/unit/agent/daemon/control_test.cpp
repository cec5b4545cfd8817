// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/control.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hintier {
namespace {

using Json = nlohmann::json;

class FakeService final : public ControlService {
public:
    Answer session_started(const Peer& peer, const Spoken& spoken) override {
        return told(peer, spoken);
    }
    Answer session_resumes(const Peer& peer, const Spoken& spoken) override {
        return told(peer, spoken);
    }
    Answer session_ended(const Peer& peer, const Spoken& spoken) override {
        return told(peer, spoken);
    }
    Answer request_queued(const Peer& peer, const Spoken& spoken) override {
        return told(peer, spoken);
    }
    Answer load(const Peer&, const Load& load) override { return Json{{"in_ms", load.in_ms}}; }
    Answer advise(const Peer&, const Question& question) override {
        return Json{{"bytes", question.bytes}};
    }
    Answer record(const Peer&, Fd, std::uint64_t) override { return Json::object(); }
    Answer record_stop(const Peer&) override { return Json::object(); }
    Answer status() override { return Json{{"module", false}}; }
    Answer explain(std::string_view file) override { return Json{{"file", std::string(file)}}; }
    Answer heat(std::size_t most) override { return Json{{"most", most}}; }
    Answer models(std::size_t most) override { return Json{{"most", most}}; }
    Answer stop_reaping(const Peer&) override { return Json::object(); }

    Answer told(const Peer& peer, const Spoken& spoken) {
        if (peer.uid) return failure("not allowed", EPERM);
        session = spoken.session;
        root = spoken.root;
        named = spoken.named;
        in_ms = spoken.in_ms;
        names.assign(spoken.names.begin(), spoken.names.end());
        return Json{{"files", names.size()}};
    }

    std::string session;
    std::string root;
    std::vector<std::string> names;
    bool named = false;
    std::uint32_t in_ms = 0;
};

Json ask(ControlService& service, std::string_view line, uid_t uid = 0) {
    Descriptors none;
    const std::string text = answer(service, {.pid = 1, .uid = uid, .gid = 0}, line, none);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return Json::parse(text);
}

TEST(Control, Ping) {
    FakeService service;
    EXPECT_EQ(ask(service, R"({"op":"ping"})"), (Json{{"ok", true}, {"version", HINTIER_VERSION}}));
}

TEST(Control, SessionEndedPassesEverythingOn) {
    FakeService service;
    const Json json =
        ask(service, R"({"op":"session_ended","session":"s1","root":"/kv","names":["a","b/c"]})");
    EXPECT_EQ(json, (Json{{"ok", true}, {"files", 2}}));
    EXPECT_EQ(service.session, "s1");
    EXPECT_EQ(service.root, "/kv");
    EXPECT_EQ(service.names, (std::vector<std::string>{"a", "b/c"}));
}

TEST(Control, NamesMayBeThoseToldBefore) {
    FakeService service;
    EXPECT_EQ(ask(service, R"({"op":"session_resumes","session":"s","in_ms":250})").at("ok"), true);
    EXPECT_FALSE(service.named);
    EXPECT_EQ(service.in_ms, 250U);
    EXPECT_EQ(ask(service, R"({"op":"session_started","session":"s","names":[]})").at("ok"), true);
    EXPECT_TRUE(service.named);
    EXPECT_EQ(ask(service, R"({"op":"request_queued","names":["a"]})").at("files"), 1);
    EXPECT_EQ(service.session, "");
}

TEST(Control, Advice) {
    FakeService service;
    EXPECT_EQ(ask(service, R"({"op":"advise","bytes":7,"recompute_ms":1})").at("bytes"), 7);
    EXPECT_EQ(ask(service, R"({"op":"advise","names":["a"],"recompute_ms":1})").at("ok"), true);
}

TEST(Control, PeerIsPassedOn) {
    FakeService service;
    const Json json = ask(service, R"({"op":"session_ended","session":"s","names":[]})", 1000);
    EXPECT_EQ(json, (Json{{"ok", false}, {"error", "not allowed"}}));
}

TEST(Control, OtherOps) {
    FakeService service;
    EXPECT_EQ(ask(service, R"({"op":"status"})").at("module"), false);
    EXPECT_EQ(ask(service, R"({"op":"explain","file":"x"})").at("file"), "x");
    EXPECT_EQ(ask(service, R"({"op":"heat","most":99999})").at("most"), 1000);
    EXPECT_EQ(ask(service, R"({"op":"models","most":99999})").at("most"), 1000);
    EXPECT_EQ(ask(service, R"({"op":"stop_reaping"})").at("ok"), true);
}

class Hostile : public testing::TestWithParam<std::string> {};

TEST_P(Hostile, IsRefusedWithAReason) {
    FakeService service;
    const Json json = ask(service, GetParam());
    EXPECT_EQ(json.at("ok"), false);
    EXPECT_FALSE(json.at("error").get<std::string>().empty());
}

std::string nested(int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
}

INSTANTIATE_TEST_SUITE_P(
    All, Hostile,
    testing::Values(
        "", "x", "{", "[]", "1", "null", "\"op\"", "{}", R"({"op":1})", R"({"op":"no"})",
        R"({"op":"explain"})", R"({"op":"explain","file":[]})", R"({"op":"heat"})",
        R"({"op":"models"})", R"({"op":"heat","most":-1})", R"({"op":"heat","most":1.5})",
        R"({"op":"session_ended"})", R"({"op":"session_started"})",
        R"({"op":"session_resumes","session":"s","in_ms":-1})",
        R"({"op":"session_resumes","session":"s","in_ms":4294967296})",
        R"({"op":"session_resumes","session":"s","in_ms":"1"})", R"({"op":"request_queued"})",
        R"({"op":"record"})", R"({"op":"record","most":1,"fds":1})", R"({"op":"load"})",
        R"({"op":"load","fds":1})", R"({"op":"load","fds":2})",
        R"({"op":"load","fds":1,"class":7})", R"({"op":"advise"})", R"({"op":"advise","bytes":1})",
        R"({"op":"advise","recompute_ms":1})",
        R"({"op":"advise","bytes":18446744073709551615,"recompute_ms":1})",
        R"({"op":"advise","bytes":1,"recompute_ms":18446744073709551615})",
        R"({"op":"session_ended","session":"s","names":"a"})",
        R"({"op":"session_ended","session":"s","names":[1]})",
        R"({"op":"session_ended","session":1,"names":[]})",
        R"({"op":"session_ended","session":"s","root":3,"names":[]})",
        std::string("{\"op\":\"\xff\xfe\"}"), std::string("\0\0\0", 3),
        nested(100'000), "{\"op\":\"session_ended\",\"session\":\"s\",\"names\":[" + [] {
            std::string many;
            for (int i = 0; i < 65'536; ++i)
                many += "\"a\",";
            return many;
        }() + "\"a\"]}"));

TEST(Control, RefusalsAreValidJsonWhateverTheySay) {
    EXPECT_EQ(Json::parse(refusal("a \"b\" \n \x01")).at("ok"), false);
    EXPECT_EQ(Json::parse(refusal("\xff\xfe")).at("ok"), false);
}

} // namespace
} // namespace hintier
