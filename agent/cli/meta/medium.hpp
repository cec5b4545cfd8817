// SPDX-License-Identifier: Apache-2.0
// What the offline tools read and write: the two devices of a pair, or whatever a test puts in
// their place. The order of writes between two syncs means nothing; that of syncs means all.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "agent/cli/disk.hpp"
#include "agent/cli/fail.hpp"
#include "kmod/core/format.h"

namespace hintier::cli {

// Core looks at it through structures.
struct alignas(8) Sector : std::array<std::byte, HT_SECTOR_BYTES> {};
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

constexpr std::uint64_t byte_of(std::uint64_t sector) {
    return sector * HT_SECTOR_BYTES;
}

constexpr const char* role_name(std::uint32_t role) {
    return role == HT_ROLE_FAST ? "fast" : "bulk";
}

// Arrays of two hold fast, then bulk.
constexpr unsigned index_of(ht_role role) {
    return role == HT_ROLE_FAST ? 0 : 1;
}

class Medium {
public:
    virtual ~Medium() = default;
    virtual std::string name(ht_role role) const = 0;
    virtual std::uint64_t bytes(ht_role role) const = 0;
    virtual Result<void> read(ht_role role, std::uint64_t offset, std::span<std::byte> to) = 0;
    virtual Result<void> write(ht_role role, std::uint64_t offset,
                               std::span<const std::byte> from) = 0;
    virtual Result<void> sync(ht_role role) = 0;
};

class DiskMedium final : public Medium {
public:
    DiskMedium(const Disk& fast, const Disk& bulk) : fast_(fast), bulk_(bulk) {}

    std::string name(ht_role role) const override { return of(role).path; }
    std::uint64_t bytes(ht_role role) const override { return of(role).bytes; }
    Result<void> read(ht_role role, std::uint64_t offset, std::span<std::byte> to) override {
        return of(role).read(offset, to);
    }
    Result<void> write(ht_role role, std::uint64_t offset,
                       std::span<const std::byte> from) override {
        return of(role).write(offset, from);
    }
    Result<void> sync(ht_role role) override { return of(role).sync(); }

private:
    const Disk& of(ht_role role) const { return role == HT_ROLE_FAST ? fast_ : bulk_; }

    const Disk& fast_;
    const Disk& bulk_;
};

} // namespace hintier::cli
