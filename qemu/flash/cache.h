/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a drive has taken and not made durable: a write cache in front of its media, that a power
 * cut loses. Sectors of 512 bytes, in lines of 4 KiB; each is, in a line,
 *
 *   dirty     newer here than on the media
 *   flying    and its write is not acknowledged: a flush submitted now does not cover it
 *   covered   and a flush in flight will put it on the media when it ends
 *
 * A flush covers what was acknowledged before it was submitted, and has done its work only when
 * it ends. What is overwritten, or has to make room, goes to the media or not by a coin: an
 * unflushed sector can come back from a cut as any of its versions since the last flush.
 * A drive whose acknowledged writes are durable uses this for what is in flight.
 *
 * Nothing here allocates or locks. Pages come from the stock of the media's store.
 */
#ifndef HT_FLASH_CACHE_H
#define HT_FLASH_CACHE_H

#include "store.h"

HT_C_BEGIN

struct ht_cache_line {
	u64 block;
	char *page;
	unsigned char dirty, flying, covered; /* a bit for each sector */
};

struct ht_cache {
	struct ht_store *media;
	struct ht_cache_line *line; /* the caller's: [capacity]; NULL: no cache */
	u32 lines, capacity;
	u32 *index;		    /* the caller's: for each block its line + 1, or 0 */
	bool write_through;	    /* an acknowledged write is durable */
	u64 random;		    /* state of the coin */
	u64 cuts, lost, kept;	    /* the latter in sectors */
};

/* Most bytes of one erasure that are held here; longer ones are durable at once. */
#define HT_CACHE_ERASE 0x100000U

/* Pages that writing, or erasing, so many bytes can take from the stock. */
u64 ht_cache_need(u64 bytes);

/* Submitted: seen by reads from here on. Without data: zeros. */
void ht_cache_write(struct ht_cache *c, u64 offset, const void *data, u32 length);
void ht_cache_erase(struct ht_cache *c, u64 offset, u64 length);
void ht_cache_flush(struct ht_cache *c);

/* Acknowledged; `durable`: it was a FUA write. */
void ht_cache_written(struct ht_cache *c, u64 offset, u64 length, bool durable);
void ht_cache_flushed(struct ht_cache *c);

void ht_cache_read(const struct ht_cache *c, u64 offset, void *data, u32 length);

/* Power goes: a subset of the dirty sectors, chosen by the seed, is on the media; nothing else. */
void ht_cache_cut(struct ht_cache *c, u64 seed);

HT_C_END

#endif
