// SPDX-License-Identifier: Apache-2.0
#include "agent/model/kv_name.hpp"

#include <algorithm>
#include <random>

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
    EXPECT_FALSE(vllm().parse(hash + ".bin_1"));
}

TEST(Adapter, LmcacheKeysCarryTheChunkHash) {
    const Adapter& lmcache = *find_adapter("lmcache");
    const auto name = lmcache.parse("org-model@8@3@00000000000000fe@half.pt");
    ASSERT_TRUE(name);
    EXPECT_EQ(name->name.object(), 0xfeU);
    EXPECT_EQ(name->model, "org-model");
    EXPECT_EQ(name->rank, 3U);
    EXPECT_EQ(name->ranks, 8U);
    EXPECT_EQ(name->layer, std::nullopt);
    EXPECT_EQ(lmcache.parse("m@1@0@fe@half.pt")->name, name->name); // zeroes left out
    EXPECT_EQ(lmcache.parse("m@1@0@fe@bfloat16@31.pt")->layer, 31U);
    EXPECT_EQ(lmcache.parse("m@1@0@fe@half@lora%7.pt")->layer, std::nullopt);
    for (const char* other :
         {"org-model@8@3.pt", "m@8@3@.pt", "m@8@x@fe@half.pt", "@8@3@fe@half.pt",
          "m@8@3@fg@half.pt", "m@8@3@fe@half.bin", ".pt", "@@@@.pt"}) {
        EXPECT_FALSE(lmcache.parse(other)) << other;
    }
    EXPECT_FALSE(lmcache.may_reap);
}

TEST(Adapter, ServersTakeTheirNumbersFromEitherEnd) {
    const std::string hash = "0123456789abcdef" + std::string(32, '5') + "fedcba9876543210";
    EXPECT_EQ(find_adapter("vllm-fs")->parse(hash + ".bin")->name.object(), 0xFEDCBA9876543210ULL);
    EXPECT_EQ(find_adapter("sglang-file")->parse(hash + "_m.bin")->name.object(),
              0x0123456789ABCDEFULL);
    const KvName name = *KvName::from_hex(hash);
    EXPECT_EQ(name.by_head().hex(), name.hex());
    EXPECT_EQ(KvName::from_number(7).by_head().object(), 7U);
}

TEST(Adapter, SglangNamesHoldModelAndRanks) {
    const Adapter& sglang = *find_adapter("sglang-file");
    const std::string hash(64, 'b');
    struct Case {
        const char* tail;
        const char* model;
        const char* pool;
        int rank, ranks; // -1: not told
    };
    const Case cases[] = {
        {"_Qwen-Qwen3-8B_1_4.bin", "Qwen-Qwen3-8B", "", 1, 4},
        {"_deepseek-ai-DeepSeek-V3.bin", "deepseek-ai-DeepSeek-V3", "", -1, -1}, // MLA
        {"_m_1_4_2_1.bin", "m", "", 5, 8}, // and the second of two pipeline stages
        {"_m_1_4_cp0_2.bin", "m", "", 1, 4},
        {".mamba_m_0_2.bin", "m", "mamba", 0, 2},
        {"_llama_3_8.bin", "llama", "", 3, 8},
        {"_llama_3.1.bin", "llama_3.1", "", -1, -1},
        {"_m_9_4.bin", "m", "", -1, -1}, // no rank is that high
        {"_m_0_4294967295_4294967295_0.bin", "m", "", -1, -1},
    };
    for (const Case& one : cases) {
        const std::string name = hash + one.tail;
        const auto parsed = sglang.parse(name);
        ASSERT_TRUE(parsed) << one.tail;
        EXPECT_EQ(parsed->name, KvName::from_hex(hash)->by_head());
        EXPECT_FALSE(parsed->temporary);
        EXPECT_EQ(parsed->model, one.model) << one.tail;
        EXPECT_EQ(parsed->pool, one.pool) << one.tail;
        EXPECT_EQ(parsed->rank ? static_cast<int>(*parsed->rank) : -1, one.rank) << one.tail;
        EXPECT_EQ(parsed->ranks ? static_cast<int>(*parsed->ranks) : -1, one.ranks) << one.tail;
    }
    const auto temporary = sglang.parse(hash + "_m_0_2.bin.tmp.17.18.0f1e-aa");
    ASSERT_TRUE(temporary);
    EXPECT_TRUE(temporary->temporary);
    for (const char* tail :
         {"", ".bin", "_.bin", "_m", "._m.bin", "m.bin", "_m.binx", "_m.bin.tmp"}) {
        EXPECT_FALSE(sglang.parse(hash + tail)) << tail;
    }
}

