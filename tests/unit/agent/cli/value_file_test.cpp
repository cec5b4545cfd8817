// SPDX-License-Identifier: Apache-2.0
// Value tables as files: what is in them, and what is refused with which words.
#include "agent/cli/value_file.hpp"

#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace hintier::cli {
namespace {

using Json = nlohmann::json;

Json good() {
    Json list = Json::array();
    for (int bin = 0; bin < HINTIER_AGE_BINS; bin++)
        list.push_back(bin * 1000);
    Json drop = Json::array();
    for (int bin = 0; bin < HINTIER_AGE_BINS; bin++)
        drop.push_back(bin == 39);
    return {
        {"ttl_ms", 5000},
        {"edges_ms", list},
        {"groups",
         {{{"clean", list}, {"dirty", list}}, {{"clean", list}, {"dirty", list}, {"drop", drop}}}}};
}

TEST(ValueFile, HoldsATable) {
    auto values = parse_values(good().dump());
    ASSERT_TRUE(values) << values.error().text;
    EXPECT_EQ(values->head.ttl_ms, 5000U);
    EXPECT_EQ(values->head.groups, 2U);
    EXPECT_EQ(values->head.edges_ms[39], 39000U);
    EXPECT_EQ(values->rows[0].drop, 0U);
    EXPECT_EQ(values->rows[1].drop, 1ULL << 39);
    EXPECT_EQ(values->rows[1].dirty[1], 1000U);
}

TEST(ValueFile, SaysWhatIsWrong) {
    const struct {
        std::function<void(Json&)> change;
        const char* says;
    } wrong[] = {
        {[](Json& j) { j = 7; }, "no JSON object"},
        {[](Json& j) { j.erase("ttl_ms"); }, "ttl_ms"},
        {[](Json& j) { j["ttl_ms"] = 0; }, "ttl_ms"},
        {[](Json& j) { j["ttl_ms"] = -1; }, "ttl_ms"},
        {[](Json& j) { j["ttl_ms"] = 1e18; }, "ttl_ms"},
        {[](Json& j) { j["edges_ms"].erase(3); }, "edges_ms"},
        {[](Json& j) { j["groups"] = Json::array(); }, "groups"},
        {[](Json& j) { j["groups"] = 3; }, "groups"},
        {[](Json& j) { j["groups"][1] = "x"; }, "group 1"},
        {[](Json& j) { j["groups"][0]["clean"][5] = -1; }, "group 0: 'clean': entry 5"},
        {[](Json& j) { j["groups"][0]["dirty"][5] = 1ULL << 32; }, "group 0: 'dirty': entry 5"},
        {[](Json& j) { j["groups"][1]["drop"][2] = 1; }, "group 1: 'drop': entry 2"},
        {[](Json& j) { j["groups"][1]["drop"] = Json::array(); }, "group 1: 'drop'"},
    };
    for (const auto& one : wrong) {
        Json table = good();
        one.change(table);
        auto values = parse_values(table.dump());
        ASSERT_FALSE(values) << one.says;
        EXPECT_NE(values.error().text.find(one.says), std::string::npos) << values.error().text;
    }
    EXPECT_FALSE(parse_values("{"));
    EXPECT_FALSE(read_values("/nonexistent"));
}

} // namespace
} // namespace hintier::cli
