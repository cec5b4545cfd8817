/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pins: ranges of extents that are to keep their slots for a while.
 *
 * A pin belongs to whoever said it. What one owner pins again, or only in part, is one pin: the
 * newer time counts. Owners do not see each other's: an extent stays as long as one of them wants
 * it, and is charged to each. What is charged is the range, whatever of it has slots.
 *
 * Every call needs the engine's lock. Times are in ticks of any clock that wraps.
 */
#ifndef HT_CORE_PIN_H
#define HT_CORE_PIN_H

#include "env.h"

HT_CORE_BEGIN

#define HT_PINS 1024            /* ranges of all owners together */

struct ht_pin {
	u64 owner;
	u32 from;               /* extents */
	u32 to;
	u32 until;              /* ticks */
};

struct ht_pins {
	u32 count;
	struct ht_pin pin[HT_PINS]; /* in no order */
};

/* How many extents may be pinned in all, and by one owner. */
struct ht_pin_quota {
	u32 all;
	u32 owner;
};

/* -ENOSPC: the table or a quota is full; nothing has changed then. */
int ht_pins_add(struct ht_pins *pins, u64 owner, u32 from, u32 to, u32 until,
		const struct ht_pin_quota *quota);
/* -ENOSPC: one pin would become two, and there is no room; nothing has changed then. */
int ht_pins_remove(struct ht_pins *pins, u64 owner, u32 from, u32 to);
/* All that this owner has pinned, and what has run out. True if anything ended. */
bool ht_pins_end(struct ht_pins *pins, u64 owner);
bool ht_pins_expire(struct ht_pins *pins, u32 now);

bool ht_pinned(const struct ht_pins *pins, u32 extent);
/* Extents that are charged to an owner, or (with 0) to all. */
u64 ht_pins_charged(const struct ht_pins *pins, u64 owner);

HT_CORE_END

#endif
