// SPDX-License-Identifier: GPL-2.0-only
#include "model.h"

#define SECTOR 512ULL
#define NS_PER_SECOND 1000000000ULL

static u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static u64 at_rate(u64 bytes, u64 rate)
{
	return (bytes * rate) >> HT_FLASH_RATE_SHIFT;
}

static u64 turn(const struct ht_flash *f, u64 die)
{
	return die + 1 == f->dies ? 0 : die + 1;
}

static u64 rate(u64 bytes_per_second, u64 stretch)
{
	return ((NS_PER_SECOND * stretch) << HT_FLASH_RATE_SHIFT) / bytes_per_second;
}

void ht_flash_init(struct ht_flash *f, const struct ht_flash_params *p, struct ht_flash_die *die)
{
	u64 stretch = p->scale * p->dilation;
	u64 i;

	memset(f, 0, sizeof(*f));
	f->dies = p->dies;
	f->stripe = p->stripe / p->scale;
	f->page = p->page / p->scale;
	f->block = p->block;
	f->iu = p->iu;
	f->buffer_pages = p->buffer / p->page;
	f->scale = p->scale;
	f->read_ns = p->read_ns * p->dilation;
	f->program_ns = p->program_ns * p->dilation;
	f->erase_ns = p->erase_ns * p->dilation;
	f->read_cmd_ns = p->read_cmd_ns * p->dilation;
	f->write_cmd_ns = p->write_cmd_ns * p->dilation;
	f->write_gap_ns = p->write_gap_ns * p->dilation;
	f->channel_rate = rate(p->channel_bps, stretch);
	f->read_rate = rate(p->read_bps, stretch);
	f->write_rate = rate(p->write_bps, stretch);
	f->page_gap_ns = at_rate(f->page, f->write_rate);
	f->plp = p->plp;
	f->die = die;
	for (i = 0; i < f->dies; i++)
		die[i].pages = i * f->block / f->dies; /* erases do not come all at once */
}

/* ---- draining the buffer ------------------------------------------------------------------ */

static void finish_programs(struct ht_flash *f, u64 now)
{
	u64 slot = f->done_slot, done = f->done;

	for (; done < f->started && f->die[slot].page_end <= now; done++)
		slot = turn(f, slot);
	f->done_slot = slot;
	f->done = done;
}

/* Returns when the die's page is programmed; the die may go on to erase. */
static u64 program(struct ht_flash *f, struct ht_flash_die *die, u64 start)
{
	u64 end = later(start, die->end) + f->program_ns;

	die->program_end = end;
	die->end = end;
	if (++die->pages >= f->block) {
		die->pages = 0;
		die->end += f->erase_ns;
		die->erase_end = die->end;
		f->counts.erases++;
	}
	return end;
}

/* The first in turn that is not erasing; the one in turn if all are. */
static u64 skip_erasing(const struct ht_flash *f, u64 first, u64 when)
{
	u64 index = first;

	while (f->die[index].erase_end > when) {
		index = turn(f, index);
		if (index == first)
			break;
	}
	return index;
}

/* Replay what the drain has done up to now. Every entry point comes here first. */
static void advance(struct ht_flash *f, u64 now)
{
	u64 when = later(f->head_ready, f->last_start + f->page_gap_ns);
	u64 index = f->next_die, slot = f->started_slot;
	u64 started = f->started, before = started;

	for (; started < f->arrived && when <= now; started++) {
		struct ht_flash_die *die = &f->die[index];
		u64 start;

		if (die->erase_end > when) {
			index = skip_erasing(f, index, when);
			die = &f->die[index];
		}
		start = later(when, later(die->program_end, die->erase_end));
		if (start > now)
			break;
		if (started - f->done == f->dies) {
			/* Makes room: this die's last page has ended, and so have all before it. */
			f->started = started;
			finish_programs(f, start);
		}
		f->die[slot].page_end = program(f, die, start);
		f->last_start = start;
		when = start + f->page_gap_ns;
		index = turn(f, index);
		slot = turn(f, slot);
	}
	f->counts.programs += started - before;
	f->started = started;
	f->started_slot = slot;
	f->next_die = index;
	finish_programs(f, now);
}

static void enter_buffer(struct ht_flash *f, u64 now, u64 bytes)
{
	u64 open = f->open_bytes + bytes;

	if (f->started == f->arrived)
		f->head_ready = now;
	f->arrived += open / f->page;
	f->open_bytes = open % f->page;
}

