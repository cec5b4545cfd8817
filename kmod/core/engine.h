/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine layer: the free-slot pool, the order of slots, and what to do next in the
 * background. Decisions are data: ht_engine_next() names a slot and what should happen to it.
 *
 * Every call needs the engine's lock. The lock is taken inside a shard's lock, never around it:
 * whoever gets a slot from ht_engine_next() owns it (it is on no list) and must look, under its
 * shard's lock, whether the decision still holds.
 */
#ifndef HT_CORE_ENGINE_H
#define HT_CORE_ENGINE_H

#include "types.h"

HT_CORE_BEGIN

/* Numbers an operator may set, with their defaults in ht_tunables_init(). */
struct ht_tunables {
	u32 high;        /* dirty slots, percent of all: destaging starts above */
	u32 low;         /* and stops below */
	u32 reserve;     /* free slots kept, per mille of all */
	u32 promote;     /* 0 never, 1 first read, 2 second read within memory of the ghosts */
	u32 window;      /* destages in flight when no demand read waits for bulk */
	u32 window_busy; /* and when one does */
	u32 fetches;     /* fills in flight */
	u32 commit_ms;   /* longest time a change stays unrecorded */
	u32 pass_discard;/* send discards down to bulk */
};

enum ht_work {
	HT_WORK_NONE,
	HT_WORK_DESTAGE, /* dirty units go home */
	HT_WORK_EVICT,   /* clean: forget it, record that, then it is free */
};

/* What the engine must be told to decide. */
struct ht_situation {
	u32 dirty;       /* slots, sums over the shards */
	u32 clean;
	u32 destaging;   /* transfers in flight */
	u32 freeing;     /* slots on their way to the pool that need only a commit */
	bool reads_wait; /* demand reads are in flight on bulk */
	bool drain;      /* somebody waits for everything to be clean */
};

struct ht_engine {
	struct ht_slot *slots;
	u32 nr;                    /* slots in all */
	u32 head[HT_LISTS];
	u32 tail[HT_LISTS];
	u32 count[HT_LISTS];
	bool destaging;            /* between the high and the low mark, on the way down */
	struct ht_tunables tune;
};

void ht_tunables_init(struct ht_tunables *tune);
/* Key and bounds of a tunable; NULL past the last one. */
struct ht_tunable {
	const char *key;
	u32 min;
	u32 max;
	size_t offset;             /* in struct ht_tunables */
};
const struct ht_tunable *ht_tunable(u32 nth);
/* 0, -ENOENT or -ERANGE. */
int ht_tunable_set(struct ht_tunables *tune, const char *key, u64 value);

void ht_engine_init(struct ht_engine *engine, struct ht_slot *slots, u32 nr);
void ht_engine_append(struct ht_engine *engine, u32 slot, enum ht_list list);
void ht_engine_remove(struct ht_engine *engine, u32 slot);
/* A free slot, or HT_NIL; `spare`: leave the reserve alone. */
u32 ht_engine_take(struct ht_engine *engine, bool spare);
/* Free slots that must be kept for writes. */
u32 ht_engine_reserve(const struct ht_engine *engine);
bool ht_engine_wants(const struct ht_engine *engine, const struct ht_situation *now);
enum ht_work ht_engine_next(struct ht_engine *engine, const struct ht_situation *now,
			    u32 *ret_slot);

HT_CORE_END

#endif
