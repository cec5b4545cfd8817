// SPDX-License-Identifier: Apache-2.0
//
// A host for core: what the module does around it, on two devices that are arrays, with a
// scheduler that is a dice. Every step of every request, transfer and commit is a step of its
// own, so that a history of numbers is an interleaving; a cut may come between any two.

#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "bits.h"
#include "commit.h"
#include "engine.h"
#include "fate.h"
#include "format.h"
#include "load.h"
#include "lost.h"
#include "move.h"
#include "pair.h"
#include "record.h"
#include "shard.h"

#include "sim/device.hpp"
#include "sim/dice.hpp"
#include "sim/oracle.hpp"

namespace hintier::sim {

struct Options {
    uint8_t mode = 0;        // enum hintier_mode
    bool cached = true;      // devices have volatile caches
    bool errors = false;     // requests to devices fail at times
    bool stalls = false;     // a device lies still at times
    bool passes = true;      // discards go down to bulk
    bool reloads = true;     // clean stops, and cuts that the history goes on after
    uint32_t extents = 12;   // of the tier
    uint32_t sectors = 128;  // of an extent
    uint32_t slots = 6;      // of fast
    uint32_t reserve = 300;  // tunable
    uint32_t per_sector = 2; // records in a metadata sector
    uint32_t hot = 4;        // extents that get most requests
    uint32_t fua = 10;       // percent of the writes
    uint32_t discard = 12;   // percent of the requests
    uint32_t read = 40;      // percent of the requests
    uint32_t small = 25;     // percent of the writes are smaller than a unit
    uint32_t commit = 7;     // percent of the steps go to commits
    uint32_t flush = 3;      // and to flushes
    uint32_t background = 5; // and to decisions of the engine
    uint32_t fill = 20;      // percent of the reads bring their extent to fast
    uint32_t hint = 3;       // percent of the steps go to hints about volatile data
    uint32_t lost = 4;       // entries of the lost map
    uint32_t bad = 0;        // percent of the steps spoil a place of fast
    uint32_t grow = 0;       // extents that bulk has beyond those of the tier's first table
    bool dying = false;      // bulk dies at times, until the next power cut
    bool images = false;     // after some cuts a device is found as it was at an earlier stop
};

// What a power cut leaves, and what the user knows of it.
struct World {
    explicit World(const Options& options);

    Device fast, bulk;
    Oracle oracle;
    bool parted = false; // bulk was, or may have been, written without fast
};

class Sim {
public:
    explicit Sim(const Options& options);
    Sim(const Sim&) = delete;

    void step(uint64_t number, uint64_t dice); // numbers grow
    void settle();                             // lets everything in flight end
    void read_everything();
    // Destages and forgets everything and reads it again; then no slot may be missing.
    void prove();
    // Becomes what a cut of the other leaves, recovers and reads every sector. The same number
    // loses the same writes.
    void crash_of(const Sim& other, uint64_t number);
    void check(); // the invariants that hold between any two steps

    uint64_t number() const { return number_; }
    const std::string& failure() const { return failure_; }
    bool ok() const { return failure_.empty(); }

    // Work done: a history that does nothing proves nothing.
#define HT_SIM_COUNTS(each)                                                                        \
    each(fast) each(home) each(joined) each(waits) each(commits) each(failed_commits)              \
        each(destages) each(clean_destages) each(fills) each(valid_fills) each(tees)               \
            each(evictions) each(discards) each(trims) each(intents) each(admitted) each(refused)  \
                each(reloads) each(cuts) each(parted) each(refused_dirty) each(user_errors)        \
                    each(hints) each(pins) each(tables) each(drops) each(drops_refused) each(lost) \
                        each(spoiled) each(retired) each(unread) each(stuck) each(grown)           \
                            each(not_shrunk) each(deaths) each(old_fast) each(old_bulk)            \
                                each(without_bulk) each(padded)
    struct Counts {
#define HT_SIM_COUNT(name) uint64_t name = 0;
        HT_SIM_COUNTS(HT_SIM_COUNT)
#undef HT_SIM_COUNT
        // Extents that were clean at a cut; of those proved so, how many there were and still are.
        uint64_t clean_all = 0, clean_before = 0, clean_kept = 0;

        std::vector<std::pair<const char*, uint64_t>> named() const;
        void add(const Counts& other);
        void add_kept(const Counts& other);
    };
    Counts counts;
    bool verbose = false;

private:
    enum class Stage { Ask, Apply, End, Commit, Tee };

