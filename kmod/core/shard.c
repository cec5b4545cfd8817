// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shard layer. See shard.h for the contract; rule numbers are those of the crash rules that
 * each step keeps:
 *
 *   R3 a home is written only after no record claims a unit that was dropped from its slot
 *   R4 a unit that a record calls clean is overwritten only after a record calls it dirty
 *   R5 a home has one writer at a time
 *   R6 a write cancels a fill
 *   R10 what was dropped fails until it is written as a whole or discarded
 *   R11 a write or discard clears volatile marks
 */
#include "shard.h"

#include "bits.h"
#include "lost.h"

#include <hintier/types.h>

/* Requests in flight that a slot or a home counter can hold; beyond, a request asks again. */
#define COUNT_MAX 0xffffU

static inline struct ht_slot *slot_of(const struct ht_map *map, u32 slot)
{
	return &map->slots[slot];
}

static u16 *homing_of(struct ht_shard *shard, u32 extent)
{
	return &shard->homing[extent % HT_HOMING];
}

bool ht_is_plain(const struct ht_map *map, u32 extent)
{
	return READ_ONCE(map->buckets[ht_bucket_of(map, extent)]) == HT_NIL &&
	       !READ_ONCE(map->lost.used);
}

u32 ht_lookup(const struct ht_map *map, u32 extent)
{
	u32 slot = map->buckets[ht_bucket_of(map, extent)];

	while (slot != HT_NIL && slot_of(map, slot)->extent != extent)
		slot = slot_of(map, slot)->next;
	return slot;
}

u32 ht_count_units(const struct ht_map *map, u32 slot, enum ht_bits which)
{
	return ht_bits_count(ht_slot_bits(map, slot, which), 0, map->geo.units);
}

enum ht_list ht_list_of(const struct ht_map *map, u32 slot)
{
	switch (slot_of(map, slot)->state) {
	case HT_SLOT_FREE:
		return HT_LIST_FREE;
	case HT_SLOT_STUCK:
		return HT_LIST_STUCK;
	case HT_SLOT_BAD:
		return HT_LIST_BAD;
	default:
		break;
	}
	if (ht_bits_any(ht_slot_bits(map, slot, HT_DIRTY), 0, map->geo.units))
		return HT_LIST_DIRTY;
	if (ht_bits_any(ht_slot_bits(map, slot, HT_VALID), 0, map->geo.units))
		return HT_LIST_CLEAN;
	return HT_LIST_EMPTY;
}

void ht_admit(struct ht_map *map, u32 slot, u32 extent, enum ht_slot_state state)
{
	struct ht_slot *s = slot_of(map, slot);
	u32 *head = &map->buckets[ht_bucket_of(map, extent)];

	memset(ht_slot_bits(map, slot, 0), 0, sizeof(u16) * HT_BITS * map->geo.words);
	s->extent = extent;
	s->gen++;
	s->epoch = map->epoch;
	s->readers = 0;
	s->writers = 0;
	s->state = (u8)state;
	s->flags = 0;
	s->touched = 0;
	s->klass = 0;
	s->group = 0;
	s->depth = 0;
	s->object = 0;
	s->next = *head;
	*head = slot;
}

static void unhash(struct ht_map *map, u32 slot)
{
	struct ht_slot *s = slot_of(map, slot);
	u32 *link = &map->buckets[ht_bucket_of(map, s->extent)];

	while (*link != slot)
		link = &slot_of(map, *link)->next;
	*link = s->next;
	s->extent = HT_NIL;
	s->state = s->flags & HT_F_BAD ? HT_SLOT_BAD : HT_SLOT_FREE;
	s->flags &= HT_F_BAD;
}

/* The slot differs from its record from now on. */
static u32 changed(struct ht_slot *s)
{
	s->flags |= HT_F_CHANGED;
	return HT_ACT_RECORD;
}

