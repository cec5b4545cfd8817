/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranges of bits in the short bitmaps of a slot: 16-bit words, 1 to 16 of them. Ranges are
 * [from, to) in units and never empty.
 */
#ifndef HT_CORE_BITS_H
#define HT_CORE_BITS_H

#include "env.h"

/* The part of [from, to) that lies in word w. */
static inline u16 ht_bits_mask(u32 w, u32 from, u32 to)
{
	u32 lo = from > w * 16 ? from - w * 16 : 0;
	u32 hi = to < w * 16 + 16 ? to - w * 16 : 16;

	return (u16)(((1U << hi) - 1) & ~((1U << lo) - 1));
}

#define ht_bits_each_word(w, from, to) \
	for (u32 w = (from) / 16; w * 16 < (to); w++)

static inline bool ht_bits_any(const u16 *bits, u32 from, u32 to)
{
	ht_bits_each_word(w, from, to)
		if (bits[w] & ht_bits_mask(w, from, to))
			return true;
	return false;
}

static inline bool ht_bits_all(const u16 *bits, u32 from, u32 to)
{
	ht_bits_each_word(w, from, to)
		if ((u16)~bits[w] & ht_bits_mask(w, from, to))
			return false;
	return true;
}

static inline bool ht_bits_test(const u16 *bits, u32 nr)
{
	return bits[nr / 16] >> nr % 16 & 1;
}

static inline void ht_bits_set(u16 *bits, u32 from, u32 to)
{
	ht_bits_each_word(w, from, to)
		bits[w] |= ht_bits_mask(w, from, to);
}

static inline void ht_bits_clear(u16 *bits, u32 from, u32 to)
{
	ht_bits_each_word(w, from, to)
		bits[w] &= (u16)~ht_bits_mask(w, from, to);
}

/* First bit in [from, to) that is `value`, or `to`. */
static inline u32 ht_bits_find(const u16 *bits, u32 from, u32 to, bool value)
{
	while (from < to && ht_bits_test(bits, from) != value) {
		u32 word_end = (from / 16 + 1) * 16;
		u16 word = bits[from / 16];

		/* Skip what cannot hold it in one step. */
		if (word == (value ? 0 : 0xffff))
			from = word_end;
		else
			from++;
	}
	return from < to ? from : to;
}

static inline u32 ht_bits_count(const u16 *bits, u32 from, u32 to)
{
	u32 n = 0;

	ht_bits_each_word(w, from, to)
		for (u16 word = bits[w] & ht_bits_mask(w, from, to); word; word &= word - 1)
			n++;
	return n;
}

#endif
