// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams. See stream.h.
 *
 * Reads that continue each other may arrive a little out of order (a reader with some threads, a
 * file system that reads its map in between) and may skip what a page cache has: a stream takes
 * what lies up to SKIP ahead of it. A guess takes only its exact continuation.
 *
 * A reader that has several requests in flight keeps the device busy by itself: its reads are no
 * guess's proof. That one is that a read continues it when none of its own is in flight. So the
 * parts of one large request make no stream either.
 */
#include "stream.h"

#define SKIP 1024               /* sectors: 512 KiB */
#define RUN_SECTORS 256         /* this much in a row makes a stream, */
#define RUN_REQUESTS 4          /* or so many requests */
#define RANGES_AHEAD 16         /* of a told stream that a read is looked for in */
#define BEHIND 8                /* pieces that a reader may go back by */

void ht_streams_room(struct ht_streams *all, struct ht_range *ranges)
{
	all->ranges = ranges;
	all->free = HT_NIL;
	for (u32 i = HT_RANGES; ranges && i--;) {
		ranges[i].next = all->free;
		all->free = i;
	}
}

void ht_streams_init(struct ht_streams *all, u32 extent_shift, u64 sectors, u32 limit)
{
	struct ht_range *ranges = all->ranges;

	memset(all, 0, sizeof(*all));
	all->extent_shift = extent_shift;
	all->sectors = sectors;
	all->limit = limit;
	ht_streams_room(all, ranges);
}

static bool is_active(const struct ht_stream *s)
{
	return s->kind == HT_STREAM_FOUND || s->kind == HT_STREAM_TOLD;
}

static void free_range(struct ht_streams *all, u32 range)
{
	all->ranges[range].next = all->free;
	all->free = range;
}

static void end_stream(struct ht_streams *all, struct ht_stream *s)
{
	if (is_active(s))
		all->active--;
	for (u32 range = s->kind == HT_STREAM_TOLD ? s->here : HT_NIL, next; range != HT_NIL;
	     range = next) {
		next = all->ranges[range].next;
		free_range(all, range);
	}
	s->kind = HT_STREAM_FREE;
	s->number++;
}

/* A place for another one: a free one, else the guess that is oldest. NULL if all are streams. */
static struct ht_stream *new_stream(struct ht_streams *all, u32 now)
{
	struct ht_stream *oldest = NULL;
	u32 number;

	for (u32 i = 0; i < HT_STREAMS; i++) {
		struct ht_stream *s = &all->stream[i];

		if (is_active(s))
			continue;
		if (!oldest || s->kind == HT_STREAM_FREE ||
		    all->reads - s->turn > all->reads - oldest->turn)
			oldest = s;
		if (s->kind == HT_STREAM_FREE)
			break;
	}
	if (!oldest)
		return NULL;
	number = oldest->number + 1;
	memset(oldest, 0, sizeof(*oldest));
	oldest->number = number;
	oldest->used = now;
	oldest->turn = all->reads;
	return oldest;
}

/* Units that a stream may have out. */
static u32 allowance(const struct ht_streams *all, const struct ht_stream *s)
{
	u32 share = all->limit / all->active;

	return s->window < share ? s->window : share;
}

static bool wants_more(const struct ht_streams *all, const struct ht_stream *s)
{
	u32 allowed, step = 1U << (all->extent_shift - HT_UNIT_SECTOR_SHIFT);

	if (s->ahead >= s->end && (s->kind != HT_STREAM_TOLD ||
				   all->ranges[s->there].next == HT_NIL))
		return false;
	allowed = allowance(all, s);
	/* Not piece by piece: whoever does it is woken for that. */
	if (step < allowed / 8)
		step = allowed / 8;
	return s->out + step <= allowed || !s->out;
}

/* ---- reads ---------------------------------------------------------------------------------- */

static u64 round_up_unit(u64 sector)
{
	return (sector + HT_UNIT_SECTORS - 1) / HT_UNIT_SECTORS * HT_UNIT_SECTORS;
}

/* What the reader has had need not be read ahead. */
static void catch_up(struct ht_stream *s, u64 to)
{
	to = round_up_unit(to);
	if (s->ahead < to)
		s->ahead = to < s->end ? to : s->end;
}

/* The range, from where the reader was on, that a sector lies in; HT_NIL if it is none of the next. */
static u32 find_range(const struct ht_streams *all, const struct ht_stream *s, u64 sector,
		      bool *ret_passed)
{
	u32 range = s->here;

	*ret_passed = false;
	for (u32 i = 0; i < RANGES_AHEAD && range != HT_NIL; i++) {
		if (sector >= all->ranges[range].from && sector < all->ranges[range].to)
			return range;
		if (range == s->there)
			*ret_passed = true;
		range = all->ranges[range].next;
	}
	return HT_NIL;
}

/* The reader of a told stream is in this range: those before it are done with. */
static void advance_reader(struct ht_streams *all, struct ht_stream *s, u32 range)
{
	while (s->here != range) {
		u32 next = all->ranges[s->here].next;

		if (s->here == s->there) {
			s->there = next;
			s->ahead = all->ranges[next].from;
			s->end = all->ranges[next].to;
		}
		free_range(all, s->here);
		s->here = next;
	}
}

