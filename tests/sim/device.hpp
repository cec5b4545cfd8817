// SPDX-License-Identifier: Apache-2.0
//
// One of the two devices: a sector of data is a tag, a sector of metadata its bytes. Both lie in
// one cache, and a flush covers both.

#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "format.h"

#include "sim/disk.hpp"
#include "sim/oracle.hpp"

namespace hintier::sim {

using Sector = std::array<unsigned char, HT_SECTOR_BYTES>;

// A unit of data on a medium that wears.
enum class Place : uint8_t {
    Good,
    Unreadable, // until it is written as a whole
    Bad,        // it can neither be read nor written
};

struct Device {
    Device(size_t data_sectors, size_t meta_sectors, bool cached)
        : data(data_sectors, cached), meta(meta_sectors, cached),
          places(data_sectors / HT_UNIT_SECTORS, Place::Good), spoiled(places.size(), false) {}

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
        places = other.places;
        spoiled = other.spoiled;
    }

    void spoil(size_t unit, Place how) {
        places[unit] = how;
        spoiled[unit] = true;
    }
    void heal() { std::fill(places.begin(), places.end(), Place::Good); }
    bool can_read(uint64_t sector) const { return places[sector / HT_UNIT_SECTORS] == Place::Good; }
    // All of [from, to); what is written as a whole can be read again.
    bool write(uint64_t from, uint64_t to) {
        bool ok = true;
        for (uint64_t unit = from / HT_UNIT_SECTORS; unit * HT_UNIT_SECTORS < to; unit++) {
            const bool whole = unit * HT_UNIT_SECTORS >= from && (unit + 1) * HT_UNIT_SECTORS <= to;
            if (places[unit] == Place::Unreadable && whole) places[unit] = Place::Good;
            ok &= places[unit] == Place::Good;
        }
        return ok;
    }

    Disk<Tag> data;
    Disk<Sector> meta;
    std::vector<Place> places; // by unit of data
    std::vector<bool> spoiled; // it has been another than good
};

} // namespace hintier::sim
