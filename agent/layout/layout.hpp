// SPDX-License-Identifier: Apache-2.0
// Files to ranges of tiers, remembered by inode and generation: a KV file never changes once it
// has its name, so one look is enough until somebody writes to it or it goes.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "agent/base/fd.hpp"
#include "agent/base/result.hpp"
#include "agent/layout/device.hpp"
#include "agent/layout/fiemap.hpp"
#include "agent/model/event.hpp"

namespace hintier {

struct FileRanges {
    std::uint32_t tier = 0;
    std::vector<Range> ranges; // bytes of the tier
    bool complete = true;
};

// Root directories, opened when first needed and closed by close_all() at the end of a burst:
// held open, they would keep a filesystem from being unmounted.
class RootDirs {
public:
    explicit RootDirs(std::vector<std::string> paths);

    // A descriptor on the filesystem of `device`, by way of the root's path.
    Result<int> open(std::uint32_t root, std::uint32_t device);
    void close_all();

private:
    std::vector<std::string> paths_;
    struct Dir {
        Fd fd;
        std::uint32_t device = 0;
    };
    std::vector<Dir> dirs_;
};

class Layout {
public:
    static constexpr std::size_t max_files = 262'144;

    Layout(RootDirs& roots, std::function<bool(std::uint32_t)> is_tier)
        : roots_(roots), is_tier_(std::move(is_tier)) {}

    // Good until the next call of a member. ENODEV: the file lies on no tier.
    Result<const FileRanges*> find(const FileId& file, std::uint32_t root);
    // Of an open file, asked anew each time.
    Result<FileRanges> find_open(int fd);
    void forget(const FileId& file);
    void forget_devices(); // tiers have come or gone

    std::size_t files() const { return files_.size(); }
    std::uint64_t mapped() const { return mapped_; }

private:
    struct Known {
        FileId file{};
        FileRanges ranges;
    };

    Result<FileRanges> map(const FileId& file, std::uint32_t root);
    Result<FileRanges> map_open(int fd, const OnTier& on_tier);
    Result<OnTier> tier_of(std::uint32_t device);

    RootDirs& roots_;
    std::function<bool(std::uint32_t)> is_tier_;
    std::list<Known> order_; // oldest first
    std::unordered_map<FileId, std::list<Known>::iterator, FileIdHash> files_;
    std::unordered_map<std::uint32_t, Result<OnTier>> devices_;
    FileRanges unkept_; // the last answer that was not worth remembering
    std::uint64_t mapped_ = 0;
};

} // namespace hintier
