// SPDX-License-Identifier: GPL-2.0-only
/*
 * What control.c, netlink.c and messages ask of a live tier: hints, residency, tunables. A hint
 * for a range walks what has a slot there, at most once over all slots, so that a range of any
 * length is bounded work.
 */
#include "tier.h"

#include <linux/sched/signal.h>

#define PIN_MS (10 * 60 * 1000)
#define PIN_MAX_MS (24 * 60 * 60 * 1000)

struct ht_extents {
	u32 from;       /* extents */
	u32 to;
};

/* Extents that a byte range touches. -ERANGE beyond the tier. */
static int range_of(struct ht_tier *t, u64 offset, u64 length, struct ht_extents *ret)
{
	u32 shift = t->map.geo.extent_shift + SECTOR_SHIFT;
	u64 size = (u64)t->map.geo.extents << shift;

	if (offset > size || length > size - offset)
		return -ERANGE;
	ret->from = offset >> shift;
	ret->to = (offset + length + (1ULL << shift) - 1) >> shift;
	return 0;
}

/* What a hint says to one slot. */
struct ht_advice {
	const struct hintier_hint *hint;
	u32 from;       /* units of the extent that the hint covers */
	u32 to;
	struct ht_drop_note note;
};

typedef void (*visit_fn)(struct ht_tier *t, struct ht_shard *shard, u32 slot,
			 struct ht_advice *advice);

/* The part of a hint's range that lies in an extent which it touches. */
static void advise(struct ht_tier *t, u32 extent, const struct hintier_hint *hint,
		   struct ht_advice *ret)
{
	u64 start = (u64)extent << (t->map.geo.extent_shift + SECTOR_SHIFT);
	u64 units = (hint->offset + hint->length - start) / HINTIER_UNIT_BYTES;

	ret->hint = hint;
	ret->from = hint->offset > start ? (hint->offset - start) / HINTIER_UNIT_BYTES : 0;
	ret->to = min_t(u64, units, t->map.geo.units);
	ret->note.bytes = 0;
}

static void visit_extent(struct ht_tier *t, u32 extent, visit_fn visit,
			 const struct hintier_hint *hint)
{
	struct ht_lock_shard *shard;
	struct ht_advice advice;
	unsigned long flags;
	u32 slot;

	advise(t, extent, hint, &advice);
	shard = ht_shard_lock(t, extent, &flags);
	slot = ht_lookup(&t->map, extent);
	if (slot != HT_NIL)
		visit(t, &shard->core, slot, &advice);
	ht_shard_unlock(shard, flags);
	ht_drop_tell(t, &advice.note);
}

/* Visits each slot of the range under its shard's lock, by extents or by slots. */
static void visit_range(struct ht_tier *t, const struct ht_extents *range, visit_fn visit,
			const struct hintier_hint *hint)
{
	u32 slot, extent;

	if (range->from >= range->to)
		return;
	if (range->to - range->from <= t->map.geo.slots) {
		for (extent = range->from; extent < range->to; extent++) {
			visit_extent(t, extent, visit, hint);
			if (!(extent % 1024))
				cond_resched();
		}
		return;
	}
	for (slot = 0; slot < t->map.geo.slots; slot++) {
		extent = READ_ONCE(t->map.slots[slot].extent);
		if (extent >= range->from && extent < range->to)
			visit_extent(t, extent, visit, hint);
		if (!(slot % 1024))
			cond_resched();
	}
}

/* ---- hints ---------------------------------------------------------------------------------- */

void ht_hint_apply(struct ht_slot *s, u8 klass, u16 group, u64 object, u32 depth)
{
	s->klass = klass;
	s->group = group;
	s->depth = min(depth, 255U);
	s->object = object;
}

static void classify(struct ht_tier *t, struct ht_shard *shard, u32 slot, struct ht_advice *advice)
{
	const struct hintier_hint *hint = advice->hint;
	struct ht_slot *s = &t->map.slots[slot];
	unsigned long flags;

	if (hint->flags & HINTIER_FLAG_VOLATILE)
		ht_mark_volatile(&t->map, slot, advice->from, advice->to, hint->epoch);
	ht_hint_apply(s, hint->klass, hint->group, hint->object, hint->depth);
	if (READ_ONCE(t->engine.grouped)) {
		spin_lock_irqsave(&t->engine_lock, flags);
		ht_engine_regroup(&t->engine, slot);
		spin_unlock_irqrestore(&t->engine_lock, flags);
	}
	if (hint->flags & HINTIER_FLAG_TOUCH)
		s->touched = 1;
}

