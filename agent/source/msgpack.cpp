// SPDX-License-Identifier: Apache-2.0
#include "agent/source/msgpack.hpp"

#include <bit>

namespace hintier {

bool MsgpackReader::fail() {
    good_ = false;
    return false;
}

bool MsgpackReader::take(std::size_t bytes, std::uint64_t& ret) {
    if (!good_ || rest_.size() < bytes) return fail();
    ret = 0;
    for (const std::byte byte : rest_.first(bytes)) {
        ret = ret << 8U | std::to_integer<std::uint8_t>(byte);
    }
    rest_ = rest_.subspan(bytes);
    return true;
}

bool MsgpackReader::take_text(std::uint64_t length, Item& ret) {
    if (!good_ || rest_.size() < length) return fail();
    ret.text = {reinterpret_cast<const char*>(rest_.data()), length};
    rest_ = rest_.subspan(length);
    return true;
}

bool MsgpackReader::next(Item& ret) {
    ret = Item();
    std::uint64_t tag = 0;
    if (!take(1, tag)) return false;
    const auto is = [&](Kind kind, std::uint64_t number = 0) {
        ret.kind = kind;
        ret.number = number;
        return true;
    };
    const auto holds = [&](Kind kind, std::uint64_t count) {
        ret.kind = kind;
        ret.count = count;
        // Each item has a byte at least: no count can promise more than there is.
        return count <= rest_.size() || fail();
    };
    std::uint64_t length = 0;

    if (tag <= 0x7F) return is(Kind::number, tag);
    if (tag >= 0xE0) return is(Kind::number, ~std::uint64_t{0xFF} | tag);
    if (tag <= 0x8F) return holds(Kind::map, tag & 0x0FU);
    if (tag <= 0x9F) return holds(Kind::array, tag & 0x0FU);
    if (tag <= 0xBF) return is(Kind::text) && take_text(tag & 0x1FU, ret);
    switch (tag) {
    case 0xC0:
        return is(Kind::nil);
    case 0xC2:
    case 0xC3:
        return is(Kind::boolean, tag & 1U);
    case 0xC4:
    case 0xC5:
    case 0xC6:
        return is(Kind::bytes) && take(1ULL << (tag - 0xC4), length) && take_text(length, ret);
    case 0xC7:
    case 0xC8:
    case 0xC9: // of a type of somebody's own
        return is(Kind::other) && take(1ULL << (tag - 0xC7), length) && take_text(length + 1, ret);
    case 0xCA:
        if (!take(4, length)) return false;
        ret.real = std::bit_cast<float>(static_cast<std::uint32_t>(length));
        return is(Kind::real);
    case 0xCB:
        if (!take(8, length)) return false;
        ret.real = std::bit_cast<double>(length);
        return is(Kind::real);
    case 0xCC:
    case 0xCD:
    case 0xCE:
    case 0xCF:
        return take(1ULL << (tag - 0xCC), length) && is(Kind::number, length);
    case 0xD0:
    case 0xD1:
    case 0xD2:
    case 0xD3: {
        const unsigned bytes = 1U << (tag - 0xD0);
        if (!take(bytes, length)) return false;
        const unsigned unused = 64 - 8 * bytes;
        const auto extended = static_cast<std::int64_t>(length << unused) >> unused;
        return is(Kind::number, static_cast<std::uint64_t>(extended));
    }
    case 0xD4:
    case 0xD5:
    case 0xD6:
    case 0xD7:
    case 0xD8:
        return is(Kind::other) && take_text((1ULL << (tag - 0xD4)) + 1, ret);
    case 0xD9:
    case 0xDA:
    case 0xDB:
        return is(Kind::text) && take(1ULL << (tag - 0xD9), length) && take_text(length, ret);
    case 0xDC:
    case 0xDD:
        return take(2ULL << (tag - 0xDC), length) && holds(Kind::array, length);
    case 0xDE:
    case 0xDF:
        return take(2ULL << (tag - 0xDE), length) && holds(Kind::map, length);
    default:
        return fail();
    }
}

bool MsgpackReader::skip() {
    Item item;
    std::uint64_t owed = 1; // never more than the bytes there are
    while (owed > 0) {
        if (!next(item)) return false;
        owed += item.kind == Kind::map ? 2 * item.count : item.count;
        --owed;
        if (owed > rest_.size()) return fail();
    }
    return true;
}

} // namespace hintier
