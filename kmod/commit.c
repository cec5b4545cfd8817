// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commits: make records durable, in the order that core/commit.h states, and release who waits.
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

/* Flushes devices side by side; HT_ON_* of those that failed. */
static u8 flush_devices(struct ht_tier *t, u8 devices)
{
	struct batch fast, bulk;
	u8 failed = 0;

	batch_init(&fast);
	batch_init(&bulk);
	if (devices & HT_ON_FAST)
		batch_flush(t, &fast, t->fast->bdev);
	if (devices & HT_ON_BULK)
		batch_flush(t, &bulk, t->bulk->bdev);
	if (batch_wait(&bulk)) {
		failed |= HT_ON_BULK;
		ht_count(t, HINTIER_C_ERRORS_BULK, 1);
	}
	if (batch_wait(&fast)) {
		failed |= HT_ON_FAST;
		ht_count(t, HINTIER_C_ERRORS_FAST, 1);
	}
	return failed;
}

static u8 wait_for_blocks(struct ht_tier *t, struct batch *b, u32 count)
{
	ht_count(t, HINTIER_C_META_WRITE_BYTES, (u64)count << PAGE_SHIFT);
	ht_count(t, HINTIER_C_FAST_WRITE_BYTES, (u64)count << PAGE_SHIFT);
	if (!batch_wait(b))
		return 0;
	ht_count(t, HINTIER_C_ERRORS_FAST, 1);
	return HT_ON_FAST;
}

/* Writes the blocks of this round, neighbours in one bio; HT_ON_FAST if that fails. */
static u8 write_blocks(struct ht_tier *t, u32 count)
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
	return wait_for_blocks(t, &b, count);
}

/* The same for the lost map. */
static u8 write_lost(struct ht_tier *t, u32 count)
{
	struct batch b;
	u32 block = 0;

	batch_init(&b);
	while ((block = find_next_bit(t->lost_round, t->nr_lost_blocks, block)) <
	       t->nr_lost_blocks) {
		struct bio *bio = bio_alloc_bioset(t->fast->bdev, min(count, BIO_MAX_VECS),
						   REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_PRIO,
						   GFP_NOIO, &t->xfer_bios);

		block = ht_lostmap_add(t, bio, block);
		batch_submit(&b, bio);
	}
	return wait_for_blocks(t, &b, count);
}

/* ---- gather and publish -------------------------------------------------------------------- */

struct gathering {
	struct ht_record record;
	bool homes;             /* see ht_record_gather() */
	u32 needs;              /* HT_GATHER_* */
};

/* A slot that is hashed after this look has nothing to record yet. */
static bool nothing_to_say(const struct ht_slot *s)
{
	return READ_ONCE(s->extent) == HT_NIL && s->state != HT_SLOT_BAD;
}

static void gather_slot(struct ht_tier *t, struct ht_shard *shard, u32 slot, void *context)
{
	struct gathering *g = context;

	if (nothing_to_say(&t->map.slots[slot]))
		return;
	g->needs = ht_record_gather(&t->map, slot, g->homes, &g->record);
	if (g->needs & HT_GATHER_AGAIN)
		ht_record_later(t, slot);
}

static u32 slot_end(const struct ht_geometry *geo, u32 sector)
{
	return min_t(u64, geo->slots, (u64)(sector + 1) * geo->per_sector);
}

/* The nth block of the round: its page, and which of its records have news. */
static void *block_page(struct ht_tier *t, u32 nth)
{
	return page_address(t->meta_pages[nth]);
}

static unsigned long *block_news(struct ht_tier *t, u32 nth)
{
	return t->news + (size_t)nth * BITS_TO_LONGS(HT_BLOCK_SECTORS * t->map.geo.per_sector);
}

