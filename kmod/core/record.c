// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records: from a slot to what the disk says about it, and back. See record.h for the protocol.
 */
#include "record.h"

#include "bits.h"
#include "lost.h"
#include "shard.h"

#include <hintier/types.h>

static_assert(HINTIER_GROUPS <= 256, "a slot has a byte for its group");

static struct ht_slot *slot_of(const struct ht_map *map, u32 slot)
{
	return &map->slots[slot];
}

/* Does the slot hold anything that a record could name? */
static bool recordable(const struct ht_map *map, u32 slot)
{
	const struct ht_slot *s = slot_of(map, slot);

	return (s->state == HT_SLOT_LIVE || s->state == HT_SLOT_DESTAGE ||
		s->state == HT_SLOT_STUCK) &&
	       ht_list_of(map, slot) != HT_LIST_EMPTY;
}

/* May what the slot still holds be called dirty, instead of what only its home has been told? */
static bool may_stay_dirty(const struct ht_map *map, u32 slot)
{
	return recordable(map, slot) && !(slot_of(map, slot)->flags & HT_F_STALE) &&
	       map->bulk == HT_BULK_PARTIAL;
}

u32 ht_record_gather(struct ht_map *map, u32 slot, bool homes, struct ht_record *ret)
{
	struct ht_slot *s = slot_of(map, slot);
	const u16 *valid = ht_slot_bits(map, slot, HT_VALID);
	const u16 *dirty = ht_slot_bits(map, slot, HT_DIRTY);
	u16 *rclean = ht_slot_bits(map, slot, HT_RCLEAN);
	bool early = !homes && (s->flags & HT_F_HOME);
	u32 needs = 0;

	memset(ret, 0, sizeof(*ret));
	if (early && !may_stay_dirty(map, slot))
		return HT_GATHER_HELD;
	if (s->flags & HT_F_CHANGED)
		needs |= HT_GATHER_CHANGED;
	if (early)
		needs |= HT_GATHER_AGAIN;
	else if (s->flags & HT_F_HOME)
		needs |= HT_GATHER_BULK;
	s->flags &= ~(HT_F_CHANGED | HT_F_HOME | HT_F_DROPPED);
	ret->bad = s->flags & HT_F_BAD;
	if (!recordable(map, slot))
		return needs;

	ret->used = true;
	ret->extent = s->extent;
	ret->klass = s->klass;
	ret->group = s->group;
	for (u32 w = 0; w < map->geo.words; w++) {
		ret->valid[w] = valid[w];
		ret->dirty[w] = dirty[w];
		/*
		 * R4: a unit that is being written must not be called clean. Which of them are,
		 * nobody counts: all that no record has called clean yet stay dirty on disk.
		 */
		if (s->writers)
			ret->dirty[w] |= valid[w] & (u16)~rclean[w];
		if (early)
			ret->dirty[w] |= valid[w];
		if (ret->dirty[w] != dirty[w])
			needs |= HT_GATHER_AGAIN;
		rclean[w] |= ret->valid[w] & (u16)~ret->dirty[w];
		if (ret->dirty[w])
			s->flags |= HT_F_RDIRTY;
	}
	if (needs & HT_GATHER_AGAIN)
		s->flags |= HT_F_CHANGED | HT_F_HOME;
	s->flags |= HT_F_RECORDED;
	return needs;
}

/* R10: units that were lost, and that this record claims anew; unless they left the slot since. */
static u32 found_again(struct ht_map *map, u32 slot, const struct ht_record *record)
{
	const u16 *valid = ht_slot_bits(map, slot, HT_VALID);
	u16 units[HT_UNITS_MAX / 16];

	if (!map->lost.used || !record->used)
		return 0;
	for (u32 w = 0; w < map->geo.words; w++)
		units[w] = record->valid[w] & valid[w];
	return ht_lost_clear(map, record->extent, units);
}

u32 ht_record_publish(struct ht_map *map, u32 slot, const struct ht_record *record)
{
	struct ht_slot *s = slot_of(map, slot);
	u16 *rclean = ht_slot_bits(map, slot, HT_RCLEAN);

	for (u32 w = 0; w < map->geo.words; w++)
		rclean[w] = record->valid[w] & (u16)~record->dirty[w];
	if (!ht_bits_any(record->dirty, 0, map->geo.units))
		s->flags &= ~HT_F_RDIRTY;
	if (!record->used)
		s->flags &= ~HT_F_RECORDED;
	if (!(s->flags & HT_F_DROPPED))
		s->flags &= ~HT_F_STALE;
	if (s->state == HT_SLOT_TRIM && !(s->flags & HT_F_STALE)) {
		s->state = HT_SLOT_DESTAGE;
		return HT_ACT_TRIM | found_again(map, slot, record);
	}
	return ht_release(map, slot) | found_again(map, slot, record);
}

void ht_record_revert(struct ht_map *map, u32 slot)
{
	struct ht_slot *s = slot_of(map, slot);

	s->flags |= HT_F_CHANGED | HT_F_HOME;
	if (s->flags & HT_F_STALE)
		s->flags |= HT_F_DROPPED;
}

enum ht_refusal ht_record_load(struct ht_map *map, u32 slot, const struct ht_record *record,
			       enum ht_trust trust)
{
	struct ht_slot *s = slot_of(map, slot);
	u16 *valid = ht_slot_bits(map, slot, HT_VALID);
	u16 *dirty = ht_slot_bits(map, slot, HT_DIRTY);
	u16 *rclean = ht_slot_bits(map, slot, HT_RCLEAN);

	if (!record->used) {
		if (record->bad) {
			s->state = HT_SLOT_BAD;
			s->flags = HT_F_BAD;
		}
		return HT_OK;
	}
	if (record->extent >= map->geo.extents || ht_lookup(map, record->extent) != HT_NIL)
		return HT_REFUSE_RECORD;

	ht_admit(map, slot, record->extent, HT_SLOT_LIVE);
	for (u32 w = 0; w < map->geo.words; w++) {
		dirty[w] = trust == HT_TRUST_NONE ? 0 : record->dirty[w];
		valid[w] = trust == HT_TRUST_ALL ? record->valid[w] : dirty[w];
		rclean[w] = record->valid[w] & (u16)~record->dirty[w];
	}
	s->flags = HT_F_RECORDED | (record->bad ? HT_F_BAD : 0);
	if (ht_bits_any(record->dirty, 0, map->geo.units))
		s->flags |= HT_F_RDIRTY;
	if (trust != HT_TRUST_ALL)
		s->flags |= HT_F_STALE | HT_F_DROPPED | HT_F_CHANGED;
	s->klass = record->klass < HINTIER_CLASSES ? record->klass : 0;
	s->group = record->group < HINTIER_GROUPS ? (u8)record->group : 0;
	return HT_OK;
}
