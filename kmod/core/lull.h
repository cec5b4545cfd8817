/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lulls: when the readers pause, and how much is written until they do.
 *
 * Restores come in bursts of reads, and what goes home between them disturbs nobody. So nothing is
 * destaged during a burst, as long as what is written meanwhile finds room; as many slots as the
 * bursts of late have taken are kept for that. Readers that never pause cannot be waited for: a
 * burst that lasts too long is none any more.
 *
 * Times are in ticks, however long, of a clock that wraps.
 */
#ifndef HT_CORE_LULL_H
#define HT_CORE_LULL_H

#include "env.h"

HT_CORE_BEGIN

enum ht_pace {
	HT_PACE_STEADY = 0,     /* reads have come for long, or nobody wants to know */
	HT_PACE_BURST,          /* a read has come just now: there will be others */
	HT_PACE_LULL,           /* none has come for long enough */
};

struct ht_lull {
	u32 since;      /* when the burst began */
	u32 taken;      /* slots, since then */
	u32 room;       /* slots: what to keep for the next burst */
	u32 room_at;    /* when a burst has last taken as much */
	u8 pace;        /* enum ht_pace */
};

/*
 * It is `now`, and the newest read came at `read_at`; after `quiet` ticks without any the readers
 * pause (0: always steady). To be told at each slot that is taken too.
 */
void ht_lull_look(struct ht_lull *lull, u32 quiet, u32 read_at, u32 now);

HT_CORE_END

#endif
