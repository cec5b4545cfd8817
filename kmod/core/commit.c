// SPDX-License-Identifier: GPL-2.0-only
/*
 * The commit protocol. See commit.h.
 */
#include "commit.h"

#include <hintier/types.h>

enum step {
	STEP_DIRTY,
	STEP_GATHER,
	STEP_TAKE,
	STEP_FLUSH_DATA,
	STEP_GIVE,
	STEP_WRITE_LOST,
	STEP_FLUSH_LOST,
	STEP_WRITE,
	STEP_FLUSH_RECORDS,
	STEP_PUBLISH,
	STEP_BYPASS,
	STEP_REVERT,
	STEP_DONE,
};

static enum ht_commit_action go(struct ht_commit *c, enum step step, enum ht_commit_action action)
{
	c->step = (u8)step;
	return action;
}

static enum ht_commit_action finish(struct ht_commit *c)
{
	return go(c, STEP_DONE, HT_COMMIT_DONE);
}

static enum ht_commit_action begin_round(struct ht_commit *c)
{
	c->count = 0;
	c->lost = 0;
	c->seq = ++c->pair->commit_seq;
	return go(c, STEP_GATHER, HT_COMMIT_GATHER);
}

static enum ht_commit_action flush(struct ht_commit *c, enum step step, u8 devices)
{
	c->flush = devices;
	return go(c, step, HT_COMMIT_FLUSH);
}

static enum ht_commit_action revert(struct ht_commit *c)
{
	c->failed = true;
	return c->count || c->lost ? go(c, STEP_REVERT, HT_COMMIT_REVERT) : finish(c);
}

/* Something failed. A fast device that cannot be written or flushed is given up (R14). */
static enum ht_commit_action fail(struct ht_commit *c, const struct ht_commit_done *done)
{
	if (!(c->broken & HT_ON_FAST) || !c->pair->running)
		return revert(c);
	/* A write that lands just now may be acknowledged: bulk goes on to say what it says. */
	ht_pair_begin(c->pair, HT_PAIR_BYPASS, done->dirty || c->map->bulk == HT_BULK_PARTIAL);
	return go(c, STEP_BYPASS, HT_COMMIT_STATE);
}

/* Bulk cannot be flushed: what of this round does not depend on it? */
static enum ht_commit_action go_without_homes(struct ht_commit *c)
{
	c->homes = false;
	if (c->bypass)
		return revert(c);
	if (!c->count && !c->lost)
		return finish(c);
	c->again = true;
	return go(c, STEP_REVERT, HT_COMMIT_REVERT);
}

static enum ht_commit_action reverted(struct ht_commit *c)
{
	if (!c->again)
		return finish(c);
	c->again = false;
	return begin_round(c);
}

static enum ht_commit_action gathered(struct ht_commit *c, const struct ht_commit_done *done)
{
	bool asked = c->why & (HT_COMMIT_FOR_FLUSH | HT_COMMIT_FOR_PROBE);

	c->count = done->count;
	c->lost = done->lost;
	c->next = done->next;
	c->more = done->more && done->next > c->cursor;
	c->held |= !!(done->needs & HT_GATHER_HELD);
	/* R10: records that let go of what was dropped come after the map, and that after homes. */
	if (!c->homes && c->lost)
		return revert(c);
	if (!c->count && !c->lost && !asked)
		return finish(c);
	/* A unit leaves the lost map after its home, if that is where it was written. */
	if (c->homes && ((c->why & HT_COMMIT_FOR_FLUSH) || (done->needs & HT_GATHER_BULK) || c->lost))
		return go(c, STEP_TAKE, HT_COMMIT_TAKE);
	return flush(c, STEP_FLUSH_DATA, HT_ON_FAST);
}

static enum ht_commit_action taken(struct ht_commit *c, const struct ht_commit_done *done)
{
	u8 devices = done->written ? HT_ON_BULK : 0;

	if (!c->bypass)
		devices |= HT_ON_FAST;
	return devices ? flush(c, STEP_FLUSH_DATA, devices) : finish(c);
}

static enum ht_commit_action data_flushed(struct ht_commit *c, const struct ht_commit_done *done)
{
	if (c->broken & HT_ON_FAST)
		return fail(c, done);
	if (c->broken)
		return go_without_homes(c);
	if (c->lost)
		return go(c, STEP_WRITE_LOST, HT_COMMIT_WRITE_LOST);
	return c->count ? go(c, STEP_WRITE, HT_COMMIT_WRITE) : finish(c);
}

