// SPDX-License-Identifier: GPL-2.0-only
/*
 * Transfers: the recipes of core/move.h carried out. A transfer owns pages for one extent and
 * steps through read, write, end; each step is started from process context and ends in its own
 * work item. Readers that joined a fill are served from its pages as soon as they are read, so a
 * miss reads bulk once (S2), and from the target's own memory, never from the reader's (R7).
 */
#include "tier.h"

#include <linux/highmem.h>

enum { STEP_PAD, STEP_READ, STEP_TEE, STEP_WRITE };

static bool is_fill(const struct ht_xfer *x)
{
	return x->kind != HT_MOVE_DESTAGE;
}

/* ---- I/O ------------------------------------------------------------------------------------ */

static void io_put(struct ht_xfer *x)
{
	if (atomic_dec_and_test(&x->pending))
		queue_work(x->tier->wq, &x->work);
}

static void xfer_endio(struct bio *bio)
{
	struct ht_xfer *x = bio->bi_private;

	if (bio->bi_status)
		x->status = bio->bi_status;
	bio_put(bio);
	io_put(x);
}

/* One bio for each run of units, from or to `start` on the device. */
static void submit_runs(struct ht_xfer *x, enum ht_move_part part, struct block_device *bdev,
			blk_opf_t opf, u64 start)
{
	const struct ht_geometry *geo = &x->tier->map.geo;
	u32 unit = 0, end;

	BUILD_BUG_ON(PAGE_SIZE != HINTIER_UNIT_BYTES);
	x->status = BLK_STS_OK;
	atomic_set(&x->pending, 1);
	while (ht_move_run(geo, &x->move, part, &unit, &end)) {
		struct bio *bio = bio_alloc_bioset(bdev, end - unit, opf, GFP_NOIO,
						   &x->tier->xfer_bios);

		bio->bi_iter.bi_sector = start + unit * HT_UNIT_SECTORS;
		bio->bi_private = x;
		bio->bi_end_io = xfer_endio;
		for (; unit < end; unit++)
			__bio_add_page(bio, x->pages[unit], PAGE_SIZE, 0);
		atomic_inc(&x->pending);
		submit_bio_noacct(bio);
	}
	io_put(x);
}

static void submit_slot(struct ht_xfer *x, blk_opf_t opf)
{
	submit_runs(x, HT_MOVE_UNITS, x->tier->fast->bdev, opf,
		    ht_slot_sector(&x->tier->map.geo, x->move.slot));
}

static void submit_home(struct ht_xfer *x, enum ht_move_part part, blk_opf_t opf)
{
	if (op_is_write(opf))
		ht_blank_clear(x->tier, x->move.extent, 1);
	submit_runs(x, part, x->tier->bulk->bdev, opf,
		    ht_home_sector(&x->tier->map.geo, x->move.extent));
}

/* ---- readers -------------------------------------------------------------------------------- */

/* Between the pages, from byte `at` of the extent on, and one piece of a bio. */
static void copy_piece(struct ht_xfer *x, u32 at, struct bio_vec *bv, bool out)
{
	char *piece = bvec_kmap_local(bv);
	u32 done = 0;

	while (done < bv->bv_len) {
		char *page = page_address(x->pages[(at + done) / PAGE_SIZE]);
		u32 in_page = (at + done) % PAGE_SIZE;
		u32 bytes = min_t(u32, bv->bv_len - done, PAGE_SIZE - in_page);

		if (out)
			memcpy(piece + done, page + in_page, bytes);
		else
			memcpy(page + in_page, piece + done, bytes);
		done += bytes;
	}
	kunmap_local(piece);
	if (out)
		flush_dcache_page(bv->bv_page);
}

static void copy_bio(struct ht_xfer *x, struct bio *bio, bool out)
{
	u64 start = (u64)x->move.extent << x->tier->map.geo.extent_shift;
	u32 at = (bio->bi_iter.bi_sector - start) << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	/* Its segments need not be whole sectors. */
	bio_for_each_segment(bv, bio, iter) {
		copy_piece(x, at, &bv, out);
		at += bv.bv_len;
	}
}

