/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The commit protocol's view of a slot: what its record says, and what follows once it is
 * durable. The protocol (rules R1 to R4, R8):
 *
 *   1 gather: encode the records of every sector that holds a changed slot
 *   2 flush fast (data before mapping); flush bulk if a record says clean or free
 *   3 write the sectors, one write in flight per sector
 *   4 flush fast
 *   5 publish each record: intent is durable, drops are durable, empty slots go to the pool
 *
 * Commits do not overlap. Nothing that ends after step 1 is part of the commit. If a step fails
 * nothing is published, and every gathered slot is changed again (revert).
 *
 * Every call needs the lock of the shard that the slot is hashed in (none if it is not hashed:
 * then the slot must not be on its way into the hash).
 */
#ifndef HT_CORE_RECORD_H
#define HT_CORE_RECORD_H

#include "format.h"
#include "types.h"

HT_CORE_BEGIN

/* Sector and place of a slot's record. */
static inline u32 ht_record_sector(const struct ht_geometry *geo, u32 slot)
{
	return slot / geo->per_sector;
}

/* What must be flushed before this record may be written: bits of ret. */
#define HT_GATHER_CHANGED (1U << 0) /* the slot differed from its last record */
#define HT_GATHER_BULK (1U << 1)    /* its home was written behind it: flush bulk first */
#define HT_GATHER_AGAIN (1U << 2)   /* it says less than it could: gather it again later */
#define HT_GATHER_HELD (1U << 3)    /* nothing: its sector has to stay as it is, see commit.h */

/* `homes`: bulk can be flushed, so that what was written home may be called so. */
u32 ht_record_gather(struct ht_map *map, u32 slot, bool homes, struct ht_record *ret);
/*
 * HT_ACT_FREE: the slot was unhashed and goes to the pool; HT_ACT_TRIM: see move.h; HT_ACT_LOST;
 * HT_ACT_RECORD: gather it again.
 */
u32 ht_record_publish(struct ht_map *map, u32 slot, const struct ht_record *record);
void ht_record_revert(struct ht_map *map, u32 slot);

/* What a record found at activation is worth (R13: the pair's epochs). */
enum ht_trust {
	HT_TRUST_ALL,
	HT_TRUST_DIRTY, /* homes were written without fast: clean units are void */
	HT_TRUST_NONE,  /* and the operator gives up what is dirty */
};

/*
 * Takes a record found at activation into an empty map; no locks. HT_REFUSE_RECORD if it cannot
 * be true.
 */
enum ht_refusal ht_record_load(struct ht_map *map, u32 slot, const struct ht_record *record,
			       enum ht_trust trust);

HT_CORE_END

#endif
