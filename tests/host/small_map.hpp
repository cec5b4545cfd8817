// SPDX-License-Identifier: Apache-2.0
//
// A tiny map and engine to call by hand: eight slots, extents of 16 units, one shard to look at.

#pragma once

#include <cstring>
#include <vector>

#include "engine.h"
#include "lost.h"
#include "move.h"
#include "record.h"
#include "shard.h"

namespace hintier::test {

class SmallMap {
public:
    static constexpr u32 SLOTS = 8, EXTENTS = 64, SECTORS = 128, LOST = 4;

    explicit SmallMap(u8 mode = 0)
        : slots_(SLOTS), buckets_(4, HT_NIL), lost_(LOST), lost_bits_(LOST), lost_buckets_(4),
          lost_changed_(LOST / 2) {
        ht_geometry& geo = map.geo;
        geo.extent_shift = 7;
        geo.units = 16;
        geo.words = 1;
        geo.slots = SLOTS;
        geo.extents = EXTENTS;
        geo.per_sector = 41;
        geo.meta_sectors = 8;
        geo.lost_per_sector = 2;
        geo.lost_sectors = LOST / 2;
        geo.lost_start = 136;
        geo.meta_start = 128;
        geo.slot_start = 256;
        geo.home_start = 2048;
        bits_.resize(size_t{SLOTS} * HT_BITS);
        for (ht_slot& s : slots_)
            s.extent = s.next = HT_NIL;
        map.slots = slots_.data();
        map.bits = bits_.data();
        map.buckets = buckets_.data();
        map.bucket_bits = 2;
        map.shard_bits = 1;
        map.mode = mode;
        map.epoch = 1;
        map.lost.entries = lost_.data();
        map.lost.bits = lost_bits_.data();
        map.lost.buckets = lost_buckets_.data();
        map.lost.changed = lost_changed_.data();
        map.lost.bucket_bits = 2;
        ht_lost_reset(&map);
        const ht_lost_record unused{};
        for (u32 i = 0; i < LOST; i++)
            ht_lost_load(&map, i, &unused);
        ht_tunables_init(&engine.tune);
        ht_engine_init(&engine, &geo, slots_.data());
    }

    SmallMap(SmallMap&&) = default; // its arrays stay where they are
    SmallMap(const SmallMap&) = delete;

    static ht_request request(u8 op, u32 extent, u32 from, u32 to) {
        ht_request r{};
        r.op = op;
        r.extent = extent;
        r.from = from;
        r.to = to;
        return r;
    }

    ht_answer begin(const ht_request& r) {
        ht_answer a{};
        memset(&a, 0xee, sizeof(a)); // every member must be written
        ht_begin(&map, &shard, &r, &a);
        return a;
    }

    u32 end(ht_request r, const ht_answer& a, bool ok = true) {
        r.to = a.to;
        return ht_end(&map, &shard, &r, a.verdict == HT_DO_FAST ? a.slot : HT_NIL, a.verdict, ok);
    }

    // A whole-unit write that lands in this slot, which the extent gets if it has none.
    void write(u32 extent, u32 slot, u32 from, u32 to) {
        if (ht_lookup(&map, extent) == HT_NIL) ht_admit(&map, slot, extent, HT_SLOT_LIVE);
        const ht_request r = request(HT_REQ_WRITE, extent, from, to);
        const ht_answer a = begin(r);
        if (a.verdict == HT_DO_FAST) end(r, a);
    }

    // A commit of one slot in which nothing fails.
    u32 commit(u32 slot, ht_record* ret = nullptr) {
        ht_record record{};
        ht_record_gather(&map, slot, true, &record);
        if (ret) *ret = record;
        return ht_record_publish(&map, slot, &record);
    }

    // Home and slot agree, and the record says so.
    void destage(u32 slot) {
        ht_move move{};
        bool clean = false;
        if (ht_destage_begin(&map, &shard, slot, &move))
            ht_destage_finish(&map, &move, true, &clean);
        commit(slot);
    }

    // Its owner can do without what is dirty there, and it is dropped.
    ht_dropped drop(u32 slot, u32 from = 0, u32 to = 16) {
        ht_mark_volatile(&map, slot, from, to, map.epoch + 1);
        const u32 entry = ht_lost_take(&map);
        ht_dropped ret{};
        ht_drop(&map, &shard, slot, from, to, entry, &ret);
        if (!ret.took && entry != HT_NIL) ht_lost_give(&map, entry);
        return ret;
    }

    // The lost map becomes durable.
    void commit_lost() {
        for (u32 i = 0; i < LOST; i++) {
            if (lost_[i].extent == HT_NIL) continue;
            ht_lost_record record{};
            ht_lost_gather(&map, i, &record);
            if (ht_lost_publish(&map, i)) ht_lost_give(&map, i);
        }
    }

    // Lost units of an extent that no slot holds, as bits.
    u16 lost(u32 extent) const {
        u16 bits = 0;
        for (u32 unit = 0; unit < 16; unit++) {
            u32 end = unit + 1;
            if (ht_lost_run(&map, ht_lookup(&map, extent), extent, unit, &end))
                bits |= u16(1U << unit);
        }
        return bits;
    }

    u16 bits(u32 slot, ht_bits which) const { return *ht_slot_bits(&map, slot, which); }
    ht_slot& slot(u32 n) { return slots_[n]; }

    ht_map map{};
    ht_engine engine{};
    ht_shard shard{};

private:
    std::vector<ht_slot> slots_;
    std::vector<u16> bits_;
    std::vector<u32> buckets_;
    std::vector<ht_lost_entry> lost_;
    std::vector<u16> lost_bits_;
    std::vector<u32> lost_buckets_;
    std::vector<u8> lost_changed_;
};

} // namespace hintier::test
