// SPDX-License-Identifier: Apache-2.0
// KV events as vLLM writes them, in both of its forms.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hintier::test {

inline std::string big(std::uint64_t number, int bytes) {
    std::string text;
    for (int i = bytes - 1; i >= 0; --i) {
        text += static_cast<char>(number >> (8 * i));
    }
    return text;
}

inline std::string pack(std::uint64_t number) {
    return number < 128 ? big(number, 1) : "\xCF" + big(number, 8);
}
inline std::string pack_text(std::string_view text) {
    return "\xD9" + big(text.size(), 1) + std::string(text);
}
inline std::string pack_bytes(std::string_view bytes) {
    return "\xC4" + big(bytes.size(), 1) + std::string(bytes);
}
inline std::string pack_nil() {
    return "\xC0";
}
inline std::string pack_real(double value) {
    std::uint64_t bits = 0;
    static_assert(sizeof(bits) == sizeof(value));
    __builtin_memcpy(&bits, &value, sizeof(bits));
    return "\xCB" + big(bits, 8);
}
inline std::string joined(const std::vector<std::string>& items) {
    std::string all;
    for (const std::string& item : items) {
        all += item;
    }
    return all;
}
inline std::string pack_array(const std::vector<std::string>& items) {
    return "\xDC" + big(items.size(), 2) + joined(items);
}
// Keys and values in turn.
inline std::string pack_map(const std::vector<std::string>& items) {
    return "\xDE" + big(items.size() / 2, 2) + joined(items);
}

inline std::string hashes(const std::vector<std::uint64_t>& numbers) {
    std::vector<std::string> items;
    for (const std::uint64_t number : numbers) {
        items.push_back(pack(number));
    }
    return pack_array(items);
}

inline std::string stored_array(const std::vector<std::uint64_t>& blocks, std::string parent) {
    return pack_array({pack_text("BlockStored"), hashes(blocks), std::move(parent),
                       hashes({1, 2, 3}), pack(16), pack_nil(), pack_text("GPU")});
}

inline std::string batch_array(const std::vector<std::string>& events) {
    return pack_array({pack_real(1.76e9), pack_array(events), pack(0)});
}

} // namespace hintier::test
