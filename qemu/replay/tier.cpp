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

// Huge pages: physically contiguous, so a request is a handful of segments, not 144.
ObjectBuffer::ObjectBuffer(std::size_t bytes) : units_(bytes / kUnit) {
    const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
    data_ = static_cast<unsigned char*>(std::aligned_alloc(kHugePage, whole));
    if (!data_) throw std::bad_alloc();
    madvise(data_, whole, MADV_HUGEPAGE); // advice only
    for (std::size_t unit = 0; unit < units_; unit++)
        std::memcpy(data_ + unit * kUnit, kMarker.data(), kMarker.size());
    clear_tags();
}

ObjectBuffer::~ObjectBuffer() {
    std::free(data_);
}

std::uint64_t* ObjectBuffer::tag_at(std::size_t unit) const {
    return reinterpret_cast<std::uint64_t*>(data_ + unit * kUnit + kMarker.size());
}

void ObjectBuffer::fill(std::uint64_t hash) {
    for (std::size_t unit = 0; unit < units_; unit++, hash += kTagStep)
        *tag_at(unit) = hash;
}

void ObjectBuffer::clear_tags() {
    for (std::size_t unit = 0; unit < units_; unit++)
        *tag_at(unit) = 0;
}

bool ObjectBuffer::matches(std::uint64_t hash) const {
    std::uint64_t marker, wrong = 0;
    std::memcpy(&marker, kMarker.data(), sizeof(marker));
    for (std::size_t unit = 0; unit < units_; unit++, hash += kTagStep)
        wrong |= (tag_at(unit)[0] ^ hash) | (tag_at(unit)[-1] ^ marker);
    return wrong == 0;
}

Tier::Tier(Options options) : options_(std::move(options)) {
    root_fd_ = open(options_.root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root_fd_ < 0) fail("cannot open tier directory", options_.root.c_str());
    for (unsigned i = 0; i < 256 && !in_pages(); i++) {
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

// As a server asks that counts on all of it.
bool Tier::exists(BlockId block) const {
    const auto there = [&](const char* path) { return faccessat(root_fd_, path, F_OK, 0) == 0; };
    if (!in_pages()) return there(BlockPath(block).c_str());
    for (std::uint32_t page = 0; page < shape().pages; page++)
        if (!there(PagePath(block, page).c_str())) return false;
    return true;
}

bool Tier::store_file(const char* path, const char* temporary, std::uint64_t hash,
                      ObjectBuffer& buffer) const {
    if (faccessat(root_fd_, path, F_OK, 0) == 0) return false;
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | (options_.direct ? O_DIRECT : 0);
    {
        const Fd fd(openat(root_fd_, temporary, flags, 0644));
        if (fd.get() < 0) fail("cannot create", temporary);
        buffer.fill(hash);
        const ssize_t written = pwrite(fd.get(), buffer.data(), buffer.bytes(), 0);
        if (written != static_cast<ssize_t>(buffer.bytes())) {
            if (written >= 0) errno = ENOSPC; // a short write to a new file means a full device
            fail("cannot write", temporary);
        }
    }
    if (renameat(root_fd_, temporary, root_fd_, path) < 0) fail("cannot rename", temporary);
    return true;
}

StoreResult Tier::store(BlockId block, ObjectBuffer& buffer) const {
    bool written = false;
    if (in_pages()) {
        for (std::uint32_t page = 0; page < shape().pages; page++) {
            const PagePath path(block, page);
            const std::string temporary = fmt::format("{}.tmp.1.1.{:08x}", path.c_str(), block);
            written |= store_file(path.c_str(), temporary.c_str(), hash_of(block, page), buffer);
        }
    } else {
        const BlockPath path(block);
        char temporary[BlockPath::kLength + 16];
        std::memcpy(temporary, path.c_str(), BlockPath::kLength);
        std::memcpy(temporary + BlockPath::kLength, "_00000000.tmp", 14);
        for (unsigned i = 0; i < 8; i++)
            temporary[BlockPath::kLength + 1 + i] = hex_digit(block >> (28 - 4 * i));
        written = store_file(path.c_str(), temporary, hash_of(block), buffer);
    }
    return written ? StoreResult::written : StoreResult::skipped;
}

LoadResult Tier::load_file(const char* path, std::uint64_t hash, ObjectBuffer& buffer) const {
    const int flags = O_RDONLY | O_CLOEXEC | (options_.direct ? O_DIRECT : 0);
    const Fd fd(openat(root_fd_, path, flags));
    if (fd.get() < 0) {
        if (errno == ENOENT) return LoadResult::missing;
        fail("cannot open", path);
    }
    buffer.clear_tags();
    iovec part{buffer.data(), buffer.bytes()};
    const ssize_t got = preadv(fd.get(), &part, 1, 0);
    if (got < 0) fail("cannot read", path);
    return got == static_cast<ssize_t>(buffer.bytes()) && buffer.matches(hash) ? LoadResult::right
                                                                               : LoadResult::wrong;
}

LoadResult Tier::load(BlockId block, ObjectBuffer& buffer) const {
    if (!in_pages()) return load_file(BlockPath(block).c_str(), hash_of(block), buffer);
    for (std::uint32_t page = 0; page < shape().pages; page++) {
        const LoadResult got =
            load_file(PagePath(block, page).c_str(), hash_of(block, page), buffer);
        if (got != LoadResult::right) return got;
    }
    return LoadResult::right;
}

bool Tier::remove(BlockId block) const {
    bool removed = false;
    const auto unlink = [&](const char* path) {
        if (unlinkat(root_fd_, path, 0) == 0)
            removed = true;
        else if (errno != ENOENT)
            fail("cannot remove", path);
    };
    if (!in_pages()) unlink(BlockPath(block).c_str());
    for (std::uint32_t page = 0; in_pages() && page < shape().pages; page++)
        unlink(PagePath(block, page).c_str());
    return removed;
}

} // namespace hintier::replay
