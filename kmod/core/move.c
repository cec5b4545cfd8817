// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers between a slot and a home. See move.h for the recipe.
 */
#include "move.h"

#include "bits.h"
#include "lost.h"
#include "shard.h"

static struct ht_slot *slot_of(const struct ht_map *map, u32 slot)
{
	return &map->slots[slot];
}

/* R5: somebody writes this home, or one that shares its counter, or discards it. */
static bool home_busy(const struct ht_map *map, const struct ht_shard *shard, u32 extent)
{
	return shard->homing[extent % HT_HOMING] || ht_held(map, extent);
}

/* S7: bulk gets whole indirection units. */
static void pad(const struct ht_map *map, struct ht_move *move)
{
	memset(move->pad, 0, sizeof(move->pad));
	move->padding = 0;
	for (u32 from = 0; map->iu > 1 && from < map->geo.units; from += map->iu) {
		u32 to = from + map->iu;
		u32 count = ht_bits_count(move->units, from, to);

		if (!count || count == map->iu)
			continue;
		move->padding += map->iu - count;
		ht_bits_each_word(w, from, to)
			move->pad[w] |= (u16)~move->units[w] & ht_bits_mask(w, from, to);
	}
}

bool ht_destage_begin(struct ht_map *map, struct ht_shard *shard, u32 slot, struct ht_move *ret)
{
	struct ht_slot *s = slot_of(map, slot);
	const u16 *dirty = ht_slot_bits(map, slot, HT_DIRTY);

	if (s->state != HT_SLOT_LIVE || home_busy(map, shard, s->extent))
		return false;
	ret->count = ht_count_units(map, slot, HT_DIRTY);
	if (!ret->count)
		return false;
	ret->unread = 0;
	ret->bad = false;
	ret->slot = slot;
	ret->extent = s->extent;
	ret->gen = s->gen;
	for (u32 w = 0; w < map->geo.words; w++)
		ret->units[w] = dirty[w];
	pad(map, ret);
	s->state = HT_SLOT_DESTAGE;
	return true;
}

u32 ht_destage_retry(struct ht_map *map, u32 slot)
{
	struct ht_slot *s = slot_of(map, slot);

	if (s->state != HT_SLOT_STUCK)
		return 0;
	s->state = HT_SLOT_LIVE;
	return HT_ACT_LIST;
}

u32 ht_destage_finish(struct ht_map *map, const struct ht_move *move, bool ok, bool *ret_clean)
{
	struct ht_slot *s = slot_of(map, move->slot);
	u16 *dirty = ht_slot_bits(map, move->slot, HT_DIRTY);
	u16 *vol = ht_slot_bits(map, move->slot, HT_VOLATILE);
	u32 act, forgotten;

	s->state = HT_SLOT_LIVE;
	if (move->bad && !(s->flags & HT_F_BAD))
		s->flags |= HT_F_BAD | HT_F_CHANGED;
	/* All that can be read is home, or there was nothing of it: another try would be the same. */
	if (move->unread && (ok || !move->count) && s->gen == move->gen)
		s->state = HT_SLOT_STUCK;
	/* Even a failed or overtaken transfer may have written home: a later record waits for it. */
	s->flags |= HT_F_HOME;
	*ret_clean = ok && s->gen == move->gen;
	if (*ret_clean) {
		for (u32 w = 0; w < map->geo.words; w++) {
			dirty[w] &= (u16)~move->units[w];
			vol[w] &= (u16)~move->units[w];
		}
		s->flags |= HT_F_CHANGED;
		act = HT_ACT_RECORD | ht_lost_clear(map, move->extent, move->units);
		if ((s->flags & (HT_F_DONE | HT_F_BAD)) && ht_forget(map, move->slot, &forgotten))
			act |= forgotten;
		s->flags &= ~HT_F_DONE;
		return act;
	}
	return ht_release(map, move->slot) | (s->flags & HT_F_CHANGED ? HT_ACT_RECORD : 0);
}

bool ht_fill_begin(struct ht_map *map, struct ht_shard *shard, u32 slot, u32 extent, u32 from,
		   u32 to, struct ht_move *ret)
{
	/* R10: a fill would give a lost unit what its home still has. */
	if (home_busy(map, shard, extent) || ht_lookup(map, extent) != HT_NIL ||
	    ht_lost_find(map, extent) != HT_NIL)
		return false;
	ht_admit(map, slot, extent, HT_SLOT_FILL);
	ret->unread = 0;
	ret->bad = false;
	ret->slot = slot;
	ret->extent = extent;
	ret->gen = slot_of(map, slot)->gen;
	ret->count = to - from;
	memset(ret->units, 0, sizeof(ret->units));
	ht_move_unpad(ret);
	ht_bits_set(ret->units, from, to);
	return true;
}

bool ht_fill_wanted(const struct ht_map *map, const struct ht_move *move)
{
	return slot_of(map, move->slot)->gen == move->gen;
}

u32 ht_fill_finish(struct ht_map *map, const struct ht_move *move, bool ok, bool *ret_valid)
{
	struct ht_slot *s = slot_of(map, move->slot);
	u16 *valid;

	*ret_valid = ok && s->gen == move->gen;
	s->state = HT_SLOT_LIVE;
	if (move->bad)
		s->flags |= HT_F_BAD;
	if (!*ret_valid)
		return ht_release(map, move->slot);
	valid = ht_slot_bits(map, move->slot, HT_VALID);
	for (u32 w = 0; w < map->geo.words; w++)
		valid[w] |= move->units[w];
	/* What was read may still be in bulk's volatile cache (R2). */
	s->flags |= HT_F_HOME | HT_F_CHANGED;
	return HT_ACT_RECORD;
}

u32 ht_trim_finish(struct ht_map *map, u32 slot)
{
	struct ht_slot *s = slot_of(map, slot);

	s->state = HT_SLOT_LIVE;
	return ht_release(map, slot);
}

void ht_move_leave(struct ht_move *move, u32 unit)
{
	ht_bits_clear(move->units, unit, unit + 1);
	move->count--;
	move->unread++;
}

void ht_move_unpad(struct ht_move *move)
{
	memset(move->pad, 0, sizeof(move->pad));
	move->padding = 0;
}

bool ht_move_run(const struct ht_geometry *geo, const struct ht_move *move, enum ht_move_part part,
		 u32 *unit, u32 *end)
{
	u16 bits[HT_UNITS_MAX / 16];

	for (u32 w = 0; w < geo->words; w++)
		bits[w] = (part == HT_MOVE_PAD ? 0 : move->units[w]) |
			  (part == HT_MOVE_UNITS ? 0 : move->pad[w]);
	*unit = ht_bits_find(bits, *unit, geo->units, true);
	if (*unit == geo->units)
		return false;
	*end = ht_bits_find(bits, *unit, geo->units, false);
	return true;
}
