// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tier's life: memory when its table is made, contents when it is resumed, the clean stop when
 * it is suspended, and how it gives up a device that fails.
 */
#include "tier.h"

#include <linux/blk-integrity.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#define IU_MAX_BYTES (64U << 10)

/* ---- memory --------------------------------------------------------------------------------- */

static int create_map(struct ht_tier *t)
{
	struct ht_map *map = &t->map;
	const struct ht_geometry *geo = &map->geo;

	map->bucket_bits = max_t(u32, ilog2(roundup_pow_of_two(geo->slots)), 4);
	map->shard_bits = clamp_t(u32, ilog2(roundup_pow_of_two(num_possible_cpus() * 16)), 4, 8);
	map->shard_bits = min(map->shard_bits, map->bucket_bits);
	t->nr_shards = 1U << map->shard_bits;
	map->slots = vzalloc((size_t)geo->slots * sizeof(*map->slots));
	map->bits = vzalloc((size_t)geo->slots * HT_BITS * geo->words * sizeof(u16));
	map->buckets = vmalloc(sizeof(u32) << map->bucket_bits);
	t->shards = kvcalloc(t->nr_shards, sizeof(*t->shards), GFP_KERNEL);
	t->engine.pins = vzalloc(sizeof(*t->engine.pins));
	t->ghosts = vzalloc(HT_GHOSTS * sizeof(u32));
	if (!map->slots || !map->bits || !map->buckets || !t->shards || !t->ghosts ||
	    !t->engine.pins)
		return -ENOMEM;
	for (u32 i = 0; i < t->nr_shards; i++)
		spin_lock_init(&t->shards[i].lock);
	return 0;
}

static int create_commit(struct ht_tier *t)
{
	t->nr_blocks = t->map.geo.meta_sectors >> HT_BLOCK_SHIFT;
	t->changed = bitmap_zalloc(t->nr_blocks, GFP_KERNEL);
	t->batch = kcalloc(HT_COMMIT_BLOCKS, sizeof(*t->batch), GFP_KERNEL);
	t->meta_pages = kcalloc(HT_COMMIT_BLOCKS, sizeof(*t->meta_pages), GFP_KERNEL);
	t->news = kcalloc(HT_COMMIT_BLOCKS,
			  BITS_TO_LONGS(HT_BLOCK_SECTORS * t->map.geo.per_sector) * sizeof(long),
			  GFP_KERNEL);
	t->meta_buffer = (void *)__get_free_pages(GFP_KERNEL, get_order(HT_META_BUFFER));
	if (!t->changed || !t->batch || !t->meta_pages || !t->news || !t->meta_buffer)
		return -ENOMEM;
	for (u32 i = 0; i < HT_COMMIT_BLOCKS; i++) {
		t->meta_pages[i] = alloc_page(GFP_KERNEL);
		if (!t->meta_pages[i])
			return -ENOMEM;
	}
	ht_commit_init(t);
	ht_trim_init(t);
	return 0;
}

static int create_engines(struct ht_tier *t)
{
	int r;

	t->wq = alloc_workqueue("hintier", WQ_MEM_RECLAIM | WQ_HIGHPRI, 0);
	if (!t->wq)
		return -ENOMEM;
	r = bioset_init(&t->xfer_bios, 64, 0, BIOSET_NEED_BVECS);
	if (!r)
		r = create_map(t);
	if (!r)
		r = ht_fetch_create(t);
	if (!r)
		r = ht_lostmap_create(t);
	if (!r)
		r = create_commit(t);
	if (!r)
		r = ht_blank_create(t);
	if (!r)
		r = ht_xfers_create(t);
	if (!r)
		r = ht_stage_create(t, t->stage_mib);
	return r;
}

static const char *open_devices(struct ht_tier *t, const struct ht_args *args, int *error)
{
	*error = dm_get_device(t->ti, args->fast, dm_table_get_mode(t->ti->table), &t->fast);
	if (*error)
		return "cannot open the fast device";
	*error = dm_get_device(t->ti, args->bulk, dm_table_get_mode(t->ti->table), &t->bulk);
	if (*error)
		return "cannot open the bulk device";
	*error = -EINVAL;
	if (t->fast->bdev == t->bulk->bdev)
		return "fast and bulk are the same device";
	if (bdev_logical_block_size(t->fast->bdev) > bdev_logical_block_size(t->bulk->bdev))
		return "fast device has a larger logical block than the bulk device";
	if (bdev_logical_block_size(t->bulk->bdev) > HINTIER_UNIT_BYTES)
		return "logical block is larger than 4096 bytes";
	if (bdev_is_zoned(t->fast->bdev) || bdev_is_zoned(t->bulk->bdev))
		return "zoned devices are not supported";
	if (bdev_get_integrity(t->fast->bdev) || bdev_get_integrity(t->bulk->bdev))
		return "devices with an integrity profile are not supported";
	return NULL;
}

