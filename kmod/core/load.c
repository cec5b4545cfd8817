// SPDX-License-Identifier: GPL-2.0-only
/*
 * Activation. See load.h.
 */
#include "load.h"

#include "lost.h"
#include "shard.h"

/* A sequence number near the end of its range would wrap: nobody wrote that many. */
static bool newer(struct ht_pair *pair, u64 seq)
{
	if (seq >> 62)
		return false;
	if (pair->commit_seq < seq)
		pair->commit_seq = seq;
	return true;
}

enum ht_refusal ht_load_records(struct ht_map *map, struct ht_pair *pair, const u8 *uuid,
				u32 index, const void *sector, enum ht_trust trust,
				bool *ret_dirty)
{
	const struct ht_geometry *geo = &map->geo;
	struct ht_record record;
	enum ht_refusal why;
	u64 seq;

	why = ht_records_check(uuid, index, sector, &seq);
	if (why == HT_OK && !newer(pair, seq))
		why = HT_REFUSE_RECORD;
	for (u32 nth = 0; why == HT_OK && nth < geo->per_sector; nth++) {
		u64 slot = (u64)index * geo->per_sector + nth;

		why = ht_record_get(geo, sector, nth, &record);
		if (why != HT_OK || !(record.used || record.bad))
			continue;
		if (slot >= geo->slots)
			return HT_REFUSE_RECORD;
		why = ht_record_load(map, (u32)slot, &record, trust);
		if (why == HT_OK && record.used && ht_list_of(map, (u32)slot) == HT_LIST_DIRTY)
			*ret_dirty = true;
	}
	return why;
}

enum ht_refusal ht_load_lost(struct ht_map *map, struct ht_pair *pair, const u8 *uuid, u32 index,
			     const void *sector)
{
	const struct ht_geometry *geo = &map->geo;
	struct ht_lost_record record;
	enum ht_refusal why;
	u64 seq;

	why = ht_lost_check(uuid, index, sector, &seq);
	if (why == HT_OK && !newer(pair, seq))
		why = HT_REFUSE_LOST;
	for (u32 nth = 0; why == HT_OK && nth < geo->lost_per_sector; nth++) {
		why = ht_lost_get(geo, sector, nth, &record);
		if (why == HT_OK)
			why = ht_lost_load(map, index * geo->lost_per_sector + nth, &record);
	}
	return why;
}
