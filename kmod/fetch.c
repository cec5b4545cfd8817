// SPDX-License-Identifier: GPL-2.0-only
/*
 * FETCH hints: those accepted, kept in a ring until each of their extents has told how it ended.
 * They are started in the order of their deadlines, those to fast by the worker, as far as the
 * window for fills allows, those to RAM by the stage. What an extent of a forgotten FETCH tells is
 * ignored: a number is used again only after many others.
 *
 * Of each FETCH some extents are coming (they are neither there nor given up), and some are left
 * (nobody knows yet of what use they were). Who waits for it waits for one or the other to be 0.
 */
#include "tier.h"

#include <linux/hash.h>
#include <linux/vmalloc.h>

#define STAGE_PATIENCE (30ULL * NSEC_PER_SEC) /* of a FETCH to RAM that has no deadline */

static struct ht_fetch *entry(struct ht_tier *t, u32 number)
{
	return &t->fetches[number % HT_FETCHES];
}

static struct hlist_head *bucket(struct ht_tier *t, u32 out, u64 teller, u64 cookie)
{
	return &t->fetch_out[out][hash_64(teller ^ hash_64(cookie, 64), HT_FETCH_BITS)];
}

/* ---- how they end --------------------------------------------------------------------------- */

/* So many extents are there, or given up. True if those were the last. */
static bool came(struct ht_fetch *f, u32 extents)
{
	f->coming -= extents;
	if (f->coming)
		return false;
	hlist_del_init(&f->out[HT_OUT_COMING]);
	return true;
}

/* So many extents have told. True if those were the last. */
static bool ended(struct ht_tier *t, struct ht_fetch *f, u32 extents, u64 units, u32 how)
{
	u64 bytes = units * HINTIER_UNIT_BYTES;

	ht_count(t, HINTIER_C_FETCH_TIMELY + how, extents);
	this_cpu_add(t->dev->stats->s.fetched[f->klass][how], bytes);
	this_cpu_add(t->dev->stats->s.fetched_for[min_t(u32, f->source, HINTIER_SOURCES - 1)]
						      [how], bytes);
	f->bytes[how] += bytes;
	f->left -= extents;
	if (f->left)
		return false;
	f->coming = 0;
	for (u32 out = 0; out < HT_OUTS; out++)
		hlist_del_init(&f->out[out]);
	list_add_tail(&f->told, &t->fetch_told);
	return true;
}

static void tell(struct ht_tier *t, u32 number, u32 units, bool has_come, bool has_ended,
		 enum hintier_fetch how)
{
	struct ht_fetch *f = entry(t, number);
	bool wake = false, last = false;
	unsigned long flags;

	spin_lock_irqsave(&t->fetch_lock, flags);
	if (f->number == number && f->left) {
		if (has_come)
			wake = came(f, 1);
		if (has_ended)
			last = ended(t, f, 1, units, how);
	}
	spin_unlock_irqrestore(&t->fetch_lock, flags);
	if (wake || last)
		wake_up_all(&t->dev->waiters);
	if (last)
		ht_worker_kick(t);
}

void ht_fetch_came(struct ht_tier *t, u32 number)
{
	tell(t, number, 0, true, false, 0);
}

void ht_fetch_outcome(struct ht_tier *t, u32 number, u32 units, enum hintier_fetch how)
{
	tell(t, number, units, false, true, how);
}

void ht_fetch_over(struct ht_tier *t, u32 number, u32 units, enum hintier_fetch how)
{
	tell(t, number, units, true, true, how);
}

/* Sends the events of fetches whose last extent has ended. */
void ht_fetch_tell(struct ht_tier *t)
{
	struct ht_fetch f, *first;
	unsigned long flags;

	for (;;) {
		spin_lock_irqsave(&t->fetch_lock, flags);
		first = list_first_entry_or_null(&t->fetch_told, struct ht_fetch, told);
		if (first) {
			list_del_init(&first->told);
			f = *first;
			first->number = 0;
		}
		spin_unlock_irqrestore(&t->fetch_lock, flags);
		if (!first)
			return;
		for (u32 how = 0; how < HINTIER_FETCHES; how++)
			if (f.bytes[how])
				ht_event(t->dev, HINTIER_EV_FETCH, f.cookie, how, f.bytes[how],
					 f.source | (u64)f.klass << 16);
	}
}

