// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trims: homes that a discard had to leave alone, because a record still claimed the extent, are
 * discarded after the commit that made the record's end durable. See core/move.h for the recipe.
 *
 * Slots that wait for their trim are on no list but the queue here, chained by `link`. Their
 * `move` is the number of one transfer without pages, where home writes wait for the round's end.
 */
#include "tier.h"

static struct ht_xfer *trim_xfer(struct ht_tier *t)
{
	return &t->xfers[t->nr_xfers];
}

/* From a commit, under the slot's shard lock; that commit's end starts the round. */
void ht_trim_queue(struct ht_tier *t, u32 slot)
{
	unsigned long flags;

	spin_lock_irqsave(&t->engine_lock, flags);
	ht_engine_remove(&t->engine, slot);
	t->map.slots[slot].move = t->nr_xfers;
	t->map.slots[slot].link = HT_NIL;
	if (t->trim_head == HT_NIL)
		t->trim_head = slot;
	else
		t->map.slots[t->trim_tail].link = slot;
	t->trim_tail = slot;
	spin_unlock_irqrestore(&t->engine_lock, flags);
}

void ht_trim_kick(struct ht_tier *t)
{
	if (READ_ONCE(t->trim_head) != HT_NIL)
		queue_work(t->wq, &t->trim_work);
}

static u32 take_queue(struct ht_tier *t)
{
	unsigned long flags;
	u32 head;

	spin_lock_irqsave(&t->engine_lock, flags);
	head = t->trim_head;
	t->trim_head = HT_NIL;
	spin_unlock_irqrestore(&t->engine_lock, flags);
	return head;
}

static void trim_endio(struct bio *bio)
{
	struct ht_xfer *x = bio->bi_private;

	if (ht_device_failed(bio->bi_status))
		ht_count(x->tier, HINTIER_C_ERRORS_BULK, 1);
	if (bio->bi_status)
		WRITE_ONCE(x->status, bio->bi_status);
	bio_put(bio);
	if (atomic_dec_and_test(&x->pending))
		complete(&x->tier->trim_done);
}

/* One discard for neighbours: whole grains of what bulk can forget. */
static void submit_trim(struct ht_tier *t, struct ht_xfer *x, u32 extent, u32 count)
{
	u64 from = ht_home_sector(&t->map.geo, extent);
	u64 to = from + ((u64)count << t->map.geo.extent_shift);
	struct bio *bio;

	if (!ht_discard_grain(t, &from, &to))
		return;
	bio = bio_alloc_bioset(t->bulk->bdev, 0, REQ_OP_DISCARD, GFP_NOIO, &t->xfer_bios);
	bio->bi_iter.bi_sector = from;
	bio->bi_iter.bi_size = (to - from) << SECTOR_SHIFT;
	bio->bi_private = x;
	bio->bi_end_io = trim_endio;
	ht_blank_set(t, from, to);
	atomic_inc(&x->pending);
	submit_bio_noacct(bio);
}

/* Bulk has failed one of these: which of them it has forgotten, nobody knows. */
static void not_blank(struct ht_tier *t, u32 slot)
{
	for (; slot != HT_NIL; slot = t->map.slots[slot].link)
		ht_blank_clear(t, t->map.slots[slot].extent, 1);
}

/* Discards the homes of a chain of slots and waits for it. What fails stays: it is only advice. */
static void trim_homes(struct ht_tier *t, u32 head)
{
	const u32 most = (UINT_MAX >> SECTOR_SHIFT) >> t->map.geo.extent_shift;
	const struct ht_slot *slots = t->map.slots;
	struct ht_xfer *x = trim_xfer(t);
	u32 slot = head, extent, count;

	x->status = BLK_STS_OK;
	atomic_set(&x->pending, 1);
	reinit_completion(&t->trim_done);
	while (slot != HT_NIL) {
		extent = slots[slot].extent;
		for (count = 0; slot != HT_NIL && slots[slot].extent == extent + count &&
		     count < most; count++)
			slot = slots[slot].link;
		submit_trim(t, x, extent, count);
	}
	if (!atomic_dec_and_test(&x->pending))
		wait_for_completion_io(&t->trim_done);
	if (READ_ONCE(x->status))
		not_blank(t, head);
	atomic_set(&t->bulk_written, 1);
}

static void finish(struct ht_tier *t, u32 slot)
{
	struct ht_lock_shard *shard;
	unsigned long flags;

	shard = ht_shard_lock(t, t->map.slots[slot].extent, &flags);
	ht_pool_place(t, slot, ht_trim_finish(&t->map, slot));
	ht_shard_unlock(shard, flags);
}

static void wake_waiters(struct ht_tier *t)
{
	struct ht_xfer *x = trim_xfer(t);
	struct bio_list waiters;
	unsigned long flags;
	struct bio *bio;

	spin_lock_irqsave(&x->lock, flags);
	waiters = x->waiters;
	bio_list_merge(&waiters, &x->readers);
	bio_list_init(&x->waiters);
	bio_list_init(&x->readers);
	spin_unlock_irqrestore(&x->lock, flags);
	while ((bio = bio_list_pop(&waiters)))
		ht_park_retry(t, bio);
}

static void trim_work(struct work_struct *work)
{
	struct ht_tier *t = container_of(work, struct ht_tier, trim_work);
	u32 head = take_queue(t), slot, next;

	if (head == HT_NIL)
		return;
	/* On the way to a suspend the slots only go back to the pool. */
	if (!READ_ONCE(t->stopping) && t->map.mode < HINTIER_MODE_BYPASS)
		trim_homes(t, head);
	for (slot = head; slot != HT_NIL; slot = next) {
		next = t->map.slots[slot].link;
		finish(t, slot);
		cond_resched();
	}
	wake_waiters(t);
	ht_worker_kick(t);
}

void ht_trim_init(struct ht_tier *t)
{
	t->trim_head = HT_NIL;
	init_completion(&t->trim_done);
	INIT_WORK(&t->trim_work, trim_work);
}
