// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios that wait: for the worker, for a commit, for a promotion, or for a transfer. Parking costs
 * the bio's own link and nothing else, so it is allowed for REQ_NOWAIT bios: their submitter does
 * not wait (R15).
 */
#include "tier.h"

static void park(struct ht_tier *t, struct bio_list *list, struct bio *bio)
{
	unsigned long flags;

	spin_lock_irqsave(&t->wait_lock, flags);
	bio_list_add(list, bio);
	spin_unlock_irqrestore(&t->wait_lock, flags);
}

void ht_park_retry(struct ht_tier *t, struct bio *bio)
{
	park(t, &t->retry, bio);
	ht_worker_kick(t);
}

void ht_park_commit(struct ht_tier *t, struct bio *bio)
{
	park(t, &t->commit_wait, bio);
	ht_commit_kick(t);
}

void ht_park_promote(struct ht_tier *t, struct bio *bio)
{
	park(t, &t->promote, bio);
	ht_worker_kick(t);
}

/* Waits for the transfer on the extent's slot; if that has just ended, routes again at once. */
void ht_park_move(struct ht_tier *t, struct bio *bio, u32 extent)
{
	struct ht_io *io = ht_io_of(bio);
	struct ht_lock_shard *shard;
	unsigned long flags;
	struct ht_xfer *x = NULL;
	u32 slot;

	shard = ht_shard_lock(t, extent, &flags);
	slot = ht_lookup(&t->map, extent);
	if (slot != HT_NIL && (t->map.slots[slot].state == HT_SLOT_DESTAGE ||
			       t->map.slots[slot].state == HT_SLOT_FILL)) {
		x = &t->xfers[t->map.slots[slot].move];
		/* The transfer's end takes the shard's lock before it empties its lists. */
		spin_lock(&x->lock);
		bio_list_add(io->op == HT_REQ_READ ? &x->readers : &x->waiters, bio);
		spin_unlock(&x->lock);
	}
	ht_shard_unlock(shard, flags);
	if (!x)
		ht_park_retry(t, bio);
}
