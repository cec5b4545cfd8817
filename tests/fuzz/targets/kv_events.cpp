// SPDX-License-Identifier: Apache-2.0
// What a server publishes of its KV cache: any payload is a batch of bounded size, or an error of
// one line. And the numbers of its messages: none is taken twice, none lost is forgotten.
#include "agent/source/kv_events.hpp"
#include "agent/source/msgpack.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/unit/agent/source/pack.hpp"

using hintier::fuzz::Bytes;
using hintier::fuzz::Input;
using hintier::fuzz::require;

namespace {

Bytes bytes_of(const std::string& text) {
    return {text.begin(), text.end()};
}

std::vector<Bytes> batch_seeds() {
    using namespace hintier::test;
    const std::string removed = pack_map(
        {pack_text("type"), pack_text("BlockRemoved"), pack_text("block_hashes"),
         pack_array({pack_bytes("0123456789abcdef"), pack_text("00112233445566778899aabb")}),
         pack_text("group_idx"), pack(1)});
    const std::string events = pack_array({removed, pack_map({pack_text("later"), pack(1)})});
    return {bytes_of(batch_array({stored_array({1, 1ULL << 63}, pack(7)), removed,
                                  pack_array({pack_text("AllBlocksCleared")})})),
            bytes_of(pack_map({pack_text("ts"), pack_real(1), pack_text("events"), events,
                               pack_text("data_parallel_rank"), pack_nil()}))};
}

std::vector<Bytes> sequence_seeds() {
    return {{0, 5, 0, 6, 0, 9, 1, 7, 1, 8, 2, 0, 0, 10}, {0, 5, 0, 0, 0, 1, 0, 200, 2, 0}};
}

bool inside(std::string_view text, std::span<const std::uint8_t> input) {
    const auto* begin = reinterpret_cast<const char*>(input.data());
    return text.empty() ||
           (text.data() >= begin && text.data() + text.size() <= begin + input.size());
}

} // namespace

FUZZ_TARGET(kv_events, batch_seeds) {
    const auto batch = hintier::decode_kv_batch(std::as_bytes(input));
    if (!batch) {
        const std::string& why = batch.error().text;
        require(!why.empty() && why.find('\n') == why.npos, "an error is one line");
        return;
    }
    std::size_t blocks = 0;
    for (const hintier::KvEvent& event : batch->events) {
        blocks += event.blocks.size();
        for (const hintier::KvName& block : event.blocks)
            require(block.object() != 0, "a block has a number");
        require(inside(event.medium, input), "a medium lies in the payload");
        require(!event.parent || event.kind == hintier::KvEvent::Kind::stored,
                "only what is stored has a parent");
    }
    require(blocks + batch->events.size() + batch->unknown <= input.size(),
            "each event and each block has a byte");
}

FUZZ_TARGET(msgpack, batch_seeds) {
    hintier::MsgpackReader items(std::as_bytes(input));
    hintier::MsgpackReader::Item item;
    std::size_t count = 0;
    for (; items.next(item); count++) {
        require(inside(item.text, input), "text lies in the input");
        require(item.count <= input.size(), "no count promises more than there is");
    }
    require(count <= input.size(), "each item has a byte");
    require(!items.next(item), "an end is an end");

    hintier::MsgpackReader whole(std::as_bytes(input));
    while (whole.skip()) {
    }
    require(!whole.done() || input.empty() || items.done(), "who can skip all can read all");
}

FUZZ_TARGET(kv_sequence, sequence_seeds) {
    using Verdict = hintier::KvSequence::Verdict;
    hintier::KvSequence sequence;
    Input in(input);
    while (!in.empty()) {
        const auto what = in.take<std::uint8_t>() % 3;
        const std::uint64_t number = in.take<std::uint8_t>();
        const bool missed = sequence.missing();
        const std::uint64_t from = sequence.missing_from();
        if (what == 0 && sequence.live(number) == Verdict::gap)
            require(sequence.missing() && sequence.missing_from() < number,
                    "a gap lies before the message that shows it");
        if (what == 1 && sequence.replayed(number))
            require(missed && number >= from, "only what was missing is replayed");
        if (what == 2) {
            (void)sequence.replay_ended();
            require(!sequence.missing(), "after a replay nothing is asked for again");
        }
    }
}