static enum ht_commit_action published(struct ht_commit *c)
{
	if (!c->more)
		return finish(c);
	c->cursor = c->next;
	return begin_round(c);
}

enum ht_commit_action ht_commit_begin(struct ht_commit *c, struct ht_map *map,
				      struct ht_pair *pair, u32 why)
{
	memset(c, 0, sizeof(*c));
	c->map = map;
	c->pair = pair;
	c->why = (u8)why;
	c->homes = true;
	if (map->mode == HINTIER_MODE_FAIL) {
		c->failed = true;
		return finish(c);
	}
	if (map->mode == HINTIER_MODE_BYPASS) {
		/* What was acknowledged and not yet durable went with fast: say so once. */
		c->bypass = true;
		c->failed = pair->owed && (why & HT_COMMIT_FOR_FLUSH);
		if (c->failed)
			pair->owed--;
		return go(c, STEP_TAKE, HT_COMMIT_TAKE);
	}
	if (map->bulk == HT_BULK_ENDING) {
		ht_pair_begin(pair, HT_PAIR_DIRTY, true);
		return go(c, STEP_DIRTY, HT_COMMIT_STATE);
	}
	return begin_round(c);
}

enum ht_commit_action ht_commit_next(struct ht_commit *c, const struct ht_commit_done *done)
{
	enum ht_pair_action said;

	switch (c->step) {
	case STEP_DIRTY:
		said = ht_pair_next(c->pair, !done->failed);
		if (said == HT_PAIR_WRITE_BULK)
			return HT_COMMIT_STATE;
		if (said != HT_PAIR_DONE)
			return revert(c);
		c->map->bulk = HT_BULK_PARTIAL;
		return begin_round(c);
	case STEP_GATHER:
		return gathered(c, done);
	case STEP_TAKE:
		return taken(c, done);
	case STEP_FLUSH_DATA:
		c->broken = done->failed;
		if (c->broken & HT_ON_BULK)
			return go(c, STEP_GIVE, HT_COMMIT_GIVE);
		return data_flushed(c, done);
	case STEP_GIVE:
		return data_flushed(c, done);
	case STEP_WRITE_LOST:
		c->broken = done->failed;
		if (c->broken)
			return fail(c, done);
		return flush(c, STEP_FLUSH_LOST, HT_ON_FAST);
	case STEP_FLUSH_LOST:
		c->broken = done->failed;
		if (c->broken)
			return fail(c, done);
		/* R10: only now may a record let go of what was dropped. */
		return c->count ? go(c, STEP_WRITE, HT_COMMIT_WRITE) :
				  go(c, STEP_PUBLISH, HT_COMMIT_PUBLISH);
	case STEP_WRITE:
		c->broken = done->failed;
		if (c->broken)
			return fail(c, done);
		return flush(c, STEP_FLUSH_RECORDS, HT_ON_FAST);
	case STEP_FLUSH_RECORDS:
		c->broken = done->failed;
		if (c->broken)
			return fail(c, done);
		return go(c, STEP_PUBLISH, HT_COMMIT_PUBLISH);
	case STEP_PUBLISH:
		return published(c);
	case STEP_BYPASS:
		said = ht_pair_next(c->pair, !done->failed);
		if (said == HT_PAIR_WRITE_BULK)
			return HT_COMMIT_STATE;
		c->map->mode = said == HT_PAIR_DONE ? HINTIER_MODE_BYPASS : HINTIER_MODE_FAIL;
		/* By those that wait already, and by the next one: it covers more than they do. */
		c->pair->owed = 2;
		return revert(c);
	case STEP_REVERT:
		return reverted(c);
	default:
		return finish(c);
	}
}

enum ht_told ht_commit_tell(const struct ht_commit *c, enum ht_waiter who)
{
	bool failed = c->failed || c->held;

	switch (who) {
	case HT_WAITS_TURN:
		/* Without fast the answer is another one, and says more than an error here. */
		return failed && c->map->mode < HINTIER_MODE_BYPASS ? HT_TOLD_ERROR : HT_TOLD_AGAIN;
	case HT_WAITS_FUA:
		return failed || c->bypass ? HT_TOLD_ERROR : HT_TOLD_DONE;
	default:
		return ht_commit_whole(c) ? HT_TOLD_DONE : HT_TOLD_ERROR;
	}
}
