// SPDX-License-Identifier: Apache-2.0
// Bytes of a file whose content nobody vouches for, read front to back.
//
// Cursor keeps the first error and answers zeroes after it, so that a parser reads straight on and
// asks once; a loop that a count from the file bounds must ask in each round.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/fd.hpp"
#include "agent/base/result.hpp"

namespace hintier {

class ByteSource {
public:
    virtual ~ByteSource() = default;
    virtual std::uint64_t size() const = 0;
    // Fills `to` from `offset`; all of it lies below size().
    virtual Result<void> read(std::uint64_t offset, std::span<std::byte> to) const = 0;
};

class MemoryBytes final : public ByteSource {
public:
    explicit MemoryBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}
    explicit MemoryBytes(std::string_view text) : bytes_(std::as_bytes(std::span(text))) {}

    std::uint64_t size() const override { return bytes_.size(); }
    Result<void> read(std::uint64_t offset, std::span<std::byte> to) const override;

private:
    std::span<const std::byte> bytes_;
};

// A regular file; ESTALE when it shrinks while it is read.
class FileBytes final : public ByteSource {
public:
    static Result<FileBytes> open(const std::string& path);

    std::uint64_t size() const override { return size_; }
    Result<void> read(std::uint64_t offset, std::span<std::byte> to) const override;

private:
    FileBytes(Fd fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {}

    Fd fd_;
    std::uint64_t size_;
};

class Cursor {
public:
    // Nothing at `limit` or beyond is read.
    Cursor(const ByteSource& source, std::uint64_t limit);

    std::uint32_t u32() { return number<std::uint32_t>(); }
    std::uint64_t u64() { return number<std::uint64_t>(); }
    template <class T>
    T number() { // little-endian
        std::array<std::byte, sizeof(T)> bytes{};
        take(bytes);
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            value |= std::uint64_t{std::to_integer<std::uint8_t>(bytes[i])} << (8 * i);
        }
        return static_cast<T>(value);
    }
    std::string text(std::uint64_t length, std::size_t most);
    void skip(std::uint64_t length);

    std::uint64_t at() const { return at_; }
    bool ok() const { return !error_; }
    // "at byte 24: <why>"
    void fail(std::string_view why);
    const std::optional<Error>& error() const { return error_; }

private:
    void take(std::span<std::byte> to);
    bool has(std::uint64_t length);

    const ByteSource& source_;
    std::uint64_t limit_;
    std::uint64_t at_ = 0;
    std::uint64_t buffered_at_ = 0;
    std::vector<std::byte> buffer_;
    std::optional<Error> error_;
};

// Fit to be printed on a terminal or into a line of a log: no control characters.
bool printable(std::string_view text);

} // namespace hintier
