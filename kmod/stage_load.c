// SPDX-License-Identifier: GPL-2.0-only
/*
 * The blocks of the stage, their contents: a load brings them from both devices, readers copy
 * them or wait for the load. See stage.c.
 */
#include "stage_block.h"

#include "core/ahead.h"
#include "core/bits.h"

#include <linux/highmem.h>

/* ---- loads ---------------------------------------------------------------------------------- */

static void copy_piece(struct ht_staged *b, u32 at, const struct bio_vec *bv)
{
	char *to = bvec_kmap_local((struct bio_vec *)bv);
	u32 done = 0;

	while (done < bv->bv_len) {
		u32 in_page = (at + done) % PAGE_SIZE;
		u32 bytes = min_t(u32, bv->bv_len - done, PAGE_SIZE - in_page);

		memcpy(to + done, page_address(b->pages[(at + done) / PAGE_SIZE]) + in_page, bytes);
		done += bytes;
	}
	kunmap_local(to);
	flush_dcache_page(bv->bv_page);
}

static void copy_out(struct ht_staged *b, struct bio *bio)
{
	u64 start = (u64)b->piece.extent << b->tier->map.geo.extent_shift;
	u32 at = (bio->bi_iter.bi_sector - start) << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	/* Its segments need not be whole sectors. */
	bio_for_each_segment(bv, bio, iter) {
		copy_piece(b, at, &bv);
		at += bv.bv_len;
	}
}

/* What was read ahead is no good: the read finds out for itself, from a device. */
static void read_plainly(struct ht_tier *t, struct bio *bio)
{
	ht_io_of(bio)->flags |= HT_IO_NO_STAGE;
	ht_park_retry(t, bio);
}

static void answer(struct ht_staged *b, struct bio *bio, u8 state, u8 outcome)
{
	if (state == HT_STAGED_FAILED) {
		read_plainly(b->tier, bio);
		return;
	}
	ht_io_of(bio)->outcome = outcome;
	copy_out(b, bio);
	bio_endio(bio);
}

void ht_staged_serve_joined(struct work_struct *work)
{
	struct ht_staged *b = container_of(work, struct ht_staged, work);
	struct ht_tier *t = b->tier;
	struct bio *bio;

	/* Its state is final, and nobody joins any more. */
	while ((bio = bio_list_pop(&b->readers))) {
		if (atomic_dec_and_test(&t->bulk_reads) && READ_ONCE(t->held_back))
			ht_worker_kick(t);
		answer(b, bio, b->state, HINTIER_IO_JOINED);
	}
	ht_staged_put(b);
}

static bool is_fetched(const struct ht_staged *b)
{
	return b->piece.stream == HT_NIL;
}

static void load_ended(struct ht_staged *b)
{
	struct ht_tier *t = b->tier;
	struct ht_stage *stage = t->stage;
	struct ht_request req = { .op = HT_REQ_READ, .extent = b->piece.extent };
	struct ht_lock_shard *shard;
	bool fetched = is_fetched(b);
	unsigned long flags;
	bool joined;

	/* Whoever waits for the last load and then takes the tier down waits for this, too. */
	rcu_read_lock();
	atomic_sub(b->fast_sectors, &t->fast_sectors);
	atomic_sub(b->bulk_sectors, &t->bulk_sectors);
	shard = ht_shard_lock(t, b->piece.extent, &flags);
	if (b->slot != HT_NIL)
		ht_act(t, b->slot, ht_end(&t->map, &shard->core, &req, b->slot, HT_DO_FAST, true),
		       0);
	if (b->fetch && !b->status)
		ht_fetch_came(t, b->fetch);
	else
		ht_staged_tell(b, HINTIER_FETCH_CANCELLED);
	/* Pairs with the acquire in ht_stage_serve(): who sees that sees the data. */
	smp_store_release(&b->state, b->status ? HT_STAGED_FAILED : HT_STAGED_READY);
	if (b->status && b->findable)
		ht_staged_hide(stage, shard, b, HINTIER_FETCH_CANCELLED);
	joined = !bio_list_empty(&b->readers);
	ht_shard_unlock(shard, flags);
	if (joined)
		queue_work(t->wq, &b->work);
	else
		ht_staged_put(b);
	if (fetched) {
		atomic_dec(&stage->fetching);
		if (ht_fetch_waiting(t, true))
			ht_stage_kick(stage);
	}
	if (atomic_dec_and_test(&stage->loads))
		wake_up_all(&t->drained);
	rcu_read_unlock();
}