u32 ht_release(struct ht_map *map, u32 slot)
{
	struct ht_slot *s = slot_of(map, slot);

	if (s->state != HT_SLOT_LIVE || s->readers || s->writers || (s->flags & HT_F_RECORDED) ||
	    ht_list_of(map, slot) != HT_LIST_EMPTY)
		return 0;
	/* R9: what a FUA write left here is home now, and the commit it waits for must flush that. */
	if (s->flags & HT_F_HOME)
		return changed(s);
	unhash(map, slot);
	/* Its record is free as yet: that it is retired is still to be recorded. */
	return HT_ACT_FREE | (s->state == HT_SLOT_BAD ? HT_ACT_RECORD : 0);
}

/*
 * Valid units of [from, to) leave the slot: in-flight transfers are overtaken, and as long as a
 * record may claim them the slot is stale. Returns HT_ACT_*.
 */
static u32 drop_units(struct ht_map *map, u32 slot, u32 from, u32 to)
{
	struct ht_slot *s = slot_of(map, slot);
	enum ht_list before = ht_list_of(map, slot);
	u32 act = 0;

	s->gen++;
	ht_bits_clear(ht_slot_bits(map, slot, HT_VALID), from, to);
	ht_bits_clear(ht_slot_bits(map, slot, HT_DIRTY), from, to);
	ht_bits_clear(ht_slot_bits(map, slot, HT_VOLATILE), from, to);
	if (s->flags & HT_F_RECORDED) {
		s->flags |= HT_F_STALE | HT_F_DROPPED;
		act |= changed(s);
	}
	if (s->state == HT_SLOT_STUCK)
		s->state = HT_SLOT_LIVE;
	if (ht_list_of(map, slot) != before)
		act |= HT_ACT_LIST;
	return act;
}

/* Nothing is left of a fetched slot, and nobody has read it. */
static u32 unused_fetch(struct ht_map *map, u32 slot, u32 *ret_fetch)
{
	struct ht_slot *s = slot_of(map, slot);

	if (!(s->flags & HT_F_FETCHED) || ht_list_of(map, slot) != HT_LIST_EMPTY)
		return 0;
	s->flags &= ~HT_F_FETCHED;
	*ret_fetch = s->fetch;
	return HT_ACT_UNUSED;
}

bool ht_forget(struct ht_map *map, u32 slot, u32 *ret_act)
{
	struct ht_slot *s = slot_of(map, slot);
	enum ht_list list = ht_list_of(map, slot);

	*ret_act = 0;
	if (s->state != HT_SLOT_LIVE || s->writers || list == HT_LIST_DIRTY)
		return false;
	if (list == HT_LIST_CLEAN)
		*ret_act = drop_units(map, slot, 0, map->geo.units);
	*ret_act |= ht_release(map, slot);
	return true;
}

/* ---- volatile units ------------------------------------------------------------------------- */

void ht_mark_volatile(struct ht_map *map, u32 slot, u32 from, u32 to, u64 epoch)
{
	const u16 *dirty = ht_slot_bits(map, slot, HT_DIRTY);
	u16 *vol = ht_slot_bits(map, slot, HT_VOLATILE);

	if (slot_of(map, slot)->epoch >= epoch)
		return;
	ht_bits_each_word(w, from, to)
		vol[w] |= dirty[w] & ht_bits_mask(w, from, to);
}

bool ht_may_drop(const struct ht_map *map, const struct ht_shard *shard, u32 slot, u32 from, u32 to)
{
	const struct ht_slot *s = slot_of(map, slot);

	/* R5: whoever writes the home now could have been let to think that it counts. */
	return s->state == HT_SLOT_LIVE && !s->writers && map->mode < HINTIER_MODE_BYPASS &&
	       !shard->homing[s->extent % HT_HOMING] &&
	       ht_bits_any(ht_slot_bits(map, slot, HT_VOLATILE), from, to);
}

