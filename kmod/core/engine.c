// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine: lists of slots and the choice of background work. See engine.h.
 *
 * Free slots leave in the order in which they came, so extents that were written together and
 * died together are taken together again and stay neighbours on fast: one request then spans
 * several extents. Dirty and clean slots are kept in order of age; one that was read since the
 * list last looked at it gets a second chance, so that a hit costs a byte and no list move.
 */
#include "engine.h"

#include "budget.h"

/* Second chances in one decision: bounds the time under the lock. */
#define AHEAD 2                 /* eighths of the reserve, evicted ahead of need */
#define ROTATIONS 32

/* The same for each of many lists. */
#define SECOND_CHANCES 4

/* Slots of a list that are compared: clean ones of one group, and dirty ones of all. */
#define ALIKE 16
#define DIRTY_SAMPLE 32

/* Slots on either side of one that has lost something in which the rest is looked for. */
#define SIBLINGS 32

#define SPREAD_EIGHTHS 5

/* The least reserve. */
#define RESERVE_SECTORS 32768U
#define RESERVE_SLOTS 32U

#define TUNABLE(name, lo, hi) { #name, lo, hi, offsetof(struct ht_tunables, name) }

static const struct ht_tunable tunables[] = {
	TUNABLE(high, 1, 99),
	TUNABLE(low, 0, 99),
	TUNABLE(reserve, 1, 500),
	TUNABLE(spread, 0, 100),
	TUNABLE(balance, 0, 1),
	TUNABLE(promote, 0, 2),
	TUNABLE(window, 1, 64),
	TUNABLE(window_busy, 0, 64),
	TUNABLE(quiet_ms, 0, 10000),
	TUNABLE(fetches, 0, 64),
	TUNABLE(commit_ms, 1, 60000),
	TUNABLE(pass_discard, 0, 1),
	TUNABLE(drop, 0, 1),
	TUNABLE(pins, 0, 90),
	TUNABLE(pins_one, 0, 90),
	TUNABLE(fast_gb_day, 0, HT_BUDGET_MAX),
	TUNABLE(bulk_gb_day, 0, HT_BUDGET_MAX),
	{ NULL, 0, 0, 0 },
};

void ht_tunables_init(struct ht_tunables *tune)
{
	tune->high = 92;
	tune->low = 90;
	tune->reserve = 20;
	tune->spread = 40;
	tune->balance = 1;
	tune->promote = 2;
	tune->window = 8;
	tune->window_busy = 2;
	tune->quiet_ms = 20;
	tune->fetches = 16;
	tune->commit_ms = 1000;
	tune->pass_discard = 1;
	tune->drop = 1;
	tune->pins = 50;
	tune->pins_one = 25;
	tune->fast_gb_day = 0;
	tune->bulk_gb_day = 0;
}

const struct ht_tunable *ht_tunable(u32 nth)
{
	return tunables[nth].key ? &tunables[nth] : NULL;
}

int ht_tunable_set(struct ht_tunables *tune, const char *key, u64 value)
{
	const struct ht_tunable *t;

	for (u32 i = 0; (t = ht_tunable(i)); i++) {
		if (strcmp(key, t->key))
			continue;
		if (value < t->min || value > t->max)
			return -ERANGE;
		*(u32 *)((char *)tune + t->offset) = (u32)value;
		return 0;
	}
	return -ENOENT;
}

u32 ht_tunable_get(const struct ht_tunables *tune, const struct ht_tunable *t)
{
	return *(const u32 *)((const char *)tune + t->offset);
}

static u32 least(u32 a, u32 b)
{
	return a < b ? a : b;
}

/* What comes while a commit brings slots back; of a small device less. */
static u32 least_reserve(const struct ht_geometry *geo)
{
	u32 few = least(RESERVE_SLOTS, geo->slots / 8);
	u32 enough = least(RESERVE_SECTORS >> geo->extent_shift, geo->slots / 16);

	return few > enough ? few : enough;
}

void ht_engine_init(struct ht_engine *engine, const struct ht_geometry *geo, struct ht_slot *slots)
{
	engine->slots = slots;
	engine->nr = geo->slots;
	engine->reserve_min = least_reserve(geo);
	engine->run_shift = geo->extent_shift < 8 ? 8 - geo->extent_shift : 0;
	engine->taken = HT_NIL;
	engine->destaging = false;
	memset(&engine->lull, 0, sizeof(engine->lull));
	engine->unpinned = 0;
	if (engine->pins)
		engine->pins->count = 0;
	engine->grouped = 0;
	engine->values = NULL;
	engine->ruled = false;
	engine->second = 0;
	memset(engine->dead, 0, sizeof(engine->dead));
	for (u32 list = 0; list < HT_LISTS_ALL; list++) {
		engine->head[list] = HT_NIL;
		engine->tail[list] = HT_NIL;
		engine->count[list] = 0;
	}
}

