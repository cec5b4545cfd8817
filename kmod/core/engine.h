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

#include "lull.h"
#include "pin.h"
#include "types.h"
#include "value.h"

HT_CORE_BEGIN

/* Numbers an operator may set, with their defaults in ht_tunables_init(). */
struct ht_tunables {
	u32 high;        /* dirty slots, percent of all: destaging starts above */
	u32 low;         /* and stops below */
	u32 reserve;     /* free slots kept, per mille of all */
	u32 spread;      /* percent of slots that dirty data ages past before half of it goes home */
	u32 balance;     /* 1: a clean unit is read from the device with less to read */
	u32 promote;     /* 0 never, 1 first read, 2 second read within memory of the ghosts */
	u32 window;      /* destages in flight when no demand read waits for bulk */
	u32 window_busy; /* and when one does */
	u32 quiet_ms;    /* without a read: readers pause. 0: they are not waited for, see lull.h */
	u32 fetches;     /* fills in flight */
	u32 commit_ms;   /* longest time a change stays unrecorded */
	u32 pass_discard;/* send discards down to bulk */
	u32 drop;        /* 1: under pressure volatile units are dropped, not destaged */
	u32 pins;        /* percent of slots that may be pinned */
	u32 pins_one;    /* and by one of those who do */
	u32 fast_gb_day; /* 10^9 bytes that may be programmed on fast in a day, see budget.h; 0: any */
	u32 bulk_gb_day; /* and on bulk */
};

enum ht_work {
	HT_WORK_NONE,
	HT_WORK_DESTAGE, /* dirty units go home */
	HT_WORK_SHED,    /* the same, but what is volatile is dropped if it can be */
	HT_WORK_EVICT,   /* clean: forget it, record that, then it is free */
	HT_WORK_SORT,    /* slots were only put in order: ask again */
	HT_WORK_WAIT,    /* there is something to do once the readers pause */
};

/* What the engine must be told to decide. */
struct ht_situation {
	u32 destaging;   /* destages in flight */
	bool full;       /* no further one can start */
	bool reads_wait; /* demand reads are in flight on bulk */
	bool drain;      /* somebody waits for everything to be clean */
	bool bulk_over;  /* bulk's budget is spent: nothing goes there but to make room */
	u32 quiet;       /* ticks without a read that make a lull, see lull.h */
	u32 tick;
	u32 read_at;     /* tick of the newest demand read */
	u32 now;         /* ms of a clock that wraps: ticks of pins, life of values */
	u16 second;      /* of a clock that wraps, which ages count in */
};

/* An object that has lost something. */
struct ht_dead {
	u64 object;
	u16 second;
};

#define HT_DEAD 64

struct ht_engine {
	struct ht_slot *slots;
	u32 nr;              /* slots in all */
	u32 reserve_min;     /* slots */
	u32 run_shift;       /* log2 of the extents in 128 KiB: the unit of spreading */
	u32 head[HT_LISTS_ALL]; /* oldest */
	u32 tail[HT_LISTS_ALL];
	u32 count[HT_LISTS_ALL];
	u32 grouped;         /* slots on the lists of groups */
	const struct ht_values *values; /* the caller's; NULL: nobody has told any */
	bool ruled;          /* they were alive at the last decision */
	u16 second;          /* of the last decision, or later */
	struct ht_dead dead[HT_DEAD]; /* by hash */
	u32 taken;           /* the slot that was taken last */
	bool destaging;      /* on the way down from the high to the low mark */
	struct ht_lull lull; /* of the demand reads */
	u32 unpinned;        /* slots to look at again, on the list of the pinned */
	struct ht_pins *pins;/* the caller's; NULL: nothing can be pinned */
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
u32 ht_tunable_get(const struct ht_tunables *tune, const struct ht_tunable *t);
/* 0, -ENOENT or -ERANGE. */
int ht_tunable_set(struct ht_tunables *tune, const char *key, u64 value);

void ht_engine_init(struct ht_engine *engine, const struct ht_geometry *geo, struct ht_slot *slots);
/* Dirty slots that can be destaged: all but those in a transfer, and those that are stuck. */
static inline u32 ht_engine_dirty(const struct ht_engine *engine)
{
	return engine->count[HT_LIST_DIRTY] + engine->count[HT_LIST_AGED] +
	       engine->count[HT_LIST_EARLY];
}

/* All slots with dirty units that are on lists. */
static inline u32 ht_engine_all_dirty(const struct ht_engine *engine)
{
	return ht_engine_dirty(engine) + engine->count[HT_LIST_STUCK];
}

/* Clean slots that can go, as far as is known; and pinned ones too. */
static inline u32 ht_engine_loose(const struct ht_engine *engine)
{
	return engine->count[HT_LIST_CLEAN] + engine->count[HT_LIST_DEAD] + engine->grouped;
}

static inline u32 ht_engine_clean(const struct ht_engine *engine)
{
	return ht_engine_loose(engine) + engine->count[HT_LIST_PINNED];
}

/* One of them, or HT_NIL. */
u32 ht_engine_any_clean(const struct ht_engine *engine);

void ht_engine_append(struct ht_engine *engine, u32 slot, enum ht_list list);
/* Does nothing for a slot that is on no list: its owner will place it. */
void ht_engine_remove(struct ht_engine *engine, u32 slot);
void ht_engine_move(struct ht_engine *engine, u32 slot, enum ht_list list);
/* Its owner said DONE: destage it before all else, and soon. */
void ht_engine_hurry(struct ht_engine *engine, u32 slot);

/* New values, or none; the old ones are the caller's again. */
void ht_engine_rule(struct ht_engine *engine, const struct ht_values *values);
/* The slot's group has changed. */
void ht_engine_regroup(struct ht_engine *engine, u32 slot);
/*
 * Units of an object were dropped, from this slot: what else there is of it goes before all else.
 * What was written together mostly lies together.
 */
void ht_engine_lost(struct ht_engine *engine, u32 slot, u64 object);

/*
 * What is clean stays in its slot as long as it is pinned, and what is volatile is destaged, not
 * dropped. -ENOSPC as in pin.h.
 */
int ht_engine_pin(struct ht_engine *engine, u64 owner, u32 from, u32 to, u32 until);
int ht_engine_unpin(struct ht_engine *engine, u64 owner, u32 from, u32 to);
void ht_engine_unpin_all(struct ht_engine *engine, u64 owner);
/* Pins whose time is over end; without it, when something has to leave. */
void ht_engine_expire(struct ht_engine *engine, u32 now);

/*
 * A free slot, off its list, or HT_NIL; `spare`: leave the reserve alone. It is the one behind the
 * last that was taken if that is free: extents that are written together lie together, and are
 * read, written and destaged by one request. Else it is the one that has been free longest.
 */
u32 ht_engine_take(struct ht_engine *engine, bool spare);
/* Free slots that are kept for writes. */
u32 ht_engine_reserve(const struct ht_engine *engine);
/*
 * Is the pool short, and would a commit bring enough back to be worth its flushes? Evicted slots
 * that wait only for their record are on the empty list, beside the few that a write has just
 * taken. May be asked without the lock.
 */
bool ht_engine_wants_commit(const struct ht_engine *engine);

/*
 * What to do next, and with which slot (off its list; the caller owns it now), if it is work with
 * a slot.
 */
enum ht_work ht_engine_next(struct ht_engine *engine, const struct ht_situation *now,
			    u32 *ret_slot);

HT_CORE_END

#endif
