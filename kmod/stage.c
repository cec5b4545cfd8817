// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stage: bounded RAM for what is read ahead of readers in order, used once.
 *
 * It is made of blocks, each with the pages of one extent. A block that is findable hangs in the
 * chain of its extent's shard, and in the order of its stream. Whoever reads its last unit takes
 * it out; so does whatever changes the extent (core/ahead.h says why no stale byte is read); so
 * does the sweep when the reader has left. Then it lives until those who use it are done: the
 * load, and readers that copy.
 *
 *   decide ──found──> READY: copied by the reader itself
 *      │        └───> LOADING: waits in the block, copied by the block's work
 *      └──missed──> core/stream.c finds streams ──> work: takes blocks, sends their reads
 *
 * Nothing waits for the stage to have room, and it waits for no memory: a reader that finds
 * nothing here reads as if there were no stage. Locks: a shard's, and inside it the stage's.
 *
 * This file decides what is read ahead and what has been left; stage_block.c has the blocks and
 * their memory, stage_load.c fills them and serves readers from them.
 */
#include "stage_block.h"

#include <linux/vmalloc.h>

#define FOUND_IDLE (5 * HZ)     /* what was read ahead of a found stream is kept so long */
#define TOLD_IDLE (30 * HZ)
#define SWEEP_EVERY HZ
#define FETCHED_FOR (30 * HZ)   /* what a FETCH has brought is kept so long */
#define IN_VAIN 16              /* pieces that could not be had, after which the next read asks again */
#define STALE (HZ / 4)          /* a reader that pauses so long gives room to others */

/* ---- the work: reads ahead, and drops what readers have left -------------------------------- */

/* A block whose reader is past it, or whose stream has ended; with a reference. NULL: none. */
static struct ht_staged *left_behind(struct ht_stage *stage)
{
	struct ht_staged *b = NULL, *first;

	spin_lock_irq(&stage->lock);
	for (u32 nth = 0; nth < HT_STREAMS && !b; nth++) {
		first = list_first_entry_or_null(&stage->order[nth], struct ht_staged, order);
		if (first && ht_streams_passed(&stage->streams, &first->piece))
			b = first;
	}
	if (b)
		atomic_inc(&b->users);
	spin_unlock_irq(&stage->lock);
	return b;
}

static void drop_left_behind(struct ht_stage *stage)
{
	struct ht_staged *b;

	while ((b = left_behind(stage)))
		ht_staged_drop(stage, b);
}

/* What FETCHes have brought so long ago, read or not. */
static void drop_fetched(struct ht_stage *stage, u32 age)
{
	struct ht_staged *b;

	while ((b = ht_staged_oldest(stage, age)))
		ht_staged_drop(stage, b);
}

/* Takes room from a stream whose reader pauses. */
static void make_room(struct ht_stage *stage)
{
	struct ht_staged *b;

	if (READ_ONCE(stage->used) < READ_ONCE(stage->limit))
		return;
	b = ht_staged_idlest(stage, STALE);
	if (b)
		ht_staged_drop(stage, b);
}

static void give_up(struct ht_stage *stage, struct ht_staged *b)
{
	spin_lock_irq(&stage->lock);
	ht_streams_gone(&stage->streams, &b->piece, HT_GONE_NOT_HAD);
	spin_unlock_irq(&stage->lock);
	ht_staged_give(stage, b);
}

static void sweep_later(struct ht_stage *stage)
{
	if (READ_ONCE(stage->streams.active) || READ_ONCE(stage->limit) < stage->nr ||
	    READ_ONCE(stage->idle_pages) || READ_ONCE(stage->used_fetched) ||
	    ht_fetch_waiting(stage->tier, true))
		queue_delayed_work(stage->tier->wq, &stage->sweep, SWEEP_EVERY);
}

/* Loads for FETCHes stand back behind reads that wait for bulk. */
static bool may_fetch(struct ht_stage *stage)
{
	u32 window = READ_ONCE(stage->tier->engine.tune.fetches);

	if (atomic_read(&stage->tier->bulk_reads))
		window = DIV_ROUND_UP(window, 4);
	return atomic_read(&stage->fetching) < window && !READ_ONCE(stage->tier->stopping);
}

