// SPDX-License-Identifier: Apache-2.0
//
// One of the two devices: a sector of data is a tag, a sector of metadata its bytes. Both lie in
// one cache, and a flush covers both.

#pragma once

#include <array>

#include "format.h"

#include "sim/disk.hpp"
#include "sim/oracle.hpp"

namespace hintier::sim {

using Sector = std::array<unsigned char, HT_SECTOR_BYTES>;

struct Device {
    Device(size_t data_sectors, size_t meta_sectors, bool cached)
        : data(data_sectors, cached), meta(meta_sectors, cached) {}

    struct Flush {
        uint64_t data, meta;
    };
    Flush flush_begin() const { return {data.flush_begin(), meta.flush_begin()}; }
    void flush_end(const Flush& flush) {
        data.flush_end(flush.data);
        meta.flush_end(flush.meta);
    }
    void cut_from(const Device& other, uint64_t number) {
        data.cut_from(other.data, mix(number, 1));
        meta.cut_from(other.meta, mix(number, 2));
    }

    Disk<Tag> data;
    Disk<Sector> meta;
};

} // namespace hintier::sim