/* Fills the page of the round's nth block; returns what its records need. */
static u32 gather_block(struct ht_tier *t, const struct ht_commit *c, u32 nth, u32 *records)
{
	const struct ht_geometry *geo = &t->map.geo;
	const u32 block = t->batch[nth], first = (block << HT_BLOCK_SHIFT) * geo->per_sector;
	unsigned long *news = block_news(t, nth);
	void *page = block_page(t, nth);
	struct gathering g;
	u32 all = 0;

	memset(page, 0, PAGE_SIZE);
	bitmap_zero(news, HT_BLOCK_SECTORS * geo->per_sector);
	for (u32 i = 0; i < HT_BLOCK_SECTORS; i++) {
		u32 index = (block << HT_BLOCK_SHIFT) + i;
		void *sector = page + i * HT_SECTOR_BYTES;

		for (u32 slot = index * geo->per_sector; slot < slot_end(geo, index); slot++) {
			if (nothing_to_say(&t->map.slots[slot]))
				continue;
			memset(&g, 0, sizeof(g));
			g.homes = c->homes;
			ht_visit_slot(t, slot, gather_slot, &g);
			if (g.needs) {
				__set_bit(slot - first, news);
				all |= g.needs;
				++*records;
			}
			if (g.record.used || g.record.bad)
				ht_record_put(geo, sector, slot % geo->per_sector, &g.record);
		}
		ht_records_seal(t->uuid, index, c->seq, sector);
	}
	return all;
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

/* The round's nth block is durable, or is not. */
static void publish_block(struct ht_tier *t, u32 nth, bool ok)
{
	const struct ht_geometry *geo = &t->map.geo;
	const u32 first = (t->batch[nth] << HT_BLOCK_SHIFT) * geo->per_sector;
	u32 record;

	/* A record without news says what it said before: nothing follows from it. */
	for_each_set_bit(record, block_news(t, nth), HT_BLOCK_SECTORS * geo->per_sector) {
		void *sector = block_page(t, nth) + record / geo->per_sector * HT_SECTOR_BYTES;

		ht_visit_slot(t, first + record, publish_slot, ok ? sector : NULL);
	}
	if (!ok)
		set_bit(t->batch[nth], t->changed);
}

static void publish(struct ht_tier *t, u32 count, bool ok)
{
	for (u32 i = 0; i < count; i++) {
		publish_block(t, i, ok);
		cond_resched();
	}
}

/* Takes changed blocks into this round; returns how many records in them have changed. */
static u32 gather(struct ht_tier *t, const struct ht_commit *c, struct ht_commit_done *done)
{
	u32 block = c->cursor, records = 0, needs;

	done->count = 0;
	done->needs = 0;
	while (done->count < HT_COMMIT_BLOCKS) {
		block = find_next_bit(t->changed, t->nr_blocks, block);
		if (block >= t->nr_blocks)
			break;
		clear_bit(block, t->changed);
		/* Cleared first: what changes while we look sets it again. */
		smp_mb__after_atomic();
		t->batch[done->count] = block++;
		needs = gather_block(t, c, done->count, &records);
		if (needs & HT_GATHER_HELD)
			publish_block(t, done->count, false);
		else
			done->count++;
		done->needs |= needs;
		cond_resched();
	}
	done->next = block;
	done->more = done->count == HT_COMMIT_BLOCKS;
	return records;
}

/* ---- the commit ---------------------------------------------------------------------------- */

static bool any_dirty(struct ht_tier *t)
{
	return ht_engine_all_dirty(&t->engine) || READ_ONCE(t->destaging) ||
	       READ_ONCE(t->map.lost.used);
}

/* Carries the protocol out: every decision and the order of all this is core/commit.c's. */
static void run(struct ht_tier *t, struct ht_commit *c, u32 why)
{
	const char *trouble = NULL;
	struct ht_commit_done done = { 0 };
	enum ht_commit_action action;
	u64 start = ktime_get_ns();
	u8 mode = t->map.mode;
	u32 records = 0;

	for (action = ht_commit_begin(c, &t->map, &t->pair, why); action != HT_COMMIT_DONE;
	     action = ht_commit_next(c, &done)) {
		done.failed = 0;
		switch (action) {
		case HT_COMMIT_STATE:
			if (ht_meta_write_state(t, HT_ROLE_BULK))
				done.failed = HT_ON_BULK;
			break;
		case HT_COMMIT_GATHER:
			start = ktime_get_ns();
			records = gather(t, c, &done);
			/* After the records: what they let go of is in it (R10). */
			done.lost = ht_lostmap_gather(t, c->seq);
			break;
		case HT_COMMIT_TAKE:
			done.written = atomic_xchg(&t->bulk_written, 0);
			break;
		case HT_COMMIT_FLUSH:
			done.failed = flush_devices(t, c->flush);
			trouble = "cannot flush the fast device";
			break;
		case HT_COMMIT_GIVE:
			atomic_set(&t->bulk_written, 1);
			break;
		case HT_COMMIT_WRITE_LOST:
			done.failed = write_lost(t, c->lost);
			break;
		case HT_COMMIT_WRITE:
			done.failed = write_blocks(t, c->count);
			trouble = "cannot write metadata";
			break;
		case HT_COMMIT_PUBLISH:
		case HT_COMMIT_REVERT:
			publish(t, c->count, action == HT_COMMIT_PUBLISH);
			ht_lostmap_publish(t, action == HT_COMMIT_PUBLISH);
			ht_count(t, HINTIER_C_COMMITS, 1);
			trace_hintier_commit(t->dev->devt, records, ktime_get_ns() - start);
			break;
		case HT_COMMIT_DONE:
			break;
		}
		done.dirty = any_dirty(t);
	}
	if (t->map.mode != mode)
		ht_tier_degraded(t, mode, trouble);
}

static bool waits_for_flush(const struct bio_list *waiters)
{
	struct bio *bio;

	bio_list_for_each(bio, waiters)
		if (ht_io_of(bio)->flags & HT_IO_FLUSH)
			return true;
	return false;
}

static enum ht_waiter waiter_of(const struct ht_io *io)
{
	if (io->flags & HT_IO_FLUSH)
		return HT_WAITS_FLUSH;
	return io->flags & HT_IO_SYNC ? HT_WAITS_FUA : HT_WAITS_TURN;
}

static void release(struct ht_tier *t, const struct ht_commit *c, struct bio_list *waiters)
{
	struct bio *bio;

	while ((bio = bio_list_pop(waiters))) {
		switch (ht_commit_tell(c, waiter_of(ht_io_of(bio)))) {
		case HT_TOLD_DONE:
			ht_io_fail(bio, BLK_STS_OK);
			break;
		case HT_TOLD_ERROR:
			ht_io_fail(bio, BLK_STS_IOERR);
			break;
		case HT_TOLD_AGAIN:
			ht_park_retry(t, bio);
			break;
		}
	}
}

/* Commits all that has changed until now; from process context. */
int ht_commit(struct ht_tier *t)
{
	struct bio_list waiters;
	struct ht_commit commit;
	unsigned long flags;
	u32 why = 0;

	mutex_lock(&t->commit_mutex);
	spin_lock_irqsave(&t->wait_lock, flags);
	waiters = t->commit_wait;
	bio_list_init(&t->commit_wait);
	spin_unlock_irqrestore(&t->wait_lock, flags);
	if (waits_for_flush(&waiters))
		why |= HT_COMMIT_FOR_FLUSH;
	if (atomic_xchg(&t->suspect, 0))
		why |= HT_COMMIT_FOR_PROBE;

	atomic_set(&t->armed, 0);
	/* Before we look at what has changed: pairs with ht_record_later(). */
	smp_mb__after_atomic();
	run(t, &commit, why);
	mutex_unlock(&t->commit_mutex);

	if (!ht_commit_whole(&commit))
		ht_worker_pause(t);
	/* What it could not say without bulk. */
	if (!commit.failed && !commit.homes)
		ht_commit_later(t);
	release(t, &commit, &waiters);
	ht_trim_kick(t);
	ht_worker_kick(t);
	return ht_commit_whole(&commit) ? 0 : -EIO;
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
