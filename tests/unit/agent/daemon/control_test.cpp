// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/control.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hintier {
namespace {

using Json = nlohmann::json;

class FakeService final : public ControlService {
public:
    Result<Json> status() override { return Json{{"module", false}}; }
    Result<Json> session_ended(const Peer& peer, const SessionEnded& ended) override {
        if (peer.uid) return failure("not allowed", EPERM);
        session = ended.session;
        root = ended.root;
        names.assign(ended.names.begin(), ended.names.end());
        return Json{{"files", names.size()}};
    }
    Result<Json> explain(std::string_view file) override {
        return Json{{"file", std::string(file)}};
    }
    Result<Json> heat(std::size_t most) override { return Json{{"most", most}}; }
    Result<Json> stop_reaping(const Peer&) override { return Json::object(); }

    std::string session;
    std::string root;
    std::vector<std::string> names;
};

Json ask(ControlService& service, std::string_view line, uid_t uid = 0) {
    const std::string text = answer(service, {.pid = 1, .uid = uid, .gid = 0}, line);
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
        R"({"op":"heat","most":-1})", R"({"op":"heat","most":1.5})", R"({"op":"session_ended"})",
        R"({"op":"session_ended","session":"s"})",
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
