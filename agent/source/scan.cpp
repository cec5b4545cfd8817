// SPDX-License-Identifier: Apache-2.0
#include "agent/source/scan.hpp"

#include <algorithm>
#include <ctime>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "agent/base/fd.hpp"
#include "hintier/trace.h"

namespace hintier {

namespace {

Nanos to_nanos(const timespec& time) {
    return std::chrono::seconds(time.tv_sec) + Nanos(time.tv_nsec);
}

} // namespace

Result<Scan> Scan::open(const std::string& path, std::uint32_t root, Identify identify) {
    Scan scan(root, std::move(identify));
    if (auto entered = scan.enter(AT_FDCWD, path.c_str()); !entered) {
        return Failure(std::move(entered.error()));
    }
    return scan;
}

// Symbolic links and other filesystems are not followed.
Result<void> Scan::enter(int parent, const char* name) {
    const int nofollow = levels_.empty() ? 0 : O_NOFOLLOW;
    Fd fd(openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | nofollow));
    struct stat st;
    if (!fd || fstat(fd.get(), &st)) return system_failure(name);
    const std::uint32_t device = HINTIER_TRACE_DEV(major(st.st_dev), minor(st.st_dev));
    if (levels_.empty()) {
        device_ = device;
    } else if (device != device_) {
        return failure("another filesystem", EXDEV);
    }
    auto id = identify_(fd.get(), "", device_);
    if (!id) return Failure(std::move(id.error()));
    std::unique_ptr<DIR, CloseDir> dir(fdopendir(fd.get()));
    if (!dir) return system_failure(name);
    (void)fd.release();
    levels_.push_back({std::move(dir), *id});
    return {};
}

bool Scan::step(std::size_t entries, Nanos now, EventSink& sink) {
    while (entries && !levels_.empty()) {
        Level& level = levels_.back();
        const dirent* entry = readdir(level.dir.get());
        if (!entry) {
            levels_.pop_back();
            continue;
        }
        --entries;
        const std::string_view name = entry->d_name;
        if (name == "." || name == "..") continue;
        if (entry->d_type == DT_DIR) {
            if (levels_.size() < HINTIER_TRACE_LEVELS) {
                (void)enter(dirfd(level.dir.get()), entry->d_name); // gone meanwhile: no loss
            }
        } else if (entry->d_type == DT_REG) {
            look_at(level, entry->d_name, now, sink);
        }
    }
    return !levels_.empty();
}

void Scan::look_at(const Level& level, const char* name, Nanos now, EventSink& sink) {
    struct stat st;
    const int dir = dirfd(level.dir.get());
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW)) return;
    const auto id = identify_(dir, name, device_);
    if (!id) return;

    timespec wall{};
    clock_gettime(CLOCK_REALTIME, &wall);
    const Nanos used = std::max(to_nanos(st.st_mtim), to_nanos(st.st_atim));
    Event event;
    event.kind = EventKind::seen;
    event.root = root_;
    event.time = now - std::max(to_nanos(wall) - used, Nanos(0));
    event.file = *id;
    event.parent = level.id;
    event.name = name;
    sink.event(event);
}

} // namespace hintier
