// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker: routes what was parked, then does what the engine decides, until a window is full
 * or nothing is worth doing. It runs when kicked: by admissions when slots run short, by ends of
 * transfers and commits, by hints and messages. It never waits for I/O.
 */
#include "tier.h"

#define STEPS 256               /* decisions before others get the CPU */
#define AGAIN_MS 4              /* a decision could not be carried out just now */
#define LULL_MS 2               /* a lull begins just now */

void ht_worker_kick(struct ht_tier *t)
{
	queue_work(t->wq, &t->worker);
}

/* A transfer or a commit has failed: the background waits a second before it tries again. */
void ht_worker_pause(struct ht_tier *t)
{
	WRITE_ONCE(t->pause_until, jiffies + HZ);
	mod_delayed_work(t->wq, &t->again, HZ + 1);
}

static bool paused(struct ht_tier *t)
{
	return time_before(jiffies, READ_ONCE(t->pause_until));
}

static struct bio_list take(struct ht_tier *t, struct bio_list *list)
{
	struct bio_list taken;
	unsigned long flags;

	spin_lock_irqsave(&t->wait_lock, flags);
	taken = *list;
	bio_list_init(list);
	spin_unlock_irqrestore(&t->wait_lock, flags);
	return taken;
}

static u32 take_slot(struct ht_tier *t)
{
	unsigned long flags;
	u32 slot;

	spin_lock_irqsave(&t->engine_lock, flags);
	t->engine.second = ht_now_second();
	slot = ht_engine_take(&t->engine, true);
	spin_unlock_irqrestore(&t->engine_lock, flags);
	return slot;
}

/*
 * Starts bringing an extent to fast. `bio` is the read that asked for it, or a write that is to be
 * written through; NULL for a FETCH.
 * -EBUSY: all transfers are busy, -ENOSPC: no slot to spare, -EAGAIN: its home is being written
 * or it has a slot. Nothing has happened then.
 */
int ht_worker_fill(struct ht_tier *t, u32 extent, struct bio *bio, const struct ht_fetch *fetch)
{
	struct ht_lock_shard *shard;
	struct ht_slot *s;
	struct ht_xfer *x;
	unsigned long flags;
	u32 slot, from = 0, to = t->map.geo.units;
	bool begun;

	x = ht_xfer_get(t, fetch ? HT_MOVE_FETCH : HT_MOVE_PROMOTE);
	if (!x)
		return -EBUSY;
	slot = take_slot(t);
	if (slot == HT_NIL) {
		ht_xfer_put(x);
		return -ENOSPC;
	}

	shard = ht_shard_lock(t, extent, &flags);
	if (bio && bio_data_dir(bio) == WRITE) {
		x->tee = bio;
		from = ht_io_of(bio)->from / HT_UNIT_SECTORS;
		to = ht_io_of(bio)->to / HT_UNIT_SECTORS;
	}
	spin_lock(&t->hold_lock);
	begun = ht_fill_begin(&t->map, &shard->core, slot, extent, from, to, &x->move);
	spin_unlock(&t->hold_lock);
	if (begun) {
		s = &t->map.slots[slot];
		s->move = x->nr;
		/* Its home changes now, after begin() has said yes to the write. */
		if (x->tee && shard->staged)
			ht_stage_forget(t, shard, extent);
		if (bio) {
			ht_io_of(bio)->outcome = HINTIER_IO_HOME;
			if (!x->tee)
				bio_list_add(&x->readers, bio);
		}
		if (fetch) {
			x->fetch = fetch->number;
			ht_hint_apply(s, fetch->klass, fetch->group, fetch->object, fetch->depth);
		}
	} else {
		ht_pool_place(t, slot, 0);
	}
	ht_shard_unlock(shard, flags);

	if (begun)
		ht_xfer_start(x);
	else
		ht_xfer_put(x);
	return begun ? 0 : -EAGAIN;
}

/* Reads whose extent is to be promoted, and writes that are to be written through. */
static void start_promotions(struct ht_tier *t)
{
	struct bio_list bios = take(t, &t->promote);
	struct bio *bio;

	while ((bio = bio_list_pop(&bios))) {
		struct ht_io *io = ht_io_of(bio);

		if (!t->stopping && READ_ONCE(t->filling) < t->engine.tune.fetches &&
		    !ht_worker_fill(t, io->extent, bio, NULL))
			continue;
		io->flags |= HT_IO_NO_PROMOTE;
		ht_io_route(t, bio);
	}
}

/* ---- what the engine decides ---------------------------------------------------------------- */