static void put(struct ht_engine *engine, u32 slot, u32 list)
{
	struct ht_slot *s = &engine->slots[slot];

	s->list = (u16)list;
	s->link = HT_NIL;
	s->prev = engine->tail[list];
	if (s->prev == HT_NIL)
		engine->head[list] = slot;
	else
		engine->slots[s->prev].link = slot;
	engine->tail[list] = slot;
	engine->count[list]++;
	if (list >= HT_LIST_GROUPS)
		engine->grouped++;
}

static u32 age_of(const struct ht_engine *engine, const struct ht_slot *s)
{
	return (u16)(engine->second - s->used);
}

static struct ht_dead *dead_place(struct ht_engine *engine, u64 object)
{
	static_assert(HT_DEAD == 1 << 6, "six bits of a hash");
	return &engine->dead[ht_hash((u32)(object ^ object >> 32)) >> 26];
}

/* Of no use any more: its object has lost something since it came here. */
static bool is_dead(struct ht_engine *engine, const struct ht_slot *s)
{
	u64 object = READ_ONCE(s->object);
	const struct ht_dead *d = dead_place(engine, object);

	return object && d->object == object &&
	       age_of(engine, s) > (u16)(engine->second - d->second);
}

void ht_engine_append(struct ht_engine *engine, u32 slot, enum ht_list list)
{
	const struct ht_slot *s = &engine->slots[slot];
	u32 to = list;

	if (list == HT_LIST_CLEAN && is_dead(engine, s))
		to = HT_LIST_DEAD;
	else if (list == HT_LIST_CLEAN && engine->ruled)
		to = HT_LIST_GROUPS + READ_ONCE(s->group);
	put(engine, slot, to);
}

void ht_engine_remove(struct ht_engine *engine, u32 slot)
{
	struct ht_slot *s = &engine->slots[slot];
	u32 list = s->list;

	if (list == HT_LIST_NONE)
		return;
	if (s->prev == HT_NIL)
		engine->head[list] = s->link;
	else
		engine->slots[s->prev].link = s->link;
	if (s->link == HT_NIL)
		engine->tail[list] = s->prev;
	else
		engine->slots[s->link].prev = s->prev;
	engine->count[list]--;
	if (list >= HT_LIST_GROUPS)
		engine->grouped--;
	s->list = HT_LIST_NONE;
}

static bool is_dirty_list(u32 list)
{
	return list == HT_LIST_DIRTY || list == HT_LIST_AGED || list == HT_LIST_EARLY;
}

void ht_engine_move(struct ht_engine *engine, u32 slot, enum ht_list list)
{
	struct ht_slot *s = &engine->slots[slot];

	if (s->list == HT_LIST_NONE || s->list == (u16)list ||
	    (list == HT_LIST_CLEAN && (s->list >= HT_LIST_GROUPS || s->list == HT_LIST_DEAD)) ||
	    (list == HT_LIST_DIRTY && is_dirty_list(s->list)))
		return;
	ht_engine_remove(engine, slot);
	ht_engine_append(engine, slot, list);
}

void ht_engine_hurry(struct ht_engine *engine, u32 slot)
{
	u32 list = engine->slots[slot].list;

	if (!is_dirty_list(list) || list == HT_LIST_EARLY)
		return;
	ht_engine_remove(engine, slot);
	ht_engine_append(engine, slot, HT_LIST_EARLY);
}

/* Oldest slot of a list that was not touched since it was last looked at. */
static u32 oldest(struct ht_engine *engine, u32 list, u32 rotations)
{
	u32 slot = engine->head[list];

	for (u32 i = 0; i < rotations && engine->slots[slot].touched; i++) {
		engine->slots[slot].touched = 0;
		engine->slots[slot].used = engine->second;
		ht_engine_remove(engine, slot);
		put(engine, slot, list);
		slot = engine->head[list];
	}
	return slot;
}

/* ---- values --------------------------------------------------------------------------------- */

void ht_engine_rule(struct ht_engine *engine, const struct ht_values *values)
{
	engine->values = values;
	engine->ruled = values;
}

void ht_engine_regroup(struct ht_engine *engine, u32 slot)
{
	u32 list = engine->slots[slot].list;

	if (list < HT_LIST_GROUPS || list == HT_LIST_GROUPS + (u32)engine->slots[slot].group)
		return;
	ht_engine_remove(engine, slot);
	ht_engine_append(engine, slot, HT_LIST_CLEAN);
}

