// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/units.hpp"

#include <gtest/gtest.h>

#include "agent/cli/grid.hpp"

namespace hintier::cli {
namespace {

TEST(Size, TakesWhatPeopleWrite) {
    for (const auto& [text, bytes] : std::initializer_list<std::pair<const char*, std::uint64_t>>{
             {"0", 0},
             {"4096", 4096},
             {"4096B", 4096},
             {"8s", 4096},
             {"256K", 256 << 10},
             {"256k", 256 << 10},
             {"256KiB", 256 << 10},
             {"1MB", 1 << 20},
             {"2G", 2ULL << 30},
             {"61T", 61ULL << 40},
             {"15E", 15ULL << 60},
         }) {
        auto size = parse_size(text);
        ASSERT_TRUE(size) << text;
        EXPECT_EQ(*size, bytes) << text;
    }
}

TEST(Size, RefusesTheRestInOneLine) {
    for (const char* text : {"", "K", "-1", "+1", "1 K", " 1", "1KK", "1.5G", "0x10", "1Ki", "1sB",
                             "1\n", "16E", "18446744073709551616", "99999999999999999999K"}) {
        auto size = parse_size(text);
        ASSERT_FALSE(size) << text << " = " << *size;
        EXPECT_NE(size.error().text.find("size"), std::string::npos) << size.error().text;
    }
}

TEST(Range, IsTwoSizes) {
    auto range = parse_range("64M:16M");
    ASSERT_TRUE(range);
    EXPECT_EQ(range->offset, 64ULL << 20);
    EXPECT_EQ(range->length, 16ULL << 20);
    for (const char* text : {"", "64M", ":", "1:", ":1", "1:2:3", "a:b"})
        EXPECT_FALSE(parse_range(text)) << text;
}

TEST(Human, SizesAndTimes) {
    EXPECT_EQ(human_size(0), "0 B");
    EXPECT_EQ(human_size(1023), "1023 B");
    EXPECT_EQ(human_size(1536), "1.5 KiB");
    EXPECT_EQ(human_size(1ULL << 40), "1 TiB");
    EXPECT_EQ(human_count(999), "999");
    EXPECT_EQ(human_count(1000), "1,000");
    EXPECT_EQ(human_count(1234567), "1,234,567");
    EXPECT_EQ(human_time(512), "512 ns");
    EXPECT_EQ(human_time(65536), "65.5 us");
    EXPECT_EQ(human_time(1ULL << 32), "4.29 s");
    EXPECT_EQ(percent(1, 3), "33.3 %");
    EXPECT_EQ(percent(1, 0), "-");
}

TEST(Grid, AlignsAndLeavesNoTrailingBlanks) {
    Grid grid({"NAME", ">SIZE", "NOTE"});
    grid.row({"a", "1", "x"});
    grid.row({"longer", "1000"});
    EXPECT_EQ(grid.text(), "NAME    SIZE  NOTE\n"
                           "a          1  x\n"
                           "longer  1000\n");
}

} // namespace
} // namespace hintier::cli
