/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the stage share: its blocks. Others see stage.h.
 */
#ifndef HT_STAGE_BLOCK_H
#define HT_STAGE_BLOCK_H

#include "tier.h"

#include "core/stream.h"

#include <linux/shrinker.h>

struct ht_staged {
	struct ht_staged *next;         /* shard lock: in its chain */
	struct list_head order;         /* stage lock: of its stream or FETCHes, or of free blocks */
	struct ht_tier *tier;
	struct page **pages;            /* [units], or all NULL */
	struct ht_piece piece;          /* its stream is HT_NIL if a FETCH has asked for it */
	struct work_struct work;
	struct bio_list readers;        /* shard lock: joined while LOADING */
	atomic_t users;                 /* being findable, the load, and readers */
	atomic_t pending;               /* bios in flight */
	blk_status_t status;
	u32 fetch;                      /* shard lock: number of the FETCH to tell, or 0 */
	u32 since;                      /* of a FETCH: time when it was taken */
	u32 slot;                       /* counts as a reader there, while LOADING */
	u32 fast_sectors;
	u32 bulk_sectors;
	u16 unread[HT_UNITS_MAX / 16];  /* shard lock */
	u8 state;                       /* shard lock */
	bool findable;                  /* shard lock */
	bool has_pages;
};

struct ht_stage {
	struct ht_tier *tier;
	spinlock_t lock;
	struct ht_streams streams;
	struct list_head order[HT_STREAMS]; /* findable blocks, as they were asked for */
	struct list_head fetched;       /* the same, by FETCHes */
	struct list_head free;          /* those that have pages first */
	struct ht_staged *blocks;
	u32 nr;
	u32 used;
	u32 used_fetched;               /* of these, by FETCHes */
	u32 limit;                      /* blocks that may be used: falls with memory pressure */
	u32 idle_pages;                 /* blocks that are free and have pages */
	atomic_t loads;
	atomic_t fetching;              /* of these, for FETCHes */
	struct work_struct work;
	struct delayed_work sweep;
	struct bio_set bios;
#ifdef SHRINKER_ALLOCATED
	struct shrinker *shrinker;
#else
	struct shrinker shrinker;
	bool shrinks;
#endif
};

static inline u32 ht_stage_ticks(void)
{
	return (u32)jiffies;
}

/* ---- stage_block.c ---- */

/* Pages for a block that has none; without waiting. */
bool ht_staged_get_pages(struct ht_staged *b);
/* A free block for the next piece of a stream. NULL: no stream wants, or no room. */
struct ht_staged *ht_staged_take(struct ht_stage *stage);
/* The same for a FETCH. */
struct ht_staged *ht_staged_take_fetched(struct ht_stage *stage, const struct ht_wanted *wanted);
void ht_staged_give(struct ht_stage *stage, struct ht_staged *b);
void ht_staged_put(struct ht_staged *b);
/*
 * All under the shard's lock: a block that has some of these units; nobody is to find it any more,
 * and what became of the FETCH that has asked for it, if nobody knows that yet.
 */
struct ht_staged *ht_staged_find(struct ht_lock_shard *shard, u32 extent, u32 from, u32 to);
void ht_staged_hide(struct ht_stage *stage, struct ht_lock_shard *shard, struct ht_staged *b,
		    enum hintier_fetch how);
void ht_staged_tell(struct ht_staged *b, enum hintier_fetch how);
/* A block that was found without its shard's lock, with a reference, is to go. */
void ht_staged_drop(struct ht_stage *stage, struct ht_staged *b);
/* The last block of the stream that was not read for longest, and at least `age`; referenced. */
struct ht_staged *ht_staged_idlest(struct ht_stage *stage, u32 age);
/* The block that a FETCH has longest, and at least `age`; referenced. */
struct ht_staged *ht_staged_oldest(struct ht_stage *stage, u32 age);
/* Pages of at most so many free blocks go back. */
void ht_stage_free_some(struct ht_stage *stage, u32 most);
int ht_stage_create_blocks(struct ht_stage *stage);
int ht_stage_add_shrinker(struct ht_stage *stage);
void ht_stage_remove_shrinker(struct ht_stage *stage);

/* ---- stage_load.c ---- */

enum { HT_STAGED_LOADING, HT_STAGED_READY, HT_STAGED_FAILED };

/* Makes a block findable and starts to fill it; false if that may not be done now. */
bool ht_staged_load(struct ht_stage *stage, struct ht_staged *b);
void ht_staged_serve_joined(struct work_struct *work);

/* ---- stage.c ---- */

void ht_stage_kick(struct ht_stage *stage);

#endif
