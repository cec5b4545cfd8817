// SPDX-License-Identifier: GPL-2.0-only
/* Lulls. See lull.h. */
#include "lull.h"

#define LONGEST 100     /* quiet times: what lasts longer is no burst */
#define MEMORY 500      /* quiet times: how long a burst is remembered */
#define SKEW 1          /* ticks that a read may seem to come from the future */

/* Bursts differ: a quarter more than the greatest of late. */
static void end_burst(struct ht_lull *lull, u32 now)
{
	u32 room = lull->taken + lull->taken / 4;

	if (room < lull->room)
		return;
	lull->room = room;
	lull->room_at = now;
}

/* What no burst has needed for long is given back, half by half. */
static void forget(struct ht_lull *lull, u32 quiet, u32 now)
{
	if (now - lull->room_at < quiet * MEMORY)
		return;
	lull->room /= 2;
	lull->room_at = now;
}

void ht_lull_look(struct ht_lull *lull, u32 quiet, u32 read_at, u32 now)
{
	bool reads = now - read_at + SKEW < quiet + SKEW;

	if (!quiet) {
		memset(lull, 0, sizeof(*lull));
		return;
	}
	forget(lull, quiet, now);
	if (!reads) {
		if (lull->pace == HT_PACE_BURST)
			end_burst(lull, now);
		lull->pace = HT_PACE_LULL;
	} else if (lull->pace == HT_PACE_LULL) {
		lull->pace = HT_PACE_BURST;
		lull->since = now;
		lull->taken = 0;
	} else if (now - lull->since > quiet * LONGEST) {
		lull->pace = HT_PACE_STEADY;
	}
}