/* Starts FETCHes while they have room; the end of a load, and what becomes free, kick again. */
static void fetch_some(struct ht_stage *stage)
{
	struct ht_tier *t = stage->tier;
	struct ht_wanted wanted;
	struct ht_staged *b;

	while (may_fetch(stage) && ht_fetch_next(t, true, &wanted, NULL)) {
		b = ht_staged_take_fetched(stage, &wanted);
		if (!b) {
			ht_fetch_put_back(t, &wanted);
			break;
		}
		if (!ht_staged_get_pages(b) || !ht_staged_load(stage, b)) {
			/* Nothing, if it found what it wanted. */
			ht_staged_tell(b, HINTIER_FETCH_CANCELLED);
			ht_staged_give(stage, b);
		}
		cond_resched();
	}
}

static void stage_work(struct work_struct *work)
{
	struct ht_stage *stage = container_of(work, struct ht_stage, work);
	struct ht_staged *b;
	struct blk_plug plug;
	u32 in_vain = 0;

	drop_left_behind(stage);
	make_room(stage);
	blk_start_plug(&plug);
	fetch_some(stage);
	while (!READ_ONCE(stage->tier->stopping) && in_vain < IN_VAIN && (b = ht_staged_take(stage))) {
		if (!ht_staged_get_pages(b)) {
			/* Its stream reads these from a device. */
			give_up(stage, b);
			break;
		}
		if (!ht_staged_load(stage, b)) {
			give_up(stage, b);
			in_vain++;
		}
		cond_resched();
	}
	blk_finish_plug(&plug);
	if (!READ_ONCE(stage->tier->stopping))
		sweep_later(stage);
}

void ht_stage_kick(struct ht_stage *stage)
{
	if (!READ_ONCE(stage->tier->stopping))
		queue_work(stage->tier->wq, &stage->work);
}

static void stage_sweep(struct work_struct *work)
{
	struct ht_stage *stage = container_of(to_delayed_work(work), struct ht_stage, sweep);
	bool quiet;

	spin_lock_irq(&stage->lock);
	ht_streams_end(&stage->streams, 0, ht_stage_ticks(), FOUND_IDLE, TOLD_IDLE);
	stage->limit = min(stage->nr, stage->limit + stage->nr / 8 + 1);
	quiet = !stage->streams.active;
	spin_unlock_irq(&stage->lock);
	drop_left_behind(stage);
	drop_fetched(stage, FETCHED_FOR);
	if (quiet)
		ht_stage_free_some(stage, stage->nr / 8 + 1);
	ht_stage_kick(stage);
}

/* ---- reads ---------------------------------------------------------------------------------- */

bool ht_stage_missed(struct ht_tier *t, struct ht_io *io, u64 from, u64 to)
{
	struct ht_stage *stage = t->stage;
	struct ht_course course;
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	ht_streams_read(&stage->streams, from, to, ht_stage_ticks(), &course);
	spin_unlock_irqrestore(&stage->lock, flags);
	io->stream = course.stream;
	io->stream_number = course.number;
	if (course.kick)
		ht_stage_kick(stage);
	return course.more;
}

void ht_stage_landed(struct ht_tier *t, struct ht_io *io)
{
	struct ht_stage *stage = t->stage;
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	ht_streams_landed(&stage->streams, io->stream, io->stream_number);
	spin_unlock_irqrestore(&stage->lock, flags);
	io->stream = HT_NIL;
}

void ht_stage_fetch(struct ht_tier *t)
{
	ht_stage_kick(t->stage);
}

/* ---- what is told --------------------------------------------------------------------------- */

/* Ranges are remembered from the first time on that anything is told. */
static int need_ranges(struct ht_stage *stage)
{
	struct ht_streams *all = &stage->streams;
	struct ht_range *ranges;

	if (READ_ONCE(all->ranges))
		return 0;
	ranges = vzalloc(HT_RANGES * sizeof(*ranges));
	if (!ranges)
		return -ENOSPC;
	spin_lock_irq(&stage->lock);
	if (!all->ranges) {
		ht_streams_room(all, ranges);
		ranges = NULL;
	}
	spin_unlock_irq(&stage->lock);
	vfree(ranges); /* somebody else was sooner */
	return 0;
}

