// SPDX-License-Identifier: GPL-2.0-only
/*
 * FETCH hints: a ring of those accepted, started in order as far as the window for fills allows,
 * and kept until each of their extents has told how it ended. What an extent of a forgotten
 * FETCH tells is ignored: numbers are not used twice.
 */
#include "tier.h"

static struct ht_fetch *entry(struct ht_tier *t, u32 number)
{
	return &t->fetches[number % HT_FETCHES];
}

/* An extent of a FETCH has ended; from any context. */
void ht_fetch_outcome(struct ht_tier *t, u32 number, enum hintier_fetch how)
{
	struct ht_fetch *f = entry(t, number);
	unsigned long flags;
	bool last = false;

	ht_count(t, HINTIER_C_FETCH_TIMELY + how, 1);
	spin_lock_irqsave(&t->fetch_lock, flags);
	if (f->number == number && f->left) {
		f->bytes[how] += ht_extent_sectors(&t->map.geo) << SECTOR_SHIFT;
		last = !--f->left;
		if (last)
			list_add_tail(&f->told, &t->fetch_told);
	}
	spin_unlock_irqrestore(&t->fetch_lock, flags);
	if (last)
		ht_worker_kick(t);
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
					 f.source);
	}
}

/* Queues a FETCH of extents [from, to); -ENOSPC if the ring is full of unstarted ones. */
int ht_fetch_queue(struct ht_tier *t, const struct hintier_hint *hint, u32 from, u32 to)
{
	struct ht_fetch *f;
	unsigned long flags;
	u32 unused = 0;
	int r = 0;

	spin_lock_irqsave(&t->fetch_lock, flags);
	f = entry(t, t->fetch_head);
	if (f->number && (f->next < f->end || !list_empty(&f->told))) {
		r = -ENOSPC;
	} else {
		/* What was fetched so long ago and not read since is forgotten here. */
		unused = f->number ? f->left : 0;
		memset(f, 0, sizeof(*f));
		INIT_LIST_HEAD(&f->told);
		f->number = t->fetch_head++;
		if (!t->fetch_head)
			t->fetch_head = HT_FETCHES;
		f->cookie = hint->cookie;
		f->next = from;
		f->end = to;
		f->left = to - from;
		f->source = hint->source;
		f->klass = hint->klass;
		f->group = hint->group;
		f->object = hint->object;
		f->depth = hint->depth;
		if (hint->deadline_ms)
			f->deadline = ktime_get_ns() + (u64)hint->deadline_ms * NSEC_PER_MSEC;
	}
	spin_unlock_irqrestore(&t->fetch_lock, flags);
	if (unused)
		ht_count(t, HINTIER_C_FETCH_UNUSED, unused);
	if (!r)
		ht_worker_kick(t);
	return r;
}

/* Next extent to start, with a copy of its FETCH; false if there is none. */
static bool next_extent(struct ht_tier *t, struct ht_fetch *ret, u32 *extent)
{
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&t->fetch_lock, flags);
	while (t->fetch_tail != t->fetch_head) {
		struct ht_fetch *f = entry(t, t->fetch_tail);

		if (f->number == t->fetch_tail && f->next < f->end) {
			*extent = f->next++;
			*ret = *f;
			found = true;
			break;
		}
		t->fetch_tail++;
		if (!t->fetch_tail)
			t->fetch_tail = HT_FETCHES;
	}
	spin_unlock_irqrestore(&t->fetch_lock, flags);
	return found;
}

static void put_back(struct ht_tier *t, u32 number)
{
	struct ht_fetch *f = entry(t, number);
	unsigned long flags;

	spin_lock_irqsave(&t->fetch_lock, flags);
	if (f->number == number)
		f->next--;
	spin_unlock_irqrestore(&t->fetch_lock, flags);
}

/* An extent that already has a slot: it is kept, and its first read tells. */
static bool resident(struct ht_tier *t, const struct ht_fetch *f, u32 extent)
{
	struct ht_lock_shard *shard;
	struct ht_slot *s;
	unsigned long flags;
	u32 slot, other = 0;

	shard = ht_shard_lock(t, extent, &flags);
	slot = ht_lookup(&t->map, extent);
	if (slot != HT_NIL) {
		s = &t->map.slots[slot];
		if (s->flags & HT_F_FETCHED)
			other = s->fetch;
		s->flags |= HT_F_FETCHED;
		s->fetch = f->number;
		s->touched = 1;
	}
	ht_shard_unlock(shard, flags);
	/* Two fetches of one extent: the older one was not needed. */
	if (other)
		ht_fetch_outcome(t, other, HINTIER_FETCH_CANCELLED);
	return slot != HT_NIL;
}

/* Can a slot still become free without destaging anything? */
static bool room_comes(struct ht_tier *t)
{
	return READ_ONCE(t->engine.count[HT_LIST_CLEAN]) || READ_ONCE(t->engine.count[HT_LIST_EMPTY]);
}

/* Starts fetches while there is room; from the worker. */
void ht_fetch_start_some(struct ht_tier *t)
{
	struct ht_fetch f;
	u32 extent;
	int r;

	while (READ_ONCE(t->filling) < READ_ONCE(t->engine.tune.fetches) &&
	       next_extent(t, &f, &extent)) {
		if (f.deadline && ktime_get_ns() > f.deadline) {
			ht_fetch_outcome(t, f.number, HINTIER_FETCH_CANCELLED);
			continue;
		}
		if (resident(t, &f, extent))
			continue;
		r = ht_worker_fill(t, extent, NULL, &f);
		if (!r)
			continue;
		/* The end of a transfer, or of a commit, kicks us again. */
		if (r == -EBUSY || (r == -ENOSPC && room_comes(t))) {
			put_back(t, f.number);
			return;
		}
		ht_fetch_outcome(t, f.number, HINTIER_FETCH_CANCELLED);
	}
}