static void serve_readers(struct ht_xfer *x)
{
	struct bio_list readers;
	unsigned long flags;
	struct bio *bio;

	spin_lock_irqsave(&x->lock, flags);
	readers = x->readers;
	bio_list_init(&x->readers);
	spin_unlock_irqrestore(&x->lock, flags);
	while ((bio = bio_list_pop(&readers))) {
		copy_bio(x, bio, true);
		bio_endio(bio);
	}
}

/* ---- the end -------------------------------------------------------------------------------- */

static void tell_fetch(struct ht_xfer *x, bool valid)
{
	struct ht_slot *s = &x->tier->map.slots[x->move.slot];
	u32 units = x->tier->map.geo.units;

	if (!x->fetch)
		return;
	if (!valid) {
		ht_fetch_over(x->tier, x->fetch, units, HINTIER_FETCH_CANCELLED);
	} else if (s->flags & HT_F_LATE) {
		ht_fetch_over(x->tier, x->fetch, units, HINTIER_FETCH_LATE);
	} else {
		s->flags |= HT_F_FETCHED;
		s->fetch = x->fetch;
		ht_fetch_came(x->tier, x->fetch);
	}
}

/* Under the shard's lock: what the transfer did counts from now on. Returns whether it did. */
static bool settle(struct ht_xfer *x, bool ok)
{
	struct ht_tier *t = x->tier;
	struct ht_slot *s = &t->map.slots[x->move.slot];
	bool good;
	u32 act;

	if (is_fill(x)) {
		act = ht_fill_finish(&t->map, &x->move, ok, &good);
		if (good && READ_ONCE(t->bulk_torn))
			atomic_set(&t->bulk_written, 1); /* R2: it may have read what was left there */
		tell_fetch(x, good);
		s->flags &= ~HT_F_LATE;
	} else {
		act = ht_destage_finish(&t->map, &x->move, ok, &good);
	}
	ht_pool_place(t, x->move.slot, act);
	return good;
}

static void count(struct ht_xfer *x, bool good, bool wrote)
{
	struct ht_tier *t = x->tier;
	u32 bytes = x->move.count * HINTIER_UNIT_BYTES;
	u32 padding = x->move.padding * HINTIER_UNIT_BYTES;

	if (is_fill(x)) {
		if (wrote)
			ht_count(t, HINTIER_C_FAST_WRITE_BYTES, bytes);
		if (good)
			ht_count(t, x->was_tee ? HINTIER_C_ADMITTED : HINTIER_C_PROMOTED, 1);
	} else {
		if (wrote) {
			ht_count(t, HINTIER_C_BULK_WRITE_BYTES, bytes + padding);
			ht_count(t, HINTIER_C_PADDED_BYTES, padding);
		}
		if (good)
			ht_count(t, HINTIER_C_DESTAGED_BYTES, bytes);
	}
	trace_hintier_migrate(t->dev->devt, x->kind,
			      (u64)x->move.extent << t->map.geo.extent_shift << SECTOR_SHIFT, bytes,
			      good ? 0 : x->status ? blk_status_to_errno(x->status) : -ECANCELED);
}

/* Is it fast that the step has used? */
static bool on_fast(const struct ht_xfer *x)
{
	return is_fill(x) == (x->step == STEP_WRITE);
}

static void finish(struct ht_xfer *x, bool ok)
{
	struct ht_tier *t = x->tier;
	struct bio_list waiters;
	struct ht_lock_shard *shard;
	unsigned long flags;
	struct bio *bio;
	bool good;

	shard = ht_shard_lock(t, x->move.extent, &flags);
	good = settle(x, ok);
	ht_shard_unlock(shard, flags);

	/* Nobody can find the transfer by its slot any more: the lists are final. */
	count(x, good, x->step == STEP_WRITE);
	if (x->read_ok && is_fill(x) && !x->was_tee)
		serve_readers(x);
	bio_list_init(&waiters);
	bio_list_merge(&waiters, &x->readers);
	bio_list_merge(&waiters, &x->waiters);
	bio_list_init(&x->readers);
	bio_list_init(&x->waiters);
	while ((bio = bio_list_pop(&waiters))) {
		ht_io_of(bio)->flags |= HT_IO_NO_PROMOTE;
		ht_park_retry(t, bio);
	}
	if (x->status) {
		bool fast = on_fast(x);

		ht_count(t, fast ? HINTIER_C_ERRORS_FAST : HINTIER_C_ERRORS_BULK, 1);
		if (fast)
			atomic_set(&t->suspect, 1);
		/* A bad place concerns its own slot; a device that fails, all that go there. */
		if (!is_fill(x) && !(fast && x->move.bad)) {
			WRITE_ONCE(t->destage_failed, true);
			ht_worker_pause(t);
		}
		if (fast)
			ht_commit_kick(t);
	}
	ht_xfer_put(x);
	ht_worker_kick(t);
}

