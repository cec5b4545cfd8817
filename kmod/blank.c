// SPDX-License-Identifier: GPL-2.0-only
/*
 * Blank homes: those that bulk has been told to forget, and that were not written since. A
 * discard of such a home need not go down again. That spares most of them: filesystems discard
 * free space as a whole whenever it grows (ext4 does), and what died in fast never had a home.
 *
 * This is memory of advice. A bit that is missing costs a discard, one that is set although the
 * home was written would leave dead data on bulk; neither changes what is read. So the bits are
 * set before the discard is sent, and cleared both before a write is sent and after it has ended.
 *
 * A bit stands for a region, the larger one of an extent and of what bulk can forget at a time:
 * else a discard that is whole for bulk would be cut into parts that are not.
 */
#include "tier.h"

#include <linux/log2.h>
#include <linux/vmalloc.h>

static size_t bytes_of(const struct ht_tier *t)
{
	return BITS_TO_LONGS(((u64)t->map.geo.extents >> t->blank_shift) + 1) * sizeof(long);
}

/* Without the bitmap every discard goes down. */
int ht_blank_create(struct ht_tier *t)
{
	const struct ht_geometry *geo = &t->map.geo;
	const u32 extent = ht_extent_sectors(geo), grain = t->discard_granularity;
	const u32 region = max(extent, grain);

	if (!grain || !is_power_of_2(grain) || !IS_ALIGNED(geo->home_start, region))
		return 0;
	t->blank_shift = ilog2(region / extent);
	t->blank = vzalloc(bytes_of(t));
	return t->blank ? 0 : -ENOMEM;
}

void ht_blank_destroy(struct ht_tier *t)
{
	vfree(t->blank);
}

/* Nobody knows what bulk holds. */
void ht_blank_reset(struct ht_tier *t)
{
	if (t->blank)
		memset(t->blank, 0, bytes_of(t));
}

bool ht_blank(const struct ht_tier *t, u32 extent)
{
	return t->blank && test_bit(extent >> t->blank_shift, t->blank);
}

/* These sectors of bulk are about to be discarded. */
void ht_blank_set(struct ht_tier *t, u64 from, u64 to)
{
	const u32 shift = t->map.geo.extent_shift + t->blank_shift;

	if (!t->blank)
		return;
	from = (from - t->map.geo.home_start + (1ULL << shift) - 1) >> shift;
	to = (to - t->map.geo.home_start) >> shift;
	for (; from < to; from++)
		set_bit(from, t->blank);
}

/* These homes are about to be written, or have been, or their discard has failed. */
void ht_blank_clear(struct ht_tier *t, u32 extent, u32 count)
{
	const u32 last = (extent + count - 1) >> t->blank_shift;

	if (!t->blank)
		return;
	for (u32 region = extent >> t->blank_shift; region <= last; region++)
		if (test_bit(region, t->blank))
			clear_bit(region, t->blank);
}