TEST(Adapter, MooncakeBucketsAreTheirTimeAndNumber) {
    const Adapter& mooncake = *find_adapter("mooncake");
    const auto one = mooncake.parse("1760000000000-0.bucket");
    const auto two = mooncake.parse("1760000000000-1.bucket");
    ASSERT_TRUE(one && two);
    EXPECT_NE(one->name.object(), two->name.object());
    for (const char* other :
         {"1760000000000-0.meta", "1760000000000.bucket", "-0.bucket", "-.bucket", "1-2-3.bucket",
          "99999999999999999999-0.bucket", "1-1048576.bucket"}) {
        EXPECT_FALSE(mooncake.parse(other)) << other;
    }
}

// Each name is one adapter's alone, or `auto` would have to guess.
TEST(Adapter, AutoTellsThemApart) {
    const std::string hash(64, 'c');
    const Adapter& any = *find_adapter("auto");
    const std::pair<std::string, const char*> cases[] = {
        {hash + ".bin", "vllm-fs"},
        {hash + ".bin_77.tmp", "vllm-fs"},
        {hash + "_m_0_1.bin", "sglang-file"},
        {hash + ".swa_m.bin.tmp.1.2.3", "sglang-file"},
        {"m@1@0@" + hash + "@half.pt", "lmcache"},
        {"1760000000000-3.bucket", "mooncake"},
    };
    for (const auto& [name, framework] : cases) {
        const auto parsed = any.parse(name);
        ASSERT_TRUE(parsed) << name;
        EXPECT_EQ(parsed->adapter->name, framework) << name;
        for (const char* other : {"vllm-fs", "sglang-file", "lmcache", "mooncake"}) {
            EXPECT_EQ(find_adapter(other)->parse(name).has_value(), other == parsed->adapter->name)
                << other << ' ' << name;
        }
        const std::string_view suffix = parsed->adapter->suffixes.front();
        EXPECT_NE(std::find(any.suffixes.begin(), any.suffixes.end(), suffix), any.suffixes.end());
    }
    for (const char* name : {"config.json", "model.safetensors", "weights.bin", "x.pt", ""}) {
        EXPECT_FALSE(any.parse(name)) << name;
    }
    EXPECT_FALSE(any.may_reap);
}

TEST(KvPath, DirectoriesTellTheRest) {
    const std::string hash(64, 'd');
    const auto vllm_file = parse_kv_path("/kv/llama_r3/ddd/dd_g1/" + hash + ".bin");
    ASSERT_TRUE(vllm_file);
    EXPECT_EQ(vllm_file->rank, 3U);
    EXPECT_EQ(vllm_file->group, 1U);
    const auto loose = parse_kv_path(hash + ".bin");
    ASSERT_TRUE(loose);
    EXPECT_EQ(loose->rank, std::nullopt);
    const auto by_key = parse_kv_path("/m/file_per_key_dir/a/p/some key");
    ASSERT_TRUE(by_key);
    EXPECT_EQ(by_key->adapter->name, "mooncake");
    EXPECT_TRUE(parse_kv_path("/m/kv_cache.data"));
    for (const char* path : {"", "/", "/m/file_per_key_dir/a/q/key", "/m/a/b/key", "model.gguf"}) {
        EXPECT_FALSE(parse_kv_path(path)) << path;
    }
}

TEST(Adapter, UnknownNames) {
    EXPECT_EQ(find_adapter("vllm"), nullptr);
    EXPECT_NE(adapter_names().find("vllm-fs"), std::string::npos);
}

TEST(KvName, TakesDigitsOfAnyNumberAndNothingElse) {
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        const std::size_t n = KvName::min_digits + random() % 49;
        std::string digits;
        while (digits.size() < n)
            digits += "0123456789abcdef"[random() % 16];
        const auto name = KvName::from_hex(digits);
        ASSERT_TRUE(name) << digits;
        EXPECT_EQ(name->hex(), digits);
        EXPECT_EQ(name->object(), std::stoull(digits.substr(n - 16), nullptr, 16)) << digits;
        EXPECT_EQ(name->by_head().object(), std::stoull(digits.substr(0, 16), nullptr, 16))
            << digits;
        digits[random() % n] = "gAF/:`@ \xff"[random() % 9];
        EXPECT_FALSE(KvName::from_hex(digits)) << digits;
    }
}

} // namespace
} // namespace hintier