void ht_engine_lost(struct ht_engine *engine, u32 slot, u64 object)
{
	u32 end = slot + SIBLINGS < engine->nr ? slot + SIBLINGS : engine->nr;
	struct ht_dead *d = dead_place(engine, object);

	if (!object)
		return;
	d->object = object;
	d->second = engine->second;
	for (slot = slot > SIBLINGS ? slot - SIBLINGS : 0; slot < end; slot++) {
		u32 list = engine->slots[slot].list;

		if ((list == HT_LIST_CLEAN || list >= HT_LIST_GROUPS) &&
		    is_dead(engine, &engine->slots[slot])) {
			ht_engine_remove(engine, slot);
			put(engine, slot, HT_LIST_DEAD);
		}
	}
}

u32 ht_engine_any_clean(const struct ht_engine *engine)
{
	u32 list = HT_LIST_GROUPS;

	if (!engine->grouped)
		return engine->count[HT_LIST_CLEAN] ? engine->head[HT_LIST_CLEAN] :
		       engine->count[HT_LIST_DEAD]  ? engine->head[HT_LIST_DEAD] :
						      engine->head[HT_LIST_PINNED];
	while (!engine->count[list])
		list++;
	return engine->head[list];
}

/*
 * The order in which slots go: lowest first. What belongs to a slot's shard is read without its
 * lock: who is wrong then chooses a slot that is only the second best.
 */
static u64 rank(struct ht_engine *engine, u32 slot, bool dirty)
{
	const struct ht_slot *s = &engine->slots[slot];
	u32 age = age_of(engine, s);

	if (is_dead(engine, s))
		return 0;
	if (!engine->ruled)
		return 0x10000 - age;
	return 1 + (u64)ht_value(engine->values, dirty, READ_ONCE(s->group),
				 ht_value_bin(engine->values, age));
}

/* Of the oldest slots of a list the one that goes first, of those alike the deepest. */
static u32 first_of(struct ht_engine *engine, u32 list, u32 among, bool dirty)
{
	u32 best = engine->head[list], slot = engine->slots[best].link;
	u64 lowest = rank(engine, best, dirty);

	for (u32 i = 1; i < among && slot != HT_NIL; i++, slot = engine->slots[slot].link) {
		const struct ht_slot *s = &engine->slots[slot];
		u64 r;

		if (s->touched)
			continue;
		r = rank(engine, slot, dirty);
		if (r < lowest || (r == lowest && s->depth > engine->slots[best].depth)) {
			best = slot;
			lowest = r;
		}
	}
	return best;
}

/* The clean slot that goes first: the oldest of each list is asked. There is one. */
static u32 cheapest(struct ht_engine *engine)
{
	u32 best = HT_NIL;
	u64 lowest = 0;

	if (engine->count[HT_LIST_DEAD])
		return engine->head[HT_LIST_DEAD];
	for (u32 list = HT_LIST_CLEAN; list < HT_LISTS_ALL; list++) {
		u64 r;

		if (!engine->count[list] || (list > HT_LIST_CLEAN && list < HT_LIST_GROUPS))
			continue;
		r = rank(engine, oldest(engine, list, SECOND_CHANCES), false);
		if (best == HT_NIL || r < lowest) {
			best = list;
			lowest = r;
		}
	}
	return first_of(engine, best, ALIKE, false);
}

/* ---- pins ----------------------------------------------------------------------------------- */

static bool is_pinned(const struct ht_engine *engine, u32 slot)
{
	return engine->pins && engine->pins->count &&
	       ht_pinned(engine->pins, engine->slots[slot].extent);
}

/* Some pins have ended: whoever is on the list of the pinned may not be. */
static void look_again(struct ht_engine *engine)
{
	engine->unpinned = engine->count[HT_LIST_PINNED];
}

int ht_engine_pin(struct ht_engine *engine, u64 owner, u32 from, u32 to, u32 until)
{
	const struct ht_pin_quota quota = {
		.all = (u32)((u64)engine->nr * engine->tune.pins / 100),
		.owner = (u32)((u64)engine->nr * engine->tune.pins_one / 100),
	};

	return engine->pins ? ht_pins_add(engine->pins, owner, from, to, until, &quota) : -ENOSPC;
}

int ht_engine_unpin(struct ht_engine *engine, u64 owner, u32 from, u32 to)
{
	int r = engine->pins ? ht_pins_remove(engine->pins, owner, from, to) : 0;

	if (!r)
		look_again(engine);
	return r;
}

