/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lost map (R10): units that were dropped while they were dirty. Their homes are stale, so
 * reads of them fail, until a whole unit is written or they are discarded.
 *
 * What a slot holds is not lost, whatever the map says: on disk too, a record that claims a unit
 * wins over the map. That leaves two rules for the order in which both become durable:
 *
 *   - a unit is in the map before the record that claimed it goes;
 *   - it is out of the map before the record that claims it anew goes.
 *
 * Both hold because each commit makes what has changed in the map durable before its records, and
 * because a unit leaves the map in memory only when something else has it for certain:
 *
 *   written to a slot   when a record that claims it is durable (ht_record_publish), or its home
 *                       has it (ht_destage_finish)
 *   written home        when the write has ended; the commit flushes bulk before the map
 *   discarded           at once: from then on any contents will do
 *
 * With fast gone the map cannot change any more: what is lost stays lost, writes to it fail (R14).
 *
 * An entry keeps its place on disk until it is empty there, so an extent never has two.
 */
#ifndef HT_CORE_LOST_H
#define HT_CORE_LOST_H

#include "format.h"
#include "types.h"

HT_CORE_BEGIN

/* An empty map, whose entries are all still to be loaded; the arrays are there. */
void ht_lost_reset(struct ht_map *map);

/* Under the engine's lock: a free entry or HT_NIL; gives one back. */
u32 ht_lost_take(struct ht_map *map);
void ht_lost_give(struct ht_map *map, u32 entry);

/*
 * Is half of it in use? Only a commit takes out what has been written or discarded since it was
 * lost. May be asked without the lock.
 */
static inline bool ht_lost_wants_commit(const struct ht_map *map)
{
	return READ_ONCE(map->lost.used) >= map->lost.capacity / 2;
}

static inline u32 ht_lost_sector(const struct ht_map *map, u32 entry)
{
	return entry / map->geo.lost_per_sector;
}

/* The rest under the lock of the extent's shard. Its entry, or HT_NIL. */
u32 ht_lost_find(const struct ht_map *map, u32 extent);

/*
 * Is the unit lost? *end is moved down to where the answer changes. `slot` is the extent's, or
 * HT_NIL.
 */
bool ht_lost_run(const struct ht_map *map, u32 slot, u32 extent, u32 unit, u32 *end);
/* Lost units of an extent that no slot holds. */
u32 ht_lost_count(const struct ht_map *map, u32 slot, u32 extent);

/* Hashes a taken entry under an extent that has none. */
void ht_lost_hash(struct ht_map *map, u32 entry, u32 extent);
/* These units are lost; the extent has an entry. Returns HT_ACT_LOST. */
u32 ht_lost_add(struct ht_map *map, u32 extent, const u16 *units);
/* These are not, any more. Returns HT_ACT_LOST or 0. */
u32 ht_lost_clear(struct ht_map *map, u32 extent, const u16 *units);
u32 ht_lost_clear_range(struct ht_map *map, u32 extent, u32 from, u32 to);

/* What the disk is to say about an entry, as ht_record_gather() for slots. */
void ht_lost_gather(struct ht_map *map, u32 entry, struct ht_lost_record *ret);
/* It says so. True: the entry is free, give it back. */
bool ht_lost_publish(struct ht_map *map, u32 entry);
/* It does not. */
void ht_lost_revert(struct ht_map *map, u32 entry);

/*
 * Takes an entry found at activation, used or not; after all slot records and before the first
 * request, no locks. HT_REFUSE_LOST if it cannot be true.
 */
enum ht_refusal ht_lost_load(struct ht_map *map, u32 entry, const struct ht_lost_record *record);

HT_CORE_END

#endif
