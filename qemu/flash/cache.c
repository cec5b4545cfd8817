// SPDX-License-Identifier: GPL-2.0-only
#include "cache.h"

#define SECTOR 512U
#define SECTORS (HT_STORE_BLOCK / SECTOR)

u64 ht_cache_need(u64 bytes)
{
	/* A line's page, and the page on the media that it will need some day. */
	return 2 * ht_store_need(bytes);
}

/* xorshift64*: the upper bits are good. */
static u32 random_byte(u64 *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (u32)((*state * 0x2545f4914f6cdd1dULL) >> 56);
}

static struct ht_cache_line *line_of(const struct ht_cache *c, u64 block)
{
	return c->index[block] ? &c->line[c->index[block] - 1] : NULL;
}

/* Sectors of the block that [from, to), bytes in the block, touches. */
static u32 mask_of(u32 from, u32 to)
{
	return ((1U << (to / SECTOR)) - 1) & ~((1U << (from / SECTOR)) - 1);
}

/* ---- lines -------------------------------------------------------------------------------- */

static void clean(struct ht_cache_line *line, u32 sectors)
{
	line->dirty &= ~sectors;
	line->flying &= line->dirty;
	line->covered &= line->dirty;
}

static void put_on_media(struct ht_cache *c, struct ht_cache_line *line, u32 sectors)
{
	u32 i;

	for (i = 0; i < SECTORS; i++)
		if (sectors >> i & 1)
			ht_store_write(c->media, line->block * HT_STORE_BLOCK + i * SECTOR,
				       line->page + i * SECTOR, SECTOR);
	clean(line, sectors);
}

/* The last line takes its place. */
static void drop(struct ht_cache *c, struct ht_cache_line *line)
{
	struct ht_cache_line *last = &c->line[--c->lines];

	ht_store_stock(c->media, line->page);
	c->index[line->block] = 0;
	if (line != last) {
		*line = *last;
		c->index[line->block] = (u32)(line - c->line) + 1;
	}
}

static void make_room(struct ht_cache *c)
{
	struct ht_cache_line *line;
	u32 pick = random_byte(&c->random);

	pick = pick << 8 | random_byte(&c->random);
	line = &c->line[pick % c->lines];
	put_on_media(c, line, line->dirty);
	drop(c, line);
}

/* The media's page for the block is there from now on: cleaning a line needs no memory. */
static struct ht_cache_line *make_line(struct ht_cache *c, u64 block)
{
	struct ht_cache_line *line = line_of(c, block);

	if (line)
		return line;
	if (c->lines == c->capacity)
		make_room(c);
	ht_store_reserve(c->media, block);
	line = &c->line[c->lines++];
	c->index[block] = c->lines;
	*line = (struct ht_cache_line){ .block = block, .page = ht_store_unstock(c->media) };
	return line;
}

/* ---- submitted ---------------------------------------------------------------------------- */

static void write_sectors(struct ht_cache *c, u64 block, u32 from, u32 to, const char *data)
{
	struct ht_cache_line *line = make_line(c, block);
	u32 mask = mask_of(from, to), old = line->dirty & mask;

	/* What a flush has been promised goes at once; the other versions by the coin. */
	if (old) {
		put_on_media(c, line, line->covered & mask);
		if (random_byte(&c->random) & 1)
			put_on_media(c, line, line->dirty & mask);
	}
	/*
	 * A version that was acknowledged and is gone for this one: the next flush covers this one
	 * in its place.
	 */
	line->flying |= mask & ~(line->dirty & ~line->flying);
	line->dirty |= mask;
	if (data)
		memcpy(line->page + from, data, to - from);
	else
		memset(line->page + from, 0, to - from);
}

void ht_cache_write(struct ht_cache *c, u64 offset, const void *data, u32 length)
{
	const char *next = data;

	while (length) {
		u32 from = offset % HT_STORE_BLOCK;
		u32 n = HT_STORE_BLOCK - from < length ? HT_STORE_BLOCK - from : length;

		write_sectors(c, offset / HT_STORE_BLOCK, from, from + n, next);
		next = next ? next + n : NULL;
		offset += n;
		length -= n;
	}
}

