// SPDX-License-Identifier: Apache-2.0
// Reads a root for files that were there before the agent, a bounded step at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <dirent.h>

#include "agent/base/result.hpp"
#include "agent/model/event.hpp"

namespace hintier {

class Scan {
public:
    // Identity of `name` in an open directory ("" is the directory): see layout/handle.hpp.
    using Identify = std::function<Result<FileId>(int dir, const char* name, std::uint32_t device)>;

    static Result<Scan> open(const std::string& path, std::uint32_t root, Identify identify);

    // Looks at up to `entries` more. A file's time is when it was last written or read, on the
    // clock of `now`. False at the end.
    bool step(std::size_t entries, Nanos now, EventSink& sink);

private:
    struct CloseDir {
        void operator()(DIR* dir) const { closedir(dir); }
    };
    struct Level {
        std::unique_ptr<DIR, CloseDir> dir;
        FileId id{};
    };

    Scan(std::uint32_t root, Identify identify) : root_(root), identify_(std::move(identify)) {}
    Result<void> enter(int parent, const char* name);
    void look_at(const Level& level, const char* name, Nanos now, EventSink& sink);

    std::uint32_t root_;
    Identify identify_;
    std::uint32_t device_ = 0;
    std::vector<Level> levels_;
};

} // namespace hintier