/* Step 3 of a fill: is it still wanted, now that the slot is about to be written? */
static bool still_wanted(struct ht_xfer *x)
{
	struct ht_lock_shard *shard;
	unsigned long flags;
	bool wanted;

	shard = ht_shard_lock(x->tier, x->move.extent, &flags);
	wanted = ht_fill_wanted(&x->tier->map, &x->move);
	ht_shard_unlock(shard, flags);
	return wanted;
}

/* Write-through: the writer has its answer as soon as its data is home. */
static void end_tee(struct ht_xfer *x)
{
	struct bio *bio = x->tee;

	atomic_set(&x->tier->bulk_written, 1);
	ht_count(x->tier, HINTIER_C_BULK_WRITE_BYTES, bio->bi_iter.bi_size);
	x->tee = NULL;
	ht_io_fail(bio, x->status);
}

/*
 * The medium of the slot has failed. Of what should go home, units that cannot be read one by one
 * stay where they are; the others go on.
 */
static void slot_failed(struct ht_xfer *x)
{
	const struct ht_geometry *geo = &x->tier->map.geo;
	u64 start = ht_slot_sector(geo, x->move.slot);
	u32 unit = 0, end;

	x->move.bad = true;
	if (is_fill(x))
		return;
	for (; ht_move_run(geo, &x->move, HT_MOVE_UNITS, &unit, &end); unit++)
		if (ht_sync_io(x->tier->fast->bdev, REQ_OP_READ, start + unit * HT_UNIT_SECTORS,
			       page_address(x->pages[unit]), HINTIER_UNIT_BYTES))
			ht_move_leave(&x->move, unit);
	if (x->move.count) {
		ht_count(x->tier, HINTIER_C_ERRORS_FAST, 1);
		atomic_set(&x->tier->suspect, 1);
		ht_commit_kick(x->tier);
		x->status = BLK_STS_OK;
	}
}

/* Without a pad the drive reads what is missing, or fails to: then the write does. */
static void end_pad(struct ht_xfer *x)
{
	if (x->status) {
		ht_count(x->tier, HINTIER_C_ERRORS_BULK, 1);
		ht_move_unpad(&x->move);
	}
	x->step = STEP_READ;
	submit_slot(x, REQ_OP_READ);
}

static void xfer_work(struct work_struct *work)
{
	struct ht_xfer *x = container_of(work, struct ht_xfer, work);

	if (x->step == STEP_PAD) {
		end_pad(x);
		return;
	}
	if (x->status && on_fast(x) && ht_fault_of(x->status) == HT_FAULT_MEDIUM)
		slot_failed(x);
	if (x->step == STEP_WRITE) {
		/*
		 * What a destage that failed has left in bulk's cache is no news to any record: the
		 * units stay dirty. No flush need wait for a bulk that is dead; but see settle().
		 */
		if (!is_fill(x) && x->status)
			WRITE_ONCE(x->tier->bulk_torn, true);
		else if (!is_fill(x))
			atomic_set(&x->tier->bulk_written, 1);
		finish(x, !x->status);
		return;
	}
	if (x->step == STEP_TEE)
		end_tee(x);
	x->read_ok = !x->status;
	if (x->read_ok && x->step == STEP_READ && is_fill(x))
		serve_readers(x);
	if (!x->read_ok || (is_fill(x) && !still_wanted(x))) {
		finish(x, false);
		return;
	}
	x->step = STEP_WRITE;
	if (is_fill(x))
		submit_slot(x, REQ_OP_WRITE);
	else
		submit_home(x, HT_MOVE_HOME, REQ_OP_WRITE);
}