/*
 * What bulk says should be written at least: its indirection unit, if it is a drive that has one.
 * Something larger is the chunk of an array, and not worth a read.
 */
static void init_iu(struct ht_tier *t)
{
	u32 bytes = bdev_io_min(t->bulk->bdev);
	u32 extent = ht_extent_sectors(&t->map.geo) << SECTOR_SHIFT;

	t->map.iu = 1;
	if (is_power_of_2(bytes) && bytes > HINTIER_UNIT_BYTES && bytes <= min(extent, IU_MAX_BYTES))
		t->map.iu = bytes / HINTIER_UNIT_BYTES;
}

static void init_discard(struct ht_tier *t)
{
	u32 grain = bdev_discard_granularity(t->bulk->bdev) >> SECTOR_SHIFT;

	if (bdev_max_discard_sectors(t->bulk->bdev))
		t->discard_granularity = max_t(u32, grain, HT_UNIT_SECTORS);
}

/* A tier that is not active yet; on failure says why in ti->error. */
struct ht_tier *ht_tier_create(struct dm_target *ti, const struct ht_args *args)
{
	struct ht_tier *t = kzalloc(sizeof(*t), GFP_KERNEL);
	const char *error;
	int r = -EINVAL;

	if (!t) {
		ti->error = "out of memory";
		return ERR_PTR(-ENOMEM);
	}
	t->ti = ti;
	t->wanted_mode = args->mode;
	t->discard_dirty = args->discard_dirty;
	t->stage_mib = args->stage_mib;
	t->stopping = true; /* until it is activated */
	t->engine.tune = args->tune;
	spin_lock_init(&t->engine_lock);
	spin_lock_init(&t->wait_lock);
	spin_lock_init(&t->hold_lock);
	init_waitqueue_head(&t->drained);
	INIT_WORK(&t->worker, ht_worker);
	INIT_DELAYED_WORK(&t->again, ht_worker_again);
	INIT_LIST_HEAD(&t->idle_xfers);
	ht_budget_init(t);

	error = open_devices(t, args, &r);
	if (!error)
		error = ht_meta_headers(t, args->extent_sectors, &r);
	if (!error) {
		init_discard(t);
		init_iu(t);
		r = create_engines(t);
		if (r)
			error = "out of memory for slots: use a larger extent or a smaller fast device";
	}
	if (!error) {
		t->dev = ht_dev_find_or_create(disk_devt(dm_disk(dm_table_get_md(ti->table))), t);
		if (IS_ERR(t->dev)) {
			r = PTR_ERR(t->dev);
			t->dev = NULL;
			error = r == -ENOMEM ? "out of memory" :
				"this device already is a tier over another pair: remove it first";
		}
	}
	if (error) {
		ti->error = (char *)error;
		ht_tier_destroy(t);
		return ERR_PTR(r);
	}
	return t;
}

/* Takes back whatever ht_tier_create() has made. */
void ht_tier_destroy(struct ht_tier *t)
{
	if (t->dev)
		ht_dev_leave(t->dev, t);
	if (t->wq)
		destroy_workqueue(t->wq);
	ht_stage_destroy(t);
	ht_xfers_destroy(t);
	for (u32 i = 0; t->meta_pages && i < HT_COMMIT_BLOCKS; i++)
		if (t->meta_pages[i])
			__free_page(t->meta_pages[i]);
	kfree(t->news);
	kfree(t->meta_pages);
	free_pages((unsigned long)t->meta_buffer, get_order(HT_META_BUFFER));
	kfree(t->batch);
	bitmap_free(t->changed);
	ht_blank_destroy(t);
	ht_lostmap_destroy(t);
	ht_fetch_destroy(t);
	vfree(t->ghosts);
	vfree(t->engine.pins);
	vfree(t->values);
	kvfree(t->shards);
	vfree(t->map.buckets);
	vfree(t->map.bits);
	vfree(t->map.slots);
	bioset_exit(&t->xfer_bios);
	if (t->bulk)
		dm_put_device(t->ti, t->bulk);
	if (t->fast)
		dm_put_device(t->ti, t->fast);
	kfree(t);
}

/* ---- activation ----------------------------------------------------------------------------- */

