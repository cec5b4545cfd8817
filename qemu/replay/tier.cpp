// SPDX-License-Identifier: Apache-2.0
#include "qemu/replay/tier.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace hintier::replay {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

[[noreturn]] void fail(const char* what, const char* path) {
    throw std::system_error(errno, std::generic_category(), fmt::format("{} {}", what, path));
}

class Fd {
public:
    explicit Fd(int fd) : fd_(fd) {}
    ~Fd() {
        if (fd_ >= 0) close(fd_);
    }
    Fd(const Fd&) = delete;
    Fd& operator=(const Fd&) = delete;
    int get() const { return fd_; }

private:
    int fd_;
};

} // namespace

// A huge page each: physically contiguous, so a request is a handful of segments, not 144.
ObjectBuffer::ObjectBuffer() {
    data_ = static_cast<unsigned char*>(std::aligned_alloc(kHugePage, kHugePage));
    if (!data_) throw std::bad_alloc();
    madvise(data_, kHugePage, MADV_HUGEPAGE); // advice only
    for (std::size_t unit = 0; unit < kUnits; unit++)
        std::memcpy(data_ + unit * kUnit, kMarker.data(), kMarker.size());
    clear_tags();
}

ObjectBuffer::~ObjectBuffer() {
    std::free(data_);
}

std::uint64_t* ObjectBuffer::tag_at(std::size_t unit) const {
    return reinterpret_cast<std::uint64_t*>(data_ + unit * kUnit + kMarker.size());
}

void ObjectBuffer::fill(BlockId block) {
    std::uint64_t tag = hash_of(block);
    for (std::size_t unit = 0; unit < kUnits; unit++, tag += kTagStep)
        *tag_at(unit) = tag;
}

void ObjectBuffer::clear_tags() {
    for (std::size_t unit = 0; unit < kUnits; unit++)
        *tag_at(unit) = 0;
}

bool ObjectBuffer::matches(BlockId block) const {
    std::uint64_t tag = hash_of(block), marker, wrong = 0;
    std::memcpy(&marker, kMarker.data(), sizeof(marker));
    for (std::size_t unit = 0; unit < kUnits; unit++, tag += kTagStep)
        wrong |= (tag_at(unit)[0] ^ tag) | (tag_at(unit)[-1] ^ marker);
    return wrong == 0;
}

Tier::Tier(Options options) : options_(std::move(options)) {
    root_fd_ = open(options_.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root_fd_ < 0) fail("cannot open tier directory", options_.root.c_str());
    for (unsigned i = 0; i < 256; i++) {
        char dir[] = "x00/y0_g0";
        dir[0] = hex_digit(i >> 4);
        dir[4] = hex_digit(i);
        dir[3] = '\0';
        mkdirat(root_fd_, dir, 0755);
        dir[3] = '/';
        if (mkdirat(root_fd_, dir, 0755) < 0 && errno != EEXIST) fail("cannot make directory", dir);
    }
}

Tier::~Tier() {
    close(root_fd_);
}

bool Tier::exists(BlockId block) const {
    return faccessat(root_fd_, BlockPath(block).c_str(), F_OK, 0) == 0;
}

StoreResult Tier::store(BlockId block, ObjectBuffer& buffer) const {
    const BlockPath path(block);
    if (faccessat(root_fd_, path.c_str(), F_OK, 0) == 0) return StoreResult::skipped;
    char temporary[BlockPath::kLength + 16];
    std::memcpy(temporary, path.c_str(), BlockPath::kLength);
    std::memcpy(temporary + BlockPath::kLength, "_00000000.tmp", 14);
    for (unsigned i = 0; i < 8; i++)
        temporary[BlockPath::kLength + 1 + i] = hex_digit(block >> (28 - 4 * i));

    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | (options_.direct ? O_DIRECT : 0);
    {
        const Fd fd(openat(root_fd_, temporary, flags, 0644));
        if (fd.get() < 0) fail("cannot create", temporary);
        buffer.fill(block);
        const ssize_t written = pwrite(fd.get(), buffer.data(), kObjectBytes, 0);
        if (written != static_cast<ssize_t>(kObjectBytes)) {
            if (written >= 0) errno = ENOSPC; // a short write to a new file means a full device
            fail("cannot write", temporary);
        }
    }
    if (renameat(root_fd_, temporary, root_fd_, path.c_str()) < 0) fail("cannot rename", temporary);
    return StoreResult::written;
}

LoadResult Tier::load(BlockId block, ObjectBuffer& buffer) const {
    const BlockPath path(block);
    const int flags = O_RDONLY | O_CLOEXEC | (options_.direct ? O_DIRECT : 0);
    const Fd fd(openat(root_fd_, path.c_str(), flags));
    if (fd.get() < 0) {
        if (errno == ENOENT) return LoadResult::missing;
        fail("cannot open", path.c_str());
    }
    buffer.clear_tags();
    iovec part{buffer.data(), kObjectBytes};
    const ssize_t got = preadv(fd.get(), &part, 1, 0);
    if (got < 0) fail("cannot read", path.c_str());
    return got == static_cast<ssize_t>(kObjectBytes) && buffer.matches(block) ? LoadResult::right
                                                                              : LoadResult::wrong;
}

bool Tier::remove(BlockId block) const {
    const BlockPath path(block);
    if (unlinkat(root_fd_, path.c_str(), 0) == 0) return true;
    if (errno != ENOENT) fail("cannot remove", path.c_str());
    return false;
}

} // namespace hintier::replay