static void io_put(struct ht_staged *b)
{
	if (atomic_dec_and_test(&b->pending))
		load_ended(b);
}

static void load_endio(struct bio *bio)
{
	struct ht_staged *b = bio->bi_private;

	if (bio->bi_status)
		b->status = bio->bi_status;
	bio_put(bio);
	io_put(b);
}

static void submit_run(struct ht_staged *b, bool fast, u32 from, u32 to)
{
	struct ht_tier *t = b->tier;
	const struct ht_geometry *geo = &t->map.geo;
	u64 start = fast ? ht_slot_sector(geo, b->slot) : ht_home_sector(geo, b->piece.extent);
	struct bio *bio = bio_alloc_bioset(fast ? t->fast->bdev : t->bulk->bdev, to - from,
					   REQ_OP_READ, GFP_NOIO, &t->stage->bios);

	bio->bi_iter.bi_sector = start + from * HT_UNIT_SECTORS;
	bio->bi_private = b;
	bio->bi_end_io = load_endio;
	for (; from < to; from++)
		__bio_add_page(bio, b->pages[from], PAGE_SIZE, 0);
	atomic_inc(&b->pending);
	submit_bio_noacct(bio);
}

static void submit(struct ht_staged *b, const struct ht_ahead *ahead)
{
	u32 from = b->piece.from, to = b->piece.to, end;

	atomic_set(&b->pending, 1);
	b->status = BLK_STS_OK;
	for (; from < to; from = end) {
		bool fast = ht_bits_test(ahead->units, from);

		end = ht_bits_find(ahead->units, from, to, !fast);
		submit_run(b, fast, from, end);
	}
	io_put(b);
}

/* What is on both devices comes from the one with less to read. */
static bool prefers_home(struct ht_tier *t)
{
	return READ_ONCE(t->engine.tune.balance) &&
	       atomic_read(&t->fast_sectors) > atomic_read(&t->bulk_sectors);
}

/*
 * A FETCH wants what is staged already, or on its way: it has that. What is staged only in part is
 * given up for it.
 */
static bool adopt(struct ht_stage *stage, struct ht_lock_shard *shard, struct ht_staged *b)
{
	struct ht_staged *have;

	while ((have = ht_staged_find(shard, b->piece.extent, b->piece.from, b->piece.to))) {
		ht_staged_tell(have, HINTIER_FETCH_CANCELLED);
		if (have->piece.from <= b->piece.from && have->piece.to >= b->piece.to) {
			have->fetch = b->fetch;
			b->fetch = 0;
			if (have->state == HT_STAGED_READY)
				ht_fetch_came(stage->tier, have->fetch);
			return true;
		}
		ht_staged_hide(stage, shard, have, HINTIER_FETCH_UNUSED);
	}
	return false;
}

