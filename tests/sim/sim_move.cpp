// SPDX-License-Identifier: Apache-2.0
//
// Transfers between the devices, and the decisions that start them.

#include "sim/sim.hpp"

#include <hintier/types.h>

namespace hintier::sim {

namespace {
constexpr size_t TRANSFERS = 4;
constexpr Tag NOISE{}; // no sector of the tier holds it
} // namespace

void Sim::start_fill(uint32_t extent) {
    if (transfers_.size() >= TRANSFERS || map_.mode >= HINTIER_MODE_BYPASS) return;
    const u32 slot = ht_engine_take(&engine_, true);
    if (slot == HT_NIL) return;
    const u32 from = below(map_.geo.units);
    const u32 to = from + 1 + below(map_.geo.units - from);
    Transfer t;
    t.number = number_;
    t.fill = true;
    if (!ht_fill_begin(&map_, &shard(extent), slot, extent, from, to, &t.move))
        return ht_engine_append(&engine_, slot, HT_LIST_FREE);
    counts.fills++;
    transfers_.push_back(std::move(t));
}

// Write-through: a fill that takes the data from the writer and writes it home first.
bool Sim::start_tee(Request& r) {
    if (transfers_.size() >= TRANSFERS) return false;
    const u32 slot = ht_engine_take(&engine_, false);
    if (slot == HT_NIL) return false;
    Transfer t;
    t.number = number_;
    t.fill = true;
    t.tee = r.number;
    t.fua = r.fua;
    if (!ht_fill_begin(&map_, &shard(r.req.extent), slot, r.req.extent,
                       r.req.from / HT_UNIT_SECTORS, r.answer.to / HT_UNIT_SECTORS, &t.move)) {
        ht_engine_append(&engine_, slot, HT_LIST_FREE);
        return false;
    }
    counts.tees++;
    transfers_.push_back(std::move(t));
    return true;
}

// Its data is home, or could not be brought there: the write has ended, whatever becomes of the
// slot.
void Sim::end_tee(const Transfer& t) {
    for (Request& r : requests_) {
        if (r.number != t.tee || r.stage != Stage::Tee) continue;
        r.answer.verdict = HT_DO_DROP; // nothing is left to end
        r.failed = t.fault;
        r.stage = Stage::End;
        return;
    }
    fail("a written-through request has gone");
}

// One decision; false if there was none.
bool Sim::background() {
    if (map_.mode >= HINTIER_MODE_BYPASS) return false;
    ht_situation now{};
    for (const Transfer& t : transfers_)
        now.destaging += !t.fill && !t.trim;
    now.reads_wait = chance(30);
    now.drain = draining_;
    now.tick = u32(number_);
    now.quiet = engine_.tune.quiet_ms;
    now.read_at = now.tick - below(3 * now.quiet + 1);
    now.now = u32(number_);
    now.second = u16(number_ / 20);
    u32 slot = HT_NIL, act = 0;
    const ht_work work = ht_engine_next(&engine_, &now, &slot);
    switch (work) {
    case HT_WORK_NONE:
    case HT_WORK_WAIT:
        break;
    case HT_WORK_SORT:
        return true;
    case HT_WORK_EVICT:
        counts.evictions += ht_forget(&map_, slot, &act);
        say("slot %u: evicted", slot);
        place(slot, act);
        return true;
    case HT_WORK_SHED:
    case HT_WORK_DESTAGE: {
        if (work == HT_WORK_SHED) act = drop(slot, 0, map_.geo.units);
        Transfer t;
        t.number = number_;
        if (slots_[slot].extent == HT_NIL ||
            !ht_destage_begin(&map_, &shard(slots_[slot].extent), slot, &t.move)) {
            place(slot, act);
            return act;
        }
        if (act & HT_ACT_RECORD) record_later(slot);
        counts.destages++;
        transfers_.push_back(std::move(t));
        return true;
    }
    }
    return false;
}

void Sim::read_units(Transfer& t) {
    t.data.resize(options_.sectors);
    t.fault = fault(5);
    if (t.fill && bulk_dead_) t.fault = HT_FAULT_DEVICE;
    each_sector(t, [&](u32 s) {
        const u32 place = slot_sector(t.move.slot, s);
        const bool readable = t.fill || world_.fast.can_read(place);
        if (!readable && !t.fault) t.fault = HT_FAULT_MEDIUM;
        t.data[s] = t.fill     ? world_.bulk.data.read(tier_sector(t.move.extent, s))
                    : readable ? world_.fast.data.read(place)
                               : NOISE;
    });
}

// Without it the drive has to do that.
void Sim::read_pad(Transfer& t) {
    if (!t.move.padding) return;
    if (fault(5) || bulk_dead_) return ht_move_unpad(&t.move);
    t.data.resize(options_.sectors);
    each_sector(
        t, [&](u32 s) { t.data[s] = world_.bulk.data.read(tier_sector(t.move.extent, s)); },
        HT_MOVE_PAD);
    counts.padded += t.move.padding;
}

// Of a write that fails some sectors may be written.
void Sim::write_units(Transfer& t, bool home) {
    t.fault = fault(10);
    t.write = ++writes_;
    if (home && bulk_dead_) {
        t.fault = HT_FAULT_DEVICE;
        return;
    }
    u32 unit = 0, end = 0;
    for (; !home && ht_move_run(&map_.geo, &t.move, HT_MOVE_UNITS, &unit, &end); unit = end)
        if (!world_.fast.write(slot_sector(t.move.slot, unit * HT_UNIT_SECTORS),
                               slot_sector(t.move.slot, end * HT_UNIT_SECTORS)))
            t.fault = HT_FAULT_MEDIUM;
    each_sector(
        t,
        [&](u32 s) {
            if (t.fault && chance(50)) return;
            if (home)
                world_.bulk.data.put(t.write, tier_sector(t.move.extent, s), t.data[s]);
            else
                world_.fast.data.put(t.write, slot_sector(t.move.slot, s), t.data[s]);
        },
        home ? HT_MOVE_HOME : HT_MOVE_UNITS);
}

// Fast has failed a transfer: does it still live, and is the place to blame?
void Sim::suspect(Transfer& t) {
    suspect_ |= bool(t.fault);
    t.move.bad |= t.fault == HT_FAULT_MEDIUM;
}

// Unit by unit what can be read goes home, the rest stays.
void Sim::leave_unreadable(Transfer& t) {
    for (u32 unit = 0; unit < map_.geo.units; unit++)
        if (ht_bits_test(t.move.units, unit) &&
            !world_.fast.can_read(slot_sector(t.move.slot, unit * HT_UNIT_SECTORS)))
            ht_move_leave(&t.move, unit);
    if (t.move.count) t.fault = HT_FAULT_NONE;
}

// Each number is a step: [write home, its end,] read home, write the slot, its end, finish.
bool Sim::step_fill(Transfer& t) {
    enum { TEE, TEE_END, READ, WRITE, WRITE_END, FINISH };
    switch (t.step) {
    case TEE:
        t.step = t.tee ? TEE_END : READ;
        if (!t.tee) return false;
        t.data.resize(options_.sectors);
        each_sector(t, [&](u32 s) {
            t.data[s] = {tier_sector(t.move.extent, s), uint32_t(t.tee)};
        });
        write_units(t, true);
        return false;
    case TEE_END:
        world_.bulk.data.complete(t.write, t.fua && !t.fault);
        bulk_written_ = true;
        end_tee(t);
        t.step = t.fault ? FINISH : WRITE;
        return false;
    case READ:
        read_units(t);
        t.step = t.fault ? FINISH : WRITE;
        return false;
    case WRITE:
        t.wrote = ht_fill_wanted(&map_, &t.move);
        t.step = t.wrote ? WRITE_END : FINISH;
        if (t.wrote) write_units(t, false);
        return false;
    case WRITE_END:
        world_.fast.data.complete(t.write);
        suspect(t);
        t.step = FINISH;
        return false;
    default:
        bool valid = false;
        const u32 act = ht_fill_finish(&map_, &t.move, t.wrote && !t.fault, &valid);
        counts.valid_fills += valid;
        bulk_written_ |= valid && bulk_torn_; // it may have read what was left there
        place(t.move.slot, act);
        return true;
    }
}

bool Sim::step_destage(Transfer& t) {
    enum { PAD, READ, WRITE, WRITE_END, FINISH };
    switch (t.step++) {
    case PAD:
        read_pad(t);
        return false;
    case READ:
        read_units(t);
        suspect(t);
        if (t.fault == HT_FAULT_MEDIUM) leave_unreadable(t);
        if (t.fault) t.step = FINISH;
        return false;
    case WRITE:
        write_units(t, true);
        return false;
    case WRITE_END:
        world_.bulk.data.complete(t.write);
        (t.fault ? bulk_torn_ : bulk_written_) = true;
        return false;
    default:
        bool clean = false;
        const u32 act = ht_destage_finish(&map_, &t.move, !t.fault, &clean);
        counts.stuck += slots_[t.move.slot].state == HT_SLOT_STUCK;
        counts.clean_destages += clean;
        place(t.move.slot, act);
        return true;
    }
}

// No record claims the extent any more whose home a discard had to leave alone.
void Sim::start_trim(uint32_t slot) {
    ht_engine_remove(&engine_, slot);
    Transfer t;
    t.number = number_;
    t.trim = true;
    t.move.slot = slot;
    t.move.extent = slots_[slot].extent;
    transfers_.push_back(std::move(t));
}

// Bulk may take a discard or leave it.
bool Sim::step_trim(Transfer& t) {
    enum { DISCARD, DISCARD_END, FINISH };
    switch (t.step++) {
    case DISCARD:
        t.write = ++writes_;
        for (u32 s = 0; s < options_.sectors; s++)
            if (chance(90) && !bulk_dead_)
                world_.bulk.data.put(t.write, tier_sector(t.move.extent, s),
                                     {tier_sector(t.move.extent, s), 0});
        return false;
    case DISCARD_END:
        world_.bulk.data.complete(t.write);
        bulk_written_ = true;
        return false;
    default:
        counts.trims++;
        place(t.move.slot, ht_trim_finish(&map_, t.move.slot));
        return true;
    }
}

// A stop lets the slots go and leaves their homes alone.
void Sim::end_trims() {
    for (const Transfer& t : transfers_)
        if (t.trim) place(t.move.slot, ht_trim_finish(&map_, t.move.slot));
    std::erase_if(transfers_, [](const Transfer& t) { return t.trim; });
}

void Sim::advance(Transfer& t) {
    if (still(FAST) || still(BULK)) return;
    say("slot %u: %s of extent %u, step %d", t.move.slot,
        t.trim   ? "trim"
        : t.fill ? "fill"
                 : "destage",
        t.move.extent, t.step);
    t.ended = t.trim ? step_trim(t) : t.fill ? step_fill(t) : step_destage(t);
}

} // namespace hintier::sim