static void done(struct ht_tier *t, struct ht_shard *shard, u32 slot, struct ht_advice *advice)
{
	struct ht_slot *s = &t->map.slots[slot];
	unsigned long flags;
	bool soon;
	u32 act;

	/* R12: written since the caller looked where its file lies. */
	if (s->epoch >= advice->hint->epoch)
		return;
	ht_drop_units(t, shard, slot, advice->from, advice->to, &advice->note);
	/* Nothing is left of it, or others have a part of it. */
	if (s->extent == HT_NIL || advice->from || advice->to < t->map.geo.units)
		return;
	s->touched = 0;
	soon = ht_done(&t->map, slot, &act);
	ht_act(t, slot, act, 0);
	if (!soon)
		return;
	spin_lock_irqsave(&t->engine_lock, flags);
	ht_engine_hurry(&t->engine, slot);
	spin_unlock_irqrestore(&t->engine_lock, flags);
}

static int hint_range(struct ht_dev *dev, const struct hintier_hint *hint, visit_fn visit)
{
	struct ht_tier *t = ht_dev_hold(dev);
	struct ht_extents range;
	int r;

	if (IS_ERR(t))
		return PTR_ERR(t);
	r = range_of(t, hint->offset, hint->length, &range);
	/* R12: an epoch from nowhere would be newer than any write. */
	if (!r && (visit == done || (hint->flags & HINTIER_FLAG_VOLATILE)) &&
	    hint->epoch > READ_ONCE(t->map.epoch))
		r = -ESTALE;
	if (!r)
		visit_range(t, &range, visit, hint);
	if (!r && visit == done)
		ht_worker_kick(t);
	ht_dev_release(dev);
	return r;
}

int ht_dev_classify(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint)
{
	return hint_range(dev, hint, classify);
}

int ht_dev_done(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint)
{
	return hint_range(dev, hint, done);
}

int ht_dev_fetch(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint)
{
	struct ht_tier *t = ht_dev_hold(dev);
	struct ht_extents range;
	int r;

	if (IS_ERR(t))
		return PTR_ERR(t);
	r = range_of(t, hint->offset, hint->length, &range);
	if (!r)
		r = ht_fetch_queue(t, teller, hint);
	ht_dev_release(dev);
	return r;
}

int ht_dev_sequence(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint)
{
	struct ht_tier *t = ht_dev_hold(dev);
	struct ht_extents range;
	int r;

	if (IS_ERR(t))
		return PTR_ERR(t);
	r = range_of(t, hint->offset, hint->length, &range);
	if (!r)
		r = ht_stage_tell(t, teller, hint);
	ht_dev_release(dev);
	return r;
}

/* Ticks are milliseconds, see core/pin.h. */
static u32 pin_until(const struct hintier_hint *hint)
{
	u32 ms = hint->deadline_ms ? hint->deadline_ms : PIN_MS;

	return ht_now_ms() + min_t(u32, ms, PIN_MAX_MS);
}

static int pin_range(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint)
{
	struct ht_tier *t = ht_dev_hold(dev);
	struct ht_extents range;
	int r;

	if (IS_ERR(t))
		return PTR_ERR(t);
	r = range_of(t, hint->offset, hint->length, &range);
	if (!r) {
		spin_lock_irq(&t->engine_lock);
		ht_engine_expire(&t->engine, ht_now_ms());
		if (hint->verb == HINTIER_VERB_PIN)
			r = ht_engine_pin(&t->engine, teller, range.from, range.to,
					  pin_until(hint));
		else
			r = ht_engine_unpin(&t->engine, teller, range.from, range.to);
		spin_unlock_irq(&t->engine_lock);
	}
	ht_dev_release(dev);
	return r;
}

int ht_dev_pin(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint)
{
	return pin_range(dev, teller, hint);
}

