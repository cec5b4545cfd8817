// SPDX-License-Identifier: Apache-2.0
#include "host/sim.hpp"

#include <algorithm>
#include <cstring>

#include <hintier/types.h>

namespace hintier::test {

namespace {

ht_geometry small_geometry(const SimOptions& o) {
    ht_geometry geo{};
    const uint64_t bulk = 2048 + uint64_t{o.extents} * o.extent_sectors;
    const uint64_t fast = 2048 + uint64_t{o.slots} * o.extent_sectors;
    if (ht_format_layout(fast, bulk, o.extent_sectors, &geo) != HT_OK) std::abort();
    geo.slots = o.slots;
    return geo;
}

constexpr int IN_FLIGHT = 10;
constexpr uint32_t HOT = 5;

} // namespace

Sim::Sim(const SimOptions& options)
    : options_(options), random_(options.seed),
      fast_(4096 + size_t{options.slots} * options.extent_sectors, options.cached),
      home_(4096 + size_t{options.extents} * options.extent_sectors, options.cached),
      meta_(small_geometry(options).meta_sectors, options.cached),
      oracle_(size_t{options.extents} * options.extent_sectors) {
    map_.geo = small_geometry(options);
    for (uint64_t s = 0; s < uint64_t{options.extents} * options.extent_sectors; s++)
        home_.write(map_.geo.home_start + s, {s, 0}, true);
    for (uint32_t i = 0; i < map_.geo.meta_sectors; i++) {
        Sector image;
        ht_records_init(uuid_.data(), &map_.geo, i, image.data());
        meta_.write(i, image, true);
    }
    reset_map();
    load_records();
}

void Sim::fail(const std::string& what) {
    if (failure_.empty()) failure_ = "seed " + std::to_string(options_.seed) + ": " + what;
}

void Sim::reset_map() {
    const ht_geometry geo = map_.geo;
    map_ = {};
    map_.geo = geo;
    map_.mode = options_.mode;
    map_.bucket_bits = 4;
    map_.shard_bits = 2;
    slots_.assign(geo.slots, {});
    for (ht_slot& s : slots_)
        s.extent = s.next = HT_NIL;
    bits_.assign(size_t{geo.slots} * HT_BITS * geo.words, 0);
    buckets_.assign(1U << map_.bucket_bits, HT_NIL);
    shards_.assign(1U << map_.shard_bits, {});
    map_.slots = slots_.data();
    map_.bits = bits_.data();
    map_.buckets = buckets_.data();
    ht_tunables_init(&engine_.tune);
    engine_.tune.high = 60;
    engine_.tune.low = 30;
    engine_.tune.reserve = 100;
    ht_engine_init(&engine_, &map_.geo, slots_.data());
}

// What the module does with the bits of an answer, under the engine's lock.
void Sim::apply_acts(uint32_t act, uint32_t slot) {
    if (act & HT_ACT_FREE) {
        ht_engine_remove(&engine_, slot);
        ht_engine_append(&engine_, slot, HT_LIST_FREE);
    } else if (act & HT_ACT_LIST) {
        ht_engine_move(&engine_, slot, ht_list_of(&map_, slot));
    }
    if (act & HT_ACT_RECORD) changed_.insert(ht_record_sector(&map_.geo, slot));
}

// The owner of a slot that is on no list puts it where it belongs.
void Sim::place(uint32_t slot, uint32_t act) {
    if (act & HT_ACT_RECORD) changed_.insert(ht_record_sector(&map_.geo, slot));
    ht_engine_append(&engine_, slot, act & HT_ACT_FREE ? HT_LIST_FREE : ht_list_of(&map_, slot));
}

uint64_t Sim::tier_sector(const Request& r, uint32_t in_extent) const {
    return uint64_t{r.req.extent} * options_.extent_sectors + in_extent;
}

// ---- requests -------------------------------------------------------------------------------

void Sim::submit() {
    Request r;
    const uint32_t sectors = options_.extent_sectors;
    const unsigned dice = random_() % 100;
    r.req.op = u8(dice < 40   ? HT_REQ_READ
                  : dice < 85 ? HT_REQ_WRITE
                  : dice < 88 ? HT_REQ_ZEROES
                              : HT_REQ_DISCARD);
    // A few extents get most of it, so that requests meet each other and transfers.
    r.req.extent = u32(random_() % (chance(60) ? HOT : options_.extents));
    const bool whole = r.req.op == HT_REQ_DISCARD || chance(75);
    const uint32_t grain = whole ? HT_UNIT_SECTORS : 1;
    r.first = u32(random_() % (sectors / grain)) * grain;
    r.end = std::min(sectors, r.first + grain * (1 + u32(random_() % (chance(30) ? 32 : 3))));
    if (r.req.op == HT_REQ_DISCARD && chance(30)) r.first = 0, r.end = sectors;
    r.req.from = r.first;
    r.req.to = r.end;
    r.req.pass = options_.discards_pass && chance(50);
    r.fua = r.req.op == HT_REQ_WRITE && chance(10);

    if (r.req.op == HT_REQ_READ) {
        r.req.from_home = chance(30);
        r.when = oracle_.now();
        for (uint32_t s = r.first; s < r.end; s++)
            r.floors.push_back(oracle_.floor(tier_sector(r, s)));
        r.seen.resize(r.end - r.first);
    } else {
        const uint64_t from = tier_sector(r, r.first) / HT_UNIT_SECTORS;
        const uint64_t to = (tier_sector(r, r.end) + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
        for (uint64_t u = from; u < to; u++)
            if (being_written_.count(u)) return; // a sane user waits
        for (uint64_t u = from; u < to; u++)
            being_written_.insert(u);
        r.version = ++version_;
        for (uint32_t s = r.first; s < r.end; s++) {
            if (r.req.op == HT_REQ_DISCARD)
                oracle_.discard(tier_sector(r, s));
            else
                oracle_.issue(tier_sector(r, s), r.version);
        }
    }
    requests_.push_back(std::move(r));
}

void Sim::ask(Request& r) {
    ht_begin(&map_, &shard(r.req.extent), &r.req, &r.answer);
    const ht_answer& a = r.answer;
    if (a.slot != HT_NIL) apply_acts(a.act, a.slot);
    counts_.discards += a.dropped;
    if (a.to <= r.req.from || a.to > r.req.to) return fail("an answer for no sectors, or too many");

    switch (a.verdict) {
    case HT_DO_FAST:
        counts_.fast++;
        r.stage = Stage::Apply;
        break;
    case HT_DO_HOME:
        counts_.home++;
        r.stage = Stage::Apply;
        break;
    case HT_DO_DROP:
        r.stage = Stage::End;
        break;
    case HT_DO_ADMIT: {
        const u32 slot = ht_engine_take(&engine_, false);
        if (slot == HT_NIL) {
            r.req.no_admit = true;
            counts_.refused++;
            break;
        }
        ht_admit(&map_, slot, r.req.extent, HT_SLOT_LIVE);
        ht_engine_append(&engine_, slot, HT_LIST_EMPTY);
        counts_.admitted++;
        break;
    }
    case HT_DO_TEE:
        if (start_tee(r))
            r.stage = Stage::Tee;
        else
            r.req.no_admit = true;
        break;
    case HT_DO_JOIN:
        counts_.joined++; // asks again: the fill's end serves it as well as its pages would
        break;
    case HT_DO_WAIT:
        counts_.waits++;
        break;
    case HT_DO_COMMIT:
        counts_.intents++;
        r.stage = Stage::Commit;
        r.commit = commits_started_ + 1;
        break;
    default:
        fail("verdict " + std::to_string(a.verdict) + " with both devices alive");
    }
}

// The device does its part; torn: a cut comes before it has done all of it.
void Sim::apply(Request& r, bool torn) {
    const ht_answer& a = r.answer;
    const bool to_fast = a.verdict == HT_DO_FAST;
    const uint64_t base =
        to_fast ? ht_slot_sector(&map_.geo, a.slot) : ht_home_sector(&map_.geo, r.req.extent);
    Disk<Tag>& disk = to_fast ? fast_ : home_;
    for (uint32_t s = r.req.from; s < a.to; s++) {
        if (torn && chance(50)) continue;
        const Tag tag{tier_sector(r, s), r.req.op == HT_REQ_DISCARD ? 0 : r.version};
        if (r.req.op == HT_REQ_READ)
            r.seen[s - r.first] = disk.read(base + s);
        else
            disk.write(base + s, tag, r.fua);
    }
    r.stage = Stage::End;
}

// Returns true when the whole request has ended.
bool Sim::end_piece(Request& r) {
    const ht_answer& a = r.answer;
    if (a.verdict != HT_DO_DROP) {
        const u32 slot = a.verdict == HT_DO_FAST ? a.slot : HT_NIL;
        ht_request piece = r.req;
        piece.to = a.to;
        const u32 act = ht_end(&map_, &shard(r.req.extent), &piece, slot, a.verdict, true);
        if (slot != HT_NIL) apply_acts(act, slot);
        r.record |= a.verdict == HT_DO_FAST;
    }
    r.req.from = a.to;
    r.req.no_admit = false;
    r.stage = Stage::Ask;
    if (r.req.from < r.end) return false;
    if (r.fua && r.record) { // data FUA completes, then record FUA (R9)
        r.record = false;
        r.stage = Stage::Commit;
        r.commit = commits_started_ + 1;
        return false;
    }
    return true;
}

void Sim::check_read(const Request& r) {
    for (uint32_t s = r.first; s < r.end; s++) {
        const uint64_t sector = tier_sector(r, s);
        const Tag& tag = r.seen[s - r.first];
        if (tag.sector != sector)
            return fail("sector " + std::to_string(sector) + " reads what belongs to sector " +
                        std::to_string(tag.sector));
        // Discarded while it was read: anything that was ever written there will do.
        const uint64_t floor = oracle_.cleared(sector) > r.when ? 0 : r.floors[s - r.first];
        if (tag.version < floor || tag.version > oracle_.ceiling(sector))
            return fail("sector " + std::to_string(sector) + " reads version " +
                        std::to_string(tag.version) + ", not " + std::to_string(floor) + " to " +
                        std::to_string(oracle_.ceiling(sector)));
    }
}

void Sim::finish(Request& r) {
    if (r.req.op == HT_REQ_READ) return check_read(r);
    for (uint32_t s = r.first; s < r.end; s++) {
        const uint64_t sector = tier_sector(r, s);
        being_written_.erase(sector / HT_UNIT_SECTORS);
        if (r.req.op == HT_REQ_DISCARD) continue;
        if (r.fua)
            oracle_.ack_durable(sector, r.version);
        else
            oracle_.ack(sector, r.version);
    }
}

void Sim::advance(size_t which) {
    Request& r = requests_[which];
    bool ended = false;
    switch (r.stage) {
    case Stage::Ask:
        if (r.req.from < r.end)
            ask(r);
        else
            ended = true; // a FUA write whose commit has ended
        break;
    case Stage::Apply:
        apply(r);
        break;
    case Stage::End:
        ended = end_piece(r);
        break;
    case Stage::Commit:
        if (commits_ended_ >= r.commit) r.stage = Stage::Ask;
        break;
    case Stage::Tee: // its transfer ends it
        break;
    }
    if (!ended) return;
    finish(r);
    if (r.req.op == HT_REQ_READ && chance(20)) start_fill(r.req.extent);
    requests_.erase(requests_.begin() + long(which));
}

// ---- the scheduler --------------------------------------------------------------------------

void Sim::step() {
    const unsigned dice = random_() % 100;
    if (dice < 25) {
        if (requests_.size() < IN_FLIGHT && !quiet_) submit();
    } else if (dice < 70) {
        if (!requests_.empty()) advance(random_() % requests_.size());
    } else if (dice < 85) {
        if (!transfers_.empty()) advance_transfer(random_() % transfers_.size());
    } else if (dice < 90) {
        background();
    } else if (dice < 97) {
        advance_commit();
    } else if (!flushes_.empty() && (quiet_ || chance(70))) {
        advance_flush(random_() % flushes_.size());
    } else if (flushes_.size() < 2 && !quiet_) {
        flushes_.emplace_back();
    }
}

void Sim::run(int steps) {
    for (int i = 0; i < steps && ok(); i++) {
        step();
        if (i % 64 == 0) check();
    }
}

void Sim::settle() {
    quiet_ = true;
    for (int i = 0; i < 200000 && ok(); i++) {
        if (requests_.empty() && transfers_.empty() && flushes_.empty() && !commit_.step) break;
        step();
    }
    if (!requests_.empty())
        fail("a request never ends, its last verdict was " +
             std::to_string(requests_[0].answer.verdict));
    if (!transfers_.empty() || !flushes_.empty()) fail("a transfer or flush never ends");
    for (const ht_shard& s : shards_)
        for (const u16 count : s.homing)
            if (count) fail("a home write is counted and not in flight");
    check();
    quiet_ = false;
}

void Sim::drain() {
    settle();
    quiet_ = draining_ = true;
    for (int i = 0; i < 100000 && ok() && (ht_engine_dirty(&engine_) || !transfers_.empty()); i++)
        step();
    if (ht_engine_dirty(&engine_)) fail("dirty slots are left after draining");
    settle();
    for (u32 slot = 0; slot < map_.geo.slots; slot++) {
        if (slots_[slot].list != HT_LIST_CLEAN) continue;
        u32 act = 0;
        ht_engine_remove(&engine_, slot);
        if (!ht_forget(&map_, slot, &act)) fail("an idle clean slot cannot be forgotten");
        place(slot, act);
    }
    quiet_ = true;
    for (int i = 0; i < 2 && ok(); i++)
        do
            advance_commit();
        while (commit_.step);
    if (engine_.count[HT_LIST_FREE] != map_.geo.slots)
        fail(std::to_string(map_.geo.slots - engine_.count[HT_LIST_FREE]) + " slots have leaked");
    quiet_ = draining_ = false;
    check();
}

// ---- cuts -----------------------------------------------------------------------------------

void Sim::load_records() {
    for (u32 sector = 0; sector < map_.geo.meta_sectors && ok(); sector++) {
        u64 seq = 0;
        const Sector& image = meta_.read(sector);
        if (ht_records_check(uuid_.data(), sector, image.data(), &seq) != HT_OK)
            return fail("a record sector is damaged");
        commit_seq_ = std::max<uint64_t>(commit_seq_, seq);
        for (u32 nth = 0; nth < map_.geo.per_sector; nth++) {
            const u32 slot = sector * map_.geo.per_sector + nth;
            if (slot >= map_.geo.slots) break;
            ht_record record{};
            if (ht_record_get(&map_.geo, image.data(), nth, &record) != HT_OK)
                return fail("a record cannot be decoded");
            if (ht_record_load(&map_, slot, &record, HT_TRUST_ALL) != HT_OK)
                return fail("extent " + std::to_string(record.extent) + " is recorded twice");
            ht_engine_append(&engine_, slot, record.used ? ht_list_of(&map_, slot) : HT_LIST_FREE);
        }
    }
}

void Sim::cut() {
    for (Request& r : requests_)
        if (r.stage == Stage::Apply && r.req.op != HT_REQ_READ) apply(r, true);
    fast_.cut(random_);
    home_.cut(random_);
    meta_.cut(random_);
    requests_.clear();
    transfers_.clear();
    flushes_.clear();
    commit_ = {};
    changed_.clear();
    being_written_.clear();
    commits_ended_ = commits_started_;
    reset_map();
    load_records();
    if (!ok()) return;
    check();
    for (uint32_t extent = 0; extent < options_.extents && ok(); extent++) {
        Request r = whole_extent(extent);
        for (uint32_t s = 0; s < r.end; s++)
            r.floors[s] = oracle_.durable(tier_sector(r, s));
        do {
            ask(r);
            if (r.stage != Stage::Apply) return fail("a read after a cut reaches no device");
            apply(r);
        } while (!end_piece(r));
        check_read(r);
        for (uint32_t s = 0; s < r.end; s++)
            oracle_.settle(tier_sector(r, s), r.seen[s].version);
    }
}

Sim::Request Sim::whole_extent(uint32_t extent) {
    Request r;
    r.req.op = HT_REQ_READ;
    r.req.extent = extent;
    r.req.to = r.end = options_.extent_sectors;
    r.when = oracle_.now();
    for (uint32_t s = 0; s < r.end; s++)
        r.floors.push_back(oracle_.floor(tier_sector(r, s)));
    r.seen.resize(r.end);
    return r;
}

void Sim::read_everything() {
    for (uint32_t extent = 0; extent < options_.extents; extent++)
        requests_.push_back(whole_extent(extent));
    settle();
}

// ---- invariants -----------------------------------------------------------------------------

void Sim::check() {
    std::vector<int> seen(map_.geo.slots, 0);
    for (u32 list = HT_LIST_FREE; list < HT_LISTS; list++) {
        const u32 kind = list == HT_LIST_AGED ? u32{HT_LIST_DIRTY} : list;
        u32 n = 0;
        for (u32 slot = engine_.head[list]; slot != HT_NIL; slot = slots_[slot].link, n++) {
            if (n > map_.geo.slots) return fail("a list goes round");
            if (slots_[slot].list != list) return fail("a slot is on another list than it says");
            if (list != HT_LIST_FREE && ht_list_of(&map_, slot) != kind)
                return fail("slot " + std::to_string(slot) + " is on list " + std::to_string(list) +
                            " and belongs on " + std::to_string(ht_list_of(&map_, slot)));
            seen[slot]++;
        }
        if (n != engine_.count[list]) return fail("a list is miscounted");
    }
    for (const Transfer& t : transfers_)
        seen[t.move.slot]++;

    std::set<u32> extents;
    for (u32 slot = 0; slot < map_.geo.slots; slot++) {
        const ht_slot& s = slots_[slot];
        if (seen[slot] != 1)
            return fail("slot " + std::to_string(slot) + " has " + std::to_string(seen[slot]) +
                        " owners");
        const u16* valid = ht_slot_bits(&map_, slot, HT_VALID);
        const u16* dirty = ht_slot_bits(&map_, slot, HT_DIRTY);
        if (s.list == HT_LIST_FREE) {
            if (s.extent != HT_NIL || s.state != HT_SLOT_FREE || s.readers || s.writers)
                return fail("a free slot is in use");
            continue;
        }
        for (u32 w = 0; w < map_.geo.words; w++)
            if (dirty[w] & ~valid[w]) return fail("a unit is dirty and not valid");
        if (!extents.insert(s.extent).second) return fail("an extent has two slots");
        if (ht_lookup(&map_, s.extent) != slot) return fail("a slot cannot be found");
    }
}

} // namespace hintier::test
