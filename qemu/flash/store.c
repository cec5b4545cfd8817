// SPDX-License-Identifier: GPL-2.0-only
#include "store.h"

static const char zeros[HT_STORE_BLOCK];

static u32 min_u32(u32 a, u32 b)
{
	return a < b ? a : b;
}

u64 ht_store_leaves(u64 bytes)
{
	u64 blocks = (bytes + HT_STORE_BLOCK - 1) / HT_STORE_BLOCK;

	return (blocks + HT_STORE_LEAF - 1) / HT_STORE_LEAF;
}

/* ---- the stock ---------------------------------------------------------------------------- */

void ht_store_stock(struct ht_store *s, void *page)
{
	*(void **)page = s->stock;
	s->stock = page;
	s->stocked++;
}

void *ht_store_unstock(struct ht_store *s)
{
	void *page = s->stock;

	if (page) {
		s->stock = *(void **)page;
		s->stocked--;
	}
	return page;
}

u64 ht_store_need(u64 bytes)
{
	u64 blocks = bytes / HT_STORE_BLOCK + 2;

	return blocks + blocks / HT_STORE_LEAF + 2;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static bool test(const u64 *bits, u32 i)
{
	return bits[i / 64] >> (i % 64) & 1;
}

static void set(u64 *bits, u32 i)
{
	bits[i / 64] |= 1ULL << (i % 64);
}

static void clear(u64 *bits, u32 i)
{
	bits[i / 64] &= ~(1ULL << (i % 64));
}

static void *page_of(const struct ht_store_leaf *leaf, u32 i)
{
	return (void *)(unsigned long)leaf->value[i];
}

static void empty(struct ht_store *s, struct ht_store_leaf *leaf, u32 i)
{
	if (test(leaf->paged, i)) {
		s->put(page_of(leaf, i));
		s->paged--;
		clear(leaf->paged, i);
	} else if (test(leaf->tagged, i)) {
		s->tagged--;
		clear(leaf->tagged, i);
	}
}

static void set_tag(struct ht_store *s, struct ht_store_leaf *leaf, u32 i, const void *block)
{
	if (!test(leaf->tagged, i)) {
		empty(s, leaf, i);
		set(leaf->tagged, i);
		s->tagged++;
	}
	memcpy(&leaf->value[i], (const char *)block + 8, 8);
}

static void get_head(const struct ht_store_leaf *leaf, u32 i, void *block)
{
	memcpy(block, HT_STORE_MARKER, 8);
	memcpy((char *)block + 8, &leaf->value[i], 8);
}

/* The block's page; a new one has what the block held, unless all of it will be overwritten. */
static void *make_page(struct ht_store *s, struct ht_store_leaf *leaf, u32 i, bool keep)
{
	void *page;

	if (test(leaf->paged, i))
		return page_of(leaf, i);
	page = ht_store_unstock(s);
	if (keep) {
		memset(page, 0, HT_STORE_BLOCK);
		if (test(leaf->tagged, i))
			get_head(leaf, i, page);
	}
	empty(s, leaf, i);
	leaf->value[i] = (u64)(unsigned long)page;
	set(leaf->paged, i);
	s->paged++;
	return page;
}

static struct ht_store_leaf *make_leaf(struct ht_store *s, u64 index)
{
	if (!s->leaf[index]) {
		s->leaf[index] = ht_store_unstock(s);
		memset(s->leaf[index], 0, sizeof(struct ht_store_leaf));
	}
	return s->leaf[index];
}

void ht_store_reserve(struct ht_store *s, u64 block)
{
	make_page(s, make_leaf(s, block / HT_STORE_LEAF), block % HT_STORE_LEAF, true);
}

/* A block, or a part of one, that is not kept as a tag. */
static void write_block(struct ht_store *s, u64 block, u32 skip, const void *data, u32 length)
{
	struct ht_store_leaf *leaf = make_leaf(s, block / HT_STORE_LEAF);
	u32 i = block % HT_STORE_LEAF;
	char *page = make_page(s, leaf, i, length < HT_STORE_BLOCK);

	memcpy(page + skip, data, length);
}

/* Any part of any block, but not all of a tagged one. */
static void read_block(const struct ht_store *s, u64 block, u32 skip, void *data, u32 length)
{
	const struct ht_store_leaf *leaf = s->leaf[block / HT_STORE_LEAF];
	u32 i = block % HT_STORE_LEAF;
	char head[HT_STORE_HEAD];

	if (leaf && test(leaf->tagged, i)) {
		memset(data, 0, length);
		if (skip < HT_STORE_HEAD) {
			get_head(leaf, i, head);
			memcpy(data, head + skip, min_u32(length, HT_STORE_HEAD - skip));
		}
	} else if (leaf && test(leaf->paged, i)) {
		memcpy(data, (char *)page_of(leaf, i) + skip, length);
	} else {
		memset(data, 0, length);
	}
}

/* ---- ranges ------------------------------------------------------------------------------- */

static u32 within_block(u64 offset, u64 length)
{
	u64 left = HT_STORE_BLOCK - offset % HT_STORE_BLOCK;

	return length < left ? length : left;
}

/*
 * The lab's common case, many tagged blocks in a row: as many of them, from the first one on, as
 * lie in one leaf. Returns their bytes; the rest goes the general way.
 */
static u32 write_tagged(struct ht_store *s, u64 offset, const char *data, u32 length)
{
	u64 block = offset / HT_STORE_BLOCK;
	u32 i = block % HT_STORE_LEAF, done = 0;
	struct ht_store_leaf *leaf;

	if (!s->tags || offset % HT_STORE_BLOCK)
		return 0;
	leaf = make_leaf(s, block / HT_STORE_LEAF);
	while (i < HT_STORE_LEAF && length - done >= HT_STORE_BLOCK &&
	       !memcmp(data + done, HT_STORE_MARKER, 8)) {
		set_tag(s, leaf, i++, data + done);
		done += HT_STORE_BLOCK;
	}
	return done;
}

static u32 read_tagged(const struct ht_store *s, u64 offset, char *data, u32 length)
{
	u64 block = offset / HT_STORE_BLOCK;
	const struct ht_store_leaf *leaf = s->leaf[block / HT_STORE_LEAF];
	u32 i = block % HT_STORE_LEAF, done = 0;

	if (!leaf || offset % HT_STORE_BLOCK)
		return 0;
	while (i < HT_STORE_LEAF && length - done >= HT_STORE_BLOCK && test(leaf->tagged, i)) {
		get_head(leaf, i++, data + done);
		done += HT_STORE_BLOCK;
	}
	return done;
}

void ht_store_write(struct ht_store *s, u64 offset, const void *data, u32 length)
{
	const char *from = data;

	while (length) {
		u32 n = write_tagged(s, offset, from, length);

		if (!n) {
			n = within_block(offset, length);
			write_block(s, offset / HT_STORE_BLOCK, offset % HT_STORE_BLOCK, from, n);
		}
		offset += n;
		from += n;
		length -= n;
	}
}

void ht_store_read(const struct ht_store *s, u64 offset, void *data, u32 length)
{
	char *to = data;

	while (length) {
		u32 n = read_tagged(s, offset, to, length);

		if (!n) {
			n = within_block(offset, length);
			read_block(s, offset / HT_STORE_BLOCK, offset % HT_STORE_BLOCK, to, n);
		}
		offset += n;
		to += n;
		length -= n;
	}
}

/* Blocks [from, end) of one leaf; a leaf that becomes empty goes. */
static void erase_in_leaf(struct ht_store *s, u64 index, u32 from, u32 end)
{
	struct ht_store_leaf *leaf = s->leaf[index];
	u64 rest = 0;
	u32 i;

	for (i = from; i < end; i++)
		empty(s, leaf, i);
	for (i = 0; i < HT_STORE_WORDS; i++)
		rest |= leaf->tagged[i] | leaf->paged[i];
	if (!rest) {
		s->leaf[index] = NULL;
		s->put(leaf);
	}
}

static void erase_blocks(struct ht_store *s, u64 block, u64 end)
{
	while (block < end) {
		u64 index = block / HT_STORE_LEAF;
		u64 stop = (index + 1) * HT_STORE_LEAF;

		if (stop > end)
			stop = end;
		if (s->leaf[index])
			erase_in_leaf(s, index, block % HT_STORE_LEAF, stop - index * HT_STORE_LEAF);
		block = stop;
	}
}

static void zero_part(struct ht_store *s, u64 offset, u32 length)
{
	if (s->leaf[offset / HT_STORE_BLOCK / HT_STORE_LEAF])
		ht_store_write(s, offset, zeros, length);
}

void ht_store_erase(struct ht_store *s, u64 offset, u64 length)
{
	u64 end = offset + length, whole;
	u32 n = within_block(offset, length);

	if (n < HT_STORE_BLOCK && length) {
		zero_part(s, offset, n);
		offset += n;
	}
	whole = end / HT_STORE_BLOCK;
	if (offset / HT_STORE_BLOCK < whole)
		erase_blocks(s, offset / HT_STORE_BLOCK, whole);
	if (offset < end && end % HT_STORE_BLOCK)
		zero_part(s, whole * HT_STORE_BLOCK, end % HT_STORE_BLOCK);
}
