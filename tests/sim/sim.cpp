// SPDX-License-Identifier: Apache-2.0
//
// The scheduler, and requests from their submission to their end.

#include "sim/sim.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include <hintier/types.h>

namespace hintier::sim {

namespace {

constexpr size_t IN_FLIGHT = 8;
constexpr size_t FLUSHES = 2;
constexpr uint64_t PATIENCE = 60000; // steps until a request that has not ended never will
constexpr int ROUNDS = 2000;

constexpr const char* OPS[] = {"read", "write", "zeroes", "discard"};
constexpr const char* FAULTS[] = {"done", "sent away", "not understood", "failed", "not readable"};
constexpr const char* VERDICTS[] = {"to fast", "to home", "admit", "tee",  "join",
                                    "wait",    "commit",  "drop",  "fail", "lost"};

unsigned long long ull(uint64_t value) {
    return value;
}

} // namespace

void Sim::fail(const std::string& what) {
    if (failure_.empty()) failure_ = "step " + std::to_string(number_) + ": " + what;
}

void Sim::say(const char* format, ...) const {
    if (!verbose) return;
    va_list arguments;
    va_start(arguments, format);
    std::printf("%6llu  ", static_cast<unsigned long long>(number_));
    std::vprintf(format, arguments);
    std::printf("\n");
    va_end(arguments);
}

std::vector<std::pair<const char*, uint64_t>> Sim::Counts::named() const {
    return {
#define HT_SIM_COUNT(name) {#name, name},
        HT_SIM_COUNTS(HT_SIM_COUNT)
#undef HT_SIM_COUNT
    };
}

void Sim::Counts::add(const Counts& other) {
#define HT_SIM_COUNT(name) name += other.name;
    HT_SIM_COUNTS(HT_SIM_COUNT)
#undef HT_SIM_COUNT
    add_kept(other);
}

void Sim::Counts::add_kept(const Counts& other) {
    clean_all += other.clean_all;
    clean_before += other.clean_before;
    clean_kept += other.clean_kept;
}

// What the module does with the bits of an answer, under the engine's lock.
void Sim::apply_acts(uint32_t act, uint32_t slot) {
    if (act & (HT_ACT_FREE | HT_ACT_LIST | HT_ACT_HURRY))
        ht_engine_move(&engine_, slot, ht_list_of(&map_, slot));
    if (act & HT_ACT_HURRY) ht_engine_hurry(&engine_, slot);
    if (act & HT_ACT_FREE) counts.retired += slots_[slot].state == HT_SLOT_BAD;
    if (act & HT_ACT_TRIM) start_trim(slot);
    if (act & HT_ACT_RECORD) record_later(slot);
}

// The owner of a slot that is on no list puts it where it belongs.
void Sim::place(uint32_t slot, uint32_t act) {
    if (act & HT_ACT_RECORD) record_later(slot);
    ht_engine_append(&engine_, slot, ht_list_of(&map_, slot));
}

// ---- requests -------------------------------------------------------------------------------

// A sane user waits until what it wrote has been written. False if some unit is taken.
bool Sim::reserve_units(const Request& r, bool taken) {
    const uint32_t from = tier_sector(r.req.extent, r.first) / HT_UNIT_SECTORS;
    const uint32_t to = (tier_sector(r.req.extent, r.end) + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
    if (taken && std::count(being_written_.begin() + from, being_written_.begin() + to, true))
        return false;
    std::fill(being_written_.begin() + from, being_written_.begin() + to, taken);
    return true;
}

void Sim::submit() {
    if (requests_.size() >= IN_FLIGHT) return;
    Request r;
    r.number = number_;
    const uint32_t sectors = options_.sectors;
    if (chance(options_.read))
        r.req.op = HT_REQ_READ;
    else if (chance(options_.discard))
        r.req.op = HT_REQ_DISCARD;
    else
        r.req.op = chance(7) ? HT_REQ_ZEROES : HT_REQ_WRITE;
    // A few extents get most of it, so that requests meet each other and transfers.
    r.req.extent = below(chance(70) ? options_.hot : map_.geo.extents);
    if (!transfers_.empty() && chance(20)) r.req.extent = dice_.pick(transfers_).move.extent;
    const bool whole = r.req.op == HT_REQ_DISCARD || !chance(options_.small);
    const uint32_t grain = whole ? HT_UNIT_SECTORS : 1;
    r.first = below(sectors / grain) * grain;
    r.end = std::min(sectors, r.first + grain * (1 + below(chance(30) ? 32 : 3)));
    if (chance(r.req.op == HT_REQ_DISCARD ? 30 : 5)) r.first = 0, r.end = sectors;
    if (r.req.op == HT_REQ_DISCARD) {
        discarded_ = {r.req.extent, r.first};
    } else if (r.req.op == HT_REQ_WRITE && chance(15)) { // what was freed is soon used again
        r.req.extent = discarded_.first;
        r.first = discarded_.second + below(HT_UNIT_SECTORS);
        r.end = std::min(sectors, r.first + 1 + below(2 * HT_UNIT_SECTORS));
    }
    r.req.from = r.first;
    r.req.to = r.end;
    r.req.pass = options_.passes && chance(50);
    r.fua = r.req.op == HT_REQ_WRITE && chance(options_.fua);
    r.nowait = chance(8);
    r.req.no_admit = r.fua && ht_fua_wants_home(r.end - r.first);

    if (r.req.op == HT_REQ_READ) {
        r.req.from_home = chance(30);
        r.when = world_.oracle.now();
        for (uint32_t s = r.first; s < r.end; s++)
            r.floors.push_back(world_.oracle.floor(tier_sector(r.req.extent, s)));
        for (uint32_t s = r.first; s < r.end; s++)
            r.gone.push_back(world_.oracle.gone(tier_sector(r.req.extent, s)));
        r.seen.resize(r.end - r.first);
    } else {
        if (!reserve_units(r, true)) return;
        for (uint32_t s = r.first; s < r.end; s++) {
            if (r.req.op == HT_REQ_DISCARD)
                world_.oracle.discard(tier_sector(r.req.extent, s));
            else
                world_.oracle.issue(tier_sector(r.req.extent, s), uint32_t(r.number));
        }
    }
    say("request %llu: %s%s extent %u sectors %u-%u", ull(r.number), OPS[r.req.op],
        r.fua        ? " fua"
        : r.req.pass ? " down"
                     : "",
        r.req.extent, r.first, r.end);
    requests_.push_back(std::move(r));
}

void Sim::ask(Request& r) {
    if (r.req.pass && r.req.op == HT_REQ_DISCARD && !r.hold) {
        r.hold = std::make_unique<ht_hold>(ht_hold{r.req.extent, r.req.extent, nullptr, nullptr});
        ht_hold_add(&map_, r.hold.get());
    }
    ht_begin(&map_, &shard(r.req.extent), &r.req, &r.answer);
    const ht_answer& a = r.answer;
    if (a.slot != HT_NIL) apply_acts(a.act, a.slot);
    counts.discards += a.dropped;
    say("request %llu: sectors %u-%u %s, slot %d", ull(r.number), r.req.from, a.to,
        VERDICTS[a.verdict], int(a.slot));
    if (a.to <= r.req.from || a.to > r.req.to) return fail("an answer for no sectors, or too many");

    switch (a.verdict) {
    case HT_DO_FAST:
        if (map_.mode >= HINTIER_MODE_BYPASS)
            fail("a request goes to the device that was given up");
        counts.fast++;
        r.stage = Stage::Apply;
        break;
    case HT_DO_HOME:
        if (map_.mode >= HINTIER_MODE_BYPASS && r.req.op != HT_REQ_READ &&
            r.req.op != HT_REQ_DISCARD && may_call_dirty(r.req.extent))
            fail("the home of what fast may still call dirty is written without it");
        counts.home++;
        r.stage = Stage::Apply;
        break;
    case HT_DO_DROP:
        r.stage = Stage::End;
        break;
    case HT_DO_ADMIT: {
        const u32 slot = ht_engine_take(&engine_, false);
        if (slot == HT_NIL) {
            r.req.no_admit = true;
            counts.refused++;
            break;
        }
        ht_admit(&map_, slot, r.req.extent, HT_SLOT_LIVE);
        ht_engine_append(&engine_, slot, HT_LIST_EMPTY);
        counts.admitted++;
        break;
    }
    case HT_DO_TEE:
        if (start_tee(r))
            r.stage = Stage::Tee;
        else
            r.req.no_admit = true;
        break;
    case HT_DO_JOIN:
        counts.joined++; // asks again: the fill's end serves it as well as its pages would
        break;
    case HT_DO_WAIT:
        counts.waits++;
        break;
    case HT_DO_COMMIT:
        counts.intents++;
        r.stage = Stage::Commit;
        r.commit = commits_started_ + 1;
        break;
    case HT_DO_LOST:
        counts.lost++;
        lose_piece(r);
        break;
    default:
        check_refusal(r);
        // A discard that may not go down is one all the same.
        r.failed = r.req.op != HT_REQ_DISCARD;
        if (!r.failed) r.answer.verdict = HT_DO_DROP;
        r.stage = Stage::End;
    }
}

// C7: with fast gone exactly what it alone has fails, and what may not go home any more.
void Sim::check_refusal(const Request& r) {
    const ht_answer& a = r.answer;
    const u32 from = r.req.from / HT_UNIT_SECTORS;
    const u32 to = (a.to + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
    const bool read = r.req.op == HT_REQ_READ;
    if (a.verdict != HT_DO_FAIL) fail("no such verdict");
    if (map_.mode < HINTIER_MODE_BYPASS) fail("a request fails with both devices alive");
    if (read && (a.slot == HT_NIL || !ht_bits_all(ht_slot_bits(&map_, a.slot, HT_DIRTY), from, to)))
        fail("a read of what home has fails");
    if (!read && map_.mode == HINTIER_MODE_BYPASS &&
        (a.slot == HT_NIL || (!ht_count_units(&map_, a.slot, HT_DIRTY) && !called_dirty_[a.slot])))
        fail("a write fails without a reason");
}

// R14: may a record call some unit of the extent dirty, when fast comes back after a cut?
bool Sim::may_call_dirty(uint32_t extent) const {
    bool dirty = false;
    for (u32 sector = 0; sector < map_.geo.meta_sectors; sector++)
        world_.fast.meta.each_possible(meta_sector(sector), [&](const Sector& found) {
            alignas(8) const Sector image = found;
            for (u32 nth = 0; nth < map_.geo.per_sector; nth++) {
                ht_record record{};
                dirty |= ht_record_get(&map_.geo, image.data(), nth, &record) == HT_OK &&
                         record.used && record.extent == extent &&
                         ht_bits_any(record.dirty, 0, map_.geo.units);
            }
        });
    return dirty;
}

// R10: a piece that is refused because it was dropped. So it has to be, unless a discard came.
void Sim::lose_piece(Request& r) {
    for (uint32_t s = r.req.from; s < r.answer.to; s++) {
        const uint32_t sector = tier_sector(r.req.extent, s);
        const uint32_t lost = world_.oracle.lost(sector);
        if (r.req.op == HT_REQ_READ) {
            r.seen[s - r.first] = {sector, LOST};
        } else if (!lost || lost < world_.oracle.floor(sector)) {
            return fail("sector " + std::to_string(sector) + " cannot be written and is not lost");
        }
    }
    r.refused = r.failed |= r.req.op != HT_REQ_READ;
    r.answer.verdict = HT_DO_DROP; // nothing is left to end
    r.stage = Stage::End;
}

// The device does its part; of what fails it may have done some.
void Sim::apply(Request& r) {
    const ht_answer& a = r.answer;
    const bool to_fast = a.verdict == HT_DO_FAST;
    if (still(to_fast ? FAST : BULK)) return;
    Disk<Tag>& disk = to_fast ? world_.fast.data : world_.bulk.data;
    r.fault = r.nowait && chance(20) ? HT_FAULT_BUSY : fault(2);
    const bool dead = bulk_dead_ && !to_fast;
    if (dead) r.fault = HT_FAULT_DEVICE;
    r.write = ++writes_;
    if (to_fast && !r.fault) {
        bool ok = r.req.op == HT_REQ_READ ||
                  world_.fast.write(slot_sector(a.slot, r.req.from), slot_sector(a.slot, a.to));
        for (uint32_t s = r.req.from; s < a.to && r.req.op == HT_REQ_READ; s++)
            ok &= world_.fast.can_read(slot_sector(a.slot, s));
        if (!ok) r.fault = HT_FAULT_MEDIUM;
    }
    for (uint32_t s = r.req.from; s < a.to && r.fault != HT_FAULT_BUSY && !dead; s++) {
        const uint32_t home = tier_sector(r.req.extent, s);
        const uint32_t at = to_fast ? slot_sector(a.slot, s) : home;
        if (r.req.op == HT_REQ_READ)
            r.seen[s - r.first] = disk.read(at);
        else if (!r.fault || chance(50))
            disk.put(r.write, at, {home, r.req.op == HT_REQ_DISCARD ? 0 : uint32_t(r.number)});
    }
    r.stage = Stage::End;
    say("request %llu: %s by %s", ull(r.number), FAULTS[r.fault], to_fast ? "fast" : "bulk");
}

// Returns true when the whole request has ended.
bool Sim::end_piece(Request& r) {
    const ht_answer& a = r.answer;
    if (r.failed) return true;
    if (a.verdict == HT_DO_DROP) return next_piece(r);

    const bool to_fast = a.verdict == HT_DO_FAST;
    if (still(to_fast ? FAST : BULK)) return false;
    if (r.req.op != HT_REQ_READ) {
        (to_fast ? world_.fast : world_.bulk).data.complete(r.write, r.fua && !r.fault);
        bulk_written_ |= !to_fast;
    }
    ht_ended e{.op = r.req.op,
               .verdict = a.verdict,
               .fault = u8(r.fault),
               .fua = r.fua,
               .nowait = r.nowait,
               .tried = r.tried || r.req.op == HT_REQ_ZEROES, // who zeroes has another way
               .clean = false};
    const bool ok = ht_ended_ok(&map_, &e);
    ht_request piece = r.req;
    piece.to = a.to;
    if (to_fast && ht_fault_is_failure(r.fault)) slot_failed(r, piece, e);
    const u32 slot = to_fast ? a.slot : HT_NIL;
    const u32 act = ht_end(&map_, &shard(r.req.extent), &piece, slot, a.verdict, ok);
    if (to_fast) apply_acts(act, slot);
    // A home write only ever changes the lost map.
    if (!to_fast && (act & ~u32{HT_ACT_LOST})) fail("a home write asks for more");
    if ((ok && !r.fua) || r.req.op == HT_REQ_DISCARD) return next_piece(r);
    return follow(r, e);
}

// A place that fails is the user's affair only if fast alone has what is there.
void Sim::slot_failed(Request& r, const ht_request& piece, ht_ended& e) {
    const u32 slot = r.answer.slot, from = piece.from / HT_UNIT_SECTORS;
    const u32 to = (piece.to + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
    const bool medium = r.fault == HT_FAULT_MEDIUM;
    u32 act = 0;
    suspect_ = true;
    r.unreadable = medium && ht_bits_any(ht_slot_bits(&map_, slot, HT_DIRTY), from, to);
    e.clean = ht_slot_failed(&map_, &piece, slot, medium, &act);
    apply_acts(act, slot);
}

// Carries out what core/fate.h says, as the module does.
bool Sim::follow(Request& r, const ht_ended& e) {
    switch (ht_fate(&map_, &e)) {
    case HT_FATE_TELL:
        r.failed = e.fault;
        return r.failed || next_piece(r);
    case HT_FATE_FAIL:
        r.failed = true;
        return true;
    case HT_FATE_AGAIN:
        r.nowait = false;
        r.req.from_home |= ht_fault_is_failure(ht_fault(e.fault));
        r.stage = Stage::Ask;
        return false;
    case HT_FATE_COMMIT:
        r.tried = true;
        break;
    case HT_FATE_RECORD:
        r.recording = true;
        break;
    }
    r.stage = Stage::Commit;
    r.commit = commits_started_ + 1;
    return false;
}

bool Sim::next_piece(Request& r) {
    r.req.from = r.answer.to;
    r.req.no_admit = false;
    r.tried = r.recording = r.unreadable = false;
    r.stage = Stage::Ask;
    return r.req.from >= r.end;
}

void Sim::check_read(const Request& r) {
    const Oracle& oracle = world_.oracle;
    for (uint32_t s = r.first; s < r.end; s++) {
        const uint32_t sector = tier_sector(r.req.extent, s);
        const Tag& tag = r.seen[s - r.first];
        if (tag.sector != sector)
            return fail("sector " + std::to_string(sector) + " reads what belongs to sector " +
                        std::to_string(int32_t(tag.sector)));
        // Discarded while it was read: anything that was ever written there will do.
        const bool discarded = oracle.cleared(sector) > r.when;
        const uint32_t floor = discarded ? 0 : r.floors[s - r.first];
        if (tag.version == LOST) {
            const uint32_t lost = r.cut ? oracle.lost_at_cut(sector) : oracle.lost(sector);
            if (!discarded && (!lost || lost < floor))
                return fail("sector " + std::to_string(sector) + " is refused as lost, and has " +
                            "version " + std::to_string(floor));
            continue;
        }
        if (!discarded && r.gone.size() && tag.version <= r.gone[s - r.first] &&
            r.gone[s - r.first])
            return fail("sector " + std::to_string(sector) + " reads version " +
                        std::to_string(tag.version) + ", and up to " +
                        std::to_string(r.gone[s - r.first]) + " all was dropped");
        if (tag.version < floor || tag.version > oracle.ceiling(sector))
            return fail("sector " + std::to_string(sector) + " reads version " +
                        std::to_string(tag.version) + ", not " + std::to_string(floor) + " to " +
                        std::to_string(oracle.ceiling(sector)));
    }
}

void Sim::finish(Request& r) {
    r.ended = true;
    if (r.hold) ht_hold_remove(r.hold.get());
    counts.user_errors += r.failed;
    counts.unread += r.failed && r.unreadable;
    if (r.failed && !r.refused && !r.unreadable && !options_.errors && !bulk_dead_)
        fail("a request fails, and no device has");
    say("request %llu: %s", ull(r.number), r.failed ? "fails" : "ends");
    if (r.req.op == HT_REQ_READ) {
        if (!r.failed) check_read(r);
        if (chance(options_.fill) && !quiet_) start_fill(r.req.extent);
        return;
    }
    reserve_units(r, false);
    // With fast gone what is lost stays lost.
    if (r.req.op == HT_REQ_DISCARD && map_.mode < HINTIER_MODE_BYPASS)
        for (uint32_t s = r.first; s < r.end; s += HT_UNIT_SECTORS)
            world_.oracle.discard_ended(tier_sector(r.req.extent, s) / HT_UNIT_SECTORS);
    if (r.failed || r.req.op == HT_REQ_DISCARD) return;
    for (uint32_t s = r.first; s < r.end; s++) {
        const uint32_t sector = tier_sector(r.req.extent, s);
        if (r.fua)
            world_.oracle.ack_durable(sector, uint32_t(r.number));
        else
            world_.oracle.ack(sector, uint32_t(r.number));
    }
}

void Sim::advance(Request& r) {
    bool ended = false;
    switch (r.stage) {
    case Stage::Ask:
        ask(r);
        break;
    case Stage::Apply:
        apply(r);
        break;
    case Stage::End:
        ended = end_piece(r);
        break;
    case Stage::Commit:
        if (commits_ended_ < r.commit) break;
        r.stage = Stage::Ask;
        r.failed = r.told == HT_TOLD_ERROR;
        ended = r.failed || (r.recording && next_piece(r));
        break;
    case Stage::Tee: // its transfer ends it
        break;
    }
    if (ended) finish(r);
    if (number_ > r.number + PATIENCE && !r.ended)
        fail("the request of step " + std::to_string(r.number) + " never ends");
}

Sim::Request Sim::part_of(uint32_t extent, uint32_t from, uint32_t to) {
    Request r;
    r.number = number_;
    r.req.op = HT_REQ_READ;
    r.req.extent = extent;
    r.req.from = r.first = from;
    r.req.to = r.end = to;
    r.when = world_.oracle.now();
    for (uint32_t s = from; s < to; s++)
        r.floors.push_back(world_.oracle.floor(tier_sector(extent, s)));
    for (uint32_t s = from; s < to; s++)
        r.gone.push_back(world_.oracle.gone(tier_sector(extent, s)));
    r.seen.resize(to - from);
    return r;
}

Sim::Request Sim::whole_extent(uint32_t extent) {
    return part_of(extent, 0, options_.sectors);
}

void Sim::read_everything() {
    for (uint32_t extent = 0; extent < map_.geo.extents; extent++)
        requests_.push_back(whole_extent(extent));
    settle();
}

// ---- the scheduler --------------------------------------------------------------------------

namespace {

template <typename Items>
void erase_ended(Items& items) {
    std::erase_if(items, [](const auto& item) { return item.ended; });
}

} // namespace

void Sim::step(uint64_t number, uint64_t dice) {
    number_ = number;
    dice_ = Dice(dice);
    const Options& o = options_;
    uint32_t die = below(100);
    const auto falls = [&die](uint32_t percent) {
        const bool hit = die < percent;
        die -= hit ? 0 : percent;
        return hit;
    };
    if (falls(o.commit)) {
        advance_commit();
    } else if (falls(o.flush)) {
        if (flushes_.size() < FLUSHES) start_flush();
    } else if (falls(o.background)) {
        background();
    } else if (falls(o.hint)) {
        hint();
    } else if (falls(o.bad)) {
        spoil();
    } else if (falls(15)) {
        if (transfers_.empty()) return;
        advance(dice_.pick(transfers_));
        erase_ended(transfers_);
    } else if (falls(25)) {
        submit();
    } else if (falls(1)) {
        rare();
    } else if (!requests_.empty()) {
        advance(dice_.pick(requests_));
        erase_ended(requests_);
    }
}

// What happens once in some hundred steps.
void Sim::rare() {
    const uint32_t die = map_.mode < HINTIER_MODE_BYPASS ? below(10) : 8 + below(2);
    if (die < 5 && options_.stalls)
        still_until_[below(2)] = number_ + below(300);
    else if (die == 7 && options_.dying)
        bulk_dead_ = true, counts.deaths++, say("bulk dies");
    else if (die == 8 && options_.reloads)
        reload();
    else if (die == 9 && options_.reloads)
        crash_of(*this, dice_.next());
    else
        start_fill(below(map_.geo.extents));
}

// A place of fast fails from now on: mostly one that is in use.
void Sim::spoil() {
    const u32 slot = below(map_.geo.slots);
    u32 unit = below(map_.geo.units);
    for (u32 i = 0; i < map_.geo.units && slots_[slot].extent != HT_NIL && chance(90); i++) {
        if (ht_bits_test(ht_slot_bits(&map_, slot, HT_VALID), unit)) break;
        unit = (unit + 1) % map_.geo.units;
    }
    counts.spoiled++;
    say("slot %u: unit %u fails", slot, unit);
    world_.fast.spoil(size_t{slot} * map_.geo.units + unit,
                      chance(50) ? Place::Unreadable : Place::Bad);
}

bool Sim::idle() const {
    return requests_.empty() && transfers_.empty() && flushes_.empty() &&
           commit_.action == HT_COMMIT_DONE;
}

void Sim::settle() {
    const bool quiet = quiet_;
    quiet_ = true;
    dice_ = Dice(number_);
    for (int round = 0; round < ROUNDS && ok() && !idle(); round++) {
        for (Request& r : requests_)
            advance(r);
        erase_ended(requests_);
        for (Transfer& t : transfers_)
            advance(t);
        erase_ended(transfers_);
        advance_commit();
    }
    if (!requests_.empty())
        fail("a request never ends, its last verdict was " +
             std::to_string(requests_[0].answer.verdict));
    if (!idle()) fail("a transfer, commit or flush never ends");
    for (const ht_shard& s : shards_)
        for (const u16 count : s.homing)
            if (count) fail("a home write is counted and not in flight");
    check();
    quiet_ = quiet;
}

// ---- invariants -----------------------------------------------------------------------------

void Sim::check() {
    std::vector<uint8_t> seen(map_.geo.slots, 0);
    for (u32 list = HT_LIST_FREE; list < HT_LISTS_ALL; list++) {
        const bool dirty = list == HT_LIST_AGED || list == HT_LIST_EARLY;
        const bool clean = list == HT_LIST_PINNED || list == HT_LIST_DEAD || list >= HT_LIST_GROUPS;
        const u32 kind = dirty ? u32{HT_LIST_DIRTY} : clean ? u32{HT_LIST_CLEAN} : list;
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

    std::vector<uint8_t> slots_of(map_.geo.extents, 0);
    for (u32 slot = 0; slot < map_.geo.slots; slot++) {
        const ht_slot& s = slots_[slot];
        if (seen[slot] != 1)
            return fail("slot " + std::to_string(slot) + " has " + std::to_string(seen[slot]) +
                        " owners");
        const u16* valid = ht_slot_bits(&map_, slot, HT_VALID);
        const u16* dirty = ht_slot_bits(&map_, slot, HT_DIRTY);
        const auto spoiled = world_.fast.spoiled.begin() + slot * map_.geo.units;
        if ((s.flags & HT_F_BAD) && !options_.errors &&
            !std::count(spoiled, spoiled + map_.geo.units, true))
            return fail("a slot is called bad whose medium never failed");
        if (s.list == HT_LIST_FREE || s.list == HT_LIST_BAD) {
            const u8 state = s.list == HT_LIST_FREE ? HT_SLOT_FREE : HT_SLOT_BAD;
            if (s.extent != HT_NIL || s.state != state || s.readers || s.writers)
                return fail("a free or retired slot is in use");
            continue;
        }
        const u16* marks = ht_slot_bits(&map_, slot, HT_VOLATILE);
        for (u32 w = 0; w < map_.geo.words; w++) {
            if (dirty[w] & ~valid[w]) return fail("a unit is dirty and not valid");
            if (marks[w] & ~dirty[w]) return fail("a unit is volatile and not dirty");
        }
        if (s.extent >= map_.geo.extents) return fail("a slot holds no extent");
        if (slots_of[s.extent]++) return fail("an extent has two slots");
        if (ht_lookup(&map_, s.extent) != slot) return fail("a slot cannot be found");
    }
}

} // namespace hintier::sim
