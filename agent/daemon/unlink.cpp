// SPDX-License-Identifier: Apache-2.0
#include "agent/daemon/unlink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/fd.hpp"
#include "agent/layout/handle.hpp"
#include "hintier/trace.h"

namespace hintier {

namespace {

bool same(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

Result<void> check_below(int root, int directory) {
    struct stat top;
    if (fstat(root, &top)) return system_failure("root");
    Fd up;
    int at = directory;
    for (int level = 0; level < HINTIER_TRACE_LEVELS; ++level) {
        struct stat here;
        if (fstat(at, &here)) return system_failure("directory");
        if (same(here, top)) return {};
        Fd next(openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
        struct stat above;
        if (!next || fstat(next.get(), &above)) return system_failure("directory above");
        if (same(above, here)) break; // the top of the filesystem
        up = std::move(next);
        at = up.get();
    }
    return failure("its directory is not below the root any more", EXDEV);
}

} // namespace

Result<void> unlink_below(int root, const Place& place, const std::string& name) {
    const auto directory = open_by_id(root, place.directory, O_PATH | O_DIRECTORY);
    if (!directory) return Failure(directory.error());
    if (auto below = check_below(root, directory->get()); !below) return below;
    const auto there = identify(directory->get(), name.c_str(), place.file.device);
    if (!there) return Failure(there.error());
    if (*there != place.file) return failure("the name means another file now", ESTALE);
    if (unlinkat(directory->get(), name.c_str(), 0)) return system_failure("unlink");
    return {};
}

} // namespace hintier
