// SPDX-License-Identifier: Apache-2.0
#include "agent/cli/disk.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <mntent.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace hintier::cli {

namespace fs = std::filesystem;

namespace {

std::string first_line(const fs::path& file) {
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    return line;
}

Failure busy(const std::string& path, dev_t id) {
    std::vector<std::string> users = users_of(id);
    std::string who;
    for (const std::string& user : users)
        who += (who.empty() ? "" : ", ") + user;
    return fail(EBUSY, "{} is in use: {}", path,
                who.empty() ? "something holds it open exclusively" : who);
}

// The loop device that shows a file, if any: writing below it would go unnoticed.
std::string loop_over(const fs::path& file) {
    std::error_code ignored;
    fs::path wanted = fs::canonical(file, ignored);
    for (const auto& entry : fs::directory_iterator("/sys/block", ignored)) {
        fs::path backing = first_line(entry.path() / "loop/backing_file");
        if (!backing.empty() && backing == wanted)
            return "/dev/" + entry.path().filename().string();
    }
    return {};
}

Result<void> measure_block(Disk& disk) {
    int logical = 0;
    if (ioctl(disk.fd.get(), BLKGETSIZE64, &disk.bytes) != 0 ||
        ioctl(disk.fd.get(), BLKSSZGET, &logical) != 0)
        return fail(errno, "{}: cannot read its size: {}", disk.path, std::strerror(errno));
    disk.logical = static_cast<std::uint32_t>(logical);
    return {};
}

Result<void> claim_file(const Disk& disk) {
    if (flock(disk.fd.get(), LOCK_EX | LOCK_NB) != 0)
        return fail(EBUSY, "{} is in use: another program has locked it", disk.path);
    std::string loop = loop_over(disk.path);
    if (!loop.empty()) return fail(EBUSY, "{} is in use: {} shows it", disk.path, loop);
    return {};
}

} // namespace

Result<void> Disk::read(std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
        ssize_t got = pread(fd.get(), to.data(), to.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return fail(errno, "{}: cannot read at {}: {}", path, offset, std::strerror(errno));
        if (got == 0) return fail(EIO, "{}: ends before {}", path, offset + to.size());
        to = to.subspan(static_cast<std::size_t>(got));
        offset += static_cast<std::uint64_t>(got);
    }
    return {};
}

Result<void> Disk::write(std::uint64_t offset, std::span<const std::byte> from) const {
    while (!from.empty()) {
        ssize_t put = pwrite(fd.get(), from.data(), from.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0)
            return fail(put < 0 ? errno : EIO, "{}: cannot write at {}: {}", path, offset,
                        put < 0 ? std::strerror(errno) : "nothing was written");
        from = from.subspan(static_cast<std::size_t>(put));
        offset += static_cast<std::uint64_t>(put);
    }
    return {};
}

Result<void> Disk::sync() const {
    if (fsync(fd.get()) != 0)
        return fail(errno, "{}: cannot flush: {}", path, std::strerror(errno));
    return {};
}

void Disk::forget_cache() const {
    (void)posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
}

bool same_disk(const std::string& a, const std::string& b) {
    struct stat one {};
    struct stat two {};
    if (stat(a.c_str(), &one) != 0 || stat(b.c_str(), &two) != 0) return false;
    if (S_ISBLK(one.st_mode) && S_ISBLK(two.st_mode)) return one.st_rdev == two.st_rdev;
    return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

Result<Disk> open_disk(const std::string& path, Open how) {
    struct stat st {};
    if (stat(path.c_str(), &st) != 0) return fail(errno, "{}: {}", path, std::strerror(errno));
    bool block = S_ISBLK(st.st_mode);
    if (!block && !S_ISREG(st.st_mode))
        return fail(ENOTBLK, "{} is neither a block device nor an image file", path);

    int flags = O_CLOEXEC | (how == Open::exclusive ? O_RDWR : O_RDONLY);
    if (block && how != Open::read)
        flags |= O_EXCL; // without O_CREAT: EBUSY while anyone has claimed the device
    Disk disk;
    disk.path = path;
    disk.fd = Fd(open(path.c_str(), flags));
    if (!disk.fd && errno == EBUSY) return busy(path, st.st_rdev);
    if (!disk.fd) return fail(errno, "{}: cannot open: {}", path, std::strerror(errno));

    disk.block = block;
    disk.id = block ? st.st_rdev : st.st_dev;
    disk.bytes = block ? 0 : static_cast<std::uint64_t>(st.st_size);
    Result<void> ready = block               ? measure_block(disk)
                         : how != Open::read ? claim_file(disk)
                                             : Result<void>{};
    if (!ready) return Failure(ready.error());
    return disk;
}

std::string dev_text(dev_t id) {
    return fmt::format("{}:{}", major(id), minor(id));
}

std::vector<std::string> users_of(dev_t id) {
    std::vector<std::string> users;
    std::error_code ignored;
    fs::path sys = "/sys/dev/block/" + dev_text(id);
    for (const auto& holder : fs::directory_iterator(sys / "holders", ignored)) {
        std::string name = holder.path().filename();
        std::string dm = first_line(holder.path() / "dm/name");
        users.push_back("held by " + name + (dm.empty() ? "" : " (" + dm + ")"));
    }
    if (FILE* mounts = setmntent("/proc/self/mounts", "r")) {
        while (const mntent* entry = getmntent(mounts)) {
            struct stat st {};
            if (stat(entry->mnt_fsname, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == id)
                users.push_back(std::string("mounted on ") + entry->mnt_dir);
        }
        endmntent(mounts);
    }
    return users;
}

std::string block_attribute(dev_t id, const std::string& attribute) {
    fs::path sys = "/sys/dev/block/" + dev_text(id);
    std::error_code ignored;
    fs::path real = fs::canonical(sys, ignored);
    if (fs::exists(real / "partition", ignored) && !fs::exists(real / attribute, ignored))
        real = real.parent_path();
    return first_line(real / attribute);
}

} // namespace hintier::cli
