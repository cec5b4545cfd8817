// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits: make records durable, in the order that core/record.h states, and release who waits.
 *
 * One commit runs at a time and takes everything that changed before it began, so that many
 * waiters share its flushes. It starts at once when somebody waits, else when the oldest change
 * is commit_ms old.
 */
#include "tier.h"

/* ---- flushes and record blocks ------------------------------------------------------------- */

/* Several bios in flight, waited for together. */
struct batch {
	atomic_t pending;
	blk_status_t status;
	struct completion done;
};

static void batch_init(struct batch *b)
{
	atomic_set(&b->pending, 1);
	b->status = BLK_STS_OK;
	init_completion(&b->done);
}

static void batch_put(struct batch *b)
{
	if (atomic_dec_and_test(&b->pending))
		complete(&b->done);
}

static void batch_endio(struct bio *bio)
{
	struct batch *b = bio->bi_private;

	if (bio->bi_status)
		b->status = bio->bi_status;
	bio_put(bio);
	batch_put(b);
}

static void batch_submit(struct batch *b, struct bio *bio)
{
	bio->bi_private = b;
	bio->bi_end_io = batch_endio;
	atomic_inc(&b->pending);
	submit_bio_noacct(bio);
}

static int batch_wait(struct batch *b)
{
	batch_put(b);
	wait_for_completion_io(&b->done);
	return blk_status_to_errno(b->status);
}

static void batch_flush(struct ht_tier *t, struct batch *b, struct block_device *bdev)
{
	batch_submit(b, bio_alloc_bioset(bdev, 0, REQ_OP_WRITE | REQ_SYNC | REQ_PREFLUSH, GFP_NOIO,
					 &t->xfer_bios));
}

/*
 * Flushes fast, and bulk if asked and if it was written since its last good flush (R1). A bulk
 * that fails spoils this commit; a fast device that cannot be flushed is given up.
 */
static int flush_both(struct ht_tier *t, bool bulk)
{
	struct batch fast_batch, bulk_batch;
	int r, r_bulk;

	bulk = bulk && atomic_xchg(&t->bulk_written, 0);
	batch_init(&fast_batch);
	batch_init(&bulk_batch);
	batch_flush(t, &fast_batch, t->fast->bdev);
	if (bulk)
		batch_flush(t, &bulk_batch, t->bulk->bdev);
	r_bulk = batch_wait(&bulk_batch);
	r = batch_wait(&fast_batch);
	if (r_bulk) {
		atomic_set(&t->bulk_written, 1);
		ht_count(t, HINTIER_C_ERRORS_BULK, 1);
	}
	if (r)
		ht_tier_degrade(t, HINTIER_MODE_BYPASS, "cannot flush the fast device");
	return r ? r : r_bulk;
}

/* Writes the blocks of this round, neighbours in one bio. */
static int write_blocks(struct ht_tier *t, u32 count)
{
	struct batch b;
	u32 i = 0, run;

	batch_init(&b);
	while (i < count) {
		struct bio *bio;

		run = 1;
		while (i + run < count && t->batch[i + run] == t->batch[i] + run)
			run++;
		bio = bio_alloc_bioset(t->fast->bdev, run,
				       REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_PRIO, GFP_NOIO,
				       &t->xfer_bios);
		bio->bi_iter.bi_sector = t->map.geo.meta_start +
					 ((u64)t->batch[i] << HT_BLOCK_SHIFT);
		for (; run; run--, i++)
			__bio_add_page(bio, t->meta_pages[i], PAGE_SIZE, 0);
		batch_submit(&b, bio);
	}
	ht_count(t, HINTIER_C_META_WRITE_BYTES, (u64)count << PAGE_SHIFT);
	ht_count(t, HINTIER_C_FAST_WRITE_BYTES, (u64)count << PAGE_SHIFT);
	return batch_wait(&b);
}

/* ---- gather and publish -------------------------------------------------------------------- */

