// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/explain.hpp"

#include <gtest/gtest.h>

namespace hintier::cli {
namespace {

Piece piece(std::uint64_t length, std::uint32_t state, hintier_class klass = HINTIER_CLASS_KV) {
    Piece one;
    one.length = length;
    one.state = state;
    one.klass = static_cast<std::uint8_t>(klass);
    one.group = 1;
    one.object = 0xabc;
    return one;
}

Explained explained(std::vector<Piece> pieces) {
    return {"/mnt/kv/x.bin", "t0", 1 << 20, std::move(pieces), nullptr, "hintierd does not run"};
}

bool says(const Json& answer, const std::string& what) {
    for (const Json& why : answer["why"])
        if (why.get<std::string>().find(what) != std::string::npos) return true;
    return false;
}

TEST(Explain, SaysWhatFollowsFromEachState) {
    const Json dirty = explain_json(explained({piece(8192, HINTIER_IS_FAST | HINTIER_IS_DIRTY)}));
    EXPECT_TRUE(says(dirty, "not destaged yet")) << dirty;
    EXPECT_FALSE(says(dirty, "clean")) << dirty;
    EXPECT_FALSE(says(dirty, "bulk")) << dirty;

    const Json mixed = explain_json(explained({piece(8192, HINTIER_IS_FAST), piece(4096, 0)}));
    EXPECT_TRUE(says(mixed, "in fast, clean")) << mixed;
    EXPECT_TRUE(says(mixed, "on bulk only")) << mixed;
    EXPECT_EQ(mixed["where"]["fast"], 8192);
    EXPECT_EQ(mixed["where"]["bulk"], 4096);

    EXPECT_TRUE(says(explain_json(explained({piece(4096, HINTIER_IS_LOST)})), "volatile"));
    Piece late = piece(4096, 0);
    late.nowhere = "not written to the device yet";
    EXPECT_TRUE(says(explain_json(explained({late})), "nowhere yet"));
    EXPECT_TRUE(explain_json(explained({}))["why"].empty());
    EXPECT_NE(explain_text(explain_json(explained({}))).find("no data"), std::string::npos);
}

TEST(Explain, NamesTheMarksThatMostBytesHave) {
    const Json answer = explain_json(
        explained({piece(4096, 0, HINTIER_CLASS_OTHER), piece(8192, 0), piece(8192, 0)}));
    ASSERT_EQ(answer["marks"].size(), 2U);
    EXPECT_EQ(answer["marks"][0]["class"], "kv");
    EXPECT_EQ(answer["marks"][0]["bytes"], 16384);
    EXPECT_EQ(answer["marks"][0]["object"], "0000000000000abc");
}

TEST(Explain, JoinsWhatTheAgentKnows) {
    Explained one = explained({piece(8192, HINTIER_IS_FAST)});
    one.agent = Json::parse(R"({"object":"0000000000000abc","depth":5,"before":"1","after":"2",
        "session":"s1","idle_s":12,"hint":{"verb":"fetch","reason":"its chain is read","ago_s":3},
        "worth":{"chance":0.25,"drop":true}})");
    one.agent_error.clear();
    const Json answer = explain_json(one);
    EXPECT_TRUE(says(answer, "it was fetched: its chain is read")) << answer;
    const std::string text = explain_text(answer);
    for (const char* wanted : {"session", "s1", "12 s", "fetch, 3 s ago: its chain is read",
                               "0.250", "not worth a program", "5 in its chain"})
        EXPECT_NE(text.find(wanted), text.npos) << wanted << "\n" << text;
}

TEST(Explain, SaysWhyTheAgentIsSilent) {
    const Json answer = explain_json(explained({piece(4096, 0)}));
    EXPECT_TRUE(answer["agent"].is_null());
    EXPECT_NE(explain_text(answer).find("hintierd does not run"), std::string::npos);
    Explained other = explained({piece(4096, HINTIER_IS_FAST)});
    other.agent = Json::parse(R"({"hint":null})");
    EXPECT_NE(explain_text(explain_json(other)).find("none that is remembered"), std::string::npos);
}

} // namespace
} // namespace hintier::cli
