// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/tiers.hpp"

#include <gtest/gtest.h>

#include "agent/cli/module.hpp"

namespace hintier::cli {
namespace {

TEST(TierTable, WithoutOptionsHasNoCount) {
    EXPECT_EQ(table_params({"/dev/a", "/dev/b", 512, {}}), "/dev/a /dev/b 512");
}

TEST(TierTable, CountsWordsOfOptions) {
    EXPECT_EQ(table_params({"/dev/a", "/dev/b", 128, {{"mode", "writethrough"}, {"high", "80"}}}),
              "/dev/a /dev/b 128 4 mode writethrough high 80");
}

TEST(TierTable, TakesTheOneOptionWithoutAValue) {
    TierTable table{"a", "b", 128, {{"discard_dirty", ""}, {"mode", "writeback"}}};
    EXPECT_EQ(table_params(table), "a b 128 3 discard_dirty mode writeback");
    EXPECT_EQ(parse_tier_table(table_params(table)).options, table.options);
}

TEST(TierTable, ReadsBackWhatItWrites) {
    TierTable table{"8:0", "8:16", 2048, {{"mode", "writeback"}, {"spread", "40"}}};
    TierTable back = parse_tier_table(table_params(table));
    EXPECT_EQ(back.fast, table.fast);
    EXPECT_EQ(back.bulk, table.bulk);
    EXPECT_EQ(back.extent_sectors, table.extent_sectors);
    EXPECT_EQ(back.options, table.options);
}

TEST(TierTable, SurvivesNonsense) {
    EXPECT_EQ(parse_tier_table("").extent_sectors, 0u);
    EXPECT_TRUE(parse_tier_table("a b 128 9 mode").options.empty());
}

TEST(KernelLog, FindsTheReason) {
    EXPECT_EQ(log_reason("3,812,9,-;device-mapper: table: 253:0: hintier: fast device is too "
                         "small (-EINVAL)\n SUBSYSTEM=block\n"),
              "fast device is too small (-EINVAL)");
    EXPECT_EQ(log_reason("6,1,2,-;usb 1-1: new device"), "");
    EXPECT_EQ(log_reason("no record at all"), "");
}

} // namespace
} // namespace hintier::cli
