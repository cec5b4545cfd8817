// SPDX-License-Identifier: Apache-2.0
//
// The tier's files, handled as vLLM's file-system tier does: a store writes a temporary file with
// one O_DIRECT write and renames it, an existing file is left as it is; a load is one open and one
// read; nothing is ever synced. Each 4 KiB carries marker and tag; every read is verified.
#pragma once

#include <cstdint>
#include <string>

#include "qemu/replay/block.hpp"

namespace hintier::replay {

// One object's worth of aligned memory with markers in place. Only tags change from use to use.
class ObjectBuffer {
public:
    ObjectBuffer();
    ~ObjectBuffer();
    ObjectBuffer(const ObjectBuffer&) = delete;
    ObjectBuffer& operator=(const ObjectBuffer&) = delete;

    void fill(BlockId block);
    void clear_tags();                 // so that a read which brings nothing is seen
    bool matches(BlockId block) const; // every unit has the marker and its own tag
    void* data() { return data_; }

private:
    std::uint64_t* tag_at(std::size_t unit) const;
    unsigned char* data_;
};

enum class StoreResult { written, skipped };
enum class LoadResult { right, wrong, missing };

class Tier {
public:
    struct Options {
        std::string root;
        bool direct = true; // O_DIRECT; a tmpfs refuses it
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

private:
    Options options_;
    int root_fd_;
};

} // namespace hintier::replay
