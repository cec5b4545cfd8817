// SPDX-License-Identifier: Apache-2.0
// The one kind of input that the model takes, whatever source it comes from. Events borrow their
// names: they live as long as the call that brings them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "agent/base/clock.hpp"

namespace hintier {

// A file or directory, whatever it is called. `device` is the kernel's number, not stat's.
struct FileId {
    std::uint32_t device = 0;
    std::uint32_t generation = 0;
    std::uint64_t inode = 0;

    bool operator==(const FileId&) const = default;
    explicit operator bool() const { return inode != 0; }
};

enum class EventKind : std::uint8_t {
    opened,   // `file` by `name`
    renamed,  // `file` is now called `name`
    unlinked, // `name` is gone
    lookup,   // somebody asked whether `name` exists
    exited,   // process `pid` has ended
    seen,     // `file` was there when a root was read
    stored,   // a server has computed the block with the digits `name`; it follows `before`
    called,   // process `pid` has entered function `call` of an inference library
    returned, // and has left it
    filled,   // `bytes` of `file` came into the page cache, somewhere in the region at `offset`
};

// Functions of inference libraries that tell what a process is at.
enum class Call : std::uint8_t { none, decode, encode, state_save, state_load };

struct Event {
    EventKind kind = EventKind::opened;
    bool created = false; // opened: this open made it
    bool writing = false; // opened
    bool found = false;   // lookup
    bool outside = false; // renamed: to a place that nobody watches
    std::uint32_t root = 0;
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    Nanos time{};
    FileId file{};
    FileId parent{};            // directory of `name`
    std::uint64_t replaced = 0; // renamed: inode that `name` meant before
    std::uint64_t before = 0;   // stored: object id of the block before it, or 0
    Call call = Call::none;     // called, returned
    std::uint32_t tokens = 0;   // called: decode or encode: of the batch
    std::uint64_t offset = 0;   // filled: in the file
    std::uint64_t bytes = 0;    // filled
    std::string_view name;      // last component
};

class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void event(const Event& event) = 0;
};

struct FileIdHash {
    std::size_t operator()(const FileId& id) const {
        const std::uint64_t mixed =
            (id.inode ^ (std::uint64_t{id.device} << 40)) * 0x9E3779B97F4A7C15ULL;
        return static_cast<std::size_t>(mixed ^ (mixed >> 32));
    }
};

} // namespace hintier