/* Nothing may stay behind in a page that is not full. */
static void close_page(struct ht_flash *f, u64 now)
{
	if (f->open_bytes) {
		f->counts.padded_bytes += f->page - f->open_bytes;
		enter_buffer(f, now, f->page - f->open_bytes);
	}
}

u64 ht_flash_buffered(struct ht_flash *f, u64 now)
{
	advance(f, now);
	return (f->arrived - f->done) * f->page + f->open_bytes;
}

/* A lower bound, after now, of when `pages` pages are done. */
static u64 expect_done(const struct ht_flash *f, u64 now, u64 pages)
{
	u64 oldest = f->die[f->done_slot].page_end;
	u64 left, when;

	if (pages <= f->started)
		return later(f->die[(f->done_slot + pages - 1 - f->done) % f->dies].page_end, oldest);
	left = pages - f->started;
	when = f->started - f->done == f->dies ? oldest : now;
	when += (left + f->dies - 1) / f->dies * f->program_ns;
	return later(when, f->last_start + left * f->page_gap_ns + f->program_ns);
}

bool ht_flash_done(struct ht_flash *f, u64 now, struct ht_flash_wait *wait)
{
	advance(f, now);
	if (f->done < wait->pages)
		wait->when = later(wait->when, expect_done(f, now, wait->pages));
	return wait->when <= now;
}

/* ---- reads -------------------------------------------------------------------------------- */

/* Addresses go round the dies stripe by stripe, each row from another die. */
static u64 die_of(const struct ht_flash *f, u64 stripe)
{
	u64 row = stripe / f->dies;

	return (stripe + ((row * 0x9e3779b97f4a7c15ULL) >> 40)) % f->dies;
}

/* Returns when the last die has sent its part to the controller. */
static u64 read_dies(struct ht_flash *f, u64 now, u64 offset, u64 length)
{
	u64 first = offset / f->stripe, skip = offset % f->stripe;
	u64 stripes = (skip + length + f->stripe - 1) / f->stripe;
	u64 short_tail = stripes * f->stripe - skip - length;
	u64 stripe_ns = at_rate(f->stripe, f->channel_rate);
	u64 each = stripes / f->dies, extra = stripes % f->dies;
	u64 last = (stripes - 1) % f->dies;
	u64 index = die_of(f, first), end = 0, waited = 0;
	u64 i, n = stripes < f->dies ? stripes : f->dies;

	for (i = 0; i < n; i++) {
		struct ht_flash_die *die = &f->die[index];
		u64 start = later(now, die->end);

		die->end = start + (each + (i < extra)) * (f->read_ns + stripe_ns);
		if (i == 0)
			die->end -= at_rate(skip, f->channel_rate);
		if (i == last)
			die->end -= at_rate(short_tail, f->channel_rate);
		if (die->end > end) {
			end = die->end;
			waited = start - now;
		}
		index = turn(f, index);
	}
	f->counts.die_wait_ns += waited;
	return end;
}

/* When the read bus could begin with a command that arrives now: its first die must have read. */
static u64 read_bus_start(const struct ht_flash *f, u64 now, u64 length)
{
	u64 first = length < f->stripe ? length : f->stripe;

	return later(f->read_bus_free, now + f->read_ns + at_rate(first, f->channel_rate));
}

void ht_flash_read(struct ht_flash *f, u64 now, u64 offset, u64 length,
		   struct ht_flash_wait *wait)
{
	u64 last = length < f->stripe ? length : f->stripe;
	u64 dies_end;

	advance(f, now);
	f->counts.reads++;
	f->counts.read_bytes += length;
	dies_end = read_dies(f, now, offset, length);
	f->read_bus_free = read_bus_start(f, now, length) + at_rate(length, f->read_rate);
	wait->when = f->read_cmd_ns +
		     later(f->read_bus_free, dies_end + at_rate(last, f->read_rate));
	wait->pages = 0;
}

u64 ht_flash_share(const struct ht_flash *a, const struct ht_flash *b, u64 now, u64 length)
{
	s64 head_start = (s64)(read_bus_start(b, now, length) + b->read_cmd_ns) -
			 (s64)(read_bus_start(a, now, length) + a->read_cmd_ns);
	s64 shares = head_start * (1LL << HT_FLASH_RATE_SHIFT) + (s64)(length * b->read_rate);
	s64 bytes = shares / (s64)(a->read_rate + b->read_rate);

	if (bytes <= 0)
		return 0;
	if ((u64)bytes >= length)
		return length;
	return (u64)bytes & ~(SECTOR - 1);
}

