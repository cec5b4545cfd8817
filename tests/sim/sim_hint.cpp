// SPDX-License-Identifier: Apache-2.0
//
// What owners say about data that they can recompute, what the tier drops because of it, and the
// lost map on the device. Hints come late: the file was mapped in an earlier write epoch, and its
// blocks may have been written by somebody else since (R12).

#include "sim/sim.hpp"

#include <hintier/types.h>

namespace hintier::sim {

namespace {
constexpr size_t EPOCHS = 3;
}

void Sim::hint() {
    if (epochs_.size() < 2 || chance(25)) {
        if (epochs_.size() == EPOCHS) epochs_.erase(epochs_.begin());
        epochs_.push_back({++map_.epoch, world_.oracle.epoch()});
        say("epoch %u", map_.epoch);
        return;
    }
    const Epoch& epoch = chance(70) ? epochs_.back() : epochs_[below(epochs_.size())];
    const u32 extent = below(chance(70) ? options_.hot : map_.geo.extents);
    const u32 slot = ht_lookup(&map_, extent);
    const bool all = chance(50);
    const u32 from = all ? 0 : below(map_.geo.units);
    const u32 to = all ? map_.geo.units : from + 1 + below(map_.geo.units - from);
    counts.hints++;
    if (chance(20)) return pin();
    if (chance(10)) return rule();
    if (slot == HT_NIL) return;
    if (chance(60))
        give_up(epoch, slot, from, to);
    else
        done(epoch, slot, from, to);
}

// Pins of three openers, that overlap, end early, run out and meet a full quota.
void Sim::pin() {
    const u64 owner = 1 + below(3);
    const u32 from = below(map_.geo.extents);
    const u32 to = from + 1 + below(std::min(map_.geo.extents - from, map_.geo.slots));
    say("extents %u-%u: pinned or not any more", from, to);
    if (chance(60)) {
        counts.pins += !ht_engine_pin(&engine_, owner, from, to, u32(number_) + below(200));
        if (ht_pins_charged(&pins_, 0) > u64{map_.geo.slots} * engine_.tune.pins / 100)
            fail("more is pinned than may be");
    } else if (chance(80)) {
        ht_engine_unpin(&engine_, owner, from, to);
    } else {
        ht_engine_unpin_all(&engine_, owner);
    }
}

// A table of noise, that rules for a while.
void Sim::rule() {
    auto values = std::make_unique<ht_values>();
    hintier_values head{};
    head.groups = 1 + below(HINTIER_GROUPS);
    head.ttl_ms = 1 + below(300);
    for (u32 bin = 0; bin < HINTIER_AGE_BINS; bin++)
        head.edges_ms[bin] = bin * 1000;
    for (u32 group = 0; group < head.groups; group++) {
        hintier_value_row& row = values->rows[group];
        for (u32 bin = 0; bin < HINTIER_AGE_BINS; bin++) {
            row.clean[bin] = below(10);
            row.dirty[bin] = below(10);
        }
        row.drop = dice_.next() >> (64 - HINTIER_AGE_BINS);
    }
    if (ht_values_refusal(&head)) return fail("a good table is refused");
    ht_values_begin(values.get(), &head, u32(number_));
    ht_engine_rule(&engine_, values.get());
    values_ = std::move(values);
    counts.tables++;
    say("a table rules for %u steps", head.ttl_ms);
}

void Sim::give_up(const Epoch& epoch, uint32_t slot, uint32_t from, uint32_t to) {
    const u32 first = slots_[slot].extent * map_.geo.units;
    say("slot %u: units %u-%u volatile, as of epoch %u", slot, from, to, u32(epoch.number));
    for (u32 unit = from; unit < to; unit++)
        world_.oracle.give_up(first + unit, epoch.issued[first + unit]);
    ht_mark_volatile(&map_, slot, from, to, epoch.number);
    slots_[slot].klass = u8(below(HINTIER_CLASSES));
    slots_[slot].group = u8(below(HINTIER_GROUPS));
    slots_[slot].object = below(8);
    slots_[slot].depth = u8(below(4));
    ht_engine_regroup(&engine_, slot);
}

void Sim::done(const Epoch& epoch, uint32_t slot, uint32_t from, uint32_t to) {
    if (slots_[slot].epoch >= epoch.number) return;
    say("slot %u: units %u-%u done, as of epoch %u", slot, from, to, u32(epoch.number));
    apply_acts(drop(slot, from, to), slot);
    if (slots_[slot].extent == HT_NIL || from || to < map_.geo.units) return;
    u32 act = 0;
    const bool soon = ht_done(&map_, slot, &act);
    apply_acts(act, slot);
    if (soon) ht_engine_hurry(&engine_, slot);
}

// Returns HT_ACT_*, 0 if nothing was dropped.
u32 Sim::drop(uint32_t slot, uint32_t from, uint32_t to) {
    const u32 extent = slots_[slot].extent;
    if (extent == HT_NIL || !ht_may_drop(&map_, &shard(extent), slot, from, to)) return 0;
    std::vector<u32> units;
    for (u32 unit = from; unit < to; unit++)
        if (ht_bits_test(ht_slot_bits(&map_, slot, HT_VOLATILE), unit)) units.push_back(unit);

    const u32 entry = ht_lost_find(&map_, extent) == HT_NIL ? ht_lost_take(&map_) : u32{HT_NIL};
    const u64 object = slots_[slot].object;
    ht_dropped dropped{};
    ht_drop(&map_, &shard(extent), slot, from, to, entry, &dropped);
    if (entry != HT_NIL && !dropped.took) ht_lost_give(&map_, entry);
    if (!dropped.units) {
        counts.drops_refused++;
        return 0;
    }
    counts.drops += dropped.units;
    ht_engine_lost(&engine_, slot, object);
    say("slot %u: %u units dropped", slot, dropped.units);
    if (dropped.units != units.size()) fail("not all volatile units were dropped, or others");
    for (const u32 unit : units)
        if (!world_.oracle.drop(extent * map_.geo.units + unit))
            fail("unit " + std::to_string(extent * map_.geo.units + unit) +
                 " was dropped, and its owner needs it");
    return dropped.act;
}

// ---- on the device --------------------------------------------------------------------------

void Sim::gather_lost() {
    commit_.lost.clear();
    commit_.lost_images.clear();
    for (u32 sector = 0; sector < map_.geo.lost_sectors; sector++) {
        if (!lost_changed_[sector]) continue;
        lost_changed_[sector] = 0;
        Sector image;
        ht_lost_init(uuid_, sector, image.data());
        for (u32 nth = 0; nth < map_.geo.lost_per_sector; nth++) {
            const u32 entry = sector * map_.geo.lost_per_sector + nth;
            ht_lost_record record{};
            if (lost_[entry].extent != HT_NIL) ht_lost_gather(&map_, entry, &record);
            ht_lost_put(&map_.geo, image.data(), nth, &record);
        }
        ht_lost_seal(uuid_, sector, commit_.protocol.seq, image.data());
        commit_.lost.push_back(sector);
        commit_.lost_images.push_back(image);
    }
}

void Sim::publish_lost(bool ok) {
    for (const u32 sector : commit_.lost)
        for (u32 nth = 0; nth < map_.geo.lost_per_sector; nth++) {
            const u32 entry = sector * map_.geo.lost_per_sector + nth;
            if (lost_[entry].extent == HT_NIL) continue;
            if (!ok)
                ht_lost_revert(&map_, entry);
            else if (ht_lost_publish(&map_, entry))
                ht_lost_give(&map_, entry);
        }
}

void Sim::load_lost() {
    for (u32 sector = 0; sector < map_.geo.lost_sectors && ok(); sector++) {
        const Sector& image = world_.fast.meta.read(lost_sector(sector));
        if (ht_load_lost(&map_, &pair_, uuid_, sector, image.data()) != HT_OK)
            return fail("sector " + std::to_string(sector) + " of the lost map is refused");
    }
}

} // namespace hintier::sim
