/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Activation: what the metadata on fast says is taken into an empty map, one sector after another,
 * all record sectors first, then the lost map. Nothing that is read is believed before it has been
 * checked; after a refusal the map is of no use. No locks.
 */
#ifndef HT_CORE_LOAD_H
#define HT_CORE_LOAD_H

#include "pair.h"
#include "record.h"
#include "types.h"

HT_CORE_BEGIN

/*
 * A record sector, trusted as far as ht_pair_load() said; *ret_dirty is set if one of its units is
 * dirty. Raises the pair's newest sequence number.
 */
enum ht_refusal ht_load_records(struct ht_map *map, struct ht_pair *pair, const u8 *uuid,
				u32 index, const void *sector, enum ht_trust trust,
				bool *ret_dirty);

/* A sector of the lost map. */
enum ht_refusal ht_load_lost(struct ht_map *map, struct ht_pair *pair, const u8 *uuid, u32 index,
			     const void *sector);

HT_CORE_END

#endif
