// SPDX-License-Identifier: Apache-2.0
#include "agent/layout/handle.hpp"

#include <cstdint>
#include <cstring>
#include <limits>

#include <fcntl.h>

namespace hintier {

namespace {

// Handle types of include/linux/exportfs.h that ext4 and XFS decode. They are ABI: NFS servers
// hand them out and must take them back after a reboot.
constexpr int ino32_gen = 1;
constexpr int xfs_ino64_gen = 0x81;

struct Ino32Gen {
    std::uint32_t inode;
    std::uint32_t generation;
};

struct __attribute__((packed)) Ino64Gen {
    std::uint64_t inode;
    std::uint32_t generation;
};

Result<Fd> open_handle(int root, int type, const void* bytes, unsigned size, int flags) {
    alignas(file_handle) char buffer[sizeof(file_handle) + 16] = {};
    auto* handle = reinterpret_cast<file_handle*>(buffer);
    handle->handle_bytes = size;
    handle->handle_type = type;
    std::memcpy(handle->f_handle, bytes, size);
    Fd fd(open_by_handle_at(root, handle, flags | O_CLOEXEC));
    if (!fd) return system_failure("open by handle");
    return fd;
}

} // namespace

Result<Fd> open_by_id(int root, const FileId& id, int flags) {
    if (id.inode <= std::numeric_limits<std::uint32_t>::max()) {
        const Ino32Gen bytes = {static_cast<std::uint32_t>(id.inode), id.generation};
        return open_handle(root, ino32_gen, &bytes, sizeof(bytes), flags);
    }
    const Ino64Gen bytes = {id.inode, id.generation};
    return open_handle(root, xfs_ino64_gen, &bytes, sizeof(bytes), flags);
}

Result<FileId> identify(int dir, const char* name, std::uint32_t device) {
    alignas(file_handle) char buffer[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
    auto* handle = reinterpret_cast<file_handle*>(buffer);
    handle->handle_bytes = MAX_HANDLE_SZ;
    int mount = 0;
    if (name_to_handle_at(dir, name, handle, &mount, *name ? 0 : AT_EMPTY_PATH)) {
        return system_failure(*name ? name : "directory");
    }
    FileId id{.device = device};
    if (handle->handle_type == ino32_gen && handle->handle_bytes == sizeof(Ino32Gen)) {
        Ino32Gen bytes;
        std::memcpy(&bytes, handle->f_handle, sizeof(bytes));
        id.inode = bytes.inode;
        id.generation = bytes.generation;
    } else if (handle->handle_type == xfs_ino64_gen && handle->handle_bytes == sizeof(Ino64Gen)) {
        Ino64Gen bytes;
        std::memcpy(&bytes, handle->f_handle, sizeof(bytes));
        id.inode = bytes.inode;
        id.generation = bytes.generation;
    } else {
        return failure("files on this filesystem have no inode and generation", EOPNOTSUPP);
    }
    return id;
}

} // namespace hintier
