// SPDX-License-Identifier: Apache-2.0
// Reads MessagePack item by item from bytes that nobody vouches for, without keeping any of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hintier {

class MsgpackReader {
public:
    enum class Kind : std::uint8_t { nil, boolean, number, real, text, bytes, array, map, other };

    struct Item {
        Kind kind = Kind::nil;
        std::uint64_t number = 0; // number, boolean; one below 0 as its two's complement
        double real = 0;
        std::string_view text;   // text and bytes; good as long as the input
        std::uint64_t count = 0; // array: items; map: pairs; they follow
    };

    explicit MsgpackReader(std::span<const std::byte> input) : rest_(input) {}

    // The next item, without what an array or a map holds. False at the end, and when the input
    // is cut or no MessagePack; from then on always.
    bool next(Item& ret);
    // Steps over the next item with all that it holds, however deep.
    bool skip();
    bool done() const { return good_ && rest_.empty(); }

private:
    bool take(std::size_t bytes, std::uint64_t& ret); // big-endian
    bool take_text(std::uint64_t length, Item& ret);
    bool fail();

    std::span<const std::byte> rest_;
    bool good_ = true;
};

} // namespace hintier
