// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

namespace hintier::replay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const char* const kTwo =
    R"({"timestamp": 5, "input_length": 513, "output_length": 7, "hash_ids": [0, 1]}

{"timestamp": 9, "input_length": 1024, "output_length": 8, "hash_ids": [0, 2]}
)";

std::string refusal(const std::string& text) {
    std::istringstream in(text);
    try {
        read_trace(in);
    } catch (const TraceError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(Trace, ReadsMooncakeLines) {
    std::istringstream in(kTwo);
    const Trace trace = read_trace(in);
    ASSERT_EQ(trace.size(), 2u);
    EXPECT_EQ(trace[1].arrival_ms, 9);
    EXPECT_THAT(trace[0].blocks, ElementsAre(0, 1));
    EXPECT_EQ(trace[0].full_blocks(), 1u) << "the partial tail is not a full block";
    EXPECT_EQ(trace[1].full_blocks(), 2u);
}

TEST(Trace, WhatIsWrittenIsReadBack) {
    std::istringstream in(kTwo);
    std::ostringstream first;
    write_trace(first, read_trace(in));
    std::istringstream again(first.str());
    std::ostringstream second;
    write_trace(second, read_trace(again));
    EXPECT_EQ(first.str(), second.str());
}

TEST(Trace, NamesTheLineThatCannotBeUsed) {
    EXPECT_THAT(refusal(std::string(kTwo) + "{nonsense\n"), HasSubstr("trace line 4"));
    EXPECT_THAT(refusal(R"({"timestamp": 5, "input_length": 513})"), HasSubstr("output_length"));
    EXPECT_THAT(
        refusal(R"({"timestamp": 5, "input_length": 513, "output_length": 7, "hash_ids": [0]})"),
        HasSubstr("do not cover"));
    EXPECT_THAT(refusal(std::string(kTwo) + kTwo), HasSubstr("must not go back"));
    EXPECT_THAT(refusal(""), HasSubstr("no requests"));
    for (const char* number : {"-1", "1.5", "4294967295", "9007199254740993", "\"7\""})
        for (const char* key : {"timestamp", "input_length", "output_length"})
            if (std::string_view(number) != "4294967295" || std::string_view(key) != "timestamp") {
                std::string line =
                    R"({"timestamp": 5, "input_length": 5, "output_length": 5, "hash_ids": [0]})";
                const std::string member = std::string("\"") + key + "\": ";
                line.replace(line.find(member) + member.size(), 1, number);
                EXPECT_THAT(refusal(line), HasSubstr("trace line 1")) << line;
            }
    EXPECT_THAT(
        refusal(R"({"timestamp": 5, "input_length": 0, "output_length": 7, "hash_ids": []})"),
        HasSubstr("without input"));
    EXPECT_THAT(
        refusal(R"({"timestamp": 5, "input_length": 1, "output_length": 7, "hash_ids": [-1]})"),
        HasSubstr("hash_id"));
}

TEST(Trace, SpreadsAStampUpToTheNextOneAndNotBeyondATick) {
    Trace trace(5);
    trace[0].arrival_ms = trace[1].arrival_ms = 1000;
    trace[2].arrival_ms = 1500;
    trace[3].arrival_ms = trace[4].arrival_ms = 90'000;
    spread_arrivals(trace);
    std::vector<std::int64_t> at;
    for (const auto& request : trace)
        at.push_back(request.arrival_ms);
    EXPECT_THAT(at, ElementsAre(1000, 1250, 1500, 90'000, 91'500));
}

TEST(Trace, AChainFamilyIsTakenWholeOrNotAtAll) {
    Trace trace;
    for (BlockId family = 1; family <= 400; family++)
        for (BlockId turn = 0; turn < 2; turn++)
            trace.push_back({0, 1536, 1, {0, family, 1000 + family * 2 + turn}});
    const Trace taken = take_chains(trace, 4);
    EXPECT_NEAR(static_cast<double>(taken.size()), 200, 60);
    for (std::size_t i = 0; i + 1 < taken.size(); i += 2)
        EXPECT_EQ(taken[i].blocks[1], taken[i + 1].blocks[1]);
    EXPECT_EQ(take_chains(trace, 1).size(), trace.size());
}

} // namespace
} // namespace hintier::replay