int ht_dev_unpin(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint)
{
	return pin_range(dev, teller, hint);
}

void ht_dev_teller_gone(struct ht_dev *dev, u64 teller)
{
	struct ht_tier *t = ht_dev_hold(dev);

	/* A tier that is suspended has forgotten them by itself. */
	if (IS_ERR(t))
		return;
	ht_stage_untell(t, teller);
	spin_lock_irq(&t->engine_lock);
	ht_engine_unpin_all(&t->engine, teller);
	spin_unlock_irq(&t->engine_lock);
	ht_dev_release(dev);
}

int ht_dev_rule(struct ht_dev *dev, const struct hintier_values *head, struct ht_values **values)
{
	struct ht_tier *t = ht_dev_hold(dev);

	if (IS_ERR(t))
		return PTR_ERR(t);
	ht_values_begin(*values, head, ht_now_ms());
	spin_lock_irq(&t->engine_lock);
	ht_engine_rule(&t->engine, *values);
	swap(t->values, *values);
	spin_unlock_irq(&t->engine_lock);
	ht_dev_release(dev);
	return 0;
}

int ht_dev_waits(struct ht_dev *dev, u64 teller, u64 cookie, bool outcome)
{
	struct ht_tier *t = ht_dev_hold(dev);
	int r;

	/* A tier that is suspended has cancelled them all. */
	if (IS_ERR(t))
		return PTR_ERR(t) == -ENODEV ? -ENODEV : 0;
	r = ht_fetch_out(t, teller, cookie, outcome);
	ht_dev_release(dev);
	return r;
}

int ht_dev_epoch(struct ht_dev *dev, u64 *ret)
{
	struct ht_tier *t = ht_dev_hold(dev);

	if (IS_ERR(t))
		return PTR_ERR(t);
	/* Slots are stamped from it under their shard's lock; a late stamp is only too old by one. */
	spin_lock_irq(&t->engine_lock);
	*ret = ++t->map.epoch;
	spin_unlock_irq(&t->engine_lock);
	ht_dev_release(dev);
	return 0;
}

/* ---- questions ------------------------------------------------------------------------------ */

struct answer {
	struct hintier_residency *buf;
	u32 max;
	u32 count;
};

/* Adds a run; false if there is no room for it. */
static bool add_run(struct answer *a, const struct hintier_residency *run)
{
	struct hintier_residency *last = a->count ? &a->buf[a->count - 1] : NULL;

	if (last && last->offset + last->length == run->offset && last->state == run->state &&
	    last->klass == run->klass && last->group == run->group && last->object == run->object) {
		last->length += run->length;
		return true;
	}
	if (a->count == a->max)
		return false;
	a->buf[a->count++] = *run;
	return true;
}

/* What slot and lost map say about one unit; under the shard's lock. */
static void unit_state(struct ht_tier *t, u32 slot, u32 extent, u32 unit,
		       struct hintier_residency *ret)
{
	const struct ht_slot *s;
	u32 end = unit + 1;

	ret->state = ht_lost_run(&t->map, slot, extent, unit, &end) ? HINTIER_IS_LOST : 0;
	if (slot == HT_NIL)
		return;
	s = &t->map.slots[slot];
	if (ht_slot_bits(&t->map, slot, HT_VALID)[unit / 16] >> unit % 16 & 1)
		ret->state |= HINTIER_IS_FAST;
	if (ht_slot_bits(&t->map, slot, HT_DIRTY)[unit / 16] >> unit % 16 & 1)
		ret->state |= HINTIER_IS_DIRTY;
	if (s->state == HT_SLOT_FILL || s->state == HT_SLOT_DESTAGE)
		ret->state |= HINTIER_IS_MOVING;
	ret->klass = s->klass;
	ret->group = s->group;
	ret->object = s->object;
}

