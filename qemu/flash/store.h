/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a drive holds, by blocks of 4 KiB: nothing, a tag, or a page.
 *
 * A block that starts with the marker is kept as the 8 bytes that follow it; the rest of it is
 * the writer's word that nobody needs it. Reading such a block sets its first 16 bytes and leaves
 * the rest of the reader's memory as it is; reading a part of it, or writing one, first makes it
 * marker, tag and zeros. Blocks that were never written, or were discarded, read as zeros.
 *
 * Nothing here allocates or locks: pages come from a stock that the caller keeps, under a lock of
 * the caller's, at least at ht_store_need().
 */
#ifndef HT_FLASH_STORE_H
#define HT_FLASH_STORE_H

#include "env.h"

HT_C_BEGIN

#define HT_STORE_BLOCK 4096
#define HT_STORE_MARKER "HTFLTAG1"
#define HT_STORE_HEAD 16 /* marker and tag */

/* A leaf is one page: its blocks' values, and two bits for each. */
#define HT_STORE_LEAF 496
#define HT_STORE_WORDS ((HT_STORE_LEAF + 63) / 64)

struct ht_store_leaf {
	u64 value[HT_STORE_LEAF]; /* a tag, or the address of a page */
	u64 tagged[HT_STORE_WORDS];
	u64 paged[HT_STORE_WORDS];
};

struct ht_store {
	bool tags;
	struct ht_store_leaf **leaf; /* the caller's: ht_store_leaves(), zeroed */
	u64 leaves;
	void *stock;		     /* pages, each with the next one's address in front */
	u64 stocked;
	void (*put)(void *page);     /* takes back what is not needed any more */
	u64 tagged, paged;	     /* blocks */
};

/* Leaves for a device of so many bytes. */
u64 ht_store_leaves(u64 bytes);

void ht_store_stock(struct ht_store *s, void *page);
void *ht_store_unstock(struct ht_store *s); /* NULL when there is none */

/* Pages that writing so many bytes can take from the stock. */
u64 ht_store_need(u64 bytes);

void ht_store_write(struct ht_store *s, u64 offset, const void *data, u32 length);
void ht_store_read(const struct ht_store *s, u64 offset, void *data, u32 length);

/* Gives a block its page, which writes to parts of it then need not; takes up to 2 pages. */
void ht_store_reserve(struct ht_store *s, u64 block);

/* Zeros from here on. Parts of blocks are zeroed too, which can take up to 2 + 2 pages. */
void ht_store_erase(struct ht_store *s, u64 offset, u64 length);

HT_C_END

#endif
