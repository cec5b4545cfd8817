// SPDX-License-Identifier: Apache-2.0
// Small worlds for tests: events in one line each, under a clock that the test moves.
#pragma once

#include <string>

#include "agent/model/world.hpp"
#include "agent/plan/restore.hpp"

namespace hintier::test {

inline constexpr std::uint32_t dev = 7 << 20;

// The block with this number, as vLLM's file-system tier would call it.
inline std::string file_name(std::uint64_t object) {
    static const char* digits = "0123456789abcdef";
    std::string name(64, '0');
    for (int i = 0; i < 16; ++i) {
        name[63 - i] = digits[object >> (4 * i) & 15U];
    }
    return name + ".bin";
}

class Builder {
public:
    explicit Builder(World::Config config = {}, bool reap = true)
        : world(config, {{"/kv", find_adapter("vllm-fs"), 3, reap}}) {}

    Change apply(Event event, const std::string& name) {
        event.time = now;
        event.name = name;
        event.pid = pid;
        event.tid = tid;
        return world.apply(event);
    }

    static FileId file(std::uint64_t inode) { return {dev, 1, inode}; }

    Change lookup(std::uint64_t object, bool found = true) {
        return apply({.kind = EventKind::lookup, .found = found}, file_name(object));
    }
    Change open(std::uint64_t object, std::uint64_t inode) {
        return apply({.kind = EventKind::opened, .file = file(inode), .parent = file(2)},
                     file_name(object));
    }
    // Written as the adapter does: a temporary name, then the final one.
    Change write(std::uint64_t object, std::uint64_t inode) {
        Event create{.kind = EventKind::opened, .created = true, .writing = true};
        create.file = file(inode);
        create.parent = file(2);
        (void)apply(create, file_name(object) + "_4711.tmp");
        return rename(object, inode);
    }
    Change rename(std::uint64_t object, std::uint64_t inode, std::uint64_t replaced = 0) {
        return apply({.kind = EventKind::renamed,
                      .file = file(inode),
                      .parent = file(2),
                      .replaced = replaced},
                     file_name(object));
    }
    Change unlink(std::uint64_t object, std::uint64_t inode) {
        return apply({.kind = EventKind::unlinked, .file = file(inode)}, file_name(object));
    }

    const Object& object(std::uint64_t id) const { return world.object(world.find(id)); }

    World world;
    RestoreRule restore{RestoreConfig()};
    Nanos now = 1000s;
    std::uint32_t pid = 100;
    std::uint32_t tid = 101;
};

} // namespace hintier::test