static bool read_told(struct ht_streams *all, struct ht_stream *s, u64 from, u64 to)
{
	bool passed;
	u32 range = find_range(all, s, from, &passed);

	if (range == HT_NIL)
		return false;
	advance_reader(all, s, range);
	if (range == s->there)
		catch_up(s, to);
	return true;
}

static bool in_course(struct ht_streams *all, struct ht_stream *s, u64 from, u64 to)
{
	u64 front = s->ahead > s->next ? s->ahead : s->next;

	if (s->kind == HT_STREAM_TOLD)
		return read_told(all, s, from, to);
	/* Or what is left of a request of which a part went elsewhere. */
	if (s->kind == HT_STREAM_GUESS)
		return from == s->next || (from > s->first && to == s->next);
	if (s->kind == HT_STREAM_FREE || from + SKIP < s->next || from > front + SKIP)
		return false;
	catch_up(s, to);
	return true;
}

/* The stream that a read belongs to, the one it continues before others; NULL if it is in none. */
static struct ht_stream *find_stream(struct ht_streams *all, u64 from, u64 to)
{
	struct ht_stream *end = all->stream + HT_STREAMS;

	for (struct ht_stream *s = all->stream; s < end; s++)
		if (s->next == from && in_course(all, s, from, to))
			return s;
	for (struct ht_stream *s = all->stream; s < end; s++)
		if (in_course(all, s, from, to))
			return s;
	return NULL;
}

static void found(struct ht_streams *all, struct ht_stream *s, u64 from, u64 to)
{
	u32 window = (u32)((to - from) / HT_UNIT_SECTORS * 4);

	s->kind = HT_STREAM_FOUND;
	s->ahead = round_up_unit(to);
	s->end = all->sectors;
	s->most = HT_WINDOW_MAX;
	s->window = window < HT_WINDOW_MIN ? HT_WINDOW_MIN : window > s->most ? s->most : window;
	all->active++;
}

static void guess(struct ht_streams *all, u64 from, u64 to, u32 now, struct ht_course *ret)
{
	struct ht_stream *s = new_stream(all, now);

	if (!s)
		return;
	s->kind = HT_STREAM_GUESS;
	s->first = from;
	s->next = to;
	s->run = 1;
	s->inflight = 1;
	ret->stream = (u32)(s - all->stream);
	ret->number = s->number;
}

/* Enough in a row to be no accident. */
static bool is_run(const struct ht_stream *s)
{
	return s->next - s->first >= RUN_SECTORS || s->run >= RUN_REQUESTS;
}

void ht_streams_read(struct ht_streams *all, u64 from, u64 to, u32 now, struct ht_course *ret)
{
	struct ht_stream *s = find_stream(all, from, to);
	bool alone;

	memset(ret, 0, sizeof(*ret));
	ret->stream = HT_NIL;
	all->reads++;
	if (!s) {
		guess(all, from, to, now, ret);
		return;
	}
	ret->stream = (u32)(s - all->stream);
	ret->number = s->number;
	alone = !s->inflight++;
	s->used = now;
	s->turn = all->reads;
	if (s->kind == HT_STREAM_GUESS) {
		s->run += s->run < RUN_REQUESTS && to > s->next;
		alone &= to > s->next;
		if (to > s->next)
			s->next = to;
		ret->more = is_run(s);
		if (!alone || !ret->more)
			return;
		found(all, s, from, to);
	} else if (to > s->next) {
		s->next = to;
	}
	ret->more = true;
	ret->kick = wants_more(all, s);
}

void ht_streams_landed(struct ht_streams *all, u32 stream, u32 number)
{
	if (stream != HT_NIL && all->stream[stream].number == number)
		all->stream[stream].inflight--;
}

bool ht_streams_owns(const struct ht_streams *all, const struct ht_piece *piece)
{
	const struct ht_stream *s = &all->stream[piece->stream];

	return s->number == piece->number && is_active(s);
}

bool ht_streams_hit(struct ht_streams *all, const struct ht_piece *piece, u64 to, u32 now)
{
	struct ht_stream *s = &all->stream[piece->stream];
	bool passed;
	u32 range;

	if (!ht_streams_owns(all, piece))
		return false;
	s->used = now;
	if ((int)(piece->serial - s->reached) > 0)
		s->reached = piece->serial;
	if (s->kind == HT_STREAM_TOLD) {
		range = find_range(all, s, to - 1, &passed);
		if (range != HT_NIL && !passed)
			advance_reader(all, s, range);
	} else if (to > s->next) {
		s->next = to;
	}
	return wants_more(all, s);
}

/* ---- reading ahead -------------------------------------------------------------------------- */

static bool next_range(struct ht_streams *all, struct ht_stream *s)
{
	u32 next;

	if (s->ahead < s->end)
		return true;
	if (s->kind != HT_STREAM_TOLD)
		return false;
	next = all->ranges[s->there].next;
	if (next == HT_NIL)
		return false;
	s->there = next;
	s->ahead = all->ranges[next].from;
	s->end = all->ranges[next].to;
	return true;
}

