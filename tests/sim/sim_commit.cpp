// SPDX-License-Identifier: Apache-2.0
//
// Carries commits out, one action of core/commit.h after the other, each in the steps that it
// takes on a device.

#include "sim/sim.hpp"

namespace hintier::sim {

namespace {
constexpr size_t ROUND = 2; // sectors that one round of a commit takes
}

bool Sim::any_dirty() const {
    bool destaging = false;
    for (const Transfer& t : transfers_)
        destaging |= !t.fill && !t.trim;
    return destaging || ht_engine_all_dirty(&engine_) ||
           map_.lost.used; // bulk knows of none of them
}

void Sim::begin_commit() {
    u32 why = flushes_.empty() ? 0 : HT_COMMIT_FOR_FLUSH;
    if (suspect_) why |= HT_COMMIT_FOR_PROBE;
    suspect_ = false;
    commit_ = {};
    commit_.number = ++commits_started_;
    clean_now_.clear();
    clean_units(clean_now_);
    commit_.action = ht_commit_begin(&commit_.protocol, &map_, &pair_, why);
    if (commit_.action == HT_COMMIT_DONE) end_commit();
}

void Sim::gather() {
    commit_.sectors.clear();
    commit_.records.clear();
    commit_.images.clear();
    commit_.done.needs = 0;
    u32 sector = commit_.protocol.cursor;
    for (; sector < map_.geo.meta_sectors && commit_.sectors.size() < ROUND; sector++) {
        if (!changed_[sector]) continue;
        changed_[sector] = false;
        Sector image;
        ht_records_init(uuid_, &map_.geo, sector, image.data());
        std::vector<Commit::Record> records;
        u32 all = 0;
        for (u32 nth = 0; nth < map_.geo.per_sector; nth++) {
            const u32 slot = sector * map_.geo.per_sector + nth;
            if (slot >= map_.geo.slots) break;
            ht_record record{};
            const u32 needs = ht_record_gather(&map_, slot, commit_.protocol.homes, &record);
            all |= needs;
            if (ht_bits_any(record.dirty, 0, map_.geo.units)) called_dirty_[slot] = true;
            if (needs & HT_GATHER_AGAIN) changed_[sector] = true;
            ht_record_put(&map_.geo, image.data(), nth, &record);
            records.push_back({record, needs != 0});
        }
        commit_.done.needs |= all;
        if (all & HT_GATHER_HELD) {
            publish_sector(sector, records, false);
            continue;
        }
        ht_records_seal(uuid_, sector, commit_.protocol.seq, image.data());
        commit_.sectors.push_back(sector);
        commit_.images.push_back(image);
        commit_.records.push_back(std::move(records));
    }
    commit_.done.count = u32(commit_.sectors.size());
    commit_.done.next = sector;
    commit_.done.more = commit_.sectors.size() == ROUND;
    gather_lost(); // after the records: what they let go of is in it (R10)
    commit_.done.lost = u32(commit_.lost.size());
}

void Sim::publish_sector(u32 sector, const std::vector<Commit::Record>& records, bool ok) {
    for (u32 nth = 0; nth < records.size(); nth++) {
        const u32 slot = sector * map_.geo.per_sector + nth;
        if (slots_[slot].extent == HT_NIL || !records[nth].news) continue;
        if (!ok) {
            ht_record_revert(&map_, slot);
            continue;
        }
        const ht_record& record = records[nth].record;
        called_dirty_[slot] = ht_bits_any(record.dirty, 0, map_.geo.units);
        apply_acts(ht_record_publish(&map_, slot, &record), slot);
    }
    if (!ok) changed_[sector] = true;
}

void Sim::publish(bool ok) {
    for (size_t i = 0; i < commit_.sectors.size(); i++)
        publish_sector(commit_.sectors[i], commit_.records[i], ok);
    publish_lost(ok);
}

// A flush that fails may have done its work, or not.
bool Sim::execute_flush() {
    if (!commit_.begun) {
        commit_.fast_flush = world_.fast.flush_begin();
        commit_.bulk_flush = world_.bulk.flush_begin();
        return false;
    }
    const u8 devices = commit_.protocol.flush;
    u8& failed = commit_.done.failed;
    if ((devices & HT_ON_FAST) && error(1)) failed |= HT_ON_FAST;
    if ((devices & HT_ON_BULK) && (error(6) || bulk_dead_)) failed |= HT_ON_BULK;
    if ((devices & ~failed) & HT_ON_FAST) world_.fast.flush_end(commit_.fast_flush);
    if ((devices & ~failed) & HT_ON_BULK) world_.bulk.flush_end(commit_.bulk_flush);
    return true;
}

// The sectors are in flight together and end one by one.
bool Sim::execute_write() {
    if (!commit_.begun) {
        commit_.write = writes_ + 1;
        commit_.written = 0;
        for (size_t i = 0; i < commit_.sectors.size(); i++)
            world_.fast.meta.put(++writes_, meta_sector(commit_.sectors[i]), commit_.images[i]);
        return false;
    }
    if (commit_.written < commit_.sectors.size()) {
        world_.fast.meta.complete(commit_.write + commit_.written++);
        return false;
    }
    if (error(1)) commit_.done.failed = HT_ON_FAST;
    return true;
}

bool Sim::execute_write_lost() {
    if (!commit_.begun) {
        commit_.write = ++writes_;
        for (size_t i = 0; i < commit_.lost.size(); i++)
            world_.fast.meta.put(commit_.write, lost_sector(commit_.lost[i]),
                                 commit_.lost_images[i]);
        return false;
    }
    world_.fast.meta.complete(commit_.write);
    if (error(1)) commit_.done.failed = HT_ON_FAST;
    return true;
}

// A flush before, and FUA.
uint64_t Sim::put_state(ht_role role) {
    Sector image;
    ht_state_encode(uuid_, role, &pair_.next, image.data());
    device(role).flush_end(device(role).flush_begin());
    device(role).meta.put(++writes_, ht_state_sector(pair_.next.seq), image);
    return writes_;
}

bool Sim::execute_state() {
    if (!commit_.begun) {
        world_.parted |= !pair_.running;
        commit_.write = ++writes_;
        if (!bulk_dead_) commit_.write = put_state(HT_ROLE_BULK);
        return false;
    }
    if (error(10) || bulk_dead_) commit_.done.failed = HT_ON_BULK;
    world_.bulk.meta.complete(commit_.write, !commit_.done.failed);
    return true;
}

// One step of the action that is due; true when it has ended.
bool Sim::execute_commit() {
    switch (commit_.action) {
    case HT_COMMIT_STATE:
        return execute_state();
    case HT_COMMIT_FLUSH:
        return execute_flush();
    case HT_COMMIT_WRITE_LOST:
        return execute_write_lost();
    case HT_COMMIT_WRITE:
        return execute_write();
    case HT_COMMIT_GATHER:
        gather();
        return true;
    case HT_COMMIT_TAKE:
        commit_.done.written = bulk_written_;
        bulk_written_ = false;
        return true;
    case HT_COMMIT_GIVE:
        bulk_written_ = true;
        return true;
    case HT_COMMIT_PUBLISH:
    case HT_COMMIT_REVERT:
        publish(commit_.action == HT_COMMIT_PUBLISH);
        return true;
    case HT_COMMIT_DONE:
        break;
    }
    return true;
}

void Sim::advance_commit() {
    if (commit_.action == HT_COMMIT_DONE) return begin_commit();
    if (still(FAST) || still(BULK)) return;
    constexpr const char* ACTIONS[] = {"state",      "gather", "take",    "flush",  "give",
                                       "write lost", "write",  "publish", "revert", "done"};
    say("commit %d: %s", int(commit_.number), ACTIONS[commit_.action]);
    if (!commit_.begun) commit_.done.failed = 0;
    const bool ended = execute_commit();
    commit_.begun = !ended;
    if (!ended) return;
    const u8 mode = map_.mode;
    commit_.done.dirty = any_dirty();
    commit_.action = ht_commit_next(&commit_.protocol, &commit_.done);
    if (map_.mode != mode) {
        counts.parted++;
        went_ = dirty_sectors();
        for (const uint32_t s : went_)
            if (world_.oracle.floor(s) > world_.oracle.durable(s)) owed_ = number_;
        say("fast is given up: mode %d", map_.mode);
    }
    if (commit_.action == HT_COMMIT_DONE) end_commit();
}

void Sim::end_commit() {
    const bool whole = ht_commit_whole(&commit_.protocol);
    whole ? counts.commits++ : counts.failed_commits++;
    counts.without_bulk += !whole && !commit_.protocol.failed && commit_.protocol.count;
    commits_ended_ = commit_.number;
    if (whole) clean_then_ = clean_now_;
    for (Request& r : requests_) {
        if (r.stage != Stage::Commit || r.commit != commit_.number) continue;
        r.told = ht_commit_tell(&commit_.protocol, r.recording ? HT_WAITS_FUA : HT_WAITS_TURN);
    }
    const bool ok = ht_commit_tell(&commit_.protocol, HT_WAITS_FLUSH) == HT_TOLD_DONE;
    if (!ok && !options_.errors && !bulk_dead_ && !flushes_.empty())
        fail("a flush fails, and no device has");
    std::erase_if(flushes_, [&](const Flush& f) {
        if (f.commit > commit_.number) return false;
        if (ok && owed_) fail("a flush succeeds, and what it covers went with fast");
        if (f.number > owed_) owed_ = 0;
        if (ok) world_.oracle.flush_completed(f.covered, !commit_.protocol.bypass);
        return true; // the user of one that failed gets an error
    });
}

// All that has changed until now is recorded.
void Sim::commit_all() {
    const bool quiet = quiet_;
    quiet_ = true;
    for (int i = 0; i < 2; i++)
        do
            advance_commit();
        while (ok() && commit_.action != HT_COMMIT_DONE);
    quiet_ = quiet;
}

// Its commit covers what was acknowledged when it was submitted.
void Sim::start_flush() {
    Flush f;
    f.number = number_;
    f.covered = world_.oracle.flush_submitted();
    f.commit = commits_started_ + 1;
    say("flush: waits for commit %d", int(f.commit));
    flushes_.push_back(std::move(f));
}

} // namespace hintier::sim