struct eviction {
	u32 extent;             /* HT_NIL: it had none */
	bool gone;
};

static void evict_slot(struct ht_tier *t, struct ht_shard *shard, u32 slot, void *context)
{
	struct ht_slot *s = &t->map.slots[slot];
	struct eviction *e = context;
	u32 act = 0;

	e->extent = s->extent;
	e->gone = false;
	if (s->extent != HT_NIL) {
		bool unread = s->flags & HT_F_FETCHED;

		e->gone = ht_forget(&t->map, slot, &act);
		if (e->gone && unread) {
			s->flags &= ~HT_F_FETCHED;
			ht_fetch_outcome(t, s->fetch, t->map.geo.units,
					 HINTIER_FETCH_UNUSED);
		}
		/* In use just now: others first. */
		if (!e->gone)
			s->touched = 1;
	}
	ht_pool_place(t, slot, act);
}

static void evict(struct ht_tier *t, u32 slot)
{
	struct eviction e;

	ht_visit_slot(t, slot, evict_slot, &e);
	if (!e.gone)
		return;
	ht_count(t, HINTIER_C_EVICTED, 1);
	trace_hintier_migrate(t->dev->devt, HT_MOVE_EVICT,
			      (u64)e.extent << t->map.geo.extent_shift << SECTOR_SHIFT,
			      ht_extent_sectors(&t->map.geo) << SECTOR_SHIFT, 0);
}

struct departure {
	struct ht_xfer *x;
	struct ht_drop_note note;
	bool shed;
	bool begun;
};

static void destage_slot(struct ht_tier *t, struct ht_shard *shard, u32 slot, void *context)
{
	struct departure *d = context;

	d->note.bytes = 0;
	if (d->shed && t->map.slots[slot].extent != HT_NIL)
		ht_drop_units(t, shard, slot, 0, t->map.geo.units, &d->note);
	spin_lock(&t->hold_lock);
	d->begun = t->map.slots[slot].extent != HT_NIL &&
		   ht_destage_begin(&t->map, shard, slot, &d->x->move);
	spin_unlock(&t->hold_lock);
	if (d->begun)
		t->map.slots[slot].move = d->x->nr;
	else
		ht_pool_place(t, slot, 0);
}

/*
 * Sends what is dirty home; with `shed` it drops what it may instead. True if either happened; if
 * nothing was sent the transfer is idle again.
 */
static bool destage(struct ht_tier *t, u32 slot, struct ht_xfer *x, bool shed)
{
	struct departure d = { .x = x, .shed = shed };

	ht_visit_slot(t, slot, destage_slot, &d);
	ht_drop_tell(t, &d.note);
	if (d.begun)
		ht_xfer_start(x);
	else
		ht_xfer_put(x);
	return d.begun || d.note.bytes;
}

/* ms until the readers pause, if none of them comes back. */
static u32 until_lull(struct ht_tier *t)
{
	u32 quiet = ht_quiet_ticks(t), since = ht_now_tick() - READ_ONCE(t->read_at);

	return since < quiet ? jiffies_to_msecs(quiet - since) : LULL_MS;
}

/* One decision; false if there is none or it could not be carried out: *ret_again, after so many ms. */
static bool step(struct ht_tier *t, u32 *ret_again)
{
	struct ht_situation now = {
		.reads_wait = atomic_read(&t->bulk_reads),
		.drain = atomic_read(&t->drainers),
		.bulk_over = READ_ONCE(t->over) & HINTIER_OVER_BULK,
		.quiet = ht_quiet_ticks(t),
		.tick = ht_now_tick(),
		.read_at = READ_ONCE(t->read_at),
		.now = ht_now_ms(),
		.second = ht_now_second(),
	};
	struct ht_xfer *x = ht_xfer_get(t, HT_MOVE_DESTAGE);
	enum ht_work work;
	unsigned long flags;
	u32 slot;

	/* Without a transfer, or after a failure, none can start: let the window look full. */
	now.destaging = READ_ONCE(t->destaging) - !!x;
	now.full = !x || paused(t);
	spin_lock_irqsave(&t->engine_lock, flags);
	work = ht_engine_next(&t->engine, &now, &slot);
	spin_unlock_irqrestore(&t->engine_lock, flags);

	switch (work) {
	case HT_WORK_SHED:
	case HT_WORK_DESTAGE:
		if (destage(t, slot, x, work == HT_WORK_SHED))
			return true;
		*ret_again = AGAIN_MS;
		return false;
	case HT_WORK_EVICT:
		evict(t, slot);
		break;
	case HT_WORK_WAIT:
		*ret_again = until_lull(t);
		break;
	default:
		break;
	}
	if (x)
		ht_xfer_put(x);
	return work != HT_WORK_NONE && work != HT_WORK_WAIT;
}

