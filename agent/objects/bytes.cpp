// SPDX-License-Identifier: Apache-2.0
#include "agent/objects/bytes.hpp"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hintier {

namespace {

constexpr std::uint64_t chunk = 64 << 10;

} // namespace

Result<void> MemoryBytes::read(std::uint64_t offset, std::span<std::byte> to) const {
    const auto from = bytes_.subspan(offset, to.size());
    std::copy(from.begin(), from.end(), to.begin());
    return {};
}

Result<FileBytes> FileBytes::open(const std::string& path) {
    Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat st;
    if (!fd || fstat(fd.get(), &st)) return system_failure(path);
    if (!S_ISREG(st.st_mode)) return failure(path + ": not a regular file", EINVAL);
    return FileBytes(std::move(fd), static_cast<std::uint64_t>(st.st_size));
}

Result<void> FileBytes::read(std::uint64_t offset, std::span<std::byte> to) const {
    while (!to.empty()) {
        const ssize_t n = pread(fd_.get(), to.data(), to.size(), static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return system_failure("read");
        if (n == 0) return failure("the file became shorter while it was read", ESTALE);
        offset += static_cast<std::uint64_t>(n);
        to = to.subspan(static_cast<std::size_t>(n));
    }
    return {};
}

Cursor::Cursor(const ByteSource& source, std::uint64_t limit)
    : source_(source), limit_(std::min(limit, source.size())) {}

bool Cursor::has(std::uint64_t length) {
    if (error_) return false;
    if (length <= limit_ - at_) return true;
    fail(limit_ == source_.size() ? "the file ends here, more was promised"
                                  : "the header is larger than any that is known");
    return false;
}

void Cursor::take(std::span<std::byte> to) {
    if (!has(to.size())) return;
    while (!to.empty()) {
        if (at_ < buffered_at_ || at_ >= buffered_at_ + buffer_.size()) {
            buffer_.resize(std::min(chunk, limit_ - at_));
            buffered_at_ = at_;
            if (auto done = source_.read(at_, buffer_); !done) {
                error_ = std::move(done.error());
                return;
            }
        }
        const auto rest = std::span(buffer_).subspan(at_ - buffered_at_);
        const std::size_t n = std::min(rest.size(), to.size());
        std::memcpy(to.data(), rest.data(), n);
        at_ += n;
        to = to.subspan(n);
    }
}

std::string Cursor::text(std::uint64_t length, std::size_t most) {
    if (!has(length)) return {};
    if (length > most) {
        fail("a string of " + std::to_string(length) + " bytes where " + std::to_string(most) +
             " are the most");
        return {};
    }
    std::string text(length, '\0');
    take(std::as_writable_bytes(std::span(text)));
    return error_ ? std::string() : text;
}

void Cursor::skip(std::uint64_t length) {
    if (has(length)) {
        at_ += length;
    }
}

void Cursor::fail(std::string_view why) {
    if (error_) return;
    error_ = Error{EINVAL, "at byte " + std::to_string(at_) + ": " + std::string(why)};
}

bool printable(std::string_view text) {
    return std::none_of(text.begin(), text.end(),
                        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

} // namespace hintier
