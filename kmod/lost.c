// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lost units: the lost map's memory and its sectors on fast, and drops. See core/lost.h for what
 * the map promises and core/commit.h for when its sectors are written.
 */
#include "tier.h"

#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "core/load.h"

/* ---- memory --------------------------------------------------------------------------------- */

int ht_lostmap_create(struct ht_tier *t)
{
	const struct ht_geometry *geo = &t->map.geo;
	struct ht_lost *lost = &t->map.lost;
	u32 capacity = ht_lost_capacity(geo);

	lost->bucket_bits = max_t(u32, ilog2(roundup_pow_of_two(capacity + 1)), t->map.shard_bits);
	t->nr_lost_blocks = geo->lost_sectors >> HT_BLOCK_SHIFT;
	lost->entries = vzalloc(max_t(size_t, (size_t)capacity * sizeof(*lost->entries), 1));
	lost->bits = vzalloc(max_t(size_t, (size_t)capacity * geo->words * sizeof(u16), 1));
	lost->buckets = vmalloc(sizeof(u32) << lost->bucket_bits);
	lost->changed = vzalloc(max_t(u32, geo->lost_sectors, 1));
	t->lost_image = vzalloc(max_t(size_t, (size_t)geo->lost_sectors << SECTOR_SHIFT, 1));
	t->lost_round = bitmap_zalloc(max_t(u32, t->nr_lost_blocks, 1), GFP_KERNEL);
	if (!lost->entries || !lost->bits || !lost->buckets || !lost->changed || !t->lost_image ||
	    !t->lost_round)
		return -ENOMEM;
	return 0;
}

void ht_lostmap_destroy(struct ht_tier *t)
{
	bitmap_free(t->lost_round);
	vfree(t->lost_image);
	vfree(t->map.lost.changed);
	vfree(t->map.lost.buckets);
	vfree(t->map.lost.bits);
	vfree(t->map.lost.entries);
}

/* ---- activation ----------------------------------------------------------------------------- */

/* Into an empty lost map, after all slot records. Raises the newest sequence number. */
int ht_lostmap_load(struct ht_tier *t)
{
	const struct ht_geometry *geo = &t->map.geo;
	enum ht_refusal why = HT_OK;
	void *buffer = t->meta_buffer;
	u32 count;
	int r = 0;

	for (u32 at = 0; at < geo->lost_sectors && !r; at += count) {
		count = min_t(u32, HT_META_BUFFER >> SECTOR_SHIFT, geo->lost_sectors - at);
		r = ht_sync_io(t->fast->bdev, REQ_OP_READ | REQ_META, geo->lost_start + at, buffer,
			       count << SECTOR_SHIFT);
		if (r)
			DMERR("%pg: cannot read the lost map: %d", t->fast->bdev, r);
		for (u32 i = 0; i < count && !r; i++) {
			why = ht_load_lost(&t->map, &t->pair, t->uuid, at + i,
					   buffer + (i << SECTOR_SHIFT));
			if (why != HT_OK) {
				DMERR("%pg: lost map sector %u: %s", t->fast->bdev, at + i,
				      ht_refusal_text(why));
				r = -EILSEQ;
			}
		}
		cond_resched();
	}
	return r;
}

/* ---- commits -------------------------------------------------------------------------------- */

static void gather_entry(struct ht_tier *t, u32 entry, void *sector)
{
	/* Only a commit gives an entry's extent up, and we are it. */
	u32 extent = READ_ONCE(t->map.lost.entries[entry].extent);
	struct ht_lost_record record = { .used = false };
	struct ht_lock_shard *shard;
	unsigned long flags;

	if (extent != HT_NIL) {
		shard = ht_shard_lock(t, extent, &flags);
		ht_lost_gather(&t->map, entry, &record);
		ht_shard_unlock(shard, flags);
	}
	ht_lost_put(&t->map.geo, sector, entry % t->map.geo.lost_per_sector, &record);
}

static void gather_block(struct ht_tier *t, u32 block, u64 seq)
{
	const u32 per_sector = t->map.geo.lost_per_sector;

	for (u32 i = 0; i < HT_BLOCK_SECTORS; i++) {
		u32 index = (block << HT_BLOCK_SHIFT) + i;
		void *sector = t->lost_image + ((size_t)index << SECTOR_SHIFT);

		memset(sector, 0, HT_SECTOR_BYTES);
		for (u32 nth = 0; nth < per_sector; nth++)
			gather_entry(t, index * per_sector + nth, sector);
		ht_lost_seal(t->uuid, index, seq, sector);
	}
}

/*
 * Takes all that has changed into this round; after the records of the round, so that whatever
 * these do not claim any more is in it. Returns how many blocks.
 */
u32 ht_lostmap_gather(struct ht_tier *t, u64 seq)
{
	u8 *changed = t->map.lost.changed;
	u32 count = 0;

	for (u32 block = 0; block < t->nr_lost_blocks; block++) {
		u8 *flags = changed + (block << HT_BLOCK_SHIFT);

		if (!memchr_inv(flags, 0, HT_BLOCK_SECTORS))
			continue;
		memset(flags, 0, HT_BLOCK_SECTORS);
		/* Cleared first: what changes while we look sets it again. */
		smp_mb();
		gather_block(t, block, seq);
		__set_bit(block, t->lost_round);
		count++;
		cond_resched();
	}
	return count;
}

