/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The states of the pair: what is written about it as a whole on its two devices, in which order,
 * and what a pair that is found may be trusted with (R13, R14).
 *
 *   start   (commit what is void)  fast MOVING N   bulk N+1   fast N+1   bulk MOVED
 *   dirty   bulk HAS_DIRTY
 *   stop    commit   fast MOVING N   bulk N+1, HAS_DIRTY if it still has   fast N+1
 *           all three with CLEAN_STOP
 *   bypass  bulk N+1, HAS_DIRTY if it has
 *
 * Each write goes to the older copy of the state, then to the other: a copy that rots later brings
 * no older state back.
 *
 * Start and stop move the epoch, so that an image of either device that is older than the other is
 * found out; while fast says MOVING, bulk may have the old or the new one, because no home is written
 * before the move is complete. Once bulk says MOVED, or has been moved alone, a fast device that says
 * MOVING is an image from within that start. What tells no time is an image of one device that was
 * made while the tier ran, until it is stopped or started again: no number of writes by turns helps,
 * since before the last of them both must be accepted as they are. Bypass moves the epoch on bulk
 * alone, before the first home write without fast. Where epochs do not agree, clean units are void: their homes may be newer. Their records
 * must be gone before the epochs agree again. Dirty units are never given up without being told.
 *
 * A goal is a row of actions; the caller carries each out and says whether it succeeded. All
 * calls need the caller's lock of commits, or a tier that is not running.
 */
#ifndef HT_CORE_PAIR_H
#define HT_CORE_PAIR_H

#include "format.h"
#include "record.h"

HT_CORE_BEGIN

enum ht_pair_goal {
	HT_PAIR_START,  /* before the first request */
	HT_PAIR_DIRTY,  /* before the first dirty acknowledgement since nothing was dirty */
	HT_PAIR_STOP,   /* after the last request: nothing is in flight */
	HT_PAIR_BYPASS, /* fast has failed: before the first home write without it */
};

enum ht_pair_action {
	HT_PAIR_COMMIT,     /* a whole commit */
	HT_PAIR_WRITE_FAST, /* write `next` to its sector, with a flush before and FUA */
	HT_PAIR_WRITE_BULK,
	HT_PAIR_DONE,
	HT_PAIR_FAILED,     /* the devices say what they said before, or one of them more */
};

struct ht_pair {
	struct ht_state fast; /* newest that is durable there */
	struct ht_state bulk;
	struct ht_state next; /* what the action writes */
	u64 commit_seq;       /* newest number given to a record sector */
	u64 extents;          /* of the tier; written with every state */
	bool discard_dirty;   /* give up what is dirty on a fast device that does not agree */
	bool differ;          /* the epochs: clean units are void */
	bool running;         /* both devices are in use */
	bool dirty;
	u8 owed;              /* fast was given up: so many commits with a FLUSH have to fail yet */
	u8 goal;
	u8 step;
	u8 action;            /* enum ht_pair_action: what is being carried out */
	u8 copies;            /* of the state that are written */
};

/* Takes the states that were read; answers how far the records on fast are to be trusted. */
enum ht_trust ht_pair_load(struct ht_pair *pair, const struct ht_state *fast,
			   const struct ht_state *bulk, bool discard_dirty);
/* The size that the tier is to have from now on: HT_REFUSE_SHRUNK if it had a larger one. */
enum ht_refusal ht_pair_resize(struct ht_pair *pair, u64 extents);
/* After the records: HT_REFUSE_DIRTY if something may be dirty and cannot be trusted. */
enum ht_refusal ht_pair_judge(const struct ht_pair *pair, bool dirty);

/* `dirty`: some unit is dirty. */
enum ht_pair_action ht_pair_begin(struct ht_pair *pair, enum ht_pair_goal goal, bool dirty);
/* What comes after an action, that succeeded or not. */
enum ht_pair_action ht_pair_next(struct ht_pair *pair, bool ok);

HT_CORE_END

#endif
