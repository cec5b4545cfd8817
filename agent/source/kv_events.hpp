// SPDX-License-Identifier: Apache-2.0
// vLLM's KV events, and SGLang's, which are the same: what a server has stored in its KV cache and
// removed from it, and in which order the blocks of a prefix follow each other.
//
// A message has three frames: topic | sequence number, 8 bytes, big-endian | MessagePack:
//
//   batch   [ts, [event, …], rank]  or  {"ts":…, "events":[…], "data_parallel_rank":…}
//   event   ["BlockStored", hashes, parent, tokens, block_size, lora_id, medium, lora_name,
//            extra_keys, group_idx, …]
//           ["BlockRemoved", hashes, medium, group_idx]   ["AllBlocksCleared"]
//           or a map of these members with the first as "type"; trailing members may be missing
//   hash    an integer, or bytes
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/base/result.hpp"
#include "agent/model/kv_name.hpp"

namespace hintier {

struct KvEvent {
    enum class Kind : std::uint8_t { stored, removed, cleared };
    Kind kind = Kind::cleared;
    std::vector<KvName> blocks;     // in the order of the prefix
    std::optional<KvName> parent;   // stored: what comes before the first of them
    std::string_view medium;        // "GPU"; empty: not told; good as long as the payload
    std::uint32_t block_tokens = 0; // stored
    std::uint32_t group = 0;
};

struct KvBatch {
    double time = 0; // seconds since 1970, as the server has it
    std::optional<std::uint32_t> rank;
    std::vector<KvEvent> events;
    std::uint32_t unknown = 0; // events of kinds that we do not know
};

// Takes any bytes; no more than 16 MiB of them.
Result<KvBatch> decode_kv_batch(std::span<const std::byte> payload);

// Which messages of one publisher have come, by their sequence numbers.
class KvSequence {
public:
    enum class Verdict : std::uint8_t {
        take,
        duplicate,
        gap,     // take it; those before it are missing since the last one: ask for a replay
        restart, // take it; the publisher has begun anew
    };

    Verdict live(std::uint64_t number);
    // Of a message from the replay: is it one that was missing?
    bool replayed(std::uint64_t number);
    // The replay has ended: how many it could not give.
    std::uint64_t replay_ended();

    bool missing() const { return missing_from_ < missing_to_; }
    std::uint64_t missing_from() const { return missing_from_; }

private:
    std::optional<std::uint64_t> expected_; // none: nothing has come yet
    std::uint64_t missing_from_ = 0;        // [from, to) was lost
    std::uint64_t missing_to_ = 0;
    std::uint64_t lost_ = 0; // passed over by the replay so far
};

} // namespace hintier