/* ---- which extents -------------------------------------------------------------------------- */

/* Units of an extent that a FETCH brings. */
static void units_of(const struct ht_tier *t, const struct ht_fetch *f, u32 extent,
		     struct ht_wanted *ret)
{
	ret->number = f->number;
	ret->extent = extent;
	ret->from = extent == f->first ? f->from : 0;
	ret->to = extent == f->end - 1 ? f->to : t->map.geo.units;
}

/* What was not started of it is cancelled. True if nothing else was left. */
static bool cancel_rest(struct ht_tier *t, struct ht_fetch *f)
{
	u32 extents = f->end - f->next;
	u64 units = (u64)extents * t->map.geo.units;
	bool last;

	if (!extents)
		return false;
	if (f->next == f->first)
		units -= f->from;
	units -= t->map.geo.units - f->to;
	f->next = f->end;
	list_del_init(&f->todo);
	last = came(f, extents);
	return ended(t, f, extents, units, HINTIER_FETCH_CANCELLED) || last;
}

static void by_due(struct list_head *todo, struct ht_fetch *f)
{
	struct ht_fetch *before;

	list_for_each_entry_reverse(before, todo, todo)
		if (before->due <= f->due)
			break;
	list_add(&f->todo, &before->todo);
}

static void init_fetch(struct ht_tier *t, struct ht_fetch *f, u64 teller,
		       const struct hintier_hint *hint)
{
	u32 shift = t->map.geo.extent_shift + SECTOR_SHIFT;
	u64 end = hint->offset + hint->length, now = ktime_get_ns();

	memset(f, 0, sizeof(*f));
	INIT_LIST_HEAD(&f->told);
	f->number = t->fetch_head++;
	if (t->fetch_head > U16_MAX)
		t->fetch_head = HT_FETCHES;
	f->teller = teller;
	f->cookie = hint->cookie;
	f->first = hint->offset >> shift;
	f->next = f->first;
	f->end = ((end - 1) >> shift) + 1;
	f->to_stage = hint->flags & HINTIER_FLAG_STAGE;
	if (f->to_stage) {
		f->from = (hint->offset - ((u64)f->first << shift)) / HINTIER_UNIT_BYTES;
		f->to = (end - ((u64)(f->end - 1) << shift)) / HINTIER_UNIT_BYTES;
	} else {
		f->to = t->map.geo.units;
	}
	f->coming = f->end - f->first;
	f->left = f->coming;
	f->source = hint->source;
	f->klass = hint->klass;
	f->group = hint->group;
	f->object = hint->object;
	f->depth = hint->depth;
	f->due = now + (u64)hint->deadline_ms * NSEC_PER_MSEC;
	if (hint->deadline_ms)
		f->deadline = f->due;
	else if (f->to_stage)
		f->deadline = now + STAGE_PATIENCE;
	by_due(&t->fetch_todo[f->to_stage], f);
	for (u32 out = 0; out < HT_OUTS; out++)
		hlist_add_head(&f->out[out], bucket(t, out, teller, hint->cookie));
}

/* What was fetched so long ago that another one takes its place: it was not read since. */
static void forget(struct ht_tier *t, struct ht_fetch *f)
{
	ht_count(t, HINTIER_C_FETCH_UNUSED, f->left);
	for (u32 out = 0; out < HT_OUTS; out++)
		hlist_del_init(&f->out[out]);
	f->number = 0;
}

