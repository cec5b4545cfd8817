/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shard layer: what a request to one extent may do now.
 *
 * begin() answers with a verdict and how many sectors it holds for; the caller carries it out
 * and, for what it sent to a device, calls end(). Every call needs the lock of the extent's
 * shard. Nothing here knows devices, time or order between extents.
 *
 * A request is cut so that each piece is either whole units or inside one unit, and lies within
 * one extent. Reads never change what a slot holds. A unit becomes valid when the write that
 * brought it has *succeeded*: no read ever sees what a slot held before.
 */
#ifndef HT_CORE_SHARD_H
#define HT_CORE_SHARD_H

#include "types.h"

HT_CORE_BEGIN

enum ht_verdict {
	HT_DO_FAST,    /* send it to the slot, then ht_end() */
	HT_DO_HOME,    /* send it home, then ht_end() */
	HT_DO_ADMIT,   /* write: ht_admit() a free slot and ask again, or ask with no_admit */
	HT_DO_TEE,     /* write: a fill with its data writes it home and keeps it, or as ADMIT */
	HT_DO_JOIN,    /* read: the transfer in flight on the slot brings the data */
	HT_DO_WAIT,    /* ask again when the transfer in flight on the slot has ended */
	HT_DO_COMMIT,  /* ask again when a commit that starts after now has ended */
	HT_DO_DROP,    /* discard: done in memory, and its home must not be discarded now */
	HT_DO_FAIL,    /* the only copy is on a device that is gone */
	HT_DO_LOST,    /* fail it: these units were dropped, see lost.h */
};

/* What else the caller has to do; bits, returned beside verdicts. */
#define HT_ACT_RECORD (1U << 0) /* the slot's record sector must be written some time */
#define HT_ACT_FREE (1U << 1)   /* the slot was unhashed and is recorded free: to the pool, or
				 * retired; ht_list_of() knows
				 */
#define HT_ACT_LIST (1U << 2)   /* the slot belongs on another list now: ht_list_of() */
#define HT_ACT_FETCH (1U << 3)  /* first read of a fetched slot: that FETCH was timely */
#define HT_ACT_UNUSED (1U << 4) /* a fetched slot left without being read */
#define HT_ACT_LOST (1U << 5)   /* the lost map must be written some time */
#define HT_ACT_TRIM (1U << 6)   /* its home may be trimmed now: take it off its list and do so */
#define HT_ACT_HURRY (1U << 7)  /* the slot is bad: ht_engine_hurry() its dirty units home */

enum ht_request_op {
	HT_REQ_READ,
	HT_REQ_WRITE,
	HT_REQ_ZEROES,  /* a write that never takes a new slot */
	HT_REQ_DISCARD, /* whole units only */
};

struct ht_request {
	u8 op;          /* enum ht_request_op */
	bool no_admit;  /* WRITE: the caller has no slot for it */
	bool pass;      /* DISCARD: it is to go down to the home as well; needs a hold */
	bool from_home; /* READ: what is clean may as well come from home */
	u32 extent;
	u32 from;       /* sectors within the extent, from < to */
	u32 to;
};

struct ht_answer {
	u8 verdict;     /* enum ht_verdict */
	u8 klass;       /* of the slot, 0 without */
	u8 act;         /* HT_ACT_* */
	u32 slot;       /* HT_NIL: none */
	u32 to;         /* the verdict holds for sectors [from, to) */
	u32 fetch;      /* with HT_ACT_FETCH or HT_ACT_UNUSED: which one */
	u32 dropped;    /* DISCARD: dirty units forgotten */
};

/* Slot of an extent, or HT_NIL. */
u32 ht_lookup(const struct ht_map *map, u32 extent);
/*
 * Without the lock: true only if neither a slot nor an entry of the lost map can have been there
 * during all of the call.
 */
bool ht_is_plain(const struct ht_map *map, u32 extent);

void ht_begin(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req,
	      struct ht_answer *ret);

/*
 * The piece that `verdict` sent to a device has ended; `ok` if it succeeded. Returns HT_ACT_*.
 * `slot` is HT_NIL for what went home.
 */
u32 ht_end(struct ht_map *map, struct ht_shard *shard, const struct ht_request *req, u32 slot,
	   u8 verdict, bool ok);

/*
 * Fast failed a request to the slot; before its ht_end(), so that the slot cannot go. What is
 * clean there is forgotten, unless others write to the slot, and had from home. If it is the medium that failed, the slot takes
 * nothing new and is retired once it is empty. False if the request met dirty units: only fast
 * has those.
 */
bool ht_slot_failed(struct ht_map *map, const struct ht_request *req, u32 slot, bool medium,
		    u32 *ret_act);

/* Hashes a free slot under an extent that has none. */
void ht_admit(struct ht_map *map, u32 slot, u32 extent, enum ht_slot_state state);

/*
 * Unhashes the slot if it may go to the pool: empty, idle, recorded free, and whatever it brought
 * home flushed. Returns HT_ACT_FREE, or HT_ACT_RECORD if a commit has to come first, or 0.
 */
u32 ht_release(struct ht_map *map, u32 slot);

/*
 * Forgets the clean units of a slot; refuses (returns false) if one is dirty or being written,
 * or a transfer is in flight. *ret_act: HT_ACT_*.
 */
bool ht_forget(struct ht_map *map, u32 slot, u32 *ret_act);

/*
 * The owner of all of it said DONE, and what is volatile was dropped if it could be. Forgets what
 * is clean (*ret_act: HT_ACT_*), or sees to it that it is forgotten once it is home. True: it
 * should go home soon. What is still volatile need not: it is dropped when its slot is needed.
 */
bool ht_done(struct ht_map *map, u32 slot, u32 *ret_act);

/*
 * The owner of units [from, to) can do without them: marks those that are dirty. Only what was
 * last written before write epoch `epoch` (R12).
 */
void ht_mark_volatile(struct ht_map *map, u32 slot, u32 from, u32 to, u64 epoch);

struct ht_dropped {
	u32 units;      /* that are lost now */
	u32 act;        /* HT_ACT_* */
	u32 fetch;      /* with HT_ACT_UNUSED */
	bool took;      /* the entry of the lost map was used */
};

/* Are there volatile units in [from, to) that may be dropped now? */
bool ht_may_drop(const struct ht_map *map, const struct ht_shard *shard, u32 slot, u32 from,
		 u32 to);
/*
 * Drops them: they leave the slot, and are lost. `entry` is a free one of the lost map, or HT_NIL;
 * without it an extent that has none keeps its units. Nothing is dropped unless ht_may_drop().
 */
void ht_drop(struct ht_map *map, const struct ht_shard *shard, u32 slot, u32 from, u32 to,
	     u32 entry, struct ht_dropped *ret);

void ht_hold_add(struct ht_map *map, struct ht_hold *hold);
void ht_hold_remove(struct ht_hold *hold);
bool ht_held(const struct ht_map *map, u32 extent);

/* Where the slot belongs, by what its units are. */
enum ht_list ht_list_of(const struct ht_map *map, u32 slot);
u32 ht_count_units(const struct ht_map *map, u32 slot, enum ht_bits which);

HT_CORE_END

#endif