void ht_drop(struct ht_map *map, const struct ht_shard *shard, u32 slot, u32 from, u32 to,
	     u32 entry, struct ht_dropped *ret)
{
	u32 extent = slot_of(map, slot)->extent, end;
	u16 units[HT_UNITS_MAX / 16] = { 0 };

	memset(ret, 0, sizeof(*ret));
	if (!ht_may_drop(map, shard, slot, from, to))
		return;
	if (ht_lost_find(map, extent) == HT_NIL) {
		if (entry == HT_NIL)
			return;
		ht_lost_hash(map, entry, extent);
		ret->took = true;
	}
	ht_bits_each_word(w, from, to)
		units[w] = ht_slot_bits(map, slot, HT_VOLATILE)[w] & ht_bits_mask(w, from, to);
	ret->units = ht_bits_count(units, from, to);
	ret->act = ht_lost_add(map, extent, units);
	for (from = ht_bits_find(units, from, to, true); from < to;
	     from = ht_bits_find(units, end, to, true)) {
		end = ht_bits_find(units, from, to, false);
		ret->act |= drop_units(map, slot, from, end);
	}
	ret->act |= unused_fetch(map, slot, &ret->fetch) | ht_release(map, slot);
}

bool ht_done(struct ht_map *map, u32 slot, u32 *ret_act)
{
	if (ht_forget(map, slot, ret_act))
		return false;
	slot_of(map, slot)->flags |= HT_F_DONE;
	return !ht_bits_any(ht_slot_bits(map, slot, HT_VOLATILE), 0, map->geo.units);
}

/* ---- holds ---------------------------------------------------------------------------------- */

void ht_hold_add(struct ht_map *map, struct ht_hold *hold)
{
	hold->next = map->holds;
	hold->link = &map->holds;
	if (hold->next)
		hold->next->link = &hold->next;
	map->holds = hold;
}

void ht_hold_remove(struct ht_hold *hold)
{
	*hold->link = hold->next;
	if (hold->next)
		hold->next->link = hold->link;
}

bool ht_held(const struct ht_map *map, u32 extent)
{
	const struct ht_hold *hold = map->holds;

	while (hold && (extent < hold->first || extent > hold->last))
		hold = hold->next;
	return hold;
}

/* ---- reads ---------------------------------------------------------------------------------- */

/* The slot is of use: it keeps its place, and the FETCH that brought it was timely. */
static void note_read(struct ht_slot *s, struct ht_answer *ret)
{
	if (!s->touched)
		s->touched = 1;
	if (s->flags & HT_F_FETCHED) {
		s->flags &= ~HT_F_FETCHED;
		ret->act |= HT_ACT_FETCH;
		ret->fetch = s->fetch;
	}
}

static void read_from_slot(struct ht_slot *s, struct ht_answer *ret)
{
	if (s->readers == COUNT_MAX) {
		ret->verdict = HT_DO_COMMIT;
		return;
	}
	s->readers++;
	ret->verdict = HT_DO_FAST;
}

