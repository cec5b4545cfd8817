// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wear budgets: once a second, what was programmed on each device is held against what the
 * operator grants it. See core/budget.h; `over` has what others give way to:
 *
 *   fast over   nothing is promoted or fetched to fast, and what takes a new slot by a write goes
 *               home instead, unless bulk is over as well
 *   bulk over   nothing is destaged early to be read from both devices
 *
 * Dirty data is destaged when room is needed all the same.
 */
#include "tier.h"

#define LOOK_EVERY HZ

static u64 programmed(struct ht_tier *t, enum hintier_counter which)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(t->dev->stats, cpu)->s.counters[which]);
	return sum;
}

static void look(struct work_struct *work)
{
	struct ht_tier *t = container_of(to_delayed_work(work), struct ht_tier, budget_work);
	const struct {
		enum hintier_counter counter;
		u32 limit;
	} device[HT_BUDGETS] = {
		[HT_BUDGET_FAST] = { HINTIER_C_FAST_WRITE_BYTES, t->engine.tune.fast_gb_day },
		[HT_BUDGET_BULK] = { HINTIER_C_BULK_WRITE_BYTES, t->engine.tune.bulk_gb_day },
	};
	u32 over = 0, was = t->over;
	bool any = false;

	for (u32 i = 0; i < HT_BUDGETS; i++) {
		any |= device[i].limit;
		if (ht_budget_tell(&t->budget[i], device[i].limit, programmed(t, device[i].counter),
				   ktime_to_ms(ktime_get())))
			over |= 1U << i;
	}
	WRITE_ONCE(t->over, over);
	for (u32 i = 0; i < HT_BUDGETS; i++)
		if ((over ^ was) & (1U << i))
			ht_event(t->dev, HINTIER_EV_BUDGET, i, over >> i & 1, device[i].limit, 0);
	if (was & ~over)
		ht_worker_kick(t);
	if (any && !READ_ONCE(t->stopping))
		queue_delayed_work(t->wq, &t->budget_work, LOOK_EVERY);
}

void ht_budget_init(struct ht_tier *t)
{
	INIT_DELAYED_WORK(&t->budget_work, look);
}

/* A limit may have changed. */
void ht_budget_kick(struct ht_tier *t)
{
	if (!READ_ONCE(t->stopping))
		mod_delayed_work(t->wq, &t->budget_work, 0);
}