/* After a failure, and without records to write, a commit would only fail or do nothing again. */
static bool pool_waits_for_commit(struct ht_tier *t)
{
	return !READ_ONCE(t->stopping) && t->map.mode < HINTIER_MODE_BYPASS && !paused(t) &&
	       ht_engine_wants_commit(&t->engine) &&
	       find_first_bit(t->changed, t->nr_blocks) < t->nr_blocks;
}

static void tell_pressure(struct ht_tier *t)
{
	bool high = READ_ONCE(t->engine.destaging);

	if (high && !t->pressure)
		ht_event(t->dev, HINTIER_EV_PRESSURE, ht_engine_dirty(&t->engine),
			 t->map.geo.slots, 0, 0);
	t->pressure = high;
}

void ht_worker(struct work_struct *work)
{
	struct ht_tier *t = container_of(work, struct ht_tier, worker);
	struct bio_list retry = take(t, &t->retry);
	struct bio *bio;
	u32 steps = 0, again = 0;

	while ((bio = bio_list_pop(&retry)))
		ht_io_route(t, bio);
	start_promotions(t);
	if (!READ_ONCE(t->stopping))
		ht_fetch_start_some(t);
	if (!READ_ONCE(t->stopping) && t->map.mode < HINTIER_MODE_BYPASS) {
		while (steps < STEPS && step(t, &again))
			steps++;
		WRITE_ONCE(t->held_back, !again && atomic_read(&t->bulk_reads));
		tell_pressure(t);
	}
	ht_fetch_tell(t);
	if (pool_waits_for_commit(t))
		ht_commit_kick(t);
	if (atomic_read(&t->drainers))
		wake_up_all(&t->drained);
	if (steps == STEPS)
		ht_worker_kick(t);
	else if (again)
		queue_delayed_work(t->wq, &t->again, msecs_to_jiffies(again));
}

void ht_worker_again(struct work_struct *work)
{
	ht_worker_kick(container_of(to_delayed_work(work), struct ht_tier, again));
}

/* ---- messages ------------------------------------------------------------------------------- */

static bool drain_is_over(struct ht_tier *t)
{
	return READ_ONCE(t->stopping) || READ_ONCE(t->destage_failed) ||
	       t->map.mode >= HINTIER_MODE_BYPASS ||
	       (!ht_engine_dirty(&t->engine) && !READ_ONCE(t->destaging));
}

static void retry_slot(struct ht_tier *t, struct ht_shard *shard, u32 slot, void *context)
{
	ht_act(t, slot, ht_destage_retry(&t->map, slot), 0);
}

/* What fast could not read: perhaps it can now. */
static void retry_stuck(struct ht_tier *t)
{
	u32 left = READ_ONCE(t->engine.count[HT_LIST_STUCK]), slot;

	while (left-- && (slot = READ_ONCE(t->engine.head[HT_LIST_STUCK])) != HT_NIL)
		ht_visit_slot(t, slot, retry_slot, NULL);
}

/* Destages all that is dirty and records it; interruptible. */
int ht_worker_drain(struct ht_tier *t)
{
	int r;

	WRITE_ONCE(t->destage_failed, false);
	retry_stuck(t);
	atomic_inc(&t->drainers);
	ht_worker_kick(t);
	r = wait_event_interruptible(t->drained, drain_is_over(t));
	atomic_dec(&t->drainers);
	if (r)
		return r;
	if (READ_ONCE(t->destage_failed) || t->map.mode >= HINTIER_MODE_BYPASS ||
	    ht_engine_all_dirty(&t->engine) > ht_engine_dirty(&t->engine))
		return -EIO;
	if (READ_ONCE(t->stopping))
		return -EAGAIN;
	return ht_commit(t);
}

/* Forgets all that is clean and records that. */
int ht_worker_drop_clean(struct ht_tier *t)
{
	u32 left = ht_engine_clean(&t->engine);
	unsigned long flags;
	u32 slot;

	while (left--) {
		spin_lock_irqsave(&t->engine_lock, flags);
		slot = ht_engine_any_clean(&t->engine);
		if (slot != HT_NIL)
			ht_engine_remove(&t->engine, slot);
		spin_unlock_irqrestore(&t->engine_lock, flags);
		if (slot == HT_NIL)
			break;
		evict(t, slot);
		cond_resched();
	}
	return ht_commit(t);
}
