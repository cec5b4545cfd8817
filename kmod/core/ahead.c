// SPDX-License-Identifier: GPL-2.0-only
/* Reading an extent ahead. See ahead.h. */
#include "ahead.h"

#include "bits.h"
#include "lost.h"
#include "shard.h"

#include <hintier/types.h>

#define READERS_MAX 0xffffU

bool ht_ahead_begin(struct ht_map *map, const struct ht_shard *shard, u32 extent, u32 from, u32 to,
		    bool from_home, struct ht_ahead *ret)
{
	u32 slot = ht_lookup(map, extent);
	struct ht_slot *s = slot == HT_NIL ? NULL : &map->slots[slot];
	const u16 *bits;

	memset(ret, 0, sizeof(*ret));
	ret->slot = HT_NIL;
	if (shard->homing[extent % HT_HOMING] || ht_held(map, extent) ||
	    ht_lost_find(map, extent) != HT_NIL)
		return false;
	if (!s)
		return true;
	/*
	 * In any other state its home may be changing, fast about to have what is read here, or
	 * about to fail to read it: so too in a slot that is to be retired.
	 */
	if (s->state != HT_SLOT_LIVE || s->flags & HT_F_BAD || s->writers ||
	    map->mode >= HINTIER_MODE_BYPASS)
		return false;
	bits = ht_slot_bits(map, slot, from_home ? HT_DIRTY : HT_VALID);
	if (!ht_bits_any(bits, from, to))
		return true;
	if (s->readers == READERS_MAX)
		return false;
	s->readers++;
	ret->slot = slot;
	ht_bits_each_word(w, from, to)
		ret->units[w] = bits[w] & ht_bits_mask(w, from, to);
	if (s->flags & HT_F_FETCHED) {
		s->flags &= ~HT_F_FETCHED;
		ret->fetch = s->fetch;
		ret->act = HT_ACT_FETCH;
	}
	return true;
}