/* Queues a FETCH; -ENOSPC if the ring is full of unstarted ones, or there is no stage. */
int ht_fetch_queue(struct ht_tier *t, u64 teller, const struct hintier_hint *hint)
{
	struct ht_fetch *f;
	unsigned long flags;
	int r = 0;

	if ((hint->flags & HINTIER_FLAG_STAGE) && !t->stage)
		return -ENOSPC;
	if (!(hint->flags & HINTIER_FLAG_STAGE) && READ_ONCE(t->over) & HINTIER_OVER_FAST)
		return -EDQUOT;
	spin_lock_irqsave(&t->fetch_lock, flags);
	f = entry(t, t->fetch_head);
	if (f->number && (f->coming || !list_empty(&f->told))) {
		r = -ENOSPC;
	} else {
		if (f->number)
			forget(t, f);
		init_fetch(t, f, teller, hint);
	}
	spin_unlock_irqrestore(&t->fetch_lock, flags);
	if (r)
		return r;
	if (hint->flags & HINTIER_FLAG_STAGE)
		ht_stage_fetch(t);
	else
		ht_worker_kick(t);
	return 0;
}

bool ht_fetch_next(struct ht_tier *t, bool to_stage, struct ht_wanted *ret, struct ht_fetch *of)
{
	u64 now = ktime_get_ns();
	bool found = false, over = false;
	unsigned long flags;
	struct ht_fetch *f;

	spin_lock_irqsave(&t->fetch_lock, flags);
	while (!found && !list_empty(&t->fetch_todo[to_stage])) {
		f = list_first_entry(&t->fetch_todo[to_stage], struct ht_fetch, todo);
		if (f->deadline && now > f->deadline) {
			over |= cancel_rest(t, f);
			continue;
		}
		units_of(t, f, f->next++, ret);
		if (f->next == f->end)
			list_del_init(&f->todo);
		if (of)
			*of = *f;
		found = true;
	}
	spin_unlock_irqrestore(&t->fetch_lock, flags);
	if (over) {
		wake_up_all(&t->dev->waiters);
		ht_worker_kick(t);
	}
	return found;
}

void ht_fetch_put_back(struct ht_tier *t, const struct ht_wanted *wanted)
{
	struct ht_fetch *f = entry(t, wanted->number);
	unsigned long flags;

	spin_lock_irqsave(&t->fetch_lock, flags);
	if (f->number == wanted->number && f->next > f->first) {
		f->next--;
		if (list_empty(&f->todo))
			by_due(&t->fetch_todo[f->to_stage], f);
	}
	spin_unlock_irqrestore(&t->fetch_lock, flags);
}

bool ht_fetch_waiting(struct ht_tier *t, bool to_stage)
{
	return !list_empty_careful(&t->fetch_todo[to_stage]);
}

/* ---- to fast -------------------------------------------------------------------------------- */

/*
 * An extent that already has a slot is kept, and its first read tells: 1. 0 if it has none; -EBUSY
 * if another fill of it is under way, that has somebody to tell already.
 */
static int resident(struct ht_tier *t, const struct ht_wanted *wanted)
{
	struct ht_lock_shard *shard;
	struct ht_slot *s;
	unsigned long flags;
	u32 slot, other = 0;
	int r = 0;

	shard = ht_shard_lock(t, wanted->extent, &flags);
	slot = ht_lookup(&t->map, wanted->extent);
	if (slot != HT_NIL) {
		s = &t->map.slots[slot];
		r = s->state == HT_SLOT_FILL ? -EBUSY : 1;
	}
	if (r > 0) {
		if (s->flags & HT_F_FETCHED)
			other = s->fetch;
		s->flags |= HT_F_FETCHED;
		s->fetch = wanted->number;
		s->touched = 1;
		/* Before anybody can read it, and tell. */
		ht_fetch_came(t, wanted->number);
	}
	ht_shard_unlock(shard, flags);
	/* Two fetches of one extent: the older one was not needed. */
	if (other)
		ht_fetch_outcome(t, other, t->map.geo.units, HINTIER_FETCH_CANCELLED);
	return r;
}