    // A user's request, or what is left of it: [req.from, req.to) within its extent.
    struct Request {
        uint64_t number = 0; // of the step that submitted it; of a write also its version
        ht_request req{};
        uint32_t first = 0, end = 0;
        bool fua = false;
        Stage stage = Stage::Ask;
        ht_answer answer{};
        uint64_t write = 0;            // in flight on a device
        uint64_t commit = 0;           // waits for this one
        ht_told told{};                // and what it said
        uint32_t when = 0;             // READ: submitted then
        std::vector<uint32_t> floors;  // READ: what it must at least see, by sector
        std::vector<uint32_t> gone;    // READ: up to there all was dropped before it came
        bool cut = false;              // READ: the first one after a cut
        std::vector<Tag> seen;         // READ
        bool recording = false;        // FUA: the piece has landed and waits for its record
        std::unique_ptr<ht_hold> hold; // DISCARD that goes down: until it ends
        bool nowait = false;           // a device that has to wait may say so instead
        ht_fault fault{};              // of the piece that is or was in flight
        bool tried = false;            // fast has failed the piece before
        bool unreadable = false;       // it met a place that only fast has, and fails
        bool failed = false;           // the user gets an error
        bool refused = false;          // because a piece of it is lost
        bool ended = false;
    };

    struct Transfer {
        uint64_t number = 0;
        bool fill = false;
        bool trim = false; // of its `move` only slot and extent count
        ht_move move{};
        uint64_t tee = 0; // the write whose data it takes; 0: it reads home
        bool fua = false;
        int step = 0;
        uint64_t write = 0;
        std::vector<Tag> data;
        ht_fault fault{};
        bool wrote = false; // to the slot
        bool ended = false;
    };

    // What is due next, and how far it is; the protocol itself is core/commit.c's.
    struct Commit {
        struct Record {
            ht_record record{};
            bool news = false; // else it says what it said before, and nothing follows from it
        };

        ht_commit_action action = HT_COMMIT_DONE;
        bool begun = false; // on the devices
        uint64_t number = 0;
        ht_commit protocol{};
        ht_commit_done done{};
        std::vector<uint32_t> sectors; // of this round
        std::vector<std::vector<Record>> records;
        std::vector<Sector> images;
        uint64_t write = 0; // of the first sector
        size_t written = 0;
        std::vector<uint32_t> lost; // sectors of the lost map, and their images
        std::vector<Sector> lost_images;
        Device::Flush fast_flush{}, bulk_flush{};
    };

    struct Flush {
        uint64_t number = 0;
        Oracle::Covered covered;
        uint64_t commit = 0;
    };

    // A write epoch, and what lay where when it began.
    struct Epoch {
        uint64_t number = 0;
        std::vector<uint32_t> issued; // by unit
    };

    struct Residency {
        uint32_t extent = 0;
        std::array<u16, HT_UNITS_MAX / 16> valid{};
    };

    enum { FAST, BULK };
    static constexpr uint32_t LOST = ~0U; // in place of a version: the read was refused

    void fail(const std::string& what);
    [[gnu::format(printf, 2, 3)]] void say(const char* format, ...) const;
    bool chance(unsigned percent) {
        return dice_.chance(percent);
    }
    uint32_t below(uint64_t n) {
        return dice_.below(n);
    }
    // A request to this device fails.
    bool error(unsigned percent) {
        return options_.errors && !quiet_ && chance(percent);
    }
    ht_fault fault(unsigned percent) {
        if (!error(percent)) return HT_FAULT_NONE;
        return chance(5) ? HT_FAULT_MEDIUM : HT_FAULT_DEVICE; // slots are few
    }
    bool still(int device) const {
        return !quiet_ && number_ < still_until_[device];
    }
    uint32_t tier_sector(uint32_t extent, uint32_t s) const {
        return extent * options_.sectors + s;
    }
    uint32_t slot_sector(uint32_t slot, uint32_t s) const {
        return slot * options_.sectors + s;
    }
    uint64_t meta_sector(uint32_t index) const {
        return map_.geo.meta_start + index;
    }
    uint64_t lost_sector(uint32_t index) const {
        return map_.geo.lost_start + index;
    }
    uint32_t room() const { // extents that bulk has
        return options_.extents + options_.grow;
    }
    ht_shard& shard(uint32_t extent) {
        return shards_[ht_shard_of(&map_, extent)];
    }

    void format();
    void reset_map();
    void apply_acts(uint32_t act, uint32_t slot);
    void place(uint32_t slot, uint32_t act);
    void record_later(uint32_t slot) {
        changed_[ht_record_sector(&map_.geo, slot)] = true;
    }

    // sim.cpp
    void submit();
    bool reserve_units(const Request& r, bool taken);
    void advance(Request& r);
    void ask(Request& r);
    void apply(Request& r);
    bool end_piece(Request& r);
    void check_refusal(const Request& r);
    bool may_call_dirty(uint32_t extent) const;
    void slot_failed(Request& r, const ht_request& piece, ht_ended& e);
    bool follow(Request& r, const ht_ended& e);
    bool next_piece(Request& r);
    void spoil();
    void finish(Request& r);
    void check_read(const Request& r);
    Request whole_extent(uint32_t extent);
    Request part_of(uint32_t extent, uint32_t from, uint32_t to);
    void lose_piece(Request& r);
    void rare();
    bool idle() const;

