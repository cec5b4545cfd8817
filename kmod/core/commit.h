/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One commit: the order in which records become durable, as actions that the caller carries out.
 *
 *   dirty    if a write waits for it: HAS_DIRTY on bulk (pair.h)
 *   rounds   1 gather: encode the record sectors that changed, as many as a round holds; then
 *              all sectors of the lost map that changed
 *            2 flush fast (data before mapping); bulk too, if a record says clean or free, the
 *              lost map has changed or a FLUSH waits, and bulk was written since its last good
 *              flush
 *            3 the lost map, if it has changed: write its sectors, flush fast (R10)
 *            4 write the record sectors, one write in flight per sector
 *            5 flush fast
 *            6 publish each record (record.h) and entry (lost.h)
 *   failure  of fast: it is given up (bypass, pair.h); of bulk's flush: bulk counts as written
 *            again. What was gathered is reverted, nothing of it is published.
 *   no bulk  After a failed flush of bulk the round begins again without homes: records call dirty
 *            what slots still have, so that intents and FUA writes to fast need no bulk (C7). A
 *            sector with a record that cannot is left out.
 *
 * A flush covers what has completed before it is submitted, and only if it succeeds (R1). So
 * TAKE comes before FLUSH, whoever writes bulk says so after the write has completed and before
 * anybody learns of it (ht_end(), ht_destage_finish(), an acknowledgement), and everything that a
 * waiter has seen completed before begin() is in the commit. Rounds are bounded: the cursor only
 * grows.
 *
 * Commits do not overlap. All calls need the caller's lock of commits.
 */
#ifndef HT_CORE_COMMIT_H
#define HT_CORE_COMMIT_H

#include "pair.h"
#include "record.h"

HT_CORE_BEGIN

enum ht_commit_action {
	HT_COMMIT_STATE,   /* write pair->next to bulk, with a flush before and FUA */
	HT_COMMIT_GATHER,  /* changed sectors from `cursor` on, sealed with `seq`, unless a record is
			    * HT_GATHER_HELD; then the lost map
			    */
	HT_COMMIT_TAKE,    /* was bulk written? from now on it counts as not written */
	HT_COMMIT_FLUSH,   /* the devices of `flush`, side by side */
	HT_COMMIT_GIVE,    /* bulk counts as written */
	HT_COMMIT_WRITE_LOST, /* the gathered sectors of the lost map */
	HT_COMMIT_WRITE,   /* the gathered sectors */
	HT_COMMIT_PUBLISH, /* ht_record_publish(), ht_lost_publish() what was gathered */
	HT_COMMIT_REVERT,  /* ht_record_revert(), ht_lost_revert() it; it has changed again */
	HT_COMMIT_DONE,
};

#define HT_ON_FAST (1U << 0)
#define HT_ON_BULK (1U << 1)

/* Why it runs: bits. */
#define HT_COMMIT_FOR_FLUSH (1U << 0) /* a FLUSH waits */
#define HT_COMMIT_FOR_PROBE (1U << 1) /* fast has failed a request: flush it to see if it lives */

struct ht_commit {
	struct ht_map *map;
	struct ht_pair *pair;
	u64 seq;         /* of this round's sectors */
	u32 cursor;      /* where this round begins, in the caller's numbering of sectors */
	u32 next;
	u32 count;       /* gathered in this round */
	u32 lost;        /* and of the lost map */
	u8 why;
	u8 step;
	u8 flush;        /* HT_ON_* */
	u8 broken;       /* HT_ON_*: failed just now */
	bool more;
	bool bypass;     /* began without fast */
	bool homes;      /* bulk has not failed to flush */
	bool held;       /* some records were left out, because it has */
	bool again;
	bool failed;     /* to record what it was to, all of it */
};

/* Is everything durable that was so complete when it began? */
static inline bool ht_commit_whole(const struct ht_commit *c)
{
	return !c->failed && c->homes;
}

/* How an action ended; members that it does not name are ignored. */
struct ht_commit_done {
	u32 count;       /* GATHER: how many sectors */
	u32 lost;        /* GATHER: and of the lost map */
	u32 needs;       /* GATHER: HT_GATHER_* of all their records */
	u32 next;        /* GATHER: where the next round begins */
	bool more;       /* GATHER: the round is full */
	bool written;    /* TAKE */
	u8 failed;       /* STATE, FLUSH, WRITE, WRITE_LOST: HT_ON_* */
	bool dirty;      /* always: some unit is dirty */
};

enum ht_commit_action ht_commit_begin(struct ht_commit *c, struct ht_map *map,
				      struct ht_pair *pair, u32 why);
enum ht_commit_action ht_commit_next(struct ht_commit *c, const struct ht_commit_done *done);

/* Who waited for it, and what they are told when it is done. */
enum ht_waiter {
	HT_WAITS_FLUSH, /* a FLUSH */
	HT_WAITS_FUA,   /* a FUA write whose data is durable in its slot (R9) */
	HT_WAITS_TURN,  /* a request that was answered HT_DO_COMMIT */
};

enum ht_told {
	HT_TOLD_DONE,
	HT_TOLD_ERROR,
	HT_TOLD_AGAIN,  /* ask ht_begin() again */
};

enum ht_told ht_commit_tell(const struct ht_commit *c, enum ht_waiter who);

HT_CORE_END

#endif