/* Makes a block findable and starts to fill it; false if that may not be done now. */
bool ht_staged_load(struct ht_stage *stage, struct ht_staged *b)
{
	struct ht_tier *t = stage->tier;
	u32 from = b->piece.from, to = b->piece.to;
	struct ht_lock_shard *shard;
	struct ht_ahead ahead;
	unsigned long flags;
	bool begun;

	shard = ht_shard_lock(t, b->piece.extent, &flags);
	spin_lock(&t->hold_lock);
	begun = (!is_fetched(b) || !adopt(stage, shard, b)) &&
		!ht_staged_find(shard, b->piece.extent, from, to) &&
		ht_ahead_begin(&t->map, &shard->core, b->piece.extent, from, to, prefers_home(t),
			       &ahead);
	spin_unlock(&t->hold_lock);
	if (begun) {
		if (ahead.act)
			ht_act(t, ahead.slot, ahead.act, ahead.fetch);
		b->slot = ahead.slot;
		b->fast_sectors = ht_bits_count(ahead.units, from, to) * HT_UNIT_SECTORS;
		b->bulk_sectors = (to - from) * HT_UNIT_SECTORS - b->fast_sectors;
		b->state = HT_STAGED_LOADING;
		b->findable = true;
		memset(b->unread, 0, sizeof(b->unread));
		ht_bits_set(b->unread, from, to);
		atomic_set(&b->users, 2);
		b->next = shard->staged;
		shard->staged = b;
		spin_lock(&stage->lock);
		list_add_tail(&b->order, is_fetched(b) ? &stage->fetched :
						       &stage->order[b->piece.stream]);
		spin_unlock(&stage->lock);
	}
	ht_shard_unlock(shard, flags);
	if (!begun)
		return false;

	atomic_inc(&stage->loads);
	if (is_fetched(b))
		atomic_inc(&stage->fetching);
	atomic_add(b->fast_sectors, &t->fast_sectors);
	atomic_add(b->bulk_sectors, &t->bulk_sectors);
	ht_count(t, HINTIER_C_STAGED_BYTES, (u64)(to - from) * HINTIER_UNIT_BYTES);
	submit(b, &ahead);
	return true;
}

/* ---- reads ---------------------------------------------------------------------------------- */

bool ht_stage_begin(struct ht_tier *t, struct ht_lock_shard *shard, struct ht_io *io,
		    const struct ht_request *req, struct ht_answer *ans)
{
	u32 from = req->from / HT_UNIT_SECTORS, to;
	struct ht_staged *b = ht_staged_find(shard, req->extent, from, from + 1);
	struct ht_stage *stage = t->stage;
	bool more = false;
	u64 start;

	if (!b)
		return false;
	to = min(req->to, b->piece.to * HT_UNIT_SECTORS);
	ans->verdict = HT_DO_STAGED;
	ans->slot = HT_NIL;
	ans->klass = 0;
	ans->act = 0;
	ans->to = to;
	if (!io)
		return true;

	atomic_inc(&b->users);
	io->staged = b;
	/* A unit counts as read when its end is. */
	ht_bits_clear(b->unread, from, to / HT_UNIT_SECTORS);
	ht_staged_tell(b, b->state == HT_STAGED_LOADING ? HINTIER_FETCH_LATE :
							  HINTIER_FETCH_TIMELY);
	if (!is_fetched(b)) {
		start = (u64)req->extent << t->map.geo.extent_shift;
		spin_lock(&stage->lock);
		more = ht_streams_hit(&stage->streams, &b->piece, start + to, ht_stage_ticks());
		spin_unlock(&stage->lock);
	}
	if (!ht_bits_any(b->unread, b->piece.from, b->piece.to))
		ht_staged_hide(stage, shard, b, HINTIER_FETCH_TIMELY);
	if (more)
		ht_stage_kick(stage);
	return true;
}

/* Waits with the load if that is still under way. */
static bool join(struct ht_tier *t, struct ht_staged *b, struct bio *bio)
{
	struct ht_lock_shard *shard;
	unsigned long flags;
	bool loading;

	shard = ht_shard_lock(t, b->piece.extent, &flags);
	loading = b->state == HT_STAGED_LOADING;
	if (loading) {
		bio_list_add(&b->readers, bio);
		atomic_inc(&t->bulk_reads); /* demand, until it has its answer */
	}
	ht_shard_unlock(shard, flags);
	return loading;
}

void ht_stage_serve(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	struct ht_staged *b = io->staged;
	/* Pairs with the release in load_ended(). A state that is final stays so as long as we use it. */
	u8 state = smp_load_acquire(&b->state);

	if (state == HT_STAGED_LOADING && join(t, b, bio)) {
		ht_staged_put(b);
		return;
	}
	answer(b, bio, READ_ONCE(b->state), HINTIER_IO_STAGE);
	ht_staged_put(b);
}
