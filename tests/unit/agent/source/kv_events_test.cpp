// SPDX-License-Identifier: Apache-2.0
#include "agent/source/kv_events.hpp"

#include <random>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "agent/source/msgpack.hpp"
#include "tests/unit/agent/source/pack.hpp"

namespace hintier {
namespace {

using namespace test;

Result<KvBatch> decode(std::string_view payload) {
    return decode_kv_batch(std::as_bytes(std::span(payload)));
}

std::vector<std::uint64_t> ids(const std::vector<KvName>& names) {
    std::vector<std::uint64_t> all;
    for (const KvName& name : names) {
        all.push_back(name.object());
    }
    return all;
}

constexpr std::uint64_t large = 15'760'518'052'499'183'552ULL;

TEST(KvEvents, ArrayForm) {
    const std::string payload =
        batch_array({stored_array({large, 7}, pack(5)),
                     pack_array({pack_text("BlockRemoved"), hashes({9}), pack_text("GPU")}),
                     pack_array({pack_text("AllBlocksCleared")})});
    const auto batch = decode(payload);
    ASSERT_TRUE(batch) << batch.error().text;
    EXPECT_DOUBLE_EQ(batch->time, 1.76e9);
    EXPECT_EQ(batch->rank, 0U);
    ASSERT_EQ(batch->events.size(), 3U);
    const KvEvent& stored = batch->events[0];
    EXPECT_EQ(stored.kind, KvEvent::Kind::stored);
    EXPECT_EQ(ids(stored.blocks), (std::vector<std::uint64_t>{large, 7}));
    EXPECT_EQ(stored.parent->object(), 5U);
    EXPECT_EQ(stored.medium, "GPU");
    EXPECT_EQ(stored.block_tokens, 16U);
    EXPECT_EQ(batch->events[1].kind, KvEvent::Kind::removed);
    EXPECT_EQ(batch->events[1].medium, "GPU");
    EXPECT_EQ(batch->events[2].kind, KvEvent::Kind::cleared);
}

// As captured from 0.26: {type: BlockStored, block_hashes: […], parent_block_hash: nil, …}
TEST(KvEvents, MapForm) {
    const std::string event = pack_map({pack_text("block_hashes"),
                                        hashes({large}),
                                        pack_text("parent_block_hash"),
                                        pack_nil(),
                                        pack_text("token_ids"),
                                        hashes({1, 2}),
                                        pack_text("block_size"),
                                        pack(16),
                                        pack_text("lora_id"),
                                        pack_nil(),
                                        pack_text("medium"),
                                        pack_text("GPU"),
                                        pack_text("extra_keys"),
                                        pack_array({pack_nil()}),
                                        pack_text("group_idx"),
                                        pack(3),
                                        pack_text("kv_cache_spec_kind"),
                                        pack_text("full_attention"),
                                        pack_text("type"),
                                        pack_text("BlockStored")});
    const std::string payload =
        pack_map({pack_text("events"), pack_array({event}), pack_text("data_parallel_rank"),
                  pack(2), pack_text("ts"), pack(1760000000), pack_text("new"),
                  pack_map({pack_text("a"), hashes({1})})});
    const auto batch = decode(payload);
    ASSERT_TRUE(batch) << batch.error().text;
    EXPECT_EQ(batch->rank, 2U);
    ASSERT_EQ(batch->events.size(), 1U);
    EXPECT_EQ(ids(batch->events[0].blocks), (std::vector<std::uint64_t>{large}));
    EXPECT_FALSE(batch->events[0].parent);
    EXPECT_EQ(batch->events[0].group, 3U);
    // Mixed: a map in an array.
    EXPECT_EQ(decode(batch_array({event}))->events.size(), 1U);
}

// SGLang's events have fewer members, its batches no rank; a block's number is signed, and made of
// the first digits of the hash that its file is called by.
TEST(KvEvents, SglangsAreTheSameWithLess) {
    const std::string hash = "f0e1d2c3b4a59687000000000000000000000000000000000000000000000042";
    const std::string number = "\xD3" + big(0xF0E1D2C3B4A59687ULL, 8);
    const std::string payload =
        pack_array({pack_real(1.76e9),
                    pack_array({pack_array({pack_text("BlockStored"), pack_array({number}), pack(5),
                                            hashes({1, 2}), pack(64), pack_nil()}),
                                pack_array({pack_text("BlockRemoved"), pack_array({number})}),
                                pack_array({pack_text("AllBlocksCleared")})})});
    const auto batch = decode(payload);
    ASSERT_TRUE(batch) << batch.error().text;
    EXPECT_FALSE(batch->rank);
    ASSERT_EQ(batch->events.size(), 3U);
    EXPECT_EQ(batch->events[0].block_tokens, 64U);
    EXPECT_EQ(batch->events[0].parent->object(), 5U);
    EXPECT_EQ(batch->events[0].medium, "");
    EXPECT_EQ(batch->events[1].kind, KvEvent::Kind::removed);
    const auto file = find_adapter("sglang-file")->parse(hash + "_model_0_2.bin");
    ASSERT_TRUE(file);
    EXPECT_EQ(batch->events[0].blocks.at(0).object(), file->name.object());
    EXPECT_EQ(batch->events[1].blocks.at(0).object(), file->name.object());
}

TEST(KvEvents, HashesAreNumbersOfAnySignOrBytes) {
    std::string sha;
    for (int i = 0; i < 32; ++i) {
        sha += static_cast<char>(0xE0 + i);
    }
    const std::string negative = "\xD3" + big(static_cast<std::uint64_t>(-2), 8);
    const auto batch = decode(batch_array(
        {pack_array({pack_text("BlockStored"), pack_array({pack_bytes(sha), negative, "\xFE"}),
                     pack_bytes(sha)})}));
    ASSERT_TRUE(batch) << batch.error().text;
    const KvEvent& event = batch->events.at(0);
    EXPECT_EQ(event.blocks[0].digits(), 64U);
    EXPECT_EQ(event.blocks[0].object(), 0xF8F9FAFBFCFDFEFFULL); // its last 16 digits
    EXPECT_EQ(event.blocks[1].object(), static_cast<std::uint64_t>(-2));
    EXPECT_EQ(event.blocks[2].object(), static_cast<std::uint64_t>(-2));
    EXPECT_EQ(*event.parent, event.blocks[0]);
}

TEST(KvEvents, KindsAndMembersYoungerThanWeAreArePassedOver) {
    const auto batch = decode(batch_array(
        {pack_array({pack_text("BlockMoved"), hashes({1}), pack_map({pack(1), pack(2)})}),
         pack_map({pack_text("type"), pack_text("BlockMoved"), pack_text("to"), pack(1)}),
         stored_array({4}, pack_nil())}));
    ASSERT_TRUE(batch) << batch.error().text;
    EXPECT_EQ(batch->unknown, 2U);
    EXPECT_EQ(batch->events.size(), 1U);
}

TEST(KvEvents, EveryTruncationIsRefused) {
    const std::string whole = batch_array({stored_array({large, 7}, pack(5))});
    for (std::size_t n = 0; n < whole.size(); ++n) {
        EXPECT_FALSE(decode(whole.substr(0, n))) << n;
    }
    EXPECT_FALSE(decode(whole + "x"));
}

TEST(KvEvents, HostileBatchesAreRefused) {
    const std::string huge = "\xDD\xFF\xFF\xFF\xFF";
    for (const std::string& payload :
         {std::string("\xC1"), std::string("\x80"), std::string("\x90"), huge,
          pack_array({pack_real(0), huge}), pack_array({pack_text("x"), pack_array({})}),
          pack_array({pack_real(0), pack(1)}), batch_array({pack(1)}),
          batch_array({pack_array({})}), batch_array({pack_map({})}),
          batch_array({pack_array({pack_text("BlockStored"), huge})}),
          batch_array({pack_array({pack_text("BlockStored"), pack(1)})}),
          batch_array({pack_array({pack_text("BlockStored"), pack_array({pack_nil()})})}),
          batch_array({pack_array({pack_text("BlockStored"), pack_array({pack_bytes("short")})})}),
          batch_array({stored_array({1}, pack_text("no hash"))}), std::string(100'000, '\x91')}) {
        EXPECT_FALSE(decode(payload));
    }
    EXPECT_FALSE(decode(std::string((16 << 20) + 1, '\0')));
    // Deep, and fine: what is skipped is not remembered level by level.
    EXPECT_TRUE(decode(pack_array(
        {pack_real(0), pack_array({}), pack_nil(), std::string(100'000, '\x91') + "\xC0"})));
}

TEST(KvEvents, AnyBytesAreReadOrRefused) {
    const std::string whole = batch_array({stored_array({large, 7}, pack(5))});
    std::mt19937_64 dice(3);
    for (int round = 0; round < 20'000; ++round) {
        std::string payload = whole;
        for (int n = 0; n < 2; ++n) {
            payload[dice() % payload.size()] = static_cast<char>(dice());
        }
        (void)decode(payload);
    }
}

// Another writer and reader of the format.
TEST(Msgpack, ReadsWhatAnotherLibraryWrites) {
    const nlohmann::json json = {1,
                                 -1,
                                 -200,
                                 70'000,
                                 1ULL << 40,
                                 -(1LL << 40),
                                 0.5,
                                 1.5f,
                                 true,
                                 nullptr,
                                 "text",
                                 std::string(300, 'x'),
                                 {{"a", {1, 2}}, {"b", nlohmann::json::object()}}};
    const auto bytes = nlohmann::json::to_msgpack(json);
    MsgpackReader in(std::as_bytes(std::span(bytes)));
    MsgpackReader::Item item;
    ASSERT_TRUE(in.next(item));
    EXPECT_EQ(item.kind, MsgpackReader::Kind::array);
    EXPECT_EQ(item.count, 13U);
    for (const std::int64_t wanted : {1L, -1L, -200L, 70'000L, 1L << 40, -(1L << 40)}) {
        ASSERT_TRUE(in.next(item));
        EXPECT_EQ(item.kind, MsgpackReader::Kind::number);
        EXPECT_EQ(static_cast<std::int64_t>(item.number), wanted);
    }
    ASSERT_TRUE(in.next(item) && item.real == 0.5);
    ASSERT_TRUE(in.next(item) && item.real == 1.5);
    ASSERT_TRUE(in.next(item) && item.kind == MsgpackReader::Kind::boolean && item.number == 1);
    ASSERT_TRUE(in.next(item) && item.kind == MsgpackReader::Kind::nil);
    ASSERT_TRUE(in.next(item) && item.text == "text");
    ASSERT_TRUE(in.next(item) && item.text.size() == 300);
    EXPECT_FALSE(in.done());
    EXPECT_TRUE(in.skip());
    EXPECT_TRUE(in.done());
    EXPECT_FALSE(in.next(item));
}

using Verdict = KvSequence::Verdict;

TEST(KvSequence, GapsAreReplayedOnce) {
    KvSequence sequence;
    EXPECT_EQ(sequence.live(40), Verdict::take); // the first that we see
    EXPECT_EQ(sequence.live(41), Verdict::take);
    EXPECT_EQ(sequence.live(41), Verdict::duplicate);
    EXPECT_FALSE(sequence.missing());
    EXPECT_EQ(sequence.live(45), Verdict::gap);
    EXPECT_TRUE(sequence.missing());
    EXPECT_EQ(sequence.missing_from(), 42U);
    EXPECT_EQ(sequence.live(46), Verdict::take);
    EXPECT_TRUE(sequence.replayed(42));
    EXPECT_FALSE(sequence.replayed(42));
    EXPECT_TRUE(sequence.replayed(44));  // 43 is lost for good
    EXPECT_FALSE(sequence.replayed(45)); // came live
    EXPECT_FALSE(sequence.missing());
    EXPECT_EQ(sequence.replay_ended(), 1U);
    EXPECT_EQ(sequence.replay_ended(), 0U);
}

TEST(KvSequence, WhatNoReplayBringsIsLost) {
    KvSequence sequence;
    (void)sequence.live(0);
    (void)sequence.live(10);
    EXPECT_EQ(sequence.replay_ended(), 9U);
    EXPECT_FALSE(sequence.missing());
}

TEST(KvSequence, APublisherThatBeginsAnewIsFollowed) {
    KvSequence sequence;
    (void)sequence.live(7);
    (void)sequence.live(9);
    EXPECT_EQ(sequence.live(0), Verdict::restart);
    EXPECT_FALSE(sequence.missing());
    EXPECT_EQ(sequence.live(1), Verdict::take);
}

} // namespace
} // namespace hintier
