// SPDX-License-Identifier: GPL-2.0-only
/*
 * The states of the pair. See pair.h.
 */
#include "pair.h"

enum ht_trust ht_pair_load(struct ht_pair *pair, const struct ht_state *fast,
			   const struct ht_state *bulk, bool discard_dirty)
{
	bool moving = (fast->flags & HT_STATE_MOVING) && !(bulk->flags & HT_STATE_MOVED) &&
		      fast->epoch + 1 == bulk->epoch;

	memset(pair, 0, sizeof(*pair));
	pair->fast = *fast;
	pair->bulk = *bulk;
	pair->commit_seq = fast->commit_seq;
	pair->extents = fast->extents > bulk->extents ? fast->extents : bulk->extents;
	pair->discard_dirty = discard_dirty;
	pair->differ = fast->epoch != bulk->epoch && !moving;
	if (!pair->differ)
		return HT_TRUST_ALL;
	return discard_dirty ? HT_TRUST_NONE : HT_TRUST_DIRTY;
}

enum ht_refusal ht_pair_resize(struct ht_pair *pair, u64 extents)
{
	if (extents < pair->extents)
		return HT_REFUSE_SHRUNK;
	pair->extents = extents;
	return HT_OK;
}

enum ht_refusal ht_pair_judge(const struct ht_pair *pair, bool dirty)
{
	if (!pair->differ || pair->discard_dirty)
		return HT_OK;
	return dirty || (pair->bulk.flags & HT_STATE_HAS_DIRTY) ? HT_REFUSE_DIRTY : HT_OK;
}

/*
 * A state goes to the older copy. Its number counts only once it is written: after a failure the
 * next one goes to the same copy, and the other stays whole.
 */
static enum ht_pair_action write_fast(struct ht_pair *pair, u32 flags, u64 epoch)
{
	pair->next.flags = flags;
	pair->next.seq = pair->fast.seq + 1;
	pair->next.epoch = epoch;
	pair->next.commit_seq = pair->commit_seq;
	pair->next.extents = pair->extents;
	return HT_PAIR_WRITE_FAST;
}

static enum ht_pair_action write_bulk(struct ht_pair *pair, u32 flags, u64 epoch)
{
	pair->next.flags = flags | (pair->dirty ? HT_STATE_HAS_DIRTY : 0);
	pair->next.seq = pair->bulk.seq + 1;
	pair->next.epoch = epoch;
	pair->next.commit_seq = pair->commit_seq;
	pair->next.extents = pair->extents;
	return HT_PAIR_WRITE_BULK;
}

static u64 newest_epoch(const struct ht_pair *pair)
{
	return pair->fast.epoch > pair->bulk.epoch ? pair->fast.epoch : pair->bulk.epoch;
}

static enum ht_pair_action step_start(struct ht_pair *pair)
{
	u64 newest = newest_epoch(pair);

	switch (pair->step) {
	case 0:
		return HT_PAIR_COMMIT;
	case 1:
		return write_fast(pair, HT_STATE_MOVING, newest);
	case 2:
		return write_bulk(pair, 0, newest + 1);
	case 3:
		return write_fast(pair, 0, newest);
	case 4:
		return write_bulk(pair, HT_STATE_MOVED, newest);
	default:
		pair->differ = false;
		pair->running = true;
		return HT_PAIR_DONE;
	}
}

static enum ht_pair_action step_stop(struct ht_pair *pair)
{
	u64 newest = newest_epoch(pair);

	switch (pair->step) {
	case 0:
		return HT_PAIR_COMMIT;
	case 1:
		return write_fast(pair, HT_STATE_CLEAN_STOP | HT_STATE_MOVING, newest);
	case 2:
		return write_bulk(pair, HT_STATE_CLEAN_STOP, newest + 1);
	case 3:
		return write_fast(pair, HT_STATE_CLEAN_STOP, newest);
	default:
		pair->running = false;
		return HT_PAIR_DONE;
	}
}

static enum ht_pair_action decide(struct ht_pair *pair)
{
	switch (pair->goal) {
	case HT_PAIR_START:
		return step_start(pair);
	case HT_PAIR_STOP:
		return step_stop(pair);
	case HT_PAIR_DIRTY:
		return pair->step ? HT_PAIR_DONE :
				    write_bulk(pair, HT_STATE_MOVED, pair->bulk.epoch);
	default:
		return pair->step ? HT_PAIR_DONE :
				    write_bulk(pair, HT_STATE_MOVED, pair->bulk.epoch + 1);
	}
}

static enum ht_pair_action step(struct ht_pair *pair)
{
	enum ht_pair_action action = decide(pair);

	pair->action = (u8)action;
	pair->copies = 0;
	return action;
}

/* The other copy: the one just written is the newest that is durable. */
static bool copy_again(struct ht_pair *pair, struct ht_state *durable)
{
	*durable = pair->next;
	pair->next.seq++;
	return ++pair->copies < HT_STATE_COPIES;
}

enum ht_pair_action ht_pair_begin(struct ht_pair *pair, enum ht_pair_goal goal, bool dirty)
{
	pair->goal = (u8)goal;
	pair->step = 0;
	pair->dirty = dirty;
	if (goal == HT_PAIR_STOP && !pair->running)
		return HT_PAIR_FAILED;
	/* Whatever becomes of it, fast is not in use any more. */
	if (goal == HT_PAIR_BYPASS)
		pair->running = false;
	/* Void records go while the epochs still void them; others may wait. */
	if (goal == HT_PAIR_START && !pair->differ)
		pair->step++;
	return step(pair);
}

enum ht_pair_action ht_pair_next(struct ht_pair *pair, bool ok)
{
	if (!ok) {
		if (pair->goal == HT_PAIR_STOP)
			pair->running = false;
		return HT_PAIR_FAILED;
	}
	if (pair->action == HT_PAIR_WRITE_FAST && copy_again(pair, &pair->fast))
		return HT_PAIR_WRITE_FAST;
	if (pair->action == HT_PAIR_WRITE_BULK && copy_again(pair, &pair->bulk))
		return HT_PAIR_WRITE_BULK;
	pair->step++;
	return step(pair);
}
