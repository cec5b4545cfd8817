// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slots between the shard layer and the engine: what a verdict or an end asks beside itself.
 * Every function here is called under the lock of the slot's shard and takes the engine's lock
 * inside, so that a slot's list and its units never disagree when both are free.
 */
#include "tier.h"

#define KICK_EVERY 16   /* admissions between two looks by the worker once slots run short */

void ht_record_later(struct ht_tier *t, u32 slot)
{
	u32 block = ht_record_sector(&t->map.geo, slot) >> HT_BLOCK_SHIFT;

	if (!test_bit(block, t->changed))
		set_bit(block, t->changed);
	ht_commit_later(t);
}

/* Something is to be committed, when it is old enough if nobody asks before. */
void ht_commit_later(struct ht_tier *t)
{
	/* A commit clears `armed` before it looks at what has changed. */
	smp_mb();
	if (!atomic_read(&t->armed) && !atomic_xchg(&t->armed, 1))
		queue_delayed_work(t->wq, &t->commit_timer,
				   msecs_to_jiffies(READ_ONCE(t->engine.tune.commit_ms)));
}

/* The owner of a slot that is on no list puts it where it belongs; `act` is what its work asks. */
void ht_pool_place(struct ht_tier *t, u32 slot, u32 act)
{
	enum ht_list list = ht_list_of(&t->map, slot);
	unsigned long flags;

	if (act & HT_ACT_RECORD)
		ht_record_later(t, slot);
	if (act & HT_ACT_LOST)
		ht_commit_later(t);
	spin_lock_irqsave(&t->engine_lock, flags);
	ht_engine_append(&t->engine, slot, list);
	spin_unlock_irqrestore(&t->engine_lock, flags);
	if (list == HT_LIST_BAD && t->loaded)
		ht_count(t, HINTIER_C_SLOTS_RETIRED, 1);
}

/*
 * Calls `visit` under the lock of the shard that the slot is hashed in; under any shard's lock if
 * it is not hashed. For those who know a slot by its number and not by its extent.
 */
void ht_visit_slot(struct ht_tier *t, u32 slot, ht_slot_fn visit, void *context)
{
	struct ht_lock_shard *shard;
	unsigned long flags;
	bool found = false;
	u32 extent;

	while (!found) {
		extent = READ_ONCE(t->map.slots[slot].extent);
		shard = ht_shard_lock(t, extent == HT_NIL ? 0 : extent, &flags);
		found = t->map.slots[slot].extent == extent;
		if (found)
			visit(t, &shard->core, slot, context);
		ht_shard_unlock(shard, flags);
	}
}

/* Gives an extent a free slot; HT_NIL if there is none. */
u32 ht_pool_admit(struct ht_tier *t, u32 extent)
{
	struct ht_engine *engine = &t->engine;
	unsigned long flags;
	bool kick;
	u32 slot;

	spin_lock_irqsave(&t->engine_lock, flags);
	engine->second = ht_now_second();
	ht_lull_look(&engine->lull, ht_quiet_ticks(t), READ_ONCE(t->read_at), ht_now_tick());
	slot = ht_engine_take(engine, false);
	if (slot != HT_NIL) {
		ht_admit(&t->map, slot, extent, HT_SLOT_LIVE);
		ht_engine_append(engine, slot, HT_LIST_EMPTY);
	}
	kick = engine->count[HT_LIST_FREE] < engine->nr / 100 * (100 - engine->tune.low) + 1 &&
	       engine->count[HT_LIST_FREE] % KICK_EVERY == 0;
	spin_unlock_irqrestore(&t->engine_lock, flags);

	ht_count(t, slot == HT_NIL ? HINTIER_C_WAITED_SLOT : HINTIER_C_ADMITTED, 1);
	if (kick)
		ht_worker_kick(t);
	return slot;
}

void ht_act(struct ht_tier *t, u32 slot, u32 act, u32 fetch)
{
	bool placed = false;
	unsigned long flags;

	if (act & HT_ACT_RECORD)
		ht_record_later(t, slot);
	if (act & HT_ACT_LOST)
		ht_commit_later(t);
	if (act & HT_ACT_TRIM)
		ht_trim_queue(t, slot);
	if (act & (HT_ACT_FREE | HT_ACT_LIST | HT_ACT_HURRY)) {
		spin_lock_irqsave(&t->engine_lock, flags);
		placed = t->map.slots[slot].list != HT_LIST_NONE;
		ht_engine_move(&t->engine, slot, ht_list_of(&t->map, slot));
		if (act & HT_ACT_HURRY)
			ht_engine_hurry(&t->engine, slot);
		spin_unlock_irqrestore(&t->engine_lock, flags);
	}
	if (placed && (act & HT_ACT_FREE) && t->map.slots[slot].state == HT_SLOT_BAD)
		ht_count(t, HINTIER_C_SLOTS_RETIRED, 1);
	if (act & HT_ACT_HURRY)
		ht_worker_kick(t);
	if (act & HT_ACT_FETCH)
		ht_fetch_outcome(t, fetch, t->map.geo.units, HINTIER_FETCH_TIMELY);
	if (act & HT_ACT_UNUSED)
		ht_fetch_outcome(t, fetch, t->map.geo.units, HINTIER_FETCH_UNUSED);
}