/* R10: the front of the request is lost, or ends where something is. True if it is. */
static bool is_lost(const struct ht_map *map, const struct ht_request *req, struct ht_answer *ret)
{
	u32 end = (ret->to + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
	bool lost;

	if (!map->lost.used)
		return false;
	lost = ht_lost_run(map, ret->slot, req->extent, req->from / HT_UNIT_SECTORS, &end);
	if (end * HT_UNIT_SECTORS < ret->to)
		ret->to = end * HT_UNIT_SECTORS;
	if (lost)
		ret->verdict = HT_DO_LOST;
	return lost;
}

static void begin_read(struct ht_map *map, const struct ht_request *req, struct ht_answer *ret)
{
	struct ht_slot *s;
	const u16 *which;
	u32 unit, end;
	bool set;

	ret->verdict = HT_DO_HOME;
	if (ret->slot == HT_NIL) {
		is_lost(map, req, ret);
		return;
	}
	s = slot_of(map, ret->slot);
	if (s->state == HT_SLOT_FILL) {
		s->flags |= HT_F_LATE;
		ret->verdict = HT_DO_JOIN;
		return;
	}

	/* With fast gone, or busier than bulk, only dirty units matter: home does not have them. */
	which = ht_slot_bits(map, ret->slot,
			     map->mode >= HINTIER_MODE_BYPASS || req->from_home ? HT_DIRTY :
										 HT_VALID);
	unit = req->from / HT_UNIT_SECTORS;
	end = (req->to + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
	set = ht_bits_test(which, unit);
	end = ht_bits_find(which, unit, end, !set);
	if (end * HT_UNIT_SECTORS < ret->to)
		ret->to = end * HT_UNIT_SECTORS;

	if (!set && is_lost(map, req, ret))
		return;
	note_read(s, ret);
	if (set && map->mode >= HINTIER_MODE_BYPASS)
		ret->verdict = HT_DO_FAIL;
	else if (set)
		read_from_slot(s, ret);
}

/* ---- writes --------------------------------------------------------------------------------- */

/* R3, R5: may the home of this extent be written now? */
static void write_home(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
		       struct ht_answer *ret)
{
	u16 *homing = homing_of(shard, req->extent);

	/* R14: bulk does not say that it moves on alone. */
	if (map->mode == HINTIER_MODE_FAIL) {
		ret->verdict = HT_DO_FAIL;
		return;
	}
	if (ret->slot != HT_NIL) {
		struct ht_slot *s = slot_of(map, ret->slot);

		if (s->state == HT_SLOT_DESTAGE || s->state == HT_SLOT_FILL) {
			ret->verdict = HT_DO_WAIT;
			return;
		}
		/* With fast gone, the moved pair epoch voids what a record claims to be clean. */
		if ((s->flags & HT_F_STALE) && map->mode < HINTIER_MODE_BYPASS) {
			/* Changed already, or in the commit under way: marking it would outlast that. */
			ret->verdict = HT_DO_COMMIT;
			return;
		}
		s->gen++;
	}
	if (*homing == COUNT_MAX) {
		ret->verdict = HT_DO_COMMIT;
		return;
	}
	(*homing)++;
	ret->verdict = HT_DO_HOME;
}

/* The same after units were dropped: the slot may have to go first. */
static void write_emptied(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
			  struct ht_answer *ret)
{
	struct ht_answer home = *ret;

	ret->act |= ht_release(map, ret->slot);
	if (ret->act & HT_ACT_FREE)
		home.slot = HT_NIL;
	write_home(map, shard, req, &home);
	ret->verdict = home.verdict;
	ret->act |= home.act;
}

/* What the slot holds of the range is dirty from now on. Returns HT_ACT_*. */
static u32 make_dirty(struct ht_map *map, u32 slot, u32 from, u32 to)
{
	const u16 *valid = ht_slot_bits(map, slot, HT_VALID);
	u16 *dirty = ht_slot_bits(map, slot, HT_DIRTY);
	enum ht_list before = ht_list_of(map, slot);

	ht_bits_each_word(w, from, to)
		dirty[w] |= valid[w] & ht_bits_mask(w, from, to);
	return changed(slot_of(map, slot)) | (ht_list_of(map, slot) != before ? HT_ACT_LIST : 0);
}

/* R4: units in the range that a record calls clean become dirty on disk before they are written. */
static bool needs_intent(struct ht_map *map, u32 from, u32 to, struct ht_answer *ret)
{
	if (!ht_bits_any(ht_slot_bits(map, ret->slot, HT_RCLEAN), from, to))
		return false;
	slot_of(map, ret->slot)->gen++;
	ret->act |= make_dirty(map, ret->slot, from, to);
	ret->verdict = HT_DO_COMMIT;
	return true;
}

static void write_slot(struct ht_map *map, u32 from, u32 to, struct ht_answer *ret)
{
	struct ht_slot *s = slot_of(map, ret->slot);

	if (s->writers == COUNT_MAX) {
		ret->verdict = HT_DO_COMMIT;
		return;
	}
	s->writers++;
	s->gen++;
	s->epoch = map->epoch;
	ht_bits_clear(ht_slot_bits(map, ret->slot, HT_VOLATILE), from, to);
	ret->verdict = HT_DO_FAST;
}

/* Write-through, write-around, bad slots: what is dirty stays in its slot, all else leaves it. */
static void write_past(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
		       u32 from, u32 to, struct ht_answer *ret)
{
	const u16 *valid = ht_slot_bits(map, ret->slot, HT_VALID);
	const u16 *dirty = ht_slot_bits(map, ret->slot, HT_DIRTY);
	bool is_dirty = ht_bits_test(dirty, from);
	u32 end = ht_bits_find(dirty, from, to, !is_dirty);

	if (end * HT_UNIT_SECTORS < ret->to)
		ret->to = end * HT_UNIT_SECTORS;
	if (is_dirty) {
		if (!needs_intent(map, from, end, ret))
			write_slot(map, from, end, ret);
		return;
	}
	if (ht_bits_any(valid, from, end))
		ret->act |= drop_units(map, ret->slot, from, end);
	write_emptied(map, shard, req, ret);
}

/*
 * Fast is gone: nothing can be recorded. R14: neither what it holds dirty can be written, nor what
 * it will still call so when somebody drains it.
 */
static void write_bypass(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
			 u32 from, u32 to, struct ht_answer *ret)
{
	struct ht_slot *s = slot_of(map, ret->slot);
	enum ht_list before = ht_list_of(map, ret->slot);

	if (ht_count_units(map, ret->slot, HT_DIRTY) || (s->flags & HT_F_RDIRTY)) {
		ret->verdict = HT_DO_FAIL;
		return;
	}
	/* Clean: the moved pair epoch voids the record. */
	ht_bits_clear(ht_slot_bits(map, ret->slot, HT_VALID), from, to);
	if (ht_list_of(map, ret->slot) != before)
		ret->act |= HT_ACT_LIST;
	write_home(map, shard, req, ret);
}

static void begin_write(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
			struct ht_answer *ret)
{
	bool whole = !(req->from % HT_UNIT_SECTORS) && req->to - req->from >= HT_UNIT_SECTORS;
	u32 from = req->from / HT_UNIT_SECTORS, to;
	struct ht_slot *s;

	to = whole ? req->to / HT_UNIT_SECTORS : from + 1;
	if (to * HT_UNIT_SECTORS < ret->to)
		ret->to = to * HT_UNIT_SECTORS;

	/* R13: bulk says that it may lack something before it does. */
	if (map->mode == HINTIER_MODE_WRITEBACK && map->bulk != HT_BULK_PARTIAL) {
		map->bulk = HT_BULK_ENDING;
		ret->verdict = HT_DO_COMMIT;
		return;
	}
	/* R14: with fast gone the lost map would say for ever what is not true any more. */
	if (!whole || map->mode >= HINTIER_MODE_BYPASS) {
		if (is_lost(map, req, ret))
			return;
		to = (ret->to + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
	}
	if (ret->slot == HT_NIL) {
		bool may_keep = whole && req->op == HT_REQ_WRITE && !req->no_admit;

		if (may_keep && map->mode == HINTIER_MODE_WRITEBACK)
			ret->verdict = HT_DO_ADMIT;
		else if (may_keep && map->mode == HINTIER_MODE_WRITETHROUGH)
			ret->verdict = HT_DO_TEE;
		else
			write_home(map, shard, req, ret);
		return;
	}

	s = slot_of(map, ret->slot);
	if (s->state == HT_SLOT_TRIM)
		s->state = HT_SLOT_LIVE;
	if (s->state == HT_SLOT_FILL) {
		s->gen++;
		ret->verdict = HT_DO_WAIT;
	} else if (map->mode >= HINTIER_MODE_BYPASS) {
		write_bypass(map, shard, req, from, to, ret);
	} else if ((s->flags & HT_F_BAD) && s->state == HT_SLOT_DESTAGE) {
		/* Its dirty units are leaving a place where they cannot be written. */
		ret->verdict = HT_DO_WAIT;
	} else if (map->mode != HINTIER_MODE_WRITEBACK || (s->flags & HT_F_BAD)) {
		write_past(map, shard, req, from, to, ret);
	} else if (!whole && !ht_bits_test(ht_slot_bits(map, ret->slot, HT_VALID), from)) {
		/* A piece of a unit that only the home knows the rest of. */
		write_home(map, shard, req, ret);
	} else if (!needs_intent(map, from, to, ret)) {
		write_slot(map, from, to, ret);
	}
}

/* ---- discard -------------------------------------------------------------------------------- */

/* R3, R5: may the home be discarded, now that nothing of it is left in the slot? */
static bool may_pass(const struct ht_map *map, u32 slot)
{
	const struct ht_slot *s = slot_of(map, slot);

	return s->state == HT_SLOT_LIVE && !(s->flags & HT_F_STALE);
}

/* Nothing of the extent is left, but a record claims it: its home has to wait for a commit. */
static bool trim_later(const struct ht_map *map, const struct ht_request *req, u32 slot)
{
	const struct ht_slot *s = slot_of(map, slot);

	return s->state == HT_SLOT_LIVE && !s->writers && map->mode < HINTIER_MODE_BYPASS &&
	       req->to - req->from == ht_extent_sectors(&map->geo);
}

static void drop_for_discard(struct ht_map *map, u32 from, u32 to, struct ht_answer *ret)
{
	struct ht_slot *s = slot_of(map, ret->slot);

	if (s->state == HT_SLOT_FILL) {
		s->gen++;
	} else if (ht_bits_any(ht_slot_bits(map, ret->slot, HT_VALID), from, to)) {
		ret->dropped = ht_bits_count(ht_slot_bits(map, ret->slot, HT_DIRTY), from, to);
		ret->act |= drop_units(map, ret->slot, from, to);
		ret->act |= unused_fetch(map, ret->slot, &ret->fetch);
	}
}

static void begin_discard(struct ht_map *map, const struct ht_request *req, struct ht_answer *ret)
{
	u32 from = req->from / HT_UNIT_SECTORS, to = req->to / HT_UNIT_SECTORS;
	bool pass = req->pass && map->mode != HINTIER_MODE_FAIL; /* R14, as in write_home() */

	ret->verdict = pass ? HT_DO_HOME : HT_DO_DROP;
	if (map->mode < HINTIER_MODE_BYPASS)
		ret->act |= ht_lost_clear_range(map, req->extent, from, to);
	if (ret->slot == HT_NIL)
		return;
	drop_for_discard(map, from, to, ret);
	ret->act |= ht_release(map, ret->slot);
	if (!pass || (ret->act & HT_ACT_FREE) || may_pass(map, ret->slot))
		return;
	ret->verdict = HT_DO_DROP;
	if (trim_later(map, req, ret->slot))
		slot_of(map, ret->slot)->state = HT_SLOT_TRIM;
}

void ht_begin(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
	      struct ht_answer *ret)
{
	ret->slot = ht_lookup(map, req->extent);
	ret->klass = ret->slot == HT_NIL ? 0 : slot_of(map, ret->slot)->klass;
	ret->to = req->to;
	ret->act = 0;
	ret->dropped = 0;

	switch (req->op) {
	case HT_REQ_READ:
		begin_read(map, req, ret);
		break;
	case HT_REQ_WRITE:
	case HT_REQ_ZEROES:
		begin_write(map, shard, req, ret);
		break;
	default:
		begin_discard(map, req, ret);
		break;
	}
}

/* ---- end ------------------------------------------------------------------------------------ */

/* A write to the slot has succeeded: its units are valid, and dirty. */
static u32 write_landed(struct ht_map *map, const struct ht_request *req, u32 slot)
{
	struct ht_slot *s = slot_of(map, slot);
	u16 *valid = ht_slot_bits(map, slot, HT_VALID);
	u16 *dirty = ht_slot_bits(map, slot, HT_DIRTY);
	bool whole = !(req->from % HT_UNIT_SECTORS) && !(req->to % HT_UNIT_SECTORS);
	u32 from = req->from / HT_UNIT_SECTORS;
	u32 to = whole ? req->to / HT_UNIT_SECTORS : from + 1;
	enum ht_list before;
	u32 act = 0;

	/*
	 * A piece of a unit that was discarded meanwhile stays discarded: the rest of the unit
	 * may have been written at home since.
	 */
	if (!whole && !ht_bits_test(valid, from))
		return 0;
	/* What could not be read has been written again, perhaps: let a destage find out. */
	if (s->state == HT_SLOT_STUCK) {
		s->state = HT_SLOT_LIVE;
		act = HT_ACT_LIST;
	}
	if (ht_bits_all(dirty, from, to))
		return act | (s->flags & HT_F_CHANGED ? HT_ACT_RECORD : 0);

	before = ht_list_of(map, slot);
	ht_bits_set(valid, from, to);
	ht_bits_set(dirty, from, to);
	return act | changed(s) | (before != HT_LIST_DIRTY ? HT_ACT_LIST : 0);
}

bool ht_slot_failed(struct ht_map *map, const struct ht_request *req, u32 slot, bool medium,
		    u32 *ret_act)
{
	u32 from = req->from / HT_UNIT_SECTORS;
	u32 to = (req->to + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;
	const u16 *valid = ht_slot_bits(map, slot, HT_VALID);
	const u16 *dirty = ht_slot_bits(map, slot, HT_DIRTY);
	struct ht_slot *s = slot_of(map, slot);
	/* A piece of a unit may be on its way to what is clean now: then it has to stay. */
	bool others = s->writers > (req->op != HT_REQ_READ);
	bool all_clean = true;
	u32 forgotten;

	*ret_act = 0;
	if (medium && !(s->flags & HT_F_BAD)) {
		s->flags |= HT_F_BAD;
		*ret_act |= changed(s) | HT_ACT_HURRY;
	}
	for (u32 unit = from; unit < to; unit++) {
		if (ht_bits_test(dirty, unit))
			all_clean = false;
		else if (ht_bits_test(valid, unit) && !others)
			*ret_act |= drop_units(map, slot, unit, unit + 1);
	}
	if (ht_forget(map, slot, &forgotten))
		*ret_act |= forgotten;
	return all_clean;
}

/* Nobody knows what it has left in the slot, so home has no copy of that. */
static u32 write_failed(struct ht_map *map, const struct ht_request *req, u32 slot)
{
	u32 from = req->from / HT_UNIT_SECTORS;
	u32 to = (req->to + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS;

	if (!ht_bits_any(ht_slot_bits(map, slot, HT_VALID), from, to))
		return 0;
	return make_dirty(map, slot, from, to);
}

static u32 end_home(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
		    bool ok)
{
	bool whole = !(req->from % HT_UNIT_SECTORS) && !(req->to % HT_UNIT_SECTORS);

	if (req->op == HT_REQ_READ || req->op == HT_REQ_DISCARD)
		return 0;
	(*homing_of(shard, req->extent))--;
	if (!ok || !whole)
		return 0;
	/* Also if fast was given up on the way: the write is told to have succeeded. */
	return ht_lost_clear_range(map, req->extent, req->from / HT_UNIT_SECTORS,
				   req->to / HT_UNIT_SECTORS);
}

/* Nothing holds the slot any more, and no record or nobody wants it. */
static u32 leave(struct ht_map *map, u32 slot)
{
	u32 act;

	if (!(slot_of(map, slot)->flags & HT_F_BAD))
		return ht_release(map, slot);
	ht_forget(map, slot, &act);
	return act;
}

u32 ht_end(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req, u32 slot,
	   u8 verdict, bool ok)
{
	struct ht_slot *s;
	u32 act = 0;

	if (verdict == HT_DO_HOME)
		return end_home(map, shard, req, ok);

	s = slot_of(map, slot);
	if (req->op == HT_REQ_READ) {
		s->readers--;
	} else {
		s->writers--;
		/* A destage that began in between may have read what was there before. */
		s->gen++;
		if (ok)
			act = write_landed(map, req, slot);
		else
			act = write_failed(map, req, slot);
	}
	if (!s->readers && !s->writers && (s->flags & (HT_F_RECORDED | HT_F_BAD)) != HT_F_RECORDED)
		act |= leave(map, slot);
	return act;
}
