// SPDX-License-Identifier: Apache-2.0
//
// The simulated host's own work: transfers between the devices, commits, flushes.

#include "host/sim.hpp"

namespace hintier::test {

namespace {
constexpr int TRANSFERS = 4;
}

// ---- transfers ------------------------------------------------------------------------------

void Sim::start_fill(uint32_t extent) {
    if (transfers_.size() >= TRANSFERS) return;
    const u32 slot = ht_engine_take(&engine_, true);
    if (slot == HT_NIL) return;
    const u32 from = u32(random_() % map_.geo.units);
    const u32 to = from + 1 + u32(random_() % (map_.geo.units - from));
    Transfer t;
    t.fill = true;
    if (!ht_fill_begin(&map_, &shard(extent), slot, extent, from, to, &t.move))
        return ht_engine_append(&engine_, slot, HT_LIST_FREE);
    counts_.fills++;
    transfers_.push_back(std::move(t));
}

// Write-through: a fill that takes the data from the writer and writes it home first.
bool Sim::start_tee(Request& r) {
    if (transfers_.size() >= TRANSFERS) return false;
    const u32 slot = ht_engine_take(&engine_, false);
    if (slot == HT_NIL) return false;
    Transfer t;
    t.fill = true;
    t.tee = r.version;
    t.fua = r.fua;
    if (!ht_fill_begin(&map_, &shard(r.req.extent), slot, r.req.extent,
                       r.req.from / HT_UNIT_SECTORS, r.answer.to / HT_UNIT_SECTORS, &t.move)) {
        ht_engine_append(&engine_, slot, HT_LIST_FREE);
        return false;
    }
    counts_.tees++;
    transfers_.push_back(std::move(t));
    return true;
}

// Its data is home: the write has ended, whatever becomes of the slot.
void Sim::end_tee(const Transfer& t) {
    for (Request& r : requests_) {
        if (r.version != t.tee || r.stage != Stage::Tee) continue;
        r.answer.verdict = HT_DO_DROP; // nothing is left to end
        r.stage = Stage::End;
        return;
    }
    fail("a written-through request has gone");
}

void Sim::background() {
    ht_situation now{};
    for (const Transfer& t : transfers_)
        now.destaging += !t.fill;
    now.reads_wait = chance(30);
    now.drain = draining_;
    u32 slot = HT_NIL, act = 0;
    switch (ht_engine_next(&engine_, &now, &slot)) {
    case HT_WORK_NONE:
        return;
    case HT_WORK_EVICT:
        counts_.evictions += ht_forget(&map_, slot, &act);
        return place(slot, act);
    case HT_WORK_DESTAGE: {
        Transfer t;
        if (!ht_destage_begin(&map_, &shard(slots_[slot].extent), slot, &t.move))
            return place(slot, 0);
        counts_.destages++;
        transfers_.push_back(std::move(t));
        return;
    }
    }
}

bool Sim::step_fill(Transfer& t) {
    const uint64_t home = ht_home_sector(&map_.geo, t.move.extent);
    const uint64_t slot = ht_slot_sector(&map_.geo, t.move.slot);
    u32 unit = 0, end = 0;
    const int step = t.step++;
    if (step == 0) {
        t.data.resize(options_.extent_sectors);
        for (; ht_move_run(&map_.geo, &t.move, &unit, &end); unit = end)
            for (u32 s = unit * HT_UNIT_SECTORS; s < end * HT_UNIT_SECTORS; s++) {
                const uint64_t sector = uint64_t{t.move.extent} * options_.extent_sectors + s;
                if (t.tee) home_.write(home + s, {sector, t.tee}, t.fua);
                t.data[s] = home_.read(home + s);
            }
        return false;
    }
    if (step == 1) {
        if (t.tee) end_tee(t);
        t.ok = ht_fill_wanted(&map_, &t.move);
        for (; t.ok && ht_move_run(&map_.geo, &t.move, &unit, &end); unit = end)
            for (u32 s = unit * HT_UNIT_SECTORS; s < end * HT_UNIT_SECTORS; s++)
                fast_.write(slot + s, t.data[s]);
        return false;
    }
    bool valid = false;
    const u32 act = ht_fill_finish(&map_, &t.move, t.ok, &valid);
    counts_.valid_fills += valid;
    place(t.move.slot, act);
    return true;
}

bool Sim::step_destage(Transfer& t) {
    const uint64_t home = ht_home_sector(&map_.geo, t.move.extent);
    const uint64_t slot = ht_slot_sector(&map_.geo, t.move.slot);
    u32 unit = 0, end = 0;
    const int step = t.step++;
    if (step == 0) {
        t.data.resize(options_.extent_sectors);
        for (; ht_move_run(&map_.geo, &t.move, &unit, &end); unit = end)
            for (u32 s = unit * HT_UNIT_SECTORS; s < end * HT_UNIT_SECTORS; s++)
                t.data[s] = fast_.read(slot + s);
        return false;
    }
    if (step == 1) {
        t.ok = !options_.errors || quiet_ || !chance(10);
        for (; ht_move_run(&map_.geo, &t.move, &unit, &end); unit = end)
            for (u32 s = unit * HT_UNIT_SECTORS; s < end * HT_UNIT_SECTORS; s++)
                if (t.ok || chance(50)) home_.write(home + s, t.data[s]);
        return false;
    }
    bool clean = false;
    const u32 act = ht_destage_finish(&map_, &t.move, t.ok, &clean);
    counts_.clean_destages += clean;
    place(t.move.slot, act);
    return true;
}

void Sim::advance_transfer(size_t which) {
    Transfer& t = transfers_[which];
    if (t.fill ? step_fill(t) : step_destage(t)) transfers_.erase(transfers_.begin() + long(which));
}

// ---- commits and flushes --------------------------------------------------------------------

void Sim::start_commit() {
    commit_ = {};
    commit_.step = 1;
    commit_.number = ++commits_started_;
    commit_.sectors.assign(changed_.begin(), changed_.end());
    changed_.clear();
    for (const u32 sector : commit_.sectors) {
        Sector image;
        ht_records_init(uuid_.data(), &map_.geo, sector, image.data());
        std::vector<ht_record> records;
        for (u32 nth = 0; nth < map_.geo.per_sector; nth++) {
            const u32 slot = sector * map_.geo.per_sector + nth;
            if (slot >= map_.geo.slots) break;
            ht_record record{};
            const u32 needs = ht_record_gather(&map_, slot, &record);
            commit_.bulk |= needs & HT_GATHER_BULK;
            if (needs & HT_GATHER_AGAIN) changed_.insert(sector);
            ht_record_put(&map_.geo, image.data(), nth, &record);
            records.push_back(record);
        }
        ht_records_seal(uuid_.data(), sector, ++commit_seq_, image.data());
        commit_.images.push_back(image);
        commit_.records.push_back(std::move(records));
    }
}

void Sim::end_commit(bool ok) {
    for (size_t i = 0; i < commit_.sectors.size(); i++) {
        for (u32 nth = 0; nth < commit_.records[i].size(); nth++) {
            const u32 slot = commit_.sectors[i] * map_.geo.per_sector + nth;
            if (ok)
                apply_acts(ht_record_publish(&map_, slot, &commit_.records[i][nth]), slot);
            else if (slots_[slot].extent != HT_NIL)
                ht_record_revert(&map_, slot);
        }
    }
    if (!ok) changed_.insert(commit_.sectors.begin(), commit_.sectors.end());
    ok ? counts_.commits++ : counts_.failed_commits++;
    if (ok) commits_ended_ = commit_.number;
    commit_.step = 0;
}

void Sim::advance_commit() {
    const bool error = options_.errors && !quiet_ && chance(3);
    switch (commit_.step) {
    case 0:
        return start_commit();
    case 1: // data before mapping, homes before clean records
        if (error) return end_commit(false);
        fast_.flush();
        if (commit_.bulk) home_.flush();
        commit_.step = 2;
        return;
    case 2:
        if (error) return end_commit(false);
        if (commit_.written < commit_.sectors.size()) {
            meta_.write(commit_.sectors[commit_.written], commit_.images[commit_.written]);
            commit_.written++;
            return;
        }
        commit_.step = 3;
        return;
    default:
        if (error) return end_commit(false);
        fast_.flush();
        meta_.flush();
        end_commit(true);
    }
}

void Sim::advance_flush(size_t which) {
    Flush& f = flushes_[which];
    if (f.step == 0) {
        f.covered = oracle_.flush_submitted();
        f.commit = commits_started_ + 1;
        f.step = 1;
    } else if (commits_ended_ >= f.commit) {
        fast_.flush();
        meta_.flush();
        home_.flush();
        oracle_.flush_completed(f.covered);
        flushes_.erase(flushes_.begin() + long(which));
    }
}

} // namespace hintier::test
