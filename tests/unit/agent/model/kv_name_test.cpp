// SPDX-License-Identifier: Apache-2.0
#include "agent/model/kv_name.hpp"

#include <gtest/gtest.h>

namespace hintier {
namespace {

const Adapter& vllm() {
    return *find_adapter("vllm-fs");
}

TEST(KvName, ObjectIsTheLowSixtyFourBits) {
    const std::string digits = "ffffffffffffffff0123456789abcdef";
    EXPECT_EQ(KvName::from_hex(digits)->object(), 0x0123456789abcdefU);
    EXPECT_EQ(KvName::from_hex("fedcba9876543210")->object(), 0xfedcba9876543210U);
}

TEST(KvName, SurvivesPackingAtEveryLength) {
    const std::string digits = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
    for (std::size_t n = KvName::min_digits; n <= KvName::max_digits; ++n) {
        const auto name = KvName::from_hex(digits.substr(0, n));
        ASSERT_TRUE(name) << n;
        EXPECT_EQ(name->hex(), digits.substr(0, n));
    }
}

TEST(KvName, NoObjectIsNeverAnId) {
    EXPECT_NE(KvName::from_hex(std::string(16, '0'))->object(), 0U);
}

TEST(KvName, RefusesWhatIsNoDigest) {
    EXPECT_FALSE(KvName::from_hex("123456789abcdef"));    // too short
    EXPECT_FALSE(KvName::from_hex(std::string(65, 'a'))); // too long
    EXPECT_FALSE(KvName::from_hex("0123456789ABCDEF"));   // not as the adapter writes
    EXPECT_FALSE(KvName::from_hex(std::string_view("0123\0006789abcdef", 16)));
}

TEST(Adapter, VllmFinalAndTemporaryNames) {
    const std::string hash(64, 'a');
    const auto final = vllm().parse(hash + ".bin");
    ASSERT_TRUE(final);
    EXPECT_FALSE(final->temporary);
    EXPECT_EQ(vllm().file_name(final->name), hash + ".bin");
    const auto temporary = vllm().parse(hash + ".bin_1804289383.tmp");
    ASSERT_TRUE(temporary);
    EXPECT_TRUE(temporary->temporary);
    EXPECT_EQ(temporary->name, final->name);
}

TEST(Adapter, VllmLeavesOtherFilesAlone) {
    const std::string hash(64, 'a');
    for (const char* name : {"", ".bin", "config.json", "model.bin", ".tmp", "x.tmp"}) {
        EXPECT_FALSE(vllm().parse(name)) << name;
    }
    EXPECT_FALSE(vllm().parse(hash + ".bin.bin"));
    EXPECT_FALSE(vllm().parse(hash + "x.bin"));
    EXPECT_FALSE(vllm().parse(hash + ".bin "));
    EXPECT_FALSE(vllm().parse(hash + "_1.tmp"));
}

TEST(Adapter, LmcacheKeysCarryTheChunkHash) {
    const Adapter& lmcache = *find_adapter("lmcache");
    const auto name = lmcache.parse("org-model@8@3@00000000000000fe@half.pt");
    ASSERT_TRUE(name);
    EXPECT_EQ(name->name.object(), 0xfeU);
    EXPECT_FALSE(lmcache.parse("org-model@8@3.pt"));
    EXPECT_FALSE(lmcache.may_reap);
}

TEST(Adapter, UnknownNames) {
    EXPECT_EQ(find_adapter("vllm"), nullptr);
    EXPECT_NE(adapter_names().find("vllm-fs"), std::string::npos);
}

} // namespace
} // namespace hintier