/* Adds the units [offset, end) of one extent; returns how far it came. */
static u64 query_extent(struct ht_tier *t, u32 extent, u64 offset, u64 end, struct answer *a)
{
	struct hintier_residency run = { .offset = offset, .length = end - offset };
	u64 start = (u64)extent << (t->map.geo.extent_shift + SECTOR_SHIFT);
	struct ht_lock_shard *shard;
	unsigned long flags;
	u32 slot;

	shard = ht_shard_lock(t, extent, &flags);
	slot = ht_lookup(&t->map, extent);
	if (slot == HT_NIL && ht_lost_find(&t->map, extent) == HT_NIL) {
		if (add_run(a, &run))
			offset = end;
	} else {
		run.length = HINTIER_UNIT_BYTES;
		for (; offset < end; offset += HINTIER_UNIT_BYTES) {
			run.offset = offset;
			unit_state(t, slot, extent, (offset - start) / HINTIER_UNIT_BYTES, &run);
			if (!add_run(a, &run))
				break;
		}
	}
	ht_shard_unlock(shard, flags);
	return offset;
}

int ht_dev_query(struct ht_dev *dev, u64 offset, u64 length, struct hintier_residency *buf,
		 u32 max, u32 *ret_count, u64 *ret_next)
{
	struct ht_tier *t = ht_dev_hold(dev);
	struct answer a = { .buf = buf, .max = max };
	u64 end = offset + length, stop, next;
	struct ht_extents range;
	u32 shift;
	int r;

	if (IS_ERR(t))
		return PTR_ERR(t);
	shift = t->map.geo.extent_shift + SECTOR_SHIFT;
	r = range_of(t, offset, length, &range);
	while (!r && offset < end) {
		stop = min(end, ((offset >> shift) + 1) << shift);
		next = query_extent(t, offset >> shift, offset, stop, &a);
		if (next < stop) {
			offset = next;
			break;
		}
		offset = next;
		cond_resched();
		if (fatal_signal_pending(current))
			r = -EINTR;
	}
	ht_dev_release(dev);
	*ret_count = a.count;
	*ret_next = offset;
	return r;
}

int ht_dev_info(struct ht_dev *dev, struct ht_info *ret)
{
	struct ht_tier *t;

	memset(ret, 0, sizeof(*ret));
	ret->devt = dev->devt;
	memcpy(ret->uuid, dev->uuid, sizeof(ret->uuid));
	ret->extent_bytes = dev->extent_bytes;
	t = ht_dev_hold(dev);
	if (PTR_ERR_OR_ZERO(t) == -ENODEV)
		return -ENODEV;
	ret->bytes = READ_ONCE(dev->bytes);
	ret->mode = READ_ONCE(dev->mode);
	if (IS_ERR(t))
		return 0;
	ret->slots = t->map.geo.slots;
	ret->free = READ_ONCE(t->engine.count[HT_LIST_FREE]);
	ret->dirty = ht_engine_all_dirty(&t->engine) + READ_ONCE(t->destaging);
	ret->clean = ht_engine_clean(&t->engine);
	spin_lock_irq(&t->engine_lock);
	ht_engine_expire(&t->engine, ht_now_ms());
	ret->pinned = ht_pins_charged(t->engine.pins, 0);
	spin_unlock_irq(&t->engine_lock);
	ret->lost = ht_lostmap_units(t) * HINTIER_UNIT_BYTES;
	ret->over = READ_ONCE(t->over);
	ret->fast_left = READ_ONCE(t->budget[HT_BUDGET_FAST].left);
	ret->bulk_left = READ_ONCE(t->budget[HT_BUDGET_BULK].left);
	ht_dev_release(dev);
	return 0;
}

/* ---- tunables ------------------------------------------------------------------------------- */

/* Also while the tier is suspended: then it counts from the next resume on. */
int ht_tier_set(struct ht_tier *t, const char *key, const char *value)
{
	u64 number;
	int r;

	r = kstrtoull(value, 0, &number);
	if (r)
		return -EINVAL;
	spin_lock_irq(&t->engine_lock);
	r = ht_tunable_set(&t->engine.tune, key, number);
	spin_unlock_irq(&t->engine_lock);
	if (!r)
		ht_budget_kick(t);
	return r;
}

int ht_dev_set(struct ht_dev *dev, const char *key, const char *value)
{
	struct ht_tier *t = ht_dev_hold(dev);
	int r;

	if (IS_ERR(t))
		return PTR_ERR(t);
	r = ht_tier_set(t, key, value);
	if (!r)
		ht_worker_kick(t);
	ht_dev_release(dev);
	return r;
}
