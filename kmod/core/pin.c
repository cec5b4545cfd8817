// SPDX-License-Identifier: GPL-2.0-only
/* Pins. See pin.h. The table is small and is looked at when something has to leave fast. */
#include "pin.h"

static bool overlaps(const struct ht_pin *p, u64 owner, u32 from, u32 to)
{
	return p->owner == owner && p->from < to && from < p->to;
}

/* Extents of [from, to) that are charged to the owner already. */
static u64 overlap(const struct ht_pins *pins, u64 owner, u32 from, u32 to)
{
	u64 sum = 0;

	for (u32 i = 0; i < pins->count; i++) {
		const struct ht_pin *p = &pins->pin[i];

		if (overlaps(p, owner, from, to))
			sum += (p->to < to ? p->to : to) - (p->from > from ? p->from : from);
	}
	return sum;
}

u64 ht_pins_charged(const struct ht_pins *pins, u64 owner)
{
	u64 sum = 0;

	for (u32 i = 0; i < pins->count; i++)
		if (!owner || pins->pin[i].owner == owner)
			sum += pins->pin[i].to - pins->pin[i].from;
	return sum;
}

/* How many more pins there are once [from, to) has been cut out: -count … 1. */
static int growth(const struct ht_pins *pins, u64 owner, u32 from, u32 to)
{
	int more = 0;

	for (u32 i = 0; i < pins->count; i++) {
		const struct ht_pin *p = &pins->pin[i];

		if (overlaps(p, owner, from, to))
			more += (p->from < from) + (p->to > to) - 1;
	}
	return more;
}

/* There is room for what that leaves. */
static void cut(struct ht_pins *pins, u64 owner, u32 from, u32 to)
{
	for (u32 i = pins->count; i--;) {
		struct ht_pin *p = &pins->pin[i];
		struct ht_pin tail = *p;

		if (!overlaps(p, owner, from, to))
			continue;
		tail.from = to;
		p->to = from;
		if (p->from >= p->to)
			*p = pins->pin[--pins->count];
		if (tail.from < tail.to)
			pins->pin[pins->count++] = tail;
	}
}

/* A pin that goes on where another one ends, for the same time, is that one. */
static void put(struct ht_pins *pins, const struct ht_pin *new)
{
	for (u32 i = 0; i < pins->count; i++) {
		struct ht_pin *p = &pins->pin[i];

		if (p->owner != new->owner || p->until != new->until ||
		    (p->to != new->from && new->to != p->from))
			continue;
		p->from = p->from < new->from ? p->from : new->from;
		p->to = p->to > new->to ? p->to : new->to;
		return;
	}
	pins->pin[pins->count++] = *new;
}

int ht_pins_add(struct ht_pins *pins, u64 owner, u32 from, u32 to, u32 until,
		const struct ht_pin_quota *quota)
{
	const struct ht_pin new = { .owner = owner, .from = from, .to = to, .until = until };
	u64 more = to - from - overlap(pins, owner, from, to);

	if (ht_pins_charged(pins, 0) + more > quota->all ||
	    ht_pins_charged(pins, owner) + more > quota->owner ||
	    (int)pins->count + growth(pins, owner, from, to) + 1 > HT_PINS)
		return -ENOSPC;
	cut(pins, owner, from, to);
	put(pins, &new);
	return 0;
}

int ht_pins_remove(struct ht_pins *pins, u64 owner, u32 from, u32 to)
{
	if ((int)pins->count + growth(pins, owner, from, to) > HT_PINS)
		return -ENOSPC;
	cut(pins, owner, from, to);
	return 0;
}

static bool is_over(const struct ht_pin *p, u32 now)
{
	return now - p->until < 1U << 31;
}

static bool end_some(struct ht_pins *pins, u64 owner, u32 now)
{
	u32 before = pins->count;

	for (u32 i = pins->count; i--;)
		if (owner ? pins->pin[i].owner == owner : is_over(&pins->pin[i], now))
			pins->pin[i] = pins->pin[--pins->count];
	return pins->count < before;
}

bool ht_pins_end(struct ht_pins *pins, u64 owner)
{
	return end_some(pins, owner, 0);
}

bool ht_pins_expire(struct ht_pins *pins, u32 now)
{
	return end_some(pins, 0, now);
}

bool ht_pinned(const struct ht_pins *pins, u32 extent)
{
	for (u32 i = 0; i < pins->count; i++)
		if (extent >= pins->pin[i].from && extent < pins->pin[i].to)
			return true;
	return false;
}
