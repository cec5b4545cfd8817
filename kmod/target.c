// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device-mapper target "hintier".
 *
 * Table
 *   <start> <length> hintier <fast> <bulk> <extent sectors> [<#words> <option>...]
 *   length  whole extents of the bulk device behind its data offset (1 MiB, or one extent if that
 *           is more), as recorded by `format`; more of them if bulk has become larger: the tier
 *           grows with it, for good
 *   option  mode writeback | writethrough | writearound     default writeback
 *           stage_mib <MiB>     RAM for what is read ahead of readers in order: 0 (none) to 4096,
 *                               default 64
 *           discard_dirty       give up dirty data of a fast device that bulk has moved on without
 *           <tunable> <value>   see below
 *
 * Tunables (default, range), in the table or by message `set`
 *   high 92, 1-99          percent of slots dirty: destaging starts above
 *   low 90, 0-99           and stops at
 *   reserve 20, 1-500      free slots kept for writes, per mille
 *   spread 40, 0-100       percent of slots that dirty data ages past before five eighths of it, in
 *                          runs of 128 KiB, are destaged early, so that both devices can serve
 *                          it; 0: off
 *   balance 1, 0-1         read what is on both devices from the one with less to read
 *   promote 2, 0-2         read misses: 0 stay on bulk, 1 get a slot, 2 get one the second time
 *   window 8, 1-64         destages in flight
 *   window_busy 2, 0-64    destages in flight while demand reads are in flight on bulk
 *   quiet_ms 20, 0-10000   time without a read after which readers pause; 0: not waited for
 *   fetches 16, 0-64       promotions and FETCHes in flight
 *   commit_ms 1000, 1-60000  longest time that a change stays unrecorded without a FLUSH
 *   pass_discard 1, 0-1    discards go down to bulk as well
 *   pins 50, 0-90          percent of slots that PIN may hold in all,
 *   pins_one 25, 0-90      and for one caller
 *   drop 1, 0-1            when slots run out, drop what its owner has called volatile; 0: destage it
 *
 * Messages
 *   flush             destage all that is dirty and record it; waits, can be interrupted
 *   commit            record all that has changed
 *   drop_clean        forget all that is clean
 *   set <key> <value> a tunable
 *
 * Status, one line
 *   <mode> <extent sectors> <slots> <free> <dirty> <clean> <moving in> <moving out>
 *   <reads fast> <reads bulk> <reads joined> <writes fast> <writes bulk>
 *   <bytes written fast> <bytes written bulk> <bytes destaged> <bytes dropped dirty>
 *   <promoted> <evicted> <commits> <errors fast> <errors bulk>
 *   <units lost> <requests lost> <slots bad>
 *   mode is writeback, writethrough, writearound, bypass (fast is gone) or fail; `-` in the place
 *   of each slot count while the tier is suspended.
 */
#include "tier.h"

#include <linux/module.h>
#include <linux/vmalloc.h>

#define DISCARD_SECTORS (1U << 21)  /* 1 GiB: bounds the work of one request */

static int target_ctr(struct dm_target *ti, unsigned int argc, char **argv)
{
	struct ht_args args;
	struct ht_tier *t;
	int r;

	r = ht_args_parse(ti, argc, argv, &args);
	if (r)
		return r;
	t = ht_tier_create(ti, &args);
	if (IS_ERR(t))
		return PTR_ERR(t);

	ti->private = t;
	ti->per_io_data_size = sizeof(struct ht_io);
	/* R16: whatever the devices say, commits must see every flush. */
	ti->num_flush_bios = 1;
	ti->flush_supported = true;
	ti->num_discard_bios = 1;
	ti->discards_supported = true;
	ti->num_write_zeroes_bios = 1;
	return 0;
}

static void target_dtr(struct dm_target *ti)
{
	ht_tier_destroy(ti->private);
}

static int target_map(struct dm_target *ti, struct bio *bio)
{
	return ht_io_map(ti->private, bio);
}

static int target_end_io(struct dm_target *ti, struct bio *bio, blk_status_t *status)
{
	return ht_io_end(ti->private, bio, dm_per_bio_data(bio, sizeof(struct ht_io)), status);
}

/* ---- suspend and resume --------------------------------------------------------------------- */

static int target_preresume(struct dm_target *ti)
{
	return ht_tier_activate(ti->private);
}

static void target_resume(struct dm_target *ti)
{
	struct ht_tier *t = ti->private;

	ht_dev_ready(t->dev, true);
	if (!t->dev->announced) {
		t->dev->announced = true;
		ht_event(t->dev, HINTIER_EV_CREATED, 0, 0, 0, 0);
	}
	ht_worker_kick(t);
}

static void target_presuspend(struct dm_target *ti)
{
	ht_tier_stop(ti->private);
}

static void target_presuspend_undo(struct dm_target *ti)
{
	struct ht_tier *t = ti->private;

	WRITE_ONCE(t->stopping, false);
	ht_stage_resume(t);
	ht_worker_kick(t);
}

static void target_postsuspend(struct dm_target *ti)
{
	ht_tier_deactivate(ti->private);
}

/* ---- status and messages -------------------------------------------------------------------- */

static u64 requests(const struct ht_stats *stats, enum hintier_op op, enum hintier_outcome outcome)
{
	u64 n = 0;

	for (u32 klass = 0; klass < HINTIER_CLASSES; klass++)
		n += stats->io[op][outcome][klass].count;
	return n;
}

static unsigned int emit_slots(struct ht_tier *t, char *result, unsigned int maxlen)
{
	unsigned int sz = 0;

	DMEMIT("%s %u %u ", ht_mode_name(t->loaded ? t->map.mode : t->wanted_mode),
	       ht_extent_sectors(&t->map.geo), t->map.geo.slots);
	if (!t->loaded)
		DMEMIT("- - - - -");
	else
		DMEMIT("%u %u %u %u %u", READ_ONCE(t->engine.count[HT_LIST_FREE]),
		       ht_engine_all_dirty(&t->engine) + READ_ONCE(t->destaging),
		       ht_engine_clean(&t->engine), READ_ONCE(t->filling),
		       READ_ONCE(t->destaging));
	return sz;
}

static void emit_info(struct ht_tier *t, char *result, unsigned int maxlen)
{
	unsigned int sz = emit_slots(t, result, maxlen);
	struct ht_stats *s = vzalloc(sizeof(*s));
	const u64 *c;

	if (!s) {
		DMEMIT(" Error");
		return;
	}
	ht_dev_stats(t->dev, s);
	c = s->counters;
	DMEMIT(" %llu %llu %llu %llu %llu",
	       requests(s, HINTIER_OP_READ, HINTIER_IO_FAST),
	       requests(s, HINTIER_OP_READ, HINTIER_IO_HOME),
	       requests(s, HINTIER_OP_READ, HINTIER_IO_JOINED),
	       requests(s, HINTIER_OP_WRITE, HINTIER_IO_FAST),
	       requests(s, HINTIER_OP_WRITE, HINTIER_IO_HOME) +
	       requests(s, HINTIER_OP_WRITE, HINTIER_IO_BYPASS));
	DMEMIT(" %llu %llu %llu %llu %llu %llu %llu %llu %llu",
	       c[HINTIER_C_FAST_WRITE_BYTES], c[HINTIER_C_BULK_WRITE_BYTES],
	       c[HINTIER_C_DESTAGED_BYTES], c[HINTIER_C_DROPPED_DIRTY_BYTES],
	       c[HINTIER_C_PROMOTED], c[HINTIER_C_EVICTED], c[HINTIER_C_COMMITS],
	       c[HINTIER_C_ERRORS_FAST], c[HINTIER_C_ERRORS_BULK]);
	if (t->loaded)
		DMEMIT(" %llu", ht_lostmap_units(t));
	else
		DMEMIT(" -");
	DMEMIT(" %llu %u", requests(s, HINTIER_OP_READ, HINTIER_IO_LOST) +
	       requests(s, HINTIER_OP_WRITE, HINTIER_IO_LOST),
	       READ_ONCE(t->engine.count[HT_LIST_BAD]));
	vfree(s);
}

static void target_status(struct dm_target *ti, status_type_t type, unsigned int flags,
			  char *result, unsigned int maxlen)
{
	struct ht_tier *t = ti->private;
	unsigned int sz = 0;

	switch (type) {
	case STATUSTYPE_INFO:
		emit_info(t, result, maxlen);
		break;
	case STATUSTYPE_TABLE:
		ht_args_emit(t, result, maxlen);
		break;
	case STATUSTYPE_IMA:
		DMEMIT_TARGET_NAME_VERSION(ti->type);
		DMEMIT(",uuid=%pU,mode=%s,extent_sectors=%u;", t->uuid,
		       ht_mode_name(t->loaded ? t->map.mode : t->wanted_mode),
		       ht_extent_sectors(&t->map.geo));
		break;
	default:
		*result = '\0';
		break;
	}
}

static int message_to_live(struct ht_tier *t, const char *word)
{
	if (!strcasecmp(word, "flush"))
		return ht_worker_drain(t);
	if (!strcasecmp(word, "commit"))
		return ht_commit(t);
	if (!strcasecmp(word, "drop_clean"))
		return ht_worker_drop_clean(t);
	DMERR("unknown message %s: flush, commit, drop_clean or set <key> <value>", word);
	return -EINVAL;
}

static int target_message(struct dm_target *ti, unsigned int argc, char **argv, char *result,
			  unsigned int maxlen)
{
	struct ht_tier *t = ti->private;
	bool live;
	int r;

	/* Device mapper lets messages through while it suspends. */
	live = !IS_ERR(ht_dev_hold(t->dev));
	if (argc == 3 && !strcasecmp(argv[0], "set")) {
		r = ht_tier_set(t, argv[1], argv[2]);
		if (!r && live)
			ht_worker_kick(t);
	} else if (argc != 1) {
		DMERR("unknown message: flush, commit, drop_clean or set <key> <value>");
		r = -EINVAL;
	} else if (!live) {
		DMERR("message %s: the tier is suspended: resume it first", argv[0]);
		r = -EAGAIN;
	} else {
		r = message_to_live(t, argv[0]);
	}
	if (live)
		ht_dev_release(t->dev);
	return r;
}

/* ---- what the devices below allow ----------------------------------------------------------- */

static int target_iterate_devices(struct dm_target *ti, iterate_devices_callout_fn fn, void *data)
{
	struct ht_tier *t = ti->private;
	const struct ht_geometry *geo = &t->map.geo;
	int r;

	r = fn(ti, t->fast, geo->slot_start, (sector_t)geo->slots << geo->extent_shift, data);
	return r ? r : fn(ti, t->bulk, geo->home_start, ti->len, data);
}

static void target_io_hints(struct dm_target *ti, struct queue_limits *limits)
{
	struct ht_tier *t = ti->private;

	/* An extent is what is moved as a whole: filesystems align to it if they can. */
	limits->io_opt = ht_extent_sectors(&t->map.geo) << SECTOR_SHIFT;
	limits->discard_granularity = max_t(u32, HINTIER_UNIT_BYTES, limits->logical_block_size);
	limits->max_discard_sectors = DISCARD_SECTORS;
	limits->max_hw_discard_sectors = DISCARD_SECTORS;
#ifdef BLK_FEAT_WRITE_CACHE
	/* R16, where flush_supported does not reach the queue's limits any more. */
	limits->features |= BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
#endif
}

static struct target_type target = {
	.name = "hintier",
	.version = { 0, 1, 0 },
	.features = DM_TARGET_NOWAIT,
	.module = THIS_MODULE,
	.ctr = target_ctr,
	.dtr = target_dtr,
	.map = target_map,
	.end_io = target_end_io,
	.preresume = target_preresume,
	.resume = target_resume,
	.presuspend = target_presuspend,
	.presuspend_undo = target_presuspend_undo,
	.postsuspend = target_postsuspend,
	.status = target_status,
	.message = target_message,
	.iterate_devices = target_iterate_devices,
	.io_hints = target_io_hints,
};

int __init ht_target_init(void)
{
	return dm_register_target(&target);
}

void ht_target_exit(void)
{
	dm_unregister_target(&target);
}