/* Fills a bio with blocks of this round from `block` on; returns the next one to write. */
u32 ht_lostmap_add(struct ht_tier *t, struct bio *bio, u32 block)
{
	const u32 end = min_t(u32, find_next_zero_bit(t->lost_round, t->nr_lost_blocks, block),
			      block + bio->bi_max_vecs);

	BUILD_BUG_ON(HT_BLOCK_SECTORS * HT_SECTOR_BYTES != PAGE_SIZE);
	bio->bi_iter.bi_sector = t->map.geo.lost_start + ((u64)block << HT_BLOCK_SHIFT);
	for (; block < end; block++) {
		void *page = t->lost_image + ((size_t)block << PAGE_SHIFT);

		flush_kernel_vmap_range(page, PAGE_SIZE);
		__bio_add_page(bio, vmalloc_to_page(page), PAGE_SIZE, 0);
	}
	return block;
}

static void publish_entry(struct ht_tier *t, u32 entry, bool ok)
{
	u32 extent = READ_ONCE(t->map.lost.entries[entry].extent);
	struct ht_lock_shard *shard;
	unsigned long flags;

	if (extent == HT_NIL)
		return;
	shard = ht_shard_lock(t, extent, &flags);
	if (!ok) {
		ht_lost_revert(&t->map, entry);
	} else if (ht_lost_publish(&t->map, entry)) {
		spin_lock(&t->engine_lock);
		ht_lost_give(&t->map, entry);
		spin_unlock(&t->engine_lock);
	}
	ht_shard_unlock(shard, flags);
}

/* What was gathered is durable, or is not. */
void ht_lostmap_publish(struct ht_tier *t, bool ok)
{
	const u32 per_block = t->map.geo.lost_per_sector << HT_BLOCK_SHIFT;
	u32 block;

	for_each_set_bit(block, t->lost_round, t->nr_lost_blocks) {
		for (u32 i = 0; i < per_block; i++)
			publish_entry(t, block * per_block + i, ok);
		__clear_bit(block, t->lost_round);
		cond_resched();
	}
}

/* ---- drops ---------------------------------------------------------------------------------- */

static u32 take_entry(struct ht_tier *t)
{
	u32 entry;

	spin_lock(&t->engine_lock);
	entry = ht_lost_take(&t->map);
	spin_unlock(&t->engine_lock);
	return entry;
}

static void give_entry(struct ht_tier *t, u32 entry)
{
	spin_lock(&t->engine_lock);
	ht_lost_give(&t->map, entry);
	spin_unlock(&t->engine_lock);
}

/*
 * Drops volatile units of a slot, under its shard's lock. What happened is added to *ret, to be
 * told with ht_drop_tell() without locks.
 */
void ht_drop_units(struct ht_tier *t, struct ht_shard *shard, u32 slot, u32 from, u32 to,
		   struct ht_drop_note *ret)
{
	struct ht_slot *s = &t->map.slots[slot];
	u32 entry = HT_NIL, extent = s->extent;
	struct ht_dropped dropped;

	if (!ht_may_drop(&t->map, shard, slot, from, to))
		return;
	if (ht_lost_find(&t->map, extent) == HT_NIL)
		entry = take_entry(t);
	ht_drop(&t->map, shard, slot, from, to, entry, &dropped);
	if (entry != HT_NIL && !dropped.took)
		give_entry(t, entry);
	if (dropped.took && ht_lost_wants_commit(&t->map))
		ht_commit_kick(t);
	if (!dropped.units) {
		ht_count(t, HINTIER_C_DROPS_REFUSED, 1);
		return;
	}
	if (t->stage)
		ht_stage_forget(t, container_of(shard, struct ht_lock_shard, core), extent);
	ret->offset = (u64)extent << (t->map.geo.extent_shift + SECTOR_SHIFT);
	ret->bytes = dropped.units * HINTIER_UNIT_BYTES;
	ret->object = s->object;
	spin_lock(&t->engine_lock);
	ht_engine_lost(&t->engine, slot, s->object);
	spin_unlock(&t->engine_lock);
	ht_act(t, slot, dropped.act, dropped.fetch);
}

/* The drop's number says how many there were: who misses one sees it. */
void ht_drop_tell(struct ht_tier *t, const struct ht_drop_note *note)
{
	if (!note->bytes)
		return;
	ht_count(t, HINTIER_C_DROPPED_VOLATILE_BYTES, note->bytes);
	trace_hintier_migrate(t->dev->devt, HT_MOVE_DROP, note->offset, note->bytes, 0);
	ht_event(t->dev, HINTIER_EV_DROP, note->offset, note->bytes, note->object,
		 atomic64_inc_return(&t->dev->drops));
}

/* Units that are lost now. */
u64 ht_lostmap_units(struct ht_tier *t)
{
	struct ht_lock_shard *shard;
	unsigned long flags;
	u64 units = 0;
	u32 extent;

	for (u32 i = 0; READ_ONCE(t->map.lost.used) && i < t->map.lost.capacity; i++) {
		extent = READ_ONCE(t->map.lost.entries[i].extent);
		if (extent == HT_NIL)
			continue;
		shard = ht_shard_lock(t, extent, &flags);
		if (t->map.lost.entries[i].extent == extent)
			units += ht_lost_count(&t->map, ht_lookup(&t->map, extent), extent);
		ht_shard_unlock(shard, flags);
		if (!(i % 1024))
			cond_resched();
	}
	return units;
}
