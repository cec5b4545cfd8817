// SPDX-License-Identifier: Apache-2.0
//
// Commits and what waits for them: the protocol that core/record.h states.

#include "sim/sim.hpp"

namespace hintier::sim {

namespace {
enum { IDLE, FLUSH, FLUSHING, WRITE, WRITING, FLUSH_META, FLUSHING_META };
}

void Sim::start_commit() {
    commit_ = {};
    commit_.step = FLUSH;
    commit_.number = ++commits_started_;
    for (const Flush& f : flushes_)
        commit_.bulk |= f.commit == commit_.number;
    for (u32 sector = 0; sector < map_.geo.meta_sectors; sector++) {
        if (!changed_[sector]) continue;
        changed_[sector] = false;
        commit_.sectors.push_back(sector);
        Sector image;
        ht_records_init(uuid_, &map_.geo, sector, image.data());
        std::vector<ht_record> records;
        for (u32 nth = 0; nth < map_.geo.per_sector; nth++) {
            const u32 slot = sector * map_.geo.per_sector + nth;
            if (slot >= map_.geo.slots) break;
            ht_record record{};
            const u32 needs = ht_record_gather(&map_, slot, &record);
            commit_.bulk |= !!(needs & HT_GATHER_BULK);
            if (needs & HT_GATHER_AGAIN) changed_[sector] = true;
            ht_record_put(&map_.geo, image.data(), nth, &record);
            records.push_back(record);
        }
        ht_records_seal(uuid_, sector, ++commit_seq_, image.data());
        commit_.images.push_back(image);
        commit_.records.push_back(std::move(records));
    }
    commit_.bulk &= bulk_written_;
    if (commit_.bulk) bulk_written_ = false;
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
        if (!ok) changed_[commit_.sectors[i]] = true;
    }
    ok ? counts.commits++ : counts.failed_commits++;
    if (ok) commits_ended_ = commit_.number;
    end_flushes(ok);
    commit_.step = IDLE;
}

void Sim::advance_commit() {
    if (still(FAST) || still(BULK)) return;
    say("commit: step %d", commit_.step);
    switch (commit_.step) {
    case IDLE:
        return start_commit();
    case FLUSH: // data before mapping, homes before clean records
        commit_.fast_flush = world_.fast.flush_begin();
        commit_.bulk_flush = world_.bulk.flush_begin();
        commit_.step = FLUSHING;
        return;
    case FLUSHING:
        if (error(3)) {
            bulk_written_ |= commit_.bulk;
            return end_commit(false);
        }
        world_.fast.flush_end(commit_.fast_flush);
        if (commit_.bulk) world_.bulk.flush_end(commit_.bulk_flush);
        commit_.step = WRITE;
        return;
    case WRITE:
        commit_.write = writes_ + 1;
        for (size_t i = 0; i < commit_.sectors.size(); i++)
            world_.fast.meta.put(++writes_, meta_sector(commit_.sectors[i]), commit_.images[i]);
        commit_.step = WRITING;
        return;
    case WRITING: // they end one by one
        if (commit_.written < commit_.sectors.size()) {
            world_.fast.meta.complete(commit_.write + commit_.written++);
            return;
        }
        if (error(3)) return end_commit(false);
        commit_.step = FLUSH_META;
        return;
    case FLUSH_META:
        commit_.fast_flush = world_.fast.flush_begin();
        commit_.step = FLUSHING_META;
        return;
    default:
        if (error(3)) return end_commit(false);
        world_.fast.flush_end(commit_.fast_flush);
        end_commit(true);
    }
}

// All that has changed until now is recorded.
void Sim::commit_all() {
    const bool quiet = quiet_;
    quiet_ = true;
    for (int i = 0; i < 2; i++)
        do
            advance_commit();
        while (commit_.step != IDLE);
    quiet_ = quiet;
}

// ---- flushes: their commit covers what was acknowledged when they were submitted ---------------

void Sim::start_flush() {
    Flush f;
    f.number = number_;
    f.covered = world_.oracle.flush_submitted();
    f.commit = commits_started_ + 1;
    say("flush: waits for commit %d", int(f.commit));
    flushes_.push_back(std::move(f));
}

void Sim::end_flushes(bool ok) {
    std::erase_if(flushes_, [&](const Flush& f) {
        if (f.commit > commit_.number) return false;
        if (ok) world_.oracle.flush_completed(f.covered);
        return true; // the user of one that failed gets an error
    });
}

} // namespace hintier::sim