/* An empty map: whatever the memory held is from before the last suspend. */
static void reset(struct ht_tier *t)
{
	struct ht_map *map = &t->map;
	const struct ht_geometry *geo = &map->geo;

	ht_lost_reset(map);
	ht_blank_reset(t);
	memset(map->bits, 0, (size_t)geo->slots * HT_BITS * geo->words * sizeof(u16));
	memset(map->buckets, 0xff, sizeof(u32) << map->bucket_bits);
	memset(t->ghosts, 0xff, HT_GHOSTS * sizeof(u32));
	for (u32 slot = 0; slot < geo->slots; slot++) {
		memset(&map->slots[slot], 0, sizeof(map->slots[slot]));
		map->slots[slot].extent = HT_NIL;
		map->slots[slot].used = ht_now_second();
	}
	for (u32 i = 0; i < t->nr_shards; i++)
		memset(&t->shards[i].core, 0, sizeof(t->shards[i].core));
	bitmap_zero(t->changed, t->nr_blocks);
	ht_fetch_reset(t);
	t->pressure = false;
	t->destage_failed = false;
	t->bulk_torn = false;
	t->pause_until = jiffies;
	atomic_set(&t->suspect, 0);
	atomic_set(&t->armed, 1); /* no timer before the tier is active */
	/* Nobody knows what bulk holds in its cache. */
	atomic_set(&t->bulk_written, 1);
	map->mode = t->wanted_mode;
	map->epoch = ++t->dev->epoch;
	ht_stage_reset(t);
	ht_engine_init(&t->engine, geo, map->slots);
	t->engine.second = ht_now_second();
	vfree(t->values);
	t->values = NULL;
	t->trim_head = HT_NIL;
}

static void fill_lists(struct ht_tier *t)
{
	for (u32 slot = 0; slot < t->map.geo.slots; slot++) {
		ht_pool_place(t, slot,
			      t->map.slots[slot].flags & HT_F_CHANGED ? HT_ACT_RECORD : 0);
		if (!(slot % 4096))
			cond_resched();
	}
}

/*
 * Waits until nothing runs and no timer is armed. Nobody calls, no request is in flight, and
 * `stopping` is set, so that nothing starts again.
 */
static void quiesce(struct ht_tier *t)
{
	/* One that has not seen `stopping` may still start transfers. */
	flush_work(&t->worker);
	wait_event(t->drained, ht_xfers_idle(t));
	cancel_delayed_work_sync(&t->again);
	cancel_delayed_work_sync(&t->commit_timer);
	cancel_delayed_work_sync(&t->budget_work);
	drain_workqueue(t->wq);
}

/* Reads what the devices hold; the tier serves requests after this. */
int ht_tier_activate(struct ht_tier *t)
{
	unsigned int noio;
	int r;

	r = ht_dev_claim(t->dev, t);
	if (r) {
		DMERR("%pg: this pair is in use by another live table", t->fast->bdev);
		return r;
	}
	/* A filesystem above is suspended: memory must not wait for it. */
	noio = memalloc_noio_save();
	reset(t);
	r = ht_meta_load(t);
	if (!r) {
		fill_lists(t);
		r = ht_meta_start(t);
	}
	memalloc_noio_restore(noio);
	if (r) {
		quiesce(t);
		ht_dev_unclaim(t->dev, t);
		return r;
	}
	atomic_set(&t->armed, 0);
	/* Of the lost map: what was found again in a slot. */
	if (!bitmap_empty(t->changed, t->nr_blocks) || t->map.lost.used)
		ht_commit_kick(t);
	t->dev->mode = t->map.mode;
	t->loaded = true;
	WRITE_ONCE(t->stopping, false);
	ht_budget_kick(t);
	return 0;
}

/* Presuspend: no new background transfer; what parked bios wait for goes on. */
void ht_tier_stop(struct ht_tier *t)
{
	WRITE_ONCE(t->stopping, true);
	wake_up_all(&t->drained);
}

/* Postsuspend: no request is in flight any more. The clean stop. */
void ht_tier_deactivate(struct ht_tier *t)
{
	if (!t->loaded)
		return;
	ht_dev_ready(t->dev, false);
	ht_stage_clear(t);
	quiesce(t);
	ht_fetch_stop(t);
	ht_meta_stop(t);
	quiesce(t);
	t->dev->epoch = t->map.epoch;
	t->loaded = false;
	ht_dev_unclaim(t->dev, t);
}

/* ---- failure -------------------------------------------------------------------------------- */

/* A commit has found out. Modes only get worse: one log line and one event for each step. */
void ht_tier_degraded(struct ht_tier *t, enum hintier_mode old, const char *why)
{
	u32 mode = t->map.mode;

	WRITE_ONCE(t->dev->mode, mode);
	DMERR("%s: %s: %s: now in mode %s", dm_table_device_name(t->ti->table), t->fast->name, why,
	      ht_mode_name(mode));
	ht_event(t->dev, HINTIER_EV_MODE, old, mode, 0, 0);
	dm_table_event(t->ti->table);
	wake_up_all(&t->drained);
}