int ht_stage_tell(struct ht_tier *t, u64 owner, const struct hintier_hint *hint)
{
	struct ht_stage *stage = t->stage;
	int r;

	if (!stage)
		return -ENOSPC;
	r = need_ranges(stage);
	if (r)
		return r;
	spin_lock_irq(&stage->lock);
	if (hint->flags & HINTIER_FLAG_RESTART)
		ht_streams_untell(&stage->streams, owner, hint->cookie);
	r = ht_streams_tell(&stage->streams, owner, hint->cookie, hint->source,
			    hint->offset >> SECTOR_SHIFT,
			    (hint->offset + hint->length) >> SECTOR_SHIFT, hint->depth, ht_stage_ticks());
	spin_unlock_irq(&stage->lock);
	if (!r)
		ht_stage_kick(stage);
	return r;
}

void ht_stage_untell(struct ht_tier *t, u64 owner)
{
	struct ht_stage *stage = t->stage;
	bool any;

	if (!stage)
		return;
	spin_lock_irq(&stage->lock);
	any = ht_streams_end(&stage->streams, owner, 0, 0, 0);
	spin_unlock_irq(&stage->lock);
	if (any)
		drop_left_behind(stage);
}

/* ---- life ----------------------------------------------------------------------------------- */

bool ht_stage_idle(struct ht_tier *t)
{
	return !t->stage || !atomic_read(&t->stage->loads);
}

/* An empty stage, as nothing is findable and nothing in flight. */
void ht_stage_reset(struct ht_tier *t)
{
	struct ht_stage *stage = t->stage;
	const struct ht_geometry *geo = &t->map.geo;

	if (!stage)
		return;
	spin_lock_irq(&stage->lock);
	ht_streams_init(&stage->streams, geo->extent_shift,
			(u64)geo->extents << geo->extent_shift, stage->nr * geo->units);
	stage->limit = stage->nr;
	spin_unlock_irq(&stage->lock);
}

/* `stopping` is set: nothing new is read ahead. */
void ht_stage_clear(struct ht_tier *t)
{
	struct ht_stage *stage = t->stage;
	struct ht_staged *b;

	if (!stage)
		return;
	/* Each may have started the other before it could see that the tier stops. */
	cancel_work_sync(&stage->work);
	cancel_delayed_work_sync(&stage->sweep);
	cancel_work_sync(&stage->work);
	wait_event(t->drained, ht_stage_idle(t));
	synchronize_rcu();
	while ((b = ht_staged_idlest(stage, 0)))
		ht_staged_drop(stage, b);
	drop_fetched(stage, 0);
	ht_stage_free_some(stage, stage->nr);
}

void ht_stage_resume(struct ht_tier *t)
{
	if (t->stage)
		ht_stage_kick(t->stage);
}

int ht_stage_create(struct ht_tier *t, u32 mib)
{
	struct ht_stage *stage;
	int r;

	if (!mib)
		return 0;
	stage = kzalloc(sizeof(*stage), GFP_KERNEL);
	if (!stage)
		return -ENOMEM;
	t->stage = stage;
	stage->tier = t;
	spin_lock_init(&stage->lock);
	INIT_LIST_HEAD(&stage->free);
	INIT_LIST_HEAD(&stage->fetched);
	for (u32 i = 0; i < HT_STREAMS; i++)
		INIT_LIST_HEAD(&stage->order[i]);
	INIT_WORK(&stage->work, stage_work);
	INIT_DELAYED_WORK(&stage->sweep, stage_sweep);
	stage->nr = mib << (20 - SECTOR_SHIFT - t->map.geo.extent_shift);
	ht_stage_reset(t);
	r = bioset_init(&stage->bios, 64, 0, BIOSET_NEED_BVECS);
	if (!r)
		r = ht_stage_create_blocks(stage);
	if (!r)
		r = ht_stage_add_shrinker(stage);
	return r;
}

void ht_stage_destroy(struct ht_tier *t)
{
	struct ht_stage *stage = t->stage;

	if (!stage)
		return;
	ht_stage_remove_shrinker(stage);
	if (stage->blocks) {
		ht_stage_free_some(stage, stage->nr);
		kvfree(stage->blocks[0].pages);
	}
	kvfree(stage->blocks);
	vfree(stage->streams.ranges);
	bioset_exit(&stage->bios);
	kfree(stage);
	t->stage = NULL;
}