/* ---- writes ------------------------------------------------------------------------------- */

/* Oldest first; the ring is compact: parts [oldest, oldest + n) modulo its size. */
static struct ht_flash_part *part_at(struct ht_flash *f, u32 i)
{
	return &f->parts[(f->oldest_part + i) % HT_FLASH_PARTS];
}

static void remove_part(struct ht_flash *f, u32 i)
{
	for (; i > 0; i--)
		*part_at(f, i) = *part_at(f, i - 1);
	f->oldest_part = (f->oldest_part + 1) % HT_FLASH_PARTS;
	f->nparts--;
}

static u64 count_bits(u64 bits)
{
	u64 n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

static void read_modify_write(struct ht_flash *f, u64 now)
{
	struct ht_flash_part part = *part_at(f, 0);
	u64 missing = f->iu - count_bits(part.sectors) * SECTOR;
	u64 share = (missing + f->scale - 1) / f->scale;

	remove_part(f, 0);
	f->counts.rmw_units++;
	f->counts.rmw_bytes += missing;
	/* An IU does not scale: time is charged for what it is of a full-scale drive's work. */
	read_dies(f, now, part.unit * f->iu, share);
	enter_buffer(f, now, share);
}

static void write_part(struct ht_flash *f, u64 now, u64 unit, u64 from, u64 to)
{
	u64 count = (to - from) / SECTOR;
	u64 sectors = (count == 64 ? ~0ULL : (1ULL << count) - 1) << (from / SECTOR);
	u64 full = f->iu / SECTOR == 64 ? ~0ULL : (1ULL << (f->iu / SECTOR)) - 1;
	u32 i;

	for (i = 0; i < f->nparts; i++) {
		struct ht_flash_part *part = part_at(f, i);

		if (part->unit != unit)
			continue;
		part->sectors |= sectors;
		if (part->sectors == full)
			remove_part(f, i);
		return;
	}
	if (f->nparts == HT_FLASH_PARTS)
		read_modify_write(f, now);
	*part_at(f, f->nparts++) = (struct ht_flash_part){ .unit = unit, .sectors = sectors };
}

/* Units [first, end) are whole again, or nothing: their parts need no rest. */
static void forget_parts(struct ht_flash *f, u64 first, u64 end)
{
	u32 i = 0;

	while (i < f->nparts) {
		u64 unit = part_at(f, i)->unit;

		if (unit >= first && unit < end)
			remove_part(f, i);
		else
			i++;
	}
}

static void write_units(struct ht_flash *f, u64 now, u64 offset, u64 length)
{
	u64 end = offset + length;
	u64 first = offset / f->iu, last = end / f->iu;
	u64 head = offset % f->iu, tail = end % f->iu;

	if (first == last) {
		write_part(f, now, first, head, tail);
		return;
	}
	if (head)
		write_part(f, now, first++, head, f->iu);
	forget_parts(f, first, last);
	if (tail)
		write_part(f, now, last, 0, tail);
}

void ht_flash_write(struct ht_flash *f, u64 now, u64 offset, u64 length, bool fua,
		    struct ht_flash_wait *wait)
{
	u64 taken;

	advance(f, now);
	f->counts.writes++;
	f->counts.write_bytes += length;
	write_units(f, now, offset, length);
	enter_buffer(f, now, length);
	f->write_bus_free = later(f->write_bus_free, now) +
			    later(at_rate(length, f->write_rate), f->write_gap_ns);
	wait->when = f->write_bus_free + f->write_cmd_ns;
	if (fua && !f->plp) {
		close_page(f, now);
		wait->pages = f->arrived;
		return;
	}
	taken = f->arrived + !!f->open_bytes;
	wait->pages = taken > f->buffer_pages ? taken - f->buffer_pages : 0;
}

void ht_flash_flush(struct ht_flash *f, u64 now, struct ht_flash_wait *wait)
{
	advance(f, now);
	f->counts.flushes++;
	wait->when = now + f->write_cmd_ns;
	wait->pages = 0;
	if (f->plp)
		return;
	while (f->nparts)
		read_modify_write(f, now);
	close_page(f, now);
	wait->pages = f->arrived;
}

void ht_flash_discard(struct ht_flash *f, u64 now, u64 offset, u64 length,
		      struct ht_flash_wait *wait)
{
	advance(f, now);
	forget_parts(f, (offset + f->iu - 1) / f->iu, (offset + length) / f->iu);
	wait->when = now + f->write_cmd_ns;
	wait->pages = 0;
}