bool ht_streams_next(struct ht_streams *all, struct ht_piece *ret)
{
	const u64 whole = 1ULL << all->extent_shift;

	for (u32 i = 0; i < HT_STREAMS; i++) {
		u32 nth = (all->turn + i) % HT_STREAMS;
		struct ht_stream *s = &all->stream[nth];
		u32 in, units;

		if (!is_active(s) || !next_range(all, s))
			continue;
		in = (u32)(s->ahead & (whole - 1));
		units = (u32)((s->end - s->ahead < whole - in ? s->end - s->ahead : whole - in) /
			      HT_UNIT_SECTORS);
		if (s->out && s->out + units > allowance(all, s))
			continue;
		ret->stream = nth;
		ret->number = s->number;
		ret->serial = ++s->serial;
		ret->extent = (u32)(s->ahead >> all->extent_shift);
		ret->from = in / HT_UNIT_SECTORS;
		ret->to = ret->from + units;
		s->out += units;
		s->ahead += units * HT_UNIT_SECTORS;
		/* One after the other, but several in a row: neighbours make better requests. */
		all->turn = nth + !(s->serial % 8);
		return true;
	}
	return false;
}

void ht_streams_gone(struct ht_streams *all, const struct ht_piece *piece, enum ht_gone how)
{
	struct ht_stream *s = &all->stream[piece->stream];
	u32 units = piece->to - piece->from;
	u32 least = s->most < HT_WINDOW_MIN ? s->most : HT_WINDOW_MIN;

	if (!ht_streams_owns(all, piece))
		return;
	s->out -= units;
	if (how == HT_GONE_READ)
		s->window += units;
	else if (how == HT_GONE_UNREAD)
		s->window -= s->window / 4;
	if (s->window > s->most)
		s->window = s->most;
	if (s->window < least)
		s->window = least;
}

bool ht_streams_passed(const struct ht_streams *all, const struct ht_piece *piece)
{
	const struct ht_stream *s = &all->stream[piece->stream];

	return !ht_streams_owns(all, piece) || (int)(s->reached - piece->serial) > BEHIND;
}

/* ---- told ----------------------------------------------------------------------------------- */

static struct ht_stream *find_told(struct ht_streams *all, u64 owner, u64 cookie)
{
	for (struct ht_stream *s = all->stream; s < all->stream + HT_STREAMS; s++)
		if (s->kind == HT_STREAM_TOLD && s->owner == owner && s->cookie == cookie)
			return s;
	return NULL;
}

int ht_streams_tell(struct ht_streams *all, u64 owner, u64 cookie, u16 source, u64 from, u64 to,
		    u32 window, u32 now)
{
	struct ht_stream *s = find_told(all, owner, cookie);
	u32 range = all->free;

	if (from >= to || from % HT_UNIT_SECTORS || to % HT_UNIT_SECTORS || to > all->sectors)
		return -EINVAL;
	if (range == HT_NIL)
		return -ENOSPC;
	if (s && all->ranges[s->last].to == from) {
		all->ranges[s->last].to = to;
		if (s->there == s->last)
			s->end = to;
		s->used = now;
		return 0;
	}
	if (!s && all->active >= HT_STREAMS - HT_STREAMS / 4)
		return -ENOSPC;
	all->free = all->ranges[range].next;
	all->ranges[range] = (struct ht_range){ .from = from, .to = to, .next = HT_NIL };
	if (s) {
		all->ranges[s->last].next = range;
		s->last = range;
		s->used = now;
		return 0;
	}

	s = new_stream(all, now);
	s->kind = HT_STREAM_TOLD;
	s->owner = owner;
	s->cookie = cookie;
	s->source = source;
	s->next = from;
	s->ahead = from;
	s->end = to;
	s->most = window && window < HT_WINDOW_MAX ? window : HT_WINDOW_MAX;
	/* What is told needs no probing. */
	s->window = s->most < HT_WINDOW_MAX / 4 ? s->most : HT_WINDOW_MAX / 4;
	s->here = range;
	s->there = range;
	s->last = range;
	all->active++;
	return 0;
}

void ht_streams_untell(struct ht_streams *all, u64 owner, u64 cookie)
{
	struct ht_stream *s = find_told(all, owner, cookie);

	if (s)
		end_stream(all, s);
}

bool ht_streams_end(struct ht_streams *all, u64 owner, u32 now, u32 found_for, u32 told_for)
{
	bool any = false;

	for (struct ht_stream *s = all->stream; s < all->stream + HT_STREAMS; s++) {
		u32 idle = now - s->used;

		if (!is_active(s))
			continue;
		if (owner ? s->kind == HT_STREAM_TOLD && s->owner == owner :
			    idle > (s->kind == HT_STREAM_TOLD ? told_for : found_for)) {
			end_stream(all, s);
			any = true;
		}
	}
	return any;
}