/* Can a slot still become free without destaging anything? */
static bool room_comes(struct ht_tier *t)
{
	return ht_engine_loose(&t->engine) || READ_ONCE(t->engine.unpinned) ||
	       READ_ONCE(t->engine.count[HT_LIST_EMPTY]);
}

/* Starts fetches while there is room; from the worker. */
void ht_fetch_start_some(struct ht_tier *t)
{
	struct ht_wanted wanted;
	struct ht_fetch f;
	int r;

	while (READ_ONCE(t->filling) < READ_ONCE(t->engine.tune.fetches) &&
	       ht_fetch_next(t, false, &wanted, &f)) {
		/* Without fast nothing will come. */
		r = t->map.mode < HINTIER_MODE_BYPASS ? resident(t, &wanted) : -EIO;
		if (!r && READ_ONCE(t->over) & HINTIER_OVER_FAST)
			r = -EDQUOT;
		if (r > 0)
			continue;
		if (!r)
			r = ht_worker_fill(t, wanted.extent, NULL, &f);
		if (!r)
			continue;
		/* The end of a transfer, or of a commit, kicks us again. */
		if (r == -EBUSY || (r == -ENOSPC && room_comes(t))) {
			ht_fetch_put_back(t, &wanted);
			/* Nor need anything kick us before its deadline. */
			if (f.deadline)
				queue_delayed_work(t->wq, &t->again, HZ);
			return;
		}
		ht_fetch_over(t, wanted.number, t->map.geo.units, HINTIER_FETCH_CANCELLED);
	}
}

/* ---- waiting -------------------------------------------------------------------------------- */

/* Has a FETCH of this teller, under this cookie, something out? */
bool ht_fetch_out(struct ht_tier *t, u64 teller, u64 cookie, bool outcome)
{
	u32 out = outcome ? HT_OUT_LEFT : HT_OUT_COMING;
	const struct ht_fetch *f;
	bool found = false;

	spin_lock_irq(&t->fetch_lock);
	hlist_for_each_entry(f, bucket(t, out, teller, cookie), out[out]) {
		found = f->teller == teller && f->cookie == cookie;
		if (found)
			break;
	}
	spin_unlock_irq(&t->fetch_lock);
	return found;
}

/* ---- life ----------------------------------------------------------------------------------- */

int ht_fetch_create(struct ht_tier *t)
{
	spin_lock_init(&t->fetch_lock);
	t->fetches = vzalloc(HT_FETCHES * sizeof(*t->fetches));
	t->fetch_out = vzalloc(HT_OUTS * sizeof(*t->fetch_out));
	if (!t->fetches || !t->fetch_out)
		return -ENOMEM;
	ht_fetch_reset(t);
	return 0;
}

void ht_fetch_destroy(struct ht_tier *t)
{
	vfree(t->fetches);
	vfree(t->fetch_out);
}

void ht_fetch_reset(struct ht_tier *t)
{
	memset(t->fetches, 0, HT_FETCHES * sizeof(*t->fetches));
	memset(t->fetch_out, 0, HT_OUTS * sizeof(*t->fetch_out));
	INIT_LIST_HEAD(&t->fetch_told);
	INIT_LIST_HEAD(&t->fetch_todo[false]);
	INIT_LIST_HEAD(&t->fetch_todo[true]);
	t->fetch_head = 1;
}

/* The tier stops, and nothing is in flight: what has not ended by now is cancelled. */
void ht_fetch_stop(struct ht_tier *t)
{
	for (u32 i = 0; i < HT_FETCHES; i++) {
		struct ht_fetch *f = &t->fetches[i];

		spin_lock_irq(&t->fetch_lock);
		if (f->number && f->left) {
			cancel_rest(t, f);
			if (f->coming)
				came(f, f->coming);
			if (f->left)
				ended(t, f, f->left, (u64)f->left * t->map.geo.units,
				      HINTIER_FETCH_CANCELLED);
		}
		spin_unlock_irq(&t->fetch_lock);
	}
	wake_up_all(&t->dev->waiters);
	ht_fetch_tell(t);
}