void ht_engine_unpin_all(struct ht_engine *engine, u64 owner)
{
	if (engine->pins && ht_pins_end(engine->pins, owner))
		look_again(engine);
}

void ht_engine_expire(struct ht_engine *engine, u32 now)
{
	if (engine->pins && ht_pins_expire(engine->pins, now))
		look_again(engine);
}

/* ---- decisions ------------------------------------------------------------------------------ */

u32 ht_engine_reserve(const struct ht_engine *engine)
{
	u32 wanted = (u32)((u64)engine->nr * engine->tune.reserve / 1000);

	return wanted > engine->reserve_min ? wanted : engine->reserve_min;
}

/* Kept beside the reserve, for writes while nothing is destaged. */
static u32 room(const struct ht_engine *engine)
{
	return least(engine->lull.room, engine->nr / 4);
}

u32 ht_engine_take(struct ht_engine *engine, bool spare)
{
	u32 slot = engine->taken + 1; /* HT_NIL + 1 is 0 */

	if (!engine->count[HT_LIST_FREE] ||
	    (spare && engine->count[HT_LIST_FREE] <= ht_engine_reserve(engine)))
		return HT_NIL;
	if (slot >= engine->nr || engine->slots[slot].list != HT_LIST_FREE)
		slot = engine->head[HT_LIST_FREE];
	ht_engine_remove(engine, slot);
	engine->taken = slot;
	engine->lull.taken++;
	engine->slots[slot].used = engine->second;
	return slot;
}

/* Is the pool short, counting what needs only a commit to get there? */
static bool pool_short(const struct ht_engine *engine, u32 margin)
{
	u32 reserve = ht_engine_reserve(engine);

	return engine->count[HT_LIST_FREE] + engine->count[HT_LIST_EMPTY] <
	       reserve + reserve / 8 * margin;
}

bool ht_engine_wants_commit(const struct ht_engine *engine)
{
	u32 reserve = ht_engine_reserve(engine);
	u32 free = engine->count[HT_LIST_FREE], empty = engine->count[HT_LIST_EMPTY];

	/* A promotion wants one more than the reserve; nothing is evicted ahead of need beyond AHEAD. */
	return free <= reserve && empty && (empty >= reserve / 8 * AHEAD || free < reserve / 8);
}

/*
 * Destages that may be in flight now. When slots run out readers have no say, and an operator's
 * drain goes on beside them.
 */
static u32 allowed(const struct ht_engine *engine, const struct ht_situation *now)
{
	const struct ht_tunables *tune = &engine->tune;

	if (pool_short(engine, 0) || engine->lull.pace == HT_PACE_LULL)
		return tune->window;
	if (engine->lull.pace == HT_PACE_BURST && !now->drain)
		return 0;
	return now->reads_wait ? tune->window_busy : tune->window;
}

/* Slots that may be dirty, of so many percent: room is kept for the next burst. */
static u32 mark(const struct ht_engine *engine, u32 percent, u32 slack)
{
	u32 kept = ht_engine_reserve(engine) + room(engine) + slack;
	u32 most = (u32)((u64)engine->nr * percent / 100);

	return least(most, engine->nr - kept);
}

static bool wants_destage(struct ht_engine *engine, const struct ht_situation *now)
{
	u32 dirty = ht_engine_dirty(engine) + now->destaging;

	if (dirty > mark(engine, engine->tune.high, 0))
		engine->destaging = true;
	else if (dirty <= mark(engine, engine->tune.low, engine->nr / 64))
		engine->destaging = false;
	return engine->destaging || now->drain || engine->count[HT_LIST_EARLY] ||
	       (pool_short(engine, 0) && !ht_engine_loose(engine));
}

/*
 * Which runs are spread. Multiples of the golden ratio fall evenly into any stretch of neighbours,
 * so objects of any size and place are split alike. A little more than half: a read then chooses
 * between the devices for what it has not to take from fast, and both end together.
 */
static bool spreads(const struct ht_engine *engine, u32 extent)
{
	return ht_hash(extent >> engine->run_shift) >> 29 < SPREAD_EIGHTHS;
}

static bool wants_spread(const struct ht_engine *engine)
{
	u64 young = (u64)engine->nr * engine->tune.spread / 100;

	return engine->tune.spread && engine->count[HT_LIST_DIRTY] > young;
}

/*
 * Dirty slots beyond the spread mark are looked at once: of the runs of extents some are
 * destaged and stay as clean, so that what lives long can be read from both devices.
 */
