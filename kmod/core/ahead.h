/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading an extent ahead into RAM: may that be done now, and which device has what?
 *
 * What was read ahead is a copy that later requests are answered from, so it must be as a read at
 * that later time would be. The caller keeps it so: under the shard's lock it makes the copy
 * findable in the same breath as ht_ahead_begin() says yes, and takes it away when any request
 * that is no read begins on the extent, when units of it are dropped, and before its home is
 * written through. begin() does the rest: it says no while a change is in flight that began
 * before, for the copy could have what was there before that change, and outlive it.
 * Destages, fills and evictions change no contents, and need not be waited for.
 */
#ifndef HT_CORE_AHEAD_H
#define HT_CORE_AHEAD_H

#include "types.h"

HT_CORE_BEGIN

struct ht_ahead {
	u32 slot;                       /* where the units below come from; HT_NIL: none do */
	u32 fetch;                      /* with HT_ACT_FETCH */
	u32 act;                        /* HT_ACT_* */
	u16 units[HT_UNITS_MAX / 16];   /* the others come from home */
};

/*
 * Needs the locks of the shard and of the holds. A slot in *ret counts one more reader, until
 * ht_end() of a read. `from_home`: what is on both devices comes from home.
 */
bool ht_ahead_begin(struct ht_map *map, const struct ht_shard *shard, u32 extent, u32 from, u32 to,
		    bool from_home, struct ht_ahead *ret);

HT_CORE_END

#endif
