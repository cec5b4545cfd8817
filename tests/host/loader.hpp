// SPDX-License-Identifier: Apache-2.0
//
// What the module does with a pair when it is activated, over core: it refuses, or there is a map
// to read by. The order of kmod/meta.c, without its I/O.

#pragma once

#include <vector>

#include "kmod/core/load.h"
#include "kmod/core/lost.h"
#include "kmod/core/pair.h"
#include "kmod/core/shard.h"
#include "tests/host/pair_image.hpp"

namespace hintier::test {

class Loader {
public:
    // HT_OK: the map is loaded.
    ht_refusal load(PairImage& image, bool discard_dirty = false) {
        ht_refusal why = headers(image);
        ht_state states[2]{};
        if (why == HT_OK) why = state(image, HT_ROLE_FAST, states[0]);
        if (why == HT_OK) why = state(image, HT_ROLE_BULK, states[1]);
        if (why != HT_OK) return why;
        create_map();
        const ht_trust trust = ht_pair_load(&pair, &states[0], &states[1], discard_dirty);
        // The table is as long as the tier has grown.
        map.geo.extents = std::max(map.geo.extents, static_cast<u32>(pair.extents));
        if (ht_home_sector(&map.geo, map.geo.extents) > image.bytes(HT_ROLE_BULK) / HT_SECTOR_BYTES)
            return HT_REFUSE_BULK_SMALL;
        ht_pair_resize(&pair, map.geo.extents);
        bool dirty = false;
        why = records(image, trust, dirty);
        if (why == HT_OK) why = lost_map(image);
        return why == HT_OK ? ht_pair_judge(&pair, dirty || map.lost.used) : why;
    }

    // What the tier would answer to a read of a unit: a byte, or that it is lost.
    int read(const PairImage& image, u32 extent, u32 unit) const {
        const u32 slot = ht_lookup(&map, extent);
        u32 end = unit + 1;
        if (ht_lost_run(&map, slot, extent, unit, &end)) return LOST;
        const bool fast = slot != HT_NIL && bit(slot, HT_VALID, unit);
        return static_cast<int>(fast ? image.get(HT_ROLE_FAST, image.slot_unit(slot, unit))[0]
                                     : image.get(HT_ROLE_BULK, image.home_unit(extent, unit))[0]);
    }
    static constexpr int LOST = -1;
    bool bit(u32 slot, ht_bits which, u32 unit) const {
        return ht_slot_bits(&map, slot, which)[unit / 16] >> unit % 16 & 1;
    }

    ht_map map{};
    ht_pair pair{};

private:
    ht_refusal headers(PairImage& image) {
        ht_header header[2]{};
        for (ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
            const Sector sector = image.get(role, HT_HEADER_SECTOR);
            ht_header& one = header[cli::index_of(role)];
            ht_refusal why = ht_header_decode(sector.data(), &one);
            if (why == HT_OK) why = ht_header_fits(&one, image.bytes(role) / HT_SECTOR_BYTES);
            if (why != HT_OK) return why;
        }
        if (!ht_header_pair(&header[0], &header[1])) return HT_REFUSE_GEOMETRY;
        map.geo = header[0].geo;
        std::memcpy(uuid_, header[0].uuid, sizeof(uuid_));
        return HT_OK;
    }

    ht_refusal state(const PairImage& image, ht_role role, ht_state& to) const {
        const Sector first = image.get(role, HT_STATE_SECTOR);
        const Sector second = image.get(role, HT_STATE_SECTOR + HT_STATE_STRIDE);
        const void* copies[HT_STATE_COPIES] = {first.data(), second.data()};
        return ht_state_decode(uuid_, role, copies, &to);
    }

    void create_map() {
        map.bucket_bits = 4;
        map.shard_bits = 1;
        slots_.assign(map.geo.slots, {});
        for (ht_slot& slot : slots_)
            slot.extent = slot.next = HT_NIL;
        bits_.assign(size_t{map.geo.slots} * HT_BITS * map.geo.words, 0);
        buckets_.assign(1U << map.bucket_bits, HT_NIL);
        map.slots = slots_.data();
        map.bits = bits_.data();
        map.buckets = buckets_.data();
        const u32 capacity = ht_lost_capacity(&map.geo);
        map.lost.bucket_bits = 4;
        lost_entries_.resize(capacity);
        lost_bits_.resize(size_t{capacity} * map.geo.words);
        lost_buckets_.resize(1U << map.lost.bucket_bits);
        lost_changed_.resize(map.geo.lost_sectors);
        map.lost.entries = lost_entries_.data();
        map.lost.bits = lost_bits_.data();
        map.lost.buckets = lost_buckets_.data();
        map.lost.changed = lost_changed_.data();
        ht_lost_reset(&map);
    }

    ht_refusal records(const PairImage& image, ht_trust trust, bool& dirty) {
        for (u32 index = 0; index < map.geo.meta_sectors; index++) {
            const Sector sector = image.get(HT_ROLE_FAST, map.geo.meta_start + index);
            const ht_refusal why =
                ht_load_records(&map, &pair, uuid_, index, sector.data(), trust, &dirty);
            if (why != HT_OK) return why;
        }
        return HT_OK;
    }

    ht_refusal lost_map(const PairImage& image) {
        for (u32 index = 0; index < map.geo.lost_sectors; index++) {
            const Sector sector = image.get(HT_ROLE_FAST, map.geo.lost_start + index);
            const ht_refusal why = ht_load_lost(&map, &pair, uuid_, index, sector.data());
            if (why != HT_OK) return why;
        }
        return HT_OK;
    }

    u8 uuid_[16] = {};
    std::vector<ht_slot> slots_;
    std::vector<u16> bits_;
    std::vector<u32> buckets_;
    std::vector<ht_lost_entry> lost_entries_;
    std::vector<u16> lost_bits_;
    std::vector<u32> lost_buckets_;
    std::vector<u8> lost_changed_;
};

} // namespace hintier::test
