// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discard: forget units without copying them, then let bulk forget its part.
 *
 * Forgetting is done in memory and costs a lookup an extent; it needs no I/O, and a slot that
 * was emptied serves the next write to its extent at once. Filesystems send discards one by one
 * and wait for each (ext4 does), so none waits for a commit: homes that a record still claims
 * (R3) are trimmed after it (trim.c), the others at once.
 */
#include "tier.h"

#define RUN_MAX 2048            /* extents that one call looks at */

/* Whole units of the bio, as extents and sectors within. False if there is none. */
static bool whole_units(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	const u32 shift = t->map.geo.extent_shift;
	u64 from = round_up(bio->bi_iter.bi_sector, HT_UNIT_SECTORS);
	u64 to = round_down(bio_end_sector(bio), HT_UNIT_SECTORS);

	if (from >= to)
		return false;
	io->extent = from >> shift;
	io->count = ((to - 1) >> shift) - io->extent + 1;
	io->from = from & ((1U << shift) - 1);
	io->to = ((to - 1) & ((1U << shift) - 1)) + 1;
	return true;
}

/* Narrows sectors of bulk to what it can forget; false if that is nothing. */
bool ht_discard_grain(const struct ht_tier *t, u64 *from, u64 *to)
{
	u32 grain = t->discard_granularity;

	if (!grain || !READ_ONCE(t->engine.tune.pass_discard))
		return false;
	*from = DIV_ROUND_UP_ULL(*from, grain) * grain;
	*to = div_u64(*to, grain) * grain;
	return *from < *to;
}

/* The homes of these extents belong to this discard until it ends. */
static void hold(struct ht_tier *t, struct ht_io *io)
{
	unsigned long flags;

	io->flags |= HT_IO_HELD;
	io->hold.first = io->extent;
	io->hold.last = io->extent + io->count - 1;
	spin_lock_irqsave(&t->hold_lock, flags);
	ht_hold_add(&t->map, &io->hold);
	spin_unlock_irqrestore(&t->hold_lock, flags);
}

static void let_go(struct ht_tier *t, struct ht_io *io)
{
	unsigned long flags;

	io->flags &= ~HT_IO_HELD;
	spin_lock_irqsave(&t->hold_lock, flags);
	ht_hold_remove(&io->hold);
	spin_unlock_irqrestore(&t->hold_lock, flags);
}

/* The tier has forgotten the data; what bulk makes of it is its own affair. */
void ht_discard_end(struct ht_tier *t, struct ht_io *io, blk_status_t *status)
{
	if (io->outcome == HINTIER_IO_HOME)
		atomic_set(&t->bulk_written, 1);
	if (*status && io->outcome == HINTIER_IO_HOME)
		ht_blank_clear(t, io->extent, io->count);
	if (ht_device_failed(*status))
		ht_count(t, HINTIER_C_ERRORS_BULK, 1);
	*status = BLK_STS_OK;
	if (io->flags & HT_IO_HELD)
		let_go(t, io);
}

/* Drops an extent's units; is its home to be discarded as well? */
static bool drop_one(struct ht_tier *t, const struct ht_io *io, u32 nth, u32 *dropped)
{
	struct ht_request req = {
		.op = HT_REQ_DISCARD,
		.pass = (io->flags & HT_IO_HELD) && !ht_blank(t, io->extent + nth),
		.extent = io->extent + nth,
		.from = nth ? 0 : io->from,
		.to = nth + 1 < io->count ? ht_extent_sectors(&t->map.geo) : io->to,
	};
	struct ht_lock_shard *shard;
	struct ht_answer ans;
	unsigned long flags;

	if (!req.pass && ht_is_plain(&t->map, req.extent))
		return false;
	shard = ht_shard_lock(t, req.extent, &flags);
	if (unlikely(shard->staged))
		ht_stage_forget(t, shard, req.extent);
	ht_begin(&t->map, &shard->core, &req, &ans);
	if (ans.act)
		ht_act(t, ans.slot, ans.act, ans.fetch);
	ht_shard_unlock(shard, flags);
	*dropped += ans.dropped;
	return ans.verdict == HT_DO_HOME;
}

/*
 * Drops the request's units from the front on, up to the second run of homes that are to go;
 * returns how many extents that were, and the first run: [first, end), or nothing.
 */
static u32 drop_run(struct ht_tier *t, const struct ht_io *io, u32 *first, u32 *end)
{
	const u32 most = min_t(u32, io->count, RUN_MAX);
	u32 dropped = 0, nth = 0;

	while (nth < most && !drop_one(t, io, nth, &dropped))
		nth++;
	*first = nth++;
	while (nth < most && drop_one(t, io, nth, &dropped))
		nth++;
	*end = min(nth++, most);
	while (nth < most && !drop_one(t, io, nth, &dropped))
		nth++;
	if (dropped)
		ht_count(t, HINTIER_C_DROPPED_DIRTY_BYTES, (u64)dropped * HINTIER_UNIT_BYTES);
	return min(nth, most);
}

static int end_here(struct bio *bio)
{
	bio_endio(bio);
	return DM_MAPIO_SUBMITTED;
}

/* The first `count` extents are this piece; what is left is asked about when it has ended. */
static void cut(struct ht_tier *t, struct bio *bio, struct ht_io *io, u32 count)
{
	u64 end = (u64)(io->extent + count) << t->map.geo.extent_shift;
	u32 sectors = bio_sectors(bio);

	if (count < io->count)
		sectors = end - bio->bi_iter.bi_sector;
	io->left = bio_sectors(bio) - sectors;
	bio->bi_iter.bi_size = sectors << SECTOR_SHIFT;
	io->iter = bio->bi_iter;
}

/* From map() or the worker; returns DM_MAPIO_SUBMITTED or DM_MAPIO_REMAPPED. */
int ht_discard(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	const u32 shift = t->map.geo.extent_shift;
	u32 first, end;
	u64 from, to;

	io->iter = bio->bi_iter;
	io->outcome = HINTIER_IO_FAST;
	if (!whole_units(t, bio, io))
		return end_here(bio);
	if (t->discard_granularity && READ_ONCE(t->engine.tune.pass_discard))
		hold(t, io);
	cut(t, bio, io, drop_run(t, io, &first, &end));
	ht_count(t, HINTIER_C_DISCARDED_BYTES, io->iter.bi_size);

	from = max(bio->bi_iter.bi_sector, (u64)(io->extent + first) << shift);
	to = min(bio_end_sector(bio), (u64)(io->extent + end) << shift);
	from += t->map.geo.home_start;
	to += t->map.geo.home_start;
	if (first == end || !ht_discard_grain(t, &from, &to))
		return end_here(bio);
	ht_blank_set(t, from, to);
	io->outcome = HINTIER_IO_HOME;
	bio_set_dev(bio, t->bulk->bdev);
	bio->bi_iter.bi_sector = from;
	bio->bi_iter.bi_size = (to - from) << SECTOR_SHIFT;
	return DM_MAPIO_REMAPPED;
}