struct gathering {
	struct ht_record record;
	u32 needs;              /* HT_GATHER_* */
};

static void gather_slot(struct ht_tier *t, struct ht_shard *shard, u32 slot, void *context)
{
	struct gathering *g = context;

	if (t->map.slots[slot].extent == HT_NIL)
		return;
	g->needs = ht_record_gather(&t->map, slot, &g->record);
	if (g->needs & HT_GATHER_AGAIN)
		ht_record_later(t, slot);
}

static u32 slot_end(const struct ht_geometry *geo, u32 sector)
{
	return min_t(u64, geo->slots, (u64)(sector + 1) * geo->per_sector);
}

/* Fills one block's page; returns what its records need, and counts those that changed. */
static u32 gather_block(struct ht_tier *t, u32 block, void *page, u32 *records)
{
	const struct ht_geometry *geo = &t->map.geo;
	struct gathering g;
	u32 all = 0;

	memset(page, 0, PAGE_SIZE);
	for (u32 i = 0; i < HT_BLOCK_SECTORS; i++) {
		u32 index = (block << HT_BLOCK_SHIFT) + i;
		void *sector = page + i * HT_SECTOR_BYTES;

		for (u32 slot = index * geo->per_sector; slot < slot_end(geo, index); slot++) {
			/* A slot that is hashed after this look has nothing to record yet. */
			if (READ_ONCE(t->map.slots[slot].extent) == HT_NIL)
				continue;
			g.record.used = false;
			g.needs = 0;
			ht_visit_slot(t, slot, gather_slot, &g);
			*records += !!(g.needs & HT_GATHER_CHANGED);
			all |= g.needs;
			if (g.record.used)
				ht_record_put(geo, sector, slot % geo->per_sector, &g.record);
		}
		ht_records_seal(t->uuid, index, t->commit_seq, sector);
	}
	return all;
}

/* Takes changed blocks from *cursor on into this round; returns how many. */
static u32 gather(struct ht_tier *t, u32 *cursor, u32 *needs, u32 *records)
{
	u32 count = 0;

	while (count < HT_COMMIT_BLOCKS) {
		*cursor = find_next_bit(t->changed, t->nr_blocks, *cursor);
		if (*cursor >= t->nr_blocks)
			break;
		clear_bit(*cursor, t->changed);
		/* Cleared first: what changes while we look sets it again. */
		smp_mb__after_atomic();
		*needs |= gather_block(t, *cursor, page_address(t->meta_pages[count]), records);
		t->batch[count++] = (*cursor)++;
		cond_resched();
	}
	return count;
}

/* `context` is the sector that is durable now, or NULL if it is not. */
static void publish_slot(struct ht_tier *t, struct ht_shard *shard, u32 slot, void *context)
{
	struct ht_record record;

	if (t->map.slots[slot].extent == HT_NIL)
		return;
	if (!context) {
		ht_record_revert(&t->map, slot);
		return;
	}
	ht_record_get(&t->map.geo, context, slot % t->map.geo.per_sector, &record);
	ht_act(t, slot, ht_record_publish(&t->map, slot, &record), 0);
}

static void publish(struct ht_tier *t, u32 count, bool ok)
{
	const struct ht_geometry *geo = &t->map.geo;

	for (u32 i = 0; i < count; i++) {
		void *page = page_address(t->meta_pages[i]);

		for (u32 j = 0; j < HT_BLOCK_SECTORS; j++) {
			u32 index = (t->batch[i] << HT_BLOCK_SHIFT) + j;

			for (u32 slot = index * geo->per_sector; slot < slot_end(geo, index); slot++)
				if (READ_ONCE(t->map.slots[slot].extent) != HT_NIL)
					ht_visit_slot(t, slot, publish_slot,
						      ok ? page + j * HT_SECTOR_BYTES : NULL);
		}
		if (!ok)
			set_bit(t->batch[i], t->changed);
		cond_resched();
	}
}