    // sim_move.cpp
    void start_fill(uint32_t extent);
    bool start_tee(Request& r);
    void end_tee(const Transfer& t);
    bool background();
    void advance(Transfer& t);
    bool step_fill(Transfer& t);
    bool step_destage(Transfer& t);
    void start_trim(uint32_t slot);
    bool step_trim(Transfer& t);
    void end_trims();
    void read_units(Transfer& t);
    void leave_unreadable(Transfer& t);
    void suspect(Transfer& t);
    void write_units(Transfer& t, bool home);
    void read_pad(Transfer& t);
    template <typename Visit>
    void each_sector(const Transfer& t, Visit visit, ht_move_part part = HT_MOVE_UNITS) {
        u32 unit = 0, end = 0;
        for (; ht_move_run(&map_.geo, &t.move, part, &unit, &end); unit = end)
            for (u32 s = unit * HT_UNIT_SECTORS; s < end * HT_UNIT_SECTORS; s++)
                visit(s);
    }

    // sim_hint.cpp
    void hint();
    void pin();
    void rule();
    void give_up(const Epoch& epoch, uint32_t slot, uint32_t from, uint32_t to);
    void done(const Epoch& epoch, uint32_t slot, uint32_t from, uint32_t to);
    u32 drop(uint32_t slot, uint32_t from, uint32_t to);
    void gather_lost();
    void publish_lost(bool ok);
    void load_lost();

    // sim_commit.cpp
    void commit_all();
    void begin_commit();
    void advance_commit();
    bool execute_commit();
    bool execute_flush();
    bool execute_write();
    bool execute_write_lost();
    bool execute_state();
    void gather();
    void publish_sector(u32 sector, const std::vector<Commit::Record>& records, bool ok);
    void publish(bool ok);
    void end_commit();
    void start_flush();
    bool any_dirty() const;
    uint64_t put_state(ht_role role);

    // recover.cpp
    void power_cut(const Sim& other, uint64_t number);
    void boot();
    bool start();
    bool load(bool discard_dirty);
    void load_records(ht_trust trust);
    bool reach(ht_pair_goal goal);
    bool power_goes();
    void read_after_cut();
    void read_after_cut(uint32_t extent, uint32_t from, uint32_t to);
    void clean_units(std::vector<Residency>& ret) const;
    std::vector<Residency> proved_clean() const;
    void count_kept(const std::vector<Residency>& before);
    void reload();
    void choose_table();
    bool fits();
    void restore_image(const Sim& other, uint64_t number);
    void keep_image_within();
    void check_same(const std::vector<ht_slot>& slots, const std::vector<u16>& bits);
    void give_up_dirty();
    std::vector<uint32_t> dirty_sectors() const;
    std::vector<uint32_t> resident_sectors() const;
    Device& device(ht_role role) {
        return role == HT_ROLE_FAST ? world_.fast : world_.bulk;
    }
    void evict_clean();
    void drain();

    Options options_;
    World world_;

    Dice dice_;
    uint64_t number_ = 0;
    uint64_t still_until_[2] = {};
    ht_map map_{};
    ht_engine engine_{};
    ht_pins pins_{};
    std::unique_ptr<ht_values> values_;
    std::vector<ht_slot> slots_;
    std::vector<u16> bits_;
    std::vector<u32> buckets_;
    std::vector<ht_shard> shards_;
    std::vector<ht_lost_entry> lost_;
    std::vector<u16> lost_bits_;
    std::vector<u32> lost_buckets_;
    std::vector<u8> lost_changed_;
    uint8_t uuid_[16] = {};
    uint64_t writes_ = 0;
    uint64_t commits_started_ = 0, commits_ended_ = 0;

    std::vector<Request> requests_;
    std::vector<Transfer> transfers_;
    std::vector<Flush> flushes_;
    ht_pair pair_{};
    std::vector<Epoch> epochs_;
    Commit commit_;
    uint64_t cut_number_ = 0;
    std::vector<Residency> clean_then_; // when the newest commit began that has ended well
    std::vector<Residency> clean_now_;  // when the newest commit began
    uint32_t table_ = 0;                // extents of the table that is loaded, or to be loaded next
    uint32_t grown_ = 0;                // of the largest one that ever was
    bool bulk_dead_ = false;
    uint64_t owed_ = 0; // acknowledged writes went with fast then, and no later FLUSH has failed
    std::shared_ptr<const Device> images_[2]; // fast and bulk as they were at a stop or start
    int power_left_ = -1;        // steps of a start or stop until the power goes; -1: it stays
    std::vector<uint32_t> went_; // dirty when fast was given up
    std::vector<uint32_t> dirty_then_;          // when fast was away
    std::pair<uint32_t, uint32_t> discarded_{}; // extent and sector, newest
    bool suspect_ = false;                      // fast has failed a request
    std::vector<bool> changed_;                 // record sectors
    // Slots of which a record calls units dirty: the newest that was published, or one gathered
    // since.
    std::vector<bool> called_dirty_;
    std::vector<bool> being_written_; // units of the tier
    bool bulk_written_ = true;        // since its last good flush
    bool bulk_torn_ = false;          // a destage has failed, and may have written a part
    bool draining_ = false;
    bool quiet_ = false; // nothing new, and no errors any more
    std::string failure_;
};

} // namespace hintier::sim
