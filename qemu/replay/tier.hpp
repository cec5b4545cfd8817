// SPDX-License-Identifier: Apache-2.0
//
// The tier's files, handled as vLLM's file-system tier does: a store writes a temporary file with
// one O_DIRECT write and renames it, an existing file is left as it is; a load is one open and one
// read; nothing is ever synced. In pages, as SGLang's file backend does: the same for each page of
// a block, one after the other. Each 4 KiB carries marker and tag; every read is verified.
#pragma once

#include <cstdint>
#include <string>

#include "qemu/replay/block.hpp"

namespace hintier::replay {

// One file's worth of aligned memory with markers in place. Only tags change from use to use.
class ObjectBuffer {
public:
    explicit ObjectBuffer(std::size_t bytes = kObjectBytes);
    ~ObjectBuffer();
    ObjectBuffer(const ObjectBuffer&) = delete;
    ObjectBuffer& operator=(const ObjectBuffer&) = delete;

    void fill(std::uint64_t hash);
    void clear_tags();                      // so that a read which brings nothing is seen
    bool matches(std::uint64_t hash) const; // every unit has the marker and its own tag
    void* data() { return data_; }
    std::size_t bytes() const { return units_ * kUnit; }

private:
    std::uint64_t* tag_at(std::size_t unit) const;
    std::size_t units_;
    unsigned char* data_;
};

enum class StoreResult { written, skipped };
enum class LoadResult { right, wrong, missing };

class Tier {
public:
    struct Options {
        std::string root;
        bool direct = true; // O_DIRECT; a tmpfs refuses it
        Shape shape{};
    };
    // Makes the directories. Throws std::system_error, as every call here for what a server could
    // not go on from (no space, an I/O error); a missing file is an answer.
    explicit Tier(Options options);
    ~Tier();
    Tier(const Tier&) = delete;
    Tier& operator=(const Tier&) = delete;

    bool exists(BlockId block) const;
    StoreResult store(BlockId block, ObjectBuffer& buffer) const;
    LoadResult load(BlockId block, ObjectBuffer& buffer) const;
    bool remove(BlockId block) const; // false: was not there
    const std::string& root() const { return options_.root; }
    const Shape& shape() const { return options_.shape; }

private:
    bool store_file(const char* path, const char* temporary, std::uint64_t hash,
                    ObjectBuffer& buffer) const; // false: was there
    LoadResult load_file(const char* path, std::uint64_t hash, ObjectBuffer& buffer) const;
    bool in_pages() const { return options_.shape.pages > 1; }

    Options options_;
    int root_fd_;
};

} // namespace hintier::replay
