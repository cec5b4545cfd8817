/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The shard layer's shortest way: whole units of one slot that a request may have and leave with
 * nothing else to do but count it. What these say and do is what ht_begin() and ht_end() would; when
 * they say no, nothing has happened and those must be asked. They are inline because a call or
 * two is a tenth of what a hit costs.
 */
#ifndef HT_CORE_HIT_H
#define HT_CORE_HIT_H

#include "bits.h"
#include "shard.h"

/* Where units lie in one word of a slot's bitmaps: most requests, as extents are 64 KiB and up. */
struct ht_hit {
	u32 slot;
	u16 word;
	u16 mask; /* 0: elsewhere */
};

static inline struct ht_hit ht_hit_units(u32 from, u32 to)
{
	u32 unit = from / HT_UNIT_SECTORS, last = to / HT_UNIT_SECTORS - 1;
	struct ht_hit hit = { .slot = HT_NIL, .word = (u16)(unit / 16), .mask = 0 };

	if (!((from | to) % HT_UNIT_SECTORS) && last / 16 == hit.word)
		hit.mask = (u16)((2U << last % 16) - (1U << unit % 16));
	return hit;
}

/* The slot's words there: of HT_VALID, and of each other bitmap geo.words further. */
static inline u16 *ht_hit_words(const struct ht_map *map, const struct ht_hit *hit)
{
	return ht_slot_bits(map, hit->slot, HT_VALID) + hit->word;
}

static inline bool ht_hit_is_live(const struct ht_slot *s)
{
	return s->state == HT_SLOT_LIVE || s->state == HT_SLOT_DESTAGE;
}

static inline bool ht_hit_read(const struct ht_map *map, const struct ht_hit *hit, bool from_home)
{
	struct ht_slot *s = &map->slots[hit->slot];
	u16 have = ht_hit_words(map, hit)[from_home ? HT_DIRTY * map->geo.words : 0];

	if (!ht_hit_is_live(s) || map->mode >= HINTIER_MODE_BYPASS || !s->touched ||
	    (s->flags & HT_F_FETCHED) || (have & hit->mask) != hit->mask || s->readers == 0xffff)
		return false;
	s->readers++;
	return true;
}

static inline bool ht_hit_write(const struct ht_map *map, const struct ht_hit *hit)
{
	struct ht_slot *s = &map->slots[hit->slot];
	u16 *words = ht_hit_words(map, hit);

	if (!ht_hit_is_live(s) || map->mode != HINTIER_MODE_WRITEBACK ||
	    map->bulk != HT_BULK_PARTIAL || (s->flags & HT_F_BAD) ||
	    (words[HT_RCLEAN * map->geo.words] & hit->mask) || s->writers == 0xffff)
		return false;
	s->writers++;
	s->gen++;
	s->epoch = map->epoch;
	words[HT_VOLATILE * map->geo.words] &= (u16)~hit->mask;
	return true;
}

/*
 * May a read or write have the slot, as with HT_DO_FAST? `from_home` is for reads, as in struct
 * ht_request.
 */
static inline bool ht_hit_begin(const struct ht_map *map, u32 extent, bool read, bool from_home,
				struct ht_hit *hit)
{
	u32 slot = map->buckets[ht_bucket_of(map, extent)];

	while (slot != HT_NIL && map->slots[slot].extent != extent)
		slot = map->slots[slot].next;
	hit->slot = slot;
	if (slot == HT_NIL || !hit->mask)
		return false;
	return read ? ht_hit_read(map, hit, from_home) : ht_hit_write(map, hit);
}

/* The end of a request that ht_hit_begin() has let through, and that has succeeded. */
static inline bool ht_hit_end(const struct ht_map *map, bool read, const struct ht_hit *hit)
{
	struct ht_slot *s = &map->slots[hit->slot];

	if ((s->flags & (HT_F_RECORDED | HT_F_BAD)) != HT_F_RECORDED)
		return false;
	if (read) {
		s->readers--;
		return true;
	}
	if (!ht_hit_is_live(s) || (s->flags & HT_F_CHANGED) ||
	    (ht_hit_words(map, hit)[HT_DIRTY * map->geo.words] & hit->mask) != hit->mask)
		return false;
	s->writers--;
	s->gen++;
	return true;
}

#endif
