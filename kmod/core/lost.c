// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lost map. See lost.h for what it promises.
 */
#include "lost.h"

#include "bits.h"
#include "shard.h"

static struct ht_lost_entry *entry_of(const struct ht_map *map, u32 entry)
{
	return &map->lost.entries[entry];
}

static u16 *bits_of(const struct ht_map *map, u32 entry)
{
	return map->lost.bits + (u64)entry * map->geo.words;
}

static u32 *bucket_of(const struct ht_map *map, u32 extent)
{
	/* The same hash as for slots: a chain lies within one shard. */
	return &map->lost.buckets[ht_hash(extent) >> (32 - map->lost.bucket_bits)];
}

void ht_lost_reset(struct ht_map *map)
{
	struct ht_lost *lost = &map->lost;

	lost->capacity = ht_lost_capacity(&map->geo);
	lost->free = HT_NIL;
	lost->used = lost->capacity;
	for (u32 i = 0; i < lost->capacity; i++)
		entry_of(map, i)->extent = HT_NIL;
	for (u32 i = 0; i < 1U << lost->bucket_bits; i++)
		lost->buckets[i] = HT_NIL;
	for (u32 i = 0; i < map->geo.lost_sectors; i++)
		lost->changed[i] = 0;
	memset(lost->bits, 0, sizeof(u16) * map->geo.words * (size_t)lost->capacity);
}

u32 ht_lost_take(struct ht_map *map)
{
	struct ht_lost *lost = &map->lost;
	u32 entry = lost->free;

	if (entry == HT_NIL)
		return HT_NIL;
	lost->free = entry_of(map, entry)->next;
	lost->used++;
	return entry;
}

void ht_lost_give(struct ht_map *map, u32 entry)
{
	entry_of(map, entry)->next = map->lost.free;
	map->lost.free = entry;
	map->lost.used--;
}

u32 ht_lost_find(const struct ht_map *map, u32 extent)
{
	u32 entry;

	if (!map->lost.used)
		return HT_NIL;
	entry = *bucket_of(map, extent);
	while (entry != HT_NIL && entry_of(map, entry)->extent != extent)
		entry = entry_of(map, entry)->next;
	return entry;
}

bool ht_lost_run(const struct ht_map *map, u32 slot, u32 extent, u32 unit, u32 *end)
{
	u32 entry = ht_lost_find(map, extent);
	u16 lost[HT_UNITS_MAX / 16];
	bool first;

	if (entry == HT_NIL)
		return false;
	for (u32 w = 0; w < map->geo.words; w++) {
		lost[w] = bits_of(map, entry)[w];
		if (slot != HT_NIL)
			lost[w] &= (u16)~ht_slot_bits(map, slot, HT_VALID)[w];
	}
	first = ht_bits_test(lost, unit);
	*end = ht_bits_find(lost, unit, *end, !first);
	return first;
}

u32 ht_lost_count(const struct ht_map *map, u32 slot, u32 extent)
{
	u32 n = 0;

	for (u32 unit = 0, end = 0; unit < map->geo.units; unit = end) {
		end = map->geo.units;
		if (ht_lost_run(map, slot, extent, unit, &end))
			n += end - unit;
	}
	return n;
}

static u32 changed(struct ht_map *map, u32 entry)
{
	entry_of(map, entry)->changed = true;
	map->lost.changed[ht_lost_sector(map, entry)] = 1;
	return HT_ACT_LOST;
}

void ht_lost_hash(struct ht_map *map, u32 entry, u32 extent)
{
	struct ht_lost_entry *e = entry_of(map, entry);
	u32 *head = bucket_of(map, extent);

	e->extent = extent;
	e->changed = false;
	e->next = *head;
	*head = entry;
}

static void unhash(struct ht_map *map, u32 entry)
{
	struct ht_lost_entry *e = entry_of(map, entry);
	u32 *link = bucket_of(map, e->extent);

	while (*link != entry)
		link = &entry_of(map, *link)->next;
	*link = e->next;
	e->extent = HT_NIL;
}

u32 ht_lost_add(struct ht_map *map, u32 extent, const u16 *units)
{
	u32 entry = ht_lost_find(map, extent);

	for (u32 w = 0; w < map->geo.words; w++)
		bits_of(map, entry)[w] |= units[w];
	return changed(map, entry);
}

u32 ht_lost_clear(struct ht_map *map, u32 extent, const u16 *units)
{
	u32 entry = ht_lost_find(map, extent);
	bool any = false;

	if (entry == HT_NIL)
		return 0;
	for (u32 w = 0; w < map->geo.words; w++) {
		any |= bits_of(map, entry)[w] & units[w];
		bits_of(map, entry)[w] &= (u16)~units[w];
	}
	return any ? changed(map, entry) : 0;
}

u32 ht_lost_clear_range(struct ht_map *map, u32 extent, u32 from, u32 to)
{
	u16 units[HT_UNITS_MAX / 16] = { 0 };

	if (!map->lost.used)
		return 0;
	ht_bits_set(units, from, to);
	return ht_lost_clear(map, extent, units);
}

/* ---- on disk -------------------------------------------------------------------------------- */

static bool empty(const struct ht_map *map, u32 entry)
{
	return !ht_bits_any(bits_of(map, entry), 0, map->geo.units);
}

void ht_lost_gather(struct ht_map *map, u32 entry, struct ht_lost_record *ret)
{
	struct ht_lost_entry *e = entry_of(map, entry);

	memset(ret, 0, sizeof(*ret));
	e->changed = false;
	if (empty(map, entry))
		return;
	ret->used = true;
	ret->extent = e->extent;
	memcpy(ret->lost, bits_of(map, entry), sizeof(u16) * map->geo.words);
}

bool ht_lost_publish(struct ht_map *map, u32 entry)
{
	/* What changed since it was gathered is not what the disk says now. */
	if (entry_of(map, entry)->changed || !empty(map, entry))
		return false;
	unhash(map, entry);
	return true;
}

void ht_lost_revert(struct ht_map *map, u32 entry)
{
	changed(map, entry);
}

enum ht_refusal ht_lost_load(struct ht_map *map, u32 entry, const struct ht_lost_record *record)
{
	u16 claimed[HT_UNITS_MAX / 16];
	u32 slot;

	if (!record->used) {
		ht_lost_give(map, entry);
		return HT_OK;
	}
	if (record->extent >= map->geo.extents || ht_lost_find(map, record->extent) != HT_NIL)
		return HT_REFUSE_LOST;
	ht_lost_hash(map, entry, record->extent);
	memcpy(bits_of(map, entry), record->lost, sizeof(u16) * map->geo.words);
	slot = ht_lookup(map, record->extent);
	if (slot == HT_NIL)
		return HT_OK;
	/*
	 * What a record claims has been written since. If the slot is not trusted any more its
	 * clean units are at home; its dirty ones are lost again.
	 */
	for (u32 w = 0; w < map->geo.words; w++)
		claimed[w] = ht_slot_bits(map, slot, HT_VALID)[w] |
			     ht_slot_bits(map, slot, HT_RCLEAN)[w];
	ht_lost_clear(map, record->extent, claimed);
	return HT_OK;
}
