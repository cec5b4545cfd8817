// SPDX-License-Identifier: Apache-2.0
//
// What happens to a tier without a clean stop, and with one: the end of all that is in flight,
// recovery from what the devices hold, and the checks that follow.

#include "sim/sim.hpp"

#include <algorithm>

#include <hintier/types.h>

namespace hintier::sim {

namespace {

ht_geometry small_geometry(const Options& o) {
    ht_geometry geo{};
    const uint64_t start = 2048, extents = std::max(o.extents + o.grow, 64U);
    if (ht_format_layout(start + extents * o.sectors, start + extents * o.sectors, o.sectors,
                         &geo) != HT_OK)
        std::abort();
    // Smaller than a format may be: many states in few steps, and cheap to copy.
    geo.extents = o.extents;
    geo.slots = o.slots;
    geo.per_sector = o.per_sector;
    geo.meta_start = HT_STATE_SECTOR + HT_STATE_COPIES * HT_STATE_STRIDE;
    geo.meta_sectors = (o.slots + o.per_sector - 1) / o.per_sector;
    geo.lost_per_sector = 2;
    geo.lost_sectors = (o.lost + 1) / 2;
    geo.lost_start = geo.meta_start + geo.meta_sectors;
    return geo;
}

} // namespace

World::World(const Options& o)
    : fast(size_t{o.slots} * o.sectors,
           small_geometry(o).lost_start + small_geometry(o).lost_sectors, o.cached),
      bulk(size_t{o.extents + o.grow} * o.sectors,
           HT_STATE_SECTOR + HT_STATE_COPIES * HT_STATE_STRIDE, o.cached),
      oracle(size_t{o.extents + o.grow} * o.sectors) {}

Sim::Sim(const Options& options) : options_(options), world_(options) {
    map_.geo = small_geometry(options);
    table_ = grown_ = options.extents;
    format();
    boot();
}

void Sim::format() {
    for (uint32_t s = 0; s < room() * options_.sectors; s++)
        world_.bulk.data.format(s, {s, 0});
    for (u32 i = 0; i < map_.geo.meta_sectors; i++) {
        Sector image;
        ht_records_init(uuid_, &map_.geo, i, image.data());
        world_.fast.meta.format(meta_sector(i), image);
    }
    for (const ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
        Sector image;
        ht_state_encode(uuid_, role, &pair_.next, image.data());
        device(role).meta.format(ht_state_sector(0), image);
    }
    for (u32 i = 0; i < map_.geo.lost_sectors; i++) {
        Sector image;
        ht_lost_init(uuid_, i, image.data());
        world_.fast.meta.format(lost_sector(i), image);
    }
}

void Sim::reset_map() {
    ht_geometry geo = map_.geo;
    geo.extents = table_;
    map_ = {};
    map_.geo = geo;
    map_.mode = options_.mode;
    map_.bucket_bits = 3;
    map_.shard_bits = 1;
    ht_slot empty{};
    empty.extent = empty.next = HT_NIL;
    slots_.assign(geo.slots, empty);
    bits_.assign(size_t{geo.slots} * HT_BITS * geo.words, 0);
    buckets_.assign(1U << map_.bucket_bits, HT_NIL);
    shards_.assign(1U << map_.shard_bits, {});
    map_.slots = slots_.data();
    map_.bits = bits_.data();
    map_.buckets = buckets_.data();
    map_.epoch = 1;
    map_.iu = 1U << below(4);
    lost_.resize(ht_lost_capacity(&geo));
    lost_bits_.resize(lost_.size() * geo.words);
    lost_changed_.resize(geo.lost_sectors);
    map_.lost.entries = lost_.data();
    map_.lost.bits = lost_bits_.data();
    map_.lost.changed = lost_changed_.data();
    map_.lost.bucket_bits = 2;
    lost_buckets_.resize(1U << map_.lost.bucket_bits);
    map_.lost.buckets = lost_buckets_.data();
    ht_lost_reset(&map_);
    ht_tunables_init(&engine_.tune);
    engine_.tune.high = 60;
    engine_.tune.low = 30;
    engine_.tune.reserve = options_.reserve;
    engine_.tune.pins = 90;
    engine_.tune.pins_one = 60;
    engine_.pins = &pins_;
    ht_engine_init(&engine_, &map_.geo, slots_.data());
}

// ---- activation -----------------------------------------------------------------------------

void Sim::load_records(ht_trust trust) {
    for (u32 sector = 0; sector < map_.geo.meta_sectors && ok(); sector++) {
        bool dirty = false;
        const Sector& image = world_.fast.meta.read(meta_sector(sector));
        if (ht_load_records(&map_, &pair_, uuid_, sector, image.data(), trust, &dirty) != HT_OK)
            return fail("record sector " + std::to_string(sector) + " is refused");
        for (u32 nth = 0; nth < map_.geo.per_sector; nth++) {
            const u32 slot = sector * map_.geo.per_sector + nth;
            ht_record record{};
            ht_record_get(&map_.geo, image.data(), nth, &record);
            if (slot < map_.geo.slots)
                called_dirty_[slot] = ht_bits_any(record.dirty, 0, map_.geo.units);
        }
    }
    for (u32 slot = 0; slot < map_.geo.slots; slot++) {
        ht_engine_append(&engine_, slot, ht_list_of(&map_, slot));
        if (slots_[slot].flags & HT_F_CHANGED) record_later(slot);
    }
}

// The operator's table: a longer one at times, or one from before the tier has grown.
void Sim::choose_table() {
    const uint64_t die = mix(cut_number_, 5);
    if (die % 4 == 0)
        table_ = std::min(room(), table_ + 1 + uint32_t(die / 4 % 2));
    else if (die % 4 == 1)
        table_ = options_.extents;
}

// A table that is too short is refused, and the operator takes one of the tier's size.
bool Sim::fits() {
    if (ht_pair_resize(&pair_, table_) != HT_OK) {
        if (table_ >= grown_) fail("a table of the tier's size is refused");
        counts.not_shrunk++;
        table_ = uint32_t(pair_.extents);
        if (ht_pair_resize(&pair_, table_) != HT_OK) fail("the tier's own size is refused");
    }
    if (table_ < grown_) fail("a tier has shrunk");
    return ok();
}

// Reads what the devices hold; false if the tier refuses to run on that.
bool Sim::load(bool discard_dirty) {
    ht_state states[2]{};
    for (const ht_role role : {HT_ROLE_FAST, HT_ROLE_BULK}) {
        const void* copies[HT_STATE_COPIES];
        for (u32 i = 0; i < HT_STATE_COPIES; i++)
            copies[i] = device(role).meta.read(HT_STATE_SECTOR + i * HT_STATE_STRIDE).data();
        if (ht_state_decode(uuid_, role, copies, &states[role - 1]) != HT_OK) {
            fail("no state of the pair is whole");
            return true;
        }
    }
    const ht_trust trust = ht_pair_load(&pair_, &states[0], &states[1], discard_dirty);
    if (!fits()) return true;
    reset_map();
    changed_.assign(map_.geo.meta_sectors, false);
    called_dirty_.assign(map_.geo.slots, false);
    load_records(trust);
    if (ok()) load_lost();
    if (pair_.differ && !world_.parted) fail("the pair's epochs differ");
    return ht_pair_judge(&pair_, any_dirty()) == HT_OK;
}

// The power goes on the way of some starts and stops.
bool Sim::power_goes() {
    if (power_left_ < 0 || power_left_--) return false;
    say("cut on the way");
    power_cut(*this, mix(cut_number_, 9));
    return true;
}

// An image of fast that is made between two writes of a start.
void Sim::keep_image_within() {
    if (images_[FAST] && pair_.fast.flags & HT_STATE_MOVING && mix(cut_number_, 11) % 3 == 0)
        images_[FAST] = std::make_shared<const Device>(world_.fast);
}

// False if the power has gone before the goal was reached.
bool Sim::reach(ht_pair_goal goal) {
    ht_pair_action action = ht_pair_begin(&pair_, goal, any_dirty());
    while (action != HT_PAIR_DONE && action != HT_PAIR_FAILED) {
        if (action == HT_PAIR_COMMIT) {
            commit_all();
        } else {
            const ht_role role = action == HT_PAIR_WRITE_FAST ? HT_ROLE_FAST : HT_ROLE_BULK;
            const uint64_t write = put_state(role);
            if (power_goes()) return false;
            device(role).meta.complete(write, true);
        }
        if (power_goes()) return false;
        action = ht_pair_next(&pair_, true);
        if (goal == HT_PAIR_START) keep_image_within();
    }
    if (goal == HT_PAIR_START) {
        counts.grown += table_ > grown_;
        grown_ = std::max(grown_, table_);
    }
    if (action == HT_PAIR_FAILED) fail("a goal of the pair is not reached");
    return true;
}

// Bulk was written without fast, and the operator gives up what was dirty: in memory when fast was
// given up, or by the records that it still has.
void Sim::give_up_dirty() {
    for (const uint32_t s : dirty_then_)
        world_.oracle.discard(s);
    for (const uint32_t s : dirty_sectors())
        world_.oracle.discard(s);
    for (const auto& sectors : {dirty_then_, dirty_sectors()})
        for (const uint32_t s : sectors)
            world_.oracle.haunt(s / HT_UNIT_SECTORS);
}

std::vector<uint32_t> Sim::dirty_sectors() const {
    std::vector<uint32_t> sectors;
    for (u32 slot = 0; slot < map_.geo.slots; slot++) {
        if (slots_[slot].extent == HT_NIL) continue;
        const u16* dirty = ht_slot_bits(&map_, slot, HT_DIRTY);
        for (u32 s = 0; s < options_.sectors; s++)
            if (ht_bits_test(dirty, s / HT_UNIT_SECTORS))
                sectors.push_back(tier_sector(slots_[slot].extent, s));
    }
    // What is lost only fast knows for certain, too.
    for (size_t i = 0; i < lost_.size(); i++)
        for (u32 s = 0; s < options_.sectors && lost_[i].extent != HT_NIL; s++)
            if (ht_bits_test(&lost_bits_[i * map_.geo.words], s / HT_UNIT_SECTORS))
                sectors.push_back(tier_sector(lost_[i].extent, s));
    return sectors;
}

// False if the power has gone again before the tier could run.
bool Sim::start() {
    bulk_written_ = true; // nobody knows what bulk holds in its cache
    bulk_torn_ = bulk_dead_ = false;
    owed_ = 0;
    suspect_ = false;
    if (!load(false)) {
        counts.refused_dirty++;
        give_up_dirty();
        if (!load(true)) fail("dirty data cannot be given up");
    }
    if (!ok()) return true;
    const bool dirty = any_dirty();
    map_.bulk = dirty ? HT_BULK_PARTIAL : HT_BULK_WHOLE;
    if (dirty && !world_.parted && !(pair_.bulk.flags & HT_STATE_HAS_DIRTY))
        fail("fast holds dirty data, and bulk says that it is whole");
    return reach(HT_PAIR_START);
}

// The tier is activated on what the devices hold.
void Sim::boot() {
    requests_.clear();
    transfers_.clear();
    flushes_.clear();
    epochs_.clear();
    commit_ = {};
    clean_then_.clear();
    commits_ended_ = commits_started_;
    being_written_.assign(room() * options_.sectors / HT_UNIT_SECTORS, false);
    choose_table();
    while (ok() && !start())
        ;
    if (!ok()) return;
    world_.parted = false;
    went_.clear();
    check();
}

// ---- cuts -----------------------------------------------------------------------------------

void Sim::power_cut(const Sim& other, uint64_t number) {
    world_.parted = other.world_.parted;
    world_.fast.cut_from(other.world_.fast, mix(number, 1));
    world_.bulk.cut_from(other.world_.bulk, mix(number, 2));
}

void Sim::crash_of(const Sim& other, uint64_t number) {
    std::vector<Residency> clean;
    other.clean_units(clean);
    const std::vector<Residency> before = other.proved_clean();
    number_ = other.number_;
    commits_started_ = other.commits_started_;
    writes_ = other.writes_;
    if (this != &other) {
        world_.oracle = other.world_.oracle;
        failure_.clear();
    }
    table_ = other.table_;
    grown_ = other.grown_;
    say("cut %llx", static_cast<unsigned long long>(number));
    dirty_then_.clear();
    if (other.world_.parted) {
        dirty_then_ = other.dirty_sectors(); // destages that were under way may have ended since
        dirty_then_.insert(dirty_then_.end(), other.went_.begin(), other.went_.end());
    }
    power_cut(other, number);
    const bool imaged = other.images_[FAST] && mix(number, 7) % 8 == 0;
    if (imaged) restore_image(other, mix(number, 8));
    counts.cuts++;
    cut_number_ = number;
    power_left_ = int(mix(number, 3) % 24) - 12;
    boot();
    power_left_ = -1;
    if (ok() && !imaged) {
        counts.clean_all += clean.size();
        count_kept(before);
    }
    if (ok()) read_after_cut();
}

// One device is found as it was at an earlier stop. Of fast: what it had since may be given up, but
// only if the operator is asked. Of bulk: it has what it had then, and C3 holds from now on.
void Sim::restore_image(const Sim& other, uint64_t number) {
    const bool fast = number % 2;
    (fast ? counts.old_fast : counts.old_bulk)++;
    say("the %s device is an old image", fast ? "fast" : "bulk");
    (fast ? world_.fast : world_.bulk).cut_from(*other.images_[fast ? FAST : BULK], number);
    world_.parted = true;
    dirty_then_ = other.resident_sectors();
    if (fast) return;
    for (uint32_t s = 0; s < room() * options_.sectors; s++)
        world_.oracle.discard(s);
    for (uint32_t unit = 0; unit < room() * options_.sectors / HT_UNIT_SECTORS; unit++)
        world_.oracle.haunt(unit);
}

// What a slot may hold, or may have held that bulk has not flushed yet; and what is lost.
std::vector<uint32_t> Sim::resident_sectors() const {
    std::vector<uint32_t> sectors = dirty_sectors();
    for (const ht_slot& slot : slots_)
        for (u32 s = 0; s < options_.sectors && slot.extent != HT_NIL; s++)
            sectors.push_back(tier_sector(slot.extent, s));
    for (u32 s = 0; s < room() * options_.sectors; s++)
        if (world_.oracle.gone_at_cut(s)) sectors.push_back(s);
    return sectors;
}

// C2: after a cut each sector holds something that may be there, and from now on that (C3).
void Sim::read_after_cut() {
    const bool quiet = quiet_;
    quiet_ = true;
    // Where places fail, unit by unit: only those that fast alone has may not be readable.
    const bool bad = std::count(world_.fast.places.begin(), world_.fast.places.end(),
                                Place::Good) != std::ptrdiff_t(world_.fast.places.size());
    const uint32_t grain = bad ? HT_UNIT_SECTORS : options_.sectors;
    for (uint32_t extent = 0; extent < map_.geo.extents; extent++)
        for (uint32_t s = 0; s < options_.sectors && ok(); s += grain)
            read_after_cut(extent, s, s + grain);
    quiet_ = quiet;
}

void Sim::read_after_cut(uint32_t extent, uint32_t from, uint32_t to) {
    Request r = part_of(extent, from, to);
    r.cut = true;
    for (uint32_t s = from; s < to; s++) {
        r.floors[s - from] = world_.oracle.durable(tier_sector(extent, s));
        r.gone[s - from] = world_.oracle.gone_at_cut(tier_sector(extent, s));
    }
    do {
        ask(r);
        if (!ok()) return;
        if (r.stage == Stage::Apply)
            apply(r);
        else if (r.stage != Stage::End)
            return fail("a read after a cut reaches no device");
    } while (!end_piece(r));
    if (r.failed && !r.unreadable) return fail("a read after a cut fails");
    if (!r.failed) check_read(r);
    for (uint32_t s = from; s < to; s++)
        if (r.failed)
            world_.oracle.unread(tier_sector(extent, s));
        else if (r.seen[s - from].version != LOST)
            world_.oracle.settle(tier_sector(extent, s), r.seen[s - from].version);
    for (uint32_t s = from; s < to; s += HT_UNIT_SECTORS) {
        const uint32_t unit = tier_sector(extent, s) / HT_UNIT_SECTORS;
        if (r.failed)
            world_.oracle.unread_unit(unit);
        else
            world_.oracle.settle_unit(unit, r.seen[s - from].version == LOST);
    }
}

// Which clean units the tier has, by extent.
void Sim::clean_units(std::vector<Residency>& ret) const {
    if (map_.mode >= HINTIER_MODE_BYPASS || world_.parted) return;
    for (u32 slot = 0; slot < map_.geo.slots; slot++) {
        const ht_slot& s = slots_[slot];
        if (s.extent == HT_NIL || ht_list_of(&map_, slot) != HT_LIST_CLEAN) continue;
        Residency r{.extent = s.extent};
        std::copy_n(ht_slot_bits(&map_, slot, HT_VALID), map_.geo.words, r.valid.begin());
        ret.push_back(r);
    }
}

// C4: a clean extent is one that a commit has found so, and that has been so since. What became
// clean after the newest commit is at most commit_ms old.
std::vector<Sim::Residency> Sim::proved_clean() const {
    std::vector<Residency> now, proved;
    clean_units(now);
    for (Residency& r : now)
        for (const Residency& then : clean_then_) {
            if (then.extent != r.extent) continue;
            bool any = false;
            for (u32 w = 0; w < map_.geo.words; w++)
                any |= r.valid[w] &= then.valid[w];
            if (any) proved.push_back(r);
        }
    return proved;
}

void Sim::count_kept(const std::vector<Residency>& before) {
    for (const Residency& r : before) {
        const u32 slot = ht_lookup(&map_, r.extent);
        bool kept = slot != HT_NIL;
        for (u32 w = 0; kept && w < map_.geo.words; w++)
            kept = !(r.valid[w] & ~ht_slot_bits(&map_, slot, HT_VALID)[w]);
        counts.clean_before++;
        counts.clean_kept += kept;
    }
}

// A clean stop and a new start: every resident unit is still there (C4). Without fast there is no
// stop; it comes back with the next start.
void Sim::reload() {
    if (bulk_dead_) return crash_of(*this, mix(number_, 4));
    settle();
    if (!ok()) return;
    cut_number_ = mix(number_, 4);
    const bool whole = map_.mode < HINTIER_MODE_BYPASS;
    counts.reloads++;
    say("reload");
    if (whole) {
        power_left_ = below(3) ? -1 : int(below(8));
        const bool stopped = reach(HT_PAIR_STOP);
        power_left_ = -1;
        end_trims();
        if (stopped && options_.images) {
            images_[FAST] = std::make_shared<const Device>(world_.fast);
            images_[BULK] = std::make_shared<const Device>(world_.bulk);
        }
        const std::vector<ht_slot> slots = slots_;
        const std::vector<u16> bits = bits_;
        boot();
        if (ok() && stopped) check_same(slots, bits);
    } else {
        dirty_then_ = dirty_sectors();
        dirty_then_.insert(dirty_then_.end(), went_.begin(), went_.end());
        boot();
    }
    if (ok()) read_after_cut();
}

void Sim::check_same(const std::vector<ht_slot>& slots, const std::vector<u16>& bits) {
    for (u32 slot = 0; slot < map_.geo.slots && ok(); slot++) {
        if (slots[slot].extent != slots_[slot].extent) return fail("a clean stop moves a slot");
        if ((slots[slot].flags ^ slots_[slot].flags) & HT_F_BAD)
            return fail("a clean stop forgets that a slot is bad");
        if (slots[slot].extent == HT_NIL) continue;
        for (const ht_bits which : {HT_VALID, HT_DIRTY})
            for (u32 w = 0; w < map_.geo.words; w++)
                if (ht_slot_bits(&map_, slot, which)[w] !=
                    bits[(size_t{slot} * HT_BITS + which) * map_.geo.words + w])
                    return fail("a clean stop changes the units of a slot");
    }
}

void Sim::evict_clean() {
    for (u32 slot = 0; slot < map_.geo.slots; slot++) {
        if (slots_[slot].list == HT_LIST_NONE || ht_list_of(&map_, slot) != HT_LIST_CLEAN) continue;
        u32 act = 0;
        ht_engine_remove(&engine_, slot);
        if (!ht_forget(&map_, slot, &act)) fail("an idle clean slot cannot be forgotten");
        place(slot, act);
    }
}

void Sim::drain() {
    settle();
    quiet_ = draining_ = true;
    world_.fast.heal(); // what was stuck is there after all
    for (u32 slot = 0; slot < map_.geo.slots; slot++)
        apply_acts(ht_destage_retry(&map_, slot), slot);
    for (int i = 0; i < 1000 && ok() && ht_engine_dirty(&engine_); i++) {
        while (ok() && background())
            ;
        settle();
    }
    if (ht_engine_all_dirty(&engine_)) fail("dirty slots are left after draining");
    evict_clean();
    commit_all();
    const u32 idle = engine_.count[HT_LIST_FREE] + engine_.count[HT_LIST_BAD];
    if (ok() && idle != map_.geo.slots)
        fail(std::to_string(map_.geo.slots - idle) + " slots have leaked");
    u32 lost = 0;
    for (u32 i = 0; i < lost_.size(); i++)
        lost += ht_bits_any(&lost_bits_[size_t{i} * map_.geo.words], 0, map_.geo.units);
    if (ok() && lost != map_.lost.used) fail("an entry of the lost map has leaked");
    quiet_ = draining_ = false;
    check();
}

void Sim::prove() {
    if (map_.mode >= HINTIER_MODE_BYPASS || bulk_dead_) reload();
    drain();
    read_everything();
    // C1: with nothing dirty the bulk device alone is a complete image.
    for (uint32_t s = 0; s < map_.geo.extents * options_.sectors && ok(); s++) {
        const Tag& tag = world_.bulk.data.read(s);
        if (world_.oracle.lost(s) && world_.oracle.lost(s) >= world_.oracle.floor(s)) continue;
        if (tag.sector != s || tag.version < world_.oracle.floor(s) ||
            tag.version > world_.oracle.ceiling(s))
            fail("the home of sector " + std::to_string(s) + " is not complete");
    }
}

} // namespace hintier::sim
