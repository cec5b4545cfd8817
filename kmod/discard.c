// SPDX-License-Identifier: GPL-2.0-only
/*
 * Discard: forget units without copying them, then let bulk forget its part.
 *
 * Forgetting is done in memory and costs a lookup an extent; it needs no I/O, and a slot that
 * was emptied serves the next write to its extent at once. Filesystems send discards one by one
 * and wait for each (ext4 does), so none waits for a commit: what may not go down to bulk now,
 * because a record still claims the units (R3) or a destage writes them (R5), does not go down.
 */
#include "tier.h"

#define INLINE_EXTENTS 64       /* more than this is left to the worker */

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

/* The part that bulk can forget; false if there is none. */
static bool home_range(struct ht_tier *t, struct bio *bio, u64 *from, u64 *to)
{
	u64 start = bio->bi_iter.bi_sector + t->map.geo.home_start;
	u64 end = start + bio_sectors(bio);
	u32 grain = t->discard_granularity;

	if (!grain || !READ_ONCE(t->engine.tune.pass_discard))
		return false;
	*from = DIV_ROUND_UP_ULL(start, grain) * grain;
	*to = div_u64(end, grain) * grain;
	return *from < *to;
}

static struct ht_request request_of(struct ht_tier *t, const struct ht_io *io, u32 nth, bool pass)
{
	struct ht_request req = {
		.op = HT_REQ_DISCARD,
		.pass = pass,
		.extent = io->extent + nth,
		.from = nth ? 0 : io->from,
		.to = nth + 1 < io->count ? ht_extent_sectors(&t->map.geo) : io->to,
	};

	return req;
}

static void end_homes(struct ht_tier *t, const struct ht_io *io, u32 count)
{
	for (u32 i = 0; i < count; i++) {
		struct ht_request req = request_of(t, io, i, true);
		struct ht_lock_shard *shard;
		unsigned long flags;

		shard = ht_shard_lock(t, req.extent, &flags);
		ht_end(&t->map, &shard->core, &req, HT_NIL, HT_DO_HOME, true);
		ht_shard_unlock(shard, flags);
	}
}

void ht_discard_end(struct ht_tier *t, struct ht_io *io)
{
	end_homes(t, io, io->count);
}

/*
 * Drops all units. With `pass` takes the homes of all extents too, or of none: returns whether it
 * has them.
 */
static bool drop_all(struct ht_tier *t, struct ht_io *io, bool pass)
{
	u32 dropped = 0, i;

	for (i = 0; i < io->count; i++) {
		struct ht_request req = request_of(t, io, i, pass);
		struct ht_lock_shard *shard;
		struct ht_answer ans;
		unsigned long flags;

		shard = ht_shard_lock(t, req.extent, &flags);
		ht_begin(&t->map, &shard->core, &req, &ans);
		if (ans.act)
			ht_act(t, ans.slot, ans.act, ans.fetch);
		ht_shard_unlock(shard, flags);
		dropped += ans.dropped;
		if (pass && ans.verdict != HT_DO_HOME) {
			pass = false;
			end_homes(t, io, i);
		}
	}
	if (dropped)
		ht_count(t, HINTIER_C_DROPPED_DIRTY_BYTES, (u64)dropped * HINTIER_UNIT_BYTES);
	return pass;
}

/* From map() or the worker; returns DM_MAPIO_SUBMITTED or DM_MAPIO_REMAPPED. */
int ht_discard(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	u64 from, to;

	io->iter = bio->bi_iter;
	io->outcome = HINTIER_IO_FAST;
	if (!whole_units(t, bio, io)) {
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	if (io->count > INLINE_EXTENTS && !(io->flags & HT_IO_NO_PROMOTE)) {
		io->flags |= HT_IO_NO_PROMOTE;
		ht_park_retry(t, bio);
		return DM_MAPIO_SUBMITTED;
	}

	ht_count(t, HINTIER_C_DISCARDED_BYTES, io->iter.bi_size);
	if (!drop_all(t, io, home_range(t, bio, &from, &to))) {
		bio_endio(bio);
		return DM_MAPIO_SUBMITTED;
	}
	io->flags |= HT_IO_HELD;
	io->outcome = HINTIER_IO_HOME;
	bio_set_dev(bio, t->bulk->bdev);
	bio->bi_iter.bi_sector = from;
	bio->bi_iter.bi_size = (to - from) << SECTOR_SHIFT;
	return DM_MAPIO_REMAPPED;
}
