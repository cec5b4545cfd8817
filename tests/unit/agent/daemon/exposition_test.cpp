// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/exposition.hpp"

#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "agent/daemon/tier_metrics.hpp"
#include "hintier/trace.h"

namespace hintier {
namespace {

TEST(Exposition, IsPrometheusText) {
    Exposition to;
    to.family("a_total", Exposition::Type::counter, "First\nhelp \\ here");
    to.sample({}, 3);
    to.sample({{"root", "/a \"b\"\\\n"}, {"x", ""}}, 0.25);
    to.one("b", Exposition::Type::gauge, "B", 4503599627370497.0);
    EXPECT_EQ(to.text(), "# HELP a_total First\\nhelp \\\\ here\n"
                         "# TYPE a_total counter\n"
                         "a_total 3\n"
                         "a_total{root=\"/a \\\"b\\\"\\\\\\n\",x=\"\"} 0.25\n"
                         "# HELP b B\n"
                         "# TYPE b gauge\n"
                         "b 4503599627370497\n");
}

TierStats tier() {
    TierStats one;
    one.tier.device = HINTIER_TRACE_DEV(253, 0);
    one.tier.slots = 10;
    one.tier.dirty = 3;
    one.tier.free = 7;
    for (std::size_t i = 0; i < one.counters.size(); ++i) {
        one.counters[i] = 1000 + i;
    }
    one.io.push_back({HINTIER_OP_READ, HINTIER_IO_STAGE, HINTIER_CLASS_KV, 5, 20480});
    one.io.push_back(
        {HINTIER_OPS, HINTIER_IO_STAGE, HINTIER_CLASS_KV, 5, 20480}); // of a newer module
    TierStats::Latency latency{HINTIER_OP_READ, HINTIER_IO_FAST, {}};
    latency.buckets[0] = 2;
    latency.buckets[4] = 3;
    one.latency.push_back(latency);
    return one;
}

TEST(TierMetrics, TellEveryCounterOnce) {
    Exposition to;
    tell_tiers(to, {tier()});
    for (std::size_t i = 0; i < HINTIER_COUNTERS; ++i) {
        const std::regex value(" " + std::to_string(1000 + i) + "\n");
        const auto text = to.text();
        EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), value), {}), 1)
            << "counter " << i;
    }
}

// Each family is declared once, before its samples, and no sample is told twice.
TEST(TierMetrics, AreWellFormed) {
    Exposition to;
    TierStats other = tier();
    other.tier.device = HINTIER_TRACE_DEV(253, 1);
    tell_tiers(to, {tier(), other});
    std::set<std::string> families, samples;
    std::string family;
    std::istringstream in(to.text());
    for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (std::regex_match(line, match,
                             std::regex("# TYPE ([a-z_]+) (counter|gauge|histogram)"))) {
            family = match[1];
            EXPECT_TRUE(families.insert(family).second) << line;
            EXPECT_EQ(family.ends_with("_total"), match[2] == "counter") << line;
        } else if (!line.starts_with("# HELP ")) {
            ASSERT_TRUE(std::regex_match(
                line, match,
                std::regex(R"re(([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \S+)re")))
                << line;
            EXPECT_TRUE(match[1].str().starts_with(family)) << line;
            EXPECT_TRUE(samples.insert(line.substr(0, line.rfind(' '))).second) << line;
        }
    }
    EXPECT_GT(families.size(), 15U);
}

TEST(TierMetrics, CumulateTheirHistograms) {
    Exposition to;
    tell_tiers(to, {tier()});
    const std::string& text = to.text();
    const std::string labels = "{tier=\"253:0\",op=\"read\",outcome=\"fast\"";
    EXPECT_NE(text.find("_bucket" + labels + ",le=\"5.12e-07\"} 2\n"), text.npos) << text;
    EXPECT_NE(text.find("_bucket" + labels + ",le=\"8.192e-06\"} 5\n"), text.npos);
    EXPECT_NE(text.find("_bucket" + labels + ",le=\"+Inf\"} 5\n"), text.npos);
    EXPECT_NE(text.find("_count" + labels + "} 5\n"), text.npos);
}

} // namespace
} // namespace hintier