static u32 spread(struct ht_engine *engine)
{
	u32 slot;

	for (u32 i = 0; i < ROTATIONS && wants_spread(engine); i++) {
		slot = engine->head[HT_LIST_DIRTY];
		ht_engine_remove(engine, slot);
		if (spreads(engine, engine->slots[slot].extent))
			return slot;
		ht_engine_append(engine, slot, HT_LIST_AGED);
	}
	return HT_NIL;
}

/* May what is volatile in it be dropped? A table that has run out means: nothing any more. */
static bool may_shed(struct ht_engine *engine, u32 slot)
{
	const struct ht_slot *s = &engine->slots[slot];

	if (!engine->tune.drop || is_pinned(engine, slot))
		return false;
	if (!engine->values || READ_ONCE(s->flags) & HT_F_DONE)
		return true;
	return engine->ruled &&
	       (is_dead(engine, s) ||
		ht_value_drop(engine->values, READ_ONCE(s->group),
			      ht_value_bin(engine->values, age_of(engine, s))));
}

/* Those that were pinned stand with the others again, some at a time. */
static void sort_unpinned(struct ht_engine *engine, u32 now)
{
	u32 slot;

	if (engine->count[HT_LIST_PINNED])
		ht_engine_expire(engine, now);
	for (u32 i = 0; i < ROTATIONS && engine->unpinned; i++) {
		engine->unpinned--;
		slot = engine->head[HT_LIST_PINNED];
		if (slot == HT_NIL)
			engine->unpinned = 0;
		else
			ht_engine_move(engine, slot, HT_LIST_CLEAN);
	}
}

/* What clean slot goes next; what is pinned is put aside on the way. */
static enum ht_work find_victim(struct ht_engine *engine, u32 now, u32 *ret_slot)
{
	sort_unpinned(engine, now);
	for (u32 i = 0; i < ROTATIONS && ht_engine_loose(engine); i++) {
		*ret_slot = engine->grouped || engine->count[HT_LIST_DEAD] ?
			    cheapest(engine) : oldest(engine, HT_LIST_CLEAN, ROTATIONS);
		ht_engine_remove(engine, *ret_slot);
		if (!is_pinned(engine, *ret_slot))
			return HT_WORK_EVICT;
		put(engine, *ret_slot, HT_LIST_PINNED);
	}
	*ret_slot = HT_NIL;
	return ht_engine_loose(engine) ? HT_WORK_SORT : HT_WORK_NONE;
}

/* The dirty slot that goes next, by age or by what it is worth. */
static enum ht_work find_dirty(struct ht_engine *engine, bool drain, u32 *ret_slot)
{
	enum ht_list list = engine->count[HT_LIST_EARLY] ? HT_LIST_EARLY :
			    engine->count[HT_LIST_AGED]  ? HT_LIST_AGED :
							   HT_LIST_DIRTY;

	*ret_slot = oldest(engine, list, ROTATIONS);
	if (engine->ruled && list != HT_LIST_EARLY)
		*ret_slot = first_of(engine, list, DIRTY_SAMPLE, true);
	ht_engine_remove(engine, *ret_slot);
	/* Who asks for it, or for everything, to be destaged wants to keep it. */
	return list != HT_LIST_EARLY && !drain && may_shed(engine, *ret_slot) ? HT_WORK_SHED :
										 HT_WORK_DESTAGE;
}

enum ht_work ht_engine_next(struct ht_engine *engine, const struct ht_situation *now, u32 *ret_slot)
{
	enum ht_work work = HT_WORK_NONE;
	bool needed, spreading;
	u32 most;

	*ret_slot = HT_NIL;
	engine->second = now->second;
	engine->ruled = ht_values_rule(engine->values, now->now);
	ht_lull_look(&engine->lull, now->quiet, now->read_at, now->tick);
	/* Ahead of need: a little more than the reserve, so that promotions find room. */
	if (ht_engine_clean(engine) && pool_short(engine, AHEAD))
		work = find_victim(engine, now->now, ret_slot);
	if (work != HT_WORK_NONE)
		return work;
	if (now->full)
		return HT_WORK_NONE;
	needed = ht_engine_dirty(engine) && wants_destage(engine, now);
	spreading = !now->bulk_over && wants_spread(engine);
	most = allowed(engine, now);
	if (now->destaging >= most)
		return !most && engine->lull.pace == HT_PACE_BURST && (needed || spreading) ?
			       HT_WORK_WAIT :
			       HT_WORK_NONE;
	if (needed)
		return find_dirty(engine, now->drain, ret_slot);
	if (spreading)
		*ret_slot = spread(engine);
	return *ret_slot == HT_NIL ? HT_WORK_NONE : HT_WORK_DESTAGE;
}