void ht_xfer_start(struct ht_xfer *x)
{
	x->step = x->tee ? STEP_TEE : x->move.padding ? STEP_PAD : STEP_READ;
	x->was_tee = x->tee;
	x->read_ok = false;
	if (x->tee) {
		copy_bio(x, x->tee, false);
		submit_home(x, HT_MOVE_UNITS, REQ_OP_WRITE | (x->tee->bi_opf & (REQ_FUA | REQ_SYNC)));
	} else if (is_fill(x)) {
		submit_home(x, HT_MOVE_UNITS, REQ_OP_READ);
	} else if (x->step == STEP_PAD) {
		submit_home(x, HT_MOVE_PAD, REQ_OP_READ);
	} else {
		submit_slot(x, REQ_OP_READ);
	}
}

/* ---- the transfers -------------------------------------------------------------------------- */

/* A transfer for this kind of work, or NULL if all are busy. */
struct ht_xfer *ht_xfer_get(struct ht_tier *t, enum ht_move_kind kind)
{
	struct ht_xfer *x;
	unsigned long flags;

	spin_lock_irqsave(&t->xfer_lock, flags);
	x = list_first_entry_or_null(&t->idle_xfers, struct ht_xfer, idle);
	if (x) {
		list_del_init(&x->idle);
		x->kind = kind;
		x->fetch = 0;
		x->tee = NULL;
		if (kind == HT_MOVE_DESTAGE)
			t->destaging++;
		else
			t->filling++;
	}
	spin_unlock_irqrestore(&t->xfer_lock, flags);
	return x;
}

void ht_xfer_put(struct ht_xfer *x)
{
	struct ht_tier *t = x->tier;
	unsigned long flags;

	spin_lock_irqsave(&t->xfer_lock, flags);
	if (x->kind == HT_MOVE_DESTAGE)
		t->destaging--;
	else
		t->filling--;
	list_add(&x->idle, &t->idle_xfers);
	spin_unlock_irqrestore(&t->xfer_lock, flags);
	if (!READ_ONCE(t->destaging) && !READ_ONCE(t->filling))
		wake_up_all(&t->drained);
}

bool ht_xfers_idle(struct ht_tier *t)
{
	return !READ_ONCE(t->destaging) && !READ_ONCE(t->filling);
}

static void xfer_init(struct ht_tier *t, struct ht_xfer *x, u16 nr)
{
	x->tier = t;
	x->nr = nr;
	INIT_WORK(&x->work, xfer_work);
	spin_lock_init(&x->lock);
	bio_list_init(&x->readers);
	bio_list_init(&x->waiters);
}

static int xfer_create(struct ht_tier *t, struct ht_xfer *x, u16 nr)
{
	u32 units = t->map.geo.units;

	xfer_init(t, x, nr);
	x->pages = kcalloc(units, sizeof(*x->pages), GFP_KERNEL);
	if (!x->pages)
		return -ENOMEM;
	for (u32 i = 0; i < units; i++) {
		x->pages[i] = alloc_page(GFP_KERNEL);
		if (!x->pages[i])
			return -ENOMEM;
	}
	list_add_tail(&x->idle, &t->idle_xfers);
	return 0;
}

int ht_xfers_create(struct ht_tier *t)
{
	u32 bytes = ht_extent_sectors(&t->map.geo) << SECTOR_SHIFT;
	int r = 0;

	spin_lock_init(&t->xfer_lock);
	INIT_LIST_HEAD(&t->idle_xfers);
	t->nr_xfers = min_t(u32, HT_XFERS_MAX, HT_XFER_BYTES / bytes);
	t->xfers = kcalloc(t->nr_xfers + 1, sizeof(*t->xfers), GFP_KERNEL);
	if (!t->xfers)
		return -ENOMEM;
	xfer_init(t, &t->xfers[t->nr_xfers], t->nr_xfers);
	for (u32 i = 0; i < t->nr_xfers && !r; i++)
		r = xfer_create(t, &t->xfers[i], i);
	return r;
}

void ht_xfers_destroy(struct ht_tier *t)
{
	for (u32 i = 0; t->xfers && i < t->nr_xfers; i++) {
		struct page **pages = t->xfers[i].pages;

		for (u32 j = 0; pages && j < t->map.geo.units; j++)
			if (pages[j])
				__free_page(pages[j]);
		kfree(pages);
	}
	kfree(t->xfers);
}