static void forget(struct ht_cache *c, u64 offset, u64 length)
{
	u64 end = offset + length, start;
	u32 i = 0;

	while (i < c->lines) {
		struct ht_cache_line *line = &c->line[i];

		start = line->block * HT_STORE_BLOCK;
		if (start < end && start + HT_STORE_BLOCK > offset)
			clean(line, mask_of(start < offset ? (u32)(offset - start) : 0,
					    start + HT_STORE_BLOCK > end ? (u32)(end - start) :
									   HT_STORE_BLOCK));
		if (line->dirty)
			i++;
		else
			drop(c, line);
	}
}

void ht_cache_erase(struct ht_cache *c, u64 offset, u64 length)
{
	if (length <= HT_CACHE_ERASE) {
		ht_cache_write(c, offset, NULL, (u32)length);
		return;
	}
	forget(c, offset, length);
	ht_store_erase(c->media, offset, length);
}

void ht_cache_flush(struct ht_cache *c)
{
	u32 i;

	for (i = 0; i < c->lines; i++)
		c->line[i].covered |= c->line[i].dirty & ~c->line[i].flying;
}

/* ---- acknowledged ------------------------------------------------------------------------- */

void ht_cache_flushed(struct ht_cache *c)
{
	u32 i = 0;

	while (i < c->lines) {
		struct ht_cache_line *line = &c->line[i];

		put_on_media(c, line, line->covered);
		if (line->dirty)
			i++;
		else
			drop(c, line);
	}
}

void ht_cache_written(struct ht_cache *c, u64 offset, u64 length, bool durable)
{
	u64 end = offset + length, at = offset;

	while (at < end) {
		struct ht_cache_line *line = line_of(c, at / HT_STORE_BLOCK);
		u64 next = (at / HT_STORE_BLOCK + 1) * HT_STORE_BLOCK;
		u32 mask;

		if (next > end)
			next = end;
		if (line) {
			mask = mask_of(at % HT_STORE_BLOCK,
				       (u32)(next - at / HT_STORE_BLOCK * HT_STORE_BLOCK));
			line->flying &= ~mask;
			if (durable || c->write_through)
				put_on_media(c, line, line->dirty & mask);
			if (!line->dirty)
				drop(c, line);
		}
		at = next;
	}
}

/* ---- reads and cuts ----------------------------------------------------------------------- */

static void overlay(const struct ht_cache_line *line, u32 from, u32 to, char *data)
{
	u32 at, next;

	for (at = from; at < to; at = next) {
		next = (at / SECTOR + 1) * SECTOR;
		if (next > to)
			next = to;
		if (line->dirty >> (at / SECTOR) & 1)
			memcpy(data + (at - from), line->page + at, next - at);
	}
}

void ht_cache_read(const struct ht_cache *c, u64 offset, void *data, u32 length)
{
	char *to = data;

	ht_store_read(c->media, offset, data, length);
	while (length) {
		u32 from = offset % HT_STORE_BLOCK;
		u32 n = HT_STORE_BLOCK - from < length ? HT_STORE_BLOCK - from : length;
		const struct ht_cache_line *line = line_of(c, offset / HT_STORE_BLOCK);

		if (line)
			overlay(line, from, from + n, to);
		to += n;
		offset += n;
		length -= n;
	}
}

static u32 count_bits(u32 bits)
{
	u32 n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

/*
 * Cuts differ in how much they lose, from all to nothing, and in whether lines tear. All of this
 * comes from the seed, so that two devices that are cut at one instant lose independently.
 */
void ht_cache_cut(struct ht_cache *c, u64 seed)
{
	static const u32 odds[] = { 0, 16, 128, 240, 256, 128, 64, 192 };
	u64 state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	u32 keep = odds[random_byte(&state) % 8];
	bool tear = random_byte(&state) & 1;

	c->cuts++;
	while (c->lines) {
		struct ht_cache_line *line = &c->line[c->lines - 1];
		u32 kept = random_byte(&state) < keep ? ~0U : 0, i;

		for (i = 0; i < SECTORS && tear; i++)
			kept = (kept & ~(1U << i)) | (random_byte(&state) < keep) << i;
		kept &= line->dirty;
		c->kept += count_bits(kept);
		c->lost += count_bits(line->dirty & ~kept);
		put_on_media(c, line, kept);
		drop(c, line);
	}
	c->random = state;
}
