// SPDX-License-Identifier: Apache-2.0
#include "agent/layout/layout.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/layout/handle.hpp"
#include "hintier/trace.h"

namespace hintier {

RootDirs::RootDirs(std::vector<std::string> paths)
    : paths_(std::move(paths)), dirs_(paths_.size()) {}

Result<int> RootDirs::open(std::uint32_t root, std::uint32_t device) {
    Dir& dir = dirs_[root];
    if (!dir.fd) {
        dir.fd = Fd(::open(paths_[root].c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        struct stat st;
        if (!dir.fd || fstat(dir.fd.get(), &st)) return system_failure(paths_[root]);
        dir.device = HINTIER_TRACE_DEV(major(st.st_dev), minor(st.st_dev));
    }
    if (dir.device != device) {
        return failure(paths_[root] + ": another filesystem is mounted there now", ESTALE);
    }
    return dir.fd.get();
}

void RootDirs::close_all() {
    for (Dir& dir : dirs_) {
        dir.fd = Fd();
    }
}

Result<const FileRanges*> Layout::find(const FileId& file, std::uint32_t root) {
    if (const auto it = files_.find(file); it != files_.end()) return &it->second->ranges;

    auto ranges = map(file, root);
    if (!ranges) return Failure(std::move(ranges.error()));
    if (!ranges->complete) {
        unkept_ = std::move(*ranges);
        return &unkept_;
    }
    if (files_.size() >= max_files) {
        files_.erase(order_.front().file);
        order_.pop_front();
    }
    order_.push_back({file, std::move(*ranges)});
    files_.emplace(file, std::prev(order_.end()));
    return &order_.back().ranges;
}

void Layout::forget(const FileId& file) {
    const auto it = files_.find(file);
    if (it == files_.end()) return;
    order_.erase(it->second);
    files_.erase(it);
}

void Layout::forget_devices() {
    devices_.clear();
    files_.clear();
    order_.clear();
}

Result<FileRanges> Layout::map(const FileId& file, std::uint32_t root) {
    const auto on_tier = tier_of(file.device);
    if (!on_tier) return Failure(on_tier.error());
    const auto dir = roots_.open(root, file.device);
    if (!dir) return Failure(dir.error());
    auto fd = open_by_id(*dir, file, O_RDONLY | O_NONBLOCK);
    if (!fd) return Failure(std::move(fd.error()));
    return map_open(fd->get(), *on_tier);
}

Result<FileRanges> Layout::find_open(int fd) {
    struct stat st;
    if (fstat(fd, &st)) return system_failure("file");
    if (!S_ISREG(st.st_mode)) return failure("not a regular file", EINVAL);
    const auto on_tier = tier_of(HINTIER_TRACE_DEV(major(st.st_dev), minor(st.st_dev)));
    if (!on_tier) return Failure(on_tier.error());
    return map_open(fd, *on_tier);
}

Result<FileRanges> Layout::map_open(int fd, const OnTier& on_tier) {
    auto mapping = map_file(fd);
    if (!mapping) return Failure(std::move(mapping.error()));

    ++mapped_;
    FileRanges ranges{on_tier.tier, std::move(mapping->ranges), mapping->complete};
    for (Range& range : ranges.ranges) {
        range.offset += on_tier.offset;
    }
    return ranges;
}

// Asked once for each device, until tiers come or go: a "no" is remembered too.
Result<OnTier> Layout::tier_of(std::uint32_t device) {
    const auto it = devices_.find(device);
    if (it != devices_.end()) return it->second;
    return devices_.emplace(device, find_tier(device, is_tier_)).first->second;
}

} // namespace hintier
