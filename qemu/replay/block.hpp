// SPDX-License-Identifier: Apache-2.0
//
// One KV block of 512 tokens as the tier sees it: a file named by the block's hash, or a file for
// each page of it, and the tag each 4 KiB of them carries. At scale 1/61 a block of a
// DeepSeek-V3-like MLA model (512 tokens of 70,272 bytes) is exactly one object of 589,824 bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hintier::replay {

using BlockId = std::uint32_t;

constexpr std::uint32_t kBlockTokens = 512;
constexpr std::uint32_t kBytesPerToken = 70272; // at full scale
constexpr std::uint32_t kScale = 61;
constexpr std::size_t kObjectBytes = std::size_t{kBlockTokens} * kBytesPerToken / kScale;
constexpr std::size_t kUnit = 4096;
constexpr std::size_t kUnits = kObjectBytes / kUnit;
static_assert(kObjectBytes == 589824 && kUnits * kUnit == kObjectBytes);

// How a block lies in files.
struct Shape {
    std::uint32_t pages = 1; // files, each of as many tokens
    std::uint32_t scale = kScale;

    constexpr std::size_t file_bytes() const {
        return std::size_t{kBlockTokens} / pages * kBytesPerToken / scale;
    }
    constexpr std::size_t block_bytes() const { return pages * file_bytes(); }
    constexpr bool valid() const {
        return pages > 0 && scale > 0 && kBlockTokens % pages == 0 && file_bytes() > 0 &&
               file_bytes() % kUnit == 0;
    }
};

// splitmix64's finaliser: a bijection, so two blocks never share a hash.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// The low 64 bits of the block's hash: the last 16 hex digits of the file name.
constexpr std::uint64_t hash_of(BlockId block) {
    return mix(std::uint64_t{block} + 1);
}

// Of one of its pages; different from every block's, whose numbers have 33 bits.
constexpr std::uint64_t hash_of(BlockId block, std::uint32_t page) {
    return mix((std::uint64_t{page} + 1) << 33 | block);
}

// The tag of 4 KiB unit `i` of the file with hash `h` is h + i * kTagStep.
constexpr std::uint64_t kTagStep = 0xd1342543de82ef95u;
constexpr std::array<char, 8> kMarker = {'H', 'T', 'F', 'L', 'T', 'A', 'G', '1'};

constexpr char hex_digit(unsigned value) {
    return "0123456789abcdef"[value & 15u];
}

// 64 hex digits that end in the hash.
inline void spell(std::uint64_t hash, char* name) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 64; i++) {
        if (i % 16 == 0) word = i == 48 ? hash : mix(hash + i);
        name[i] = hex_digit(static_cast<unsigned>(word >> 60));
        word <<= 4;
    }
}

// Path below the tier's root: <hhh>/<hh>_g0/<64 hex digits>.bin, as vLLM's file-system tier lays
// it out. Of the five directory digits two vary: a tier with 2^20 directories for blocks of 36 MB
// has them all made long ago, and their 4 KiB blocks do not shrink with the objects.
class BlockPath {
public:
    explicit BlockPath(BlockId block);
    const char* c_str() const { return text_.data(); }
    const char* name() const { return text_.data() + kDirs; } // the last component
    static constexpr std::size_t kDirs = 10;                  // "hhh/hh_g0/"
    static constexpr std::size_t kLength = kDirs + 64 + 4;

private:
    std::array<char, kLength + 1> text_;
};

inline BlockPath::BlockPath(BlockId block) {
    char* name = text_.data() + kDirs;
    spell(hash_of(block), name);
    name[1] = name[2] = name[4] = '0';
    std::memcpy(name + 64, ".bin", 5);
    std::memcpy(text_.data(), name, 3);
    text_[3] = '/';
    std::memcpy(text_.data() + 4, name + 3, 2);
    std::memcpy(text_.data() + 6, "_g0/", 4);
}

// <64 hex digits>_<model>.bin, as SGLang's file backend names a page of an MLA model.
class PagePath {
public:
    PagePath(BlockId block, std::uint32_t page) {
        spell(hash_of(block, page), text_.data());
        std::memcpy(text_.data() + 64, kSuffix, sizeof(kSuffix));
    }
    const char* c_str() const { return text_.data(); }

private:
    static constexpr char kSuffix[] = "_DeepSeek-V3.bin";
    std::array<char, 64 + sizeof(kSuffix)> text_;
};

} // namespace hintier::replay