/* ---- the commit ---------------------------------------------------------------------------- */

/* One round: at most HT_COMMIT_BLOCKS blocks. Returns 0 or an errno. */
static int commit_round(struct ht_tier *t, u32 *cursor, bool flush, bool *more)
{
	u64 start = ktime_get_ns();
	u32 needs = 0, records = 0, count;
	int r;

	t->commit_seq++;
	count = gather(t, cursor, &needs, &records);
	*more = count == HT_COMMIT_BLOCKS;
	if (!count && !flush)
		return 0;
	r = flush_both(t, flush || (needs & HT_GATHER_BULK));
	if (!count)
		return r;
	if (!r) {
		r = write_blocks(t, count);
		if (r)
			ht_tier_degrade(t, HINTIER_MODE_BYPASS, "cannot write metadata");
	}
	if (!r)
		r = flush_both(t, false);
	publish(t, count, !r);
	ht_count(t, HINTIER_C_COMMITS, 1);
	trace_hintier_commit(t->dev->devt, records, ktime_get_ns() - start);
	return r;
}

static bool wants_flush(const struct bio_list *waiters)
{
	struct bio *bio;

	bio_list_for_each(bio, waiters)
		if (ht_io_of(bio)->flags & HT_IO_FLUSH)
			return true;
	return false;
}

static void release(struct ht_tier *t, struct bio_list *waiters, int error)
{
	struct bio *bio;

	while ((bio = bio_list_pop(waiters))) {
		struct ht_io *io = ht_io_of(bio);

		/* After a failure the others find the tier degraded, and learn more from that. */
		if (io->flags & (HT_IO_FLUSH | HT_IO_SYNC))
			ht_io_fail(bio, errno_to_blk_status(error));
		else if (error && t->map.mode < HINTIER_MODE_BYPASS)
			ht_io_fail(bio, BLK_STS_IOERR);
		else
			ht_park_retry(t, bio);
	}
}

/* Bypass: no records can be written any more, only bulk is flushed. */
static int commit_bypass(struct ht_tier *t)
{
	struct batch b;

	batch_init(&b);
	batch_flush(t, &b, t->bulk->bdev);
	return batch_wait(&b);
}

/* Commits all that has changed until now; from process context. */
int ht_commit(struct ht_tier *t)
{
	struct bio_list waiters;
	unsigned long flags;
	bool flush, more = true;
	u32 cursor = 0;
	int r = 0;

	mutex_lock(&t->commit_mutex);
	spin_lock_irqsave(&t->wait_lock, flags);
	waiters = t->commit_wait;
	bio_list_init(&t->commit_wait);
	spin_unlock_irqrestore(&t->wait_lock, flags);
	flush = wants_flush(&waiters) || atomic_xchg(&t->suspect, 0);

	atomic_set(&t->armed, 0);
	/* Before we look at what has changed: pairs with ht_record_later(). */
	smp_mb__after_atomic();
	if (t->map.mode >= HINTIER_MODE_BYPASS)
		r = commit_bypass(t);
	else
		while (more && !r)
			r = commit_round(t, &cursor, flush, &more);
	mutex_unlock(&t->commit_mutex);

	release(t, &waiters, r);
	ht_worker_kick(t);
	return r;
}

void ht_commit_kick(struct ht_tier *t)
{
	queue_work(t->wq, &t->commit_work);
}

static void commit_work(struct work_struct *work)
{
	ht_commit(container_of(work, struct ht_tier, commit_work));
}

static void commit_timer(struct work_struct *work)
{
	ht_commit(container_of(to_delayed_work(work), struct ht_tier, commit_timer));
}

void ht_commit_init(struct ht_tier *t)
{
	mutex_init(&t->commit_mutex);
	INIT_WORK(&t->commit_work, commit_work);
	INIT_DELAYED_WORK(&t->commit_timer, commit_timer);
}
