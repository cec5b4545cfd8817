// SPDX-License-Identifier: Apache-2.0
//
// A host for core: what the module does around it, on devices that are arrays, with a scheduler
// that is a dice. Every step of every request, transfer and commit is a step of its own, so that
// a seed is an interleaving; a cut may come between any two.

#pragma once

#include <array>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine.h"
#include "format.h"
#include "move.h"
#include "record.h"
#include "shard.h"

#include "host/disk.hpp"
#include "host/oracle.hpp"

namespace hintier::test {

struct SimOptions {
    uint64_t seed = 1;
    uint8_t mode = 0;          // enum hintier_mode
    bool cached = true;        // devices have volatile caches
    bool errors = false;       // home writes of destages and metadata writes fail at times
    bool discards_pass = true; // discards go down to bulk
    uint32_t extents = 40;
    uint32_t extent_sectors = 128;
    uint32_t slots = 24;
};

class Sim {
public:
    explicit Sim(const SimOptions& options);

    void run(int steps); // random work
    void settle();       // lets everything in flight end
    void drain();        // destages and forgets everything; then no slot may be missing
    void cut();          // power cut and recovery; every sector is read and checked
    void read_everything();
    void check(); // the invariants that hold between any two steps

    const std::string& failure() const { return failure_; }
    bool ok() const { return failure_.empty(); }

    struct Counts {
        uint64_t fast, home, joined, waits, commits, failed_commits, destages, clean_destages;
        uint64_t fills, valid_fills, tees, evictions, discards, intents, admitted, refused;
    };
    const Counts& counts() const { return counts_; }

private:
    using Sector = std::array<unsigned char, HT_SECTOR_BYTES>;

    enum class Stage { Ask, Apply, End, Commit, Tee };

    // A user's request, or what is left of it: [req.from, req.to) within its extent.
    struct Request {
        ht_request req{};
        uint32_t first = 0, end = 0;
        uint64_t version = 0;
        bool fua = false;
        Stage stage = Stage::Ask;
        ht_answer answer{};
        uint64_t commit = 0;          // goes on when this commit has ended
        uint64_t when = 0;            // READ: submitted then
        std::vector<uint64_t> floors; // READ: what it must at least see, by sector
        std::vector<Tag> seen;        // READ
        bool record = false;          // FUA: some piece lies in fast and has to be recorded
    };

    struct Transfer {
        bool fill = false;
        ht_move move{};
        uint64_t tee = 0; // version of the write whose data it takes; 0: it reads home
        bool fua = false;
        int step = 0;
        std::vector<Tag> data;
        bool ok = true;
    };

    struct Commit {
        int step = 0; // 0: none
        uint64_t number = 0;
        std::vector<uint32_t> sectors;
        std::vector<std::vector<ht_record>> records;
        std::vector<Sector> images;
        size_t written = 0;
        bool bulk = false;
    };

    struct Flush {
        Oracle::Covered covered;
        uint64_t commit = 0;
        int step = 0;
    };

    void fail(const std::string& what);
    bool chance(unsigned percent) { return random_() % 100 < percent; }
    uint64_t tier_sector(const Request& r, uint32_t in_extent) const;
    ht_shard& shard(uint32_t extent) { return shards_[ht_shard_of(&map_, extent)]; }

    void reset_map();
    void apply_acts(uint32_t act, uint32_t slot);
    void place(uint32_t slot, uint32_t act);

    void step();
    void submit();
    void advance(size_t which);
    void ask(Request& r);
    void apply(Request& r, bool torn = false);
    bool end_piece(Request& r);
    void finish(Request& r);
    void check_read(const Request& r);
    Request whole_extent(uint32_t extent);
    void start_fill(uint32_t extent);
    bool start_tee(Request& r);
    void end_tee(const Transfer& t);
    void background();
    void advance_transfer(size_t which);
    bool step_fill(Transfer& t);
    bool step_destage(Transfer& t);
    void start_commit();
    void advance_commit();
    void end_commit(bool ok);
    void advance_flush(size_t which);
    void load_records();

    SimOptions options_;
    std::mt19937_64 random_;
    ht_map map_{};
    ht_engine engine_{};
    std::vector<ht_slot> slots_;
    std::vector<u16> bits_;
    std::vector<u32> buckets_;
    std::vector<ht_shard> shards_;
    std::array<u8, 16> uuid_{};

    Disk<Tag> fast_, home_;
    Disk<Sector> meta_;
    Oracle oracle_;
    uint64_t version_ = 0, commit_seq_ = 0;
    uint64_t commits_started_ = 0, commits_ended_ = 0;

    std::deque<Request> requests_;
    std::deque<Transfer> transfers_;
    std::deque<Flush> flushes_;
    Commit commit_;
    std::set<uint32_t> changed_;       // record sectors
    std::set<uint64_t> being_written_; // units of the tier
    bool draining_ = false;
    bool quiet_ = false; // no errors any more
    std::string failure_;
    Counts counts_{};
};

} // namespace hintier::test
