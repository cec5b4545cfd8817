/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Streams: who reads in order, and what to read ahead for them.
 *
 * A stream is found (requests that continue each other) or told (SEQUENCE: ranges in the order in
 * which they will be read). Its `ahead` runs in front of its reader by at most a window of units
 * that have been read ahead and not read yet; so it follows the reader's pace, and stops when the
 * reader does. Windows begin small, grow by what is read, shrink by what was not, and share the
 * stage evenly.
 *
 * Every call needs the lock of the streams. Times are in ticks of any clock; sectors are the
 * tier's.
 */
#ifndef HT_CORE_STREAM_H
#define HT_CORE_STREAM_H

#include "types.h"

HT_CORE_BEGIN

#define HT_STREAMS 64
#define HT_RANGES 32768         /* of all told streams together */
#define HT_WINDOW_MIN 128       /* units: 512 KiB */
#define HT_WINDOW_MAX 4096      /* 16 MiB */

enum ht_stream_kind {
	HT_STREAM_FREE = 0,
	HT_STREAM_GUESS,        /* something was read; what continues it makes it a stream */
	HT_STREAM_FOUND,
	HT_STREAM_TOLD,
};

/* Sectors that a told stream will read, whole units. */
struct ht_range {
	u64 from;
	u64 to;
	u32 next;               /* the one that is read after it, or next free one */
};

struct ht_stream {
	u64 first;              /* GUESS: where it began */
	u64 next;               /* where its reader goes on, if it does */
	u64 ahead;              /* next sector to read ahead */
	u64 end;                /* of what there is to read ahead without another range */
	u64 cookie;             /* TOLD: the teller's name for it */
	u64 owner;              /* TOLD: who told */
	u32 number;             /* never used twice in a row for one place in the table */
	u32 used;               /* time of the newest read */
	u32 turn;               /* GUESS: number of the newest read */
	u32 out;                /* units read ahead and not read yet */
	u32 window;             /* units */
	u32 most;               /* units: its window grows no further */
	u32 here;               /* TOLD: range that its reader was last seen in */
	u32 there;              /* TOLD: range that `ahead` is in */
	u32 last;               /* TOLD */
	u32 serial;             /* of the newest piece */
	u32 reached;            /* serial of the newest piece that was read */
	u16 run;                /* GUESS: requests that continue each other */
	u16 inflight;           /* its reads that devices have */
	u16 source;
	u8 kind;                /* enum ht_stream_kind */
};

struct ht_streams {
	struct ht_stream stream[HT_STREAMS];
	struct ht_range *ranges; /* [HT_RANGES], or NULL as long as nothing was told */
	u32 free;               /* first free range */
	u32 active;             /* found and told streams */
	u32 reads;              /* that devices had to answer */
	u32 turn;               /* whose the next piece is */
	u32 limit;              /* units of the stage */
	u32 extent_shift;       /* log2 of sectors */
	u64 sectors;            /* of the tier */
};

/* What to read ahead: units [from, to) of an extent. */
struct ht_piece {
	u32 stream;
	u32 number;
	u32 serial;
	u32 extent;
	u32 from;
	u32 to;
};

/* Gives room for what is told; HT_RANGES of them. */
void ht_streams_room(struct ht_streams *all, struct ht_range *ranges);
/* Forgets all streams, but not the room. */
void ht_streams_init(struct ht_streams *all, u32 extent_shift, u64 sectors, u32 limit);

/* What a read that a device has to answer is to streams. */
struct ht_course {
	u32 stream;             /* HT_NIL: there are too many */
	u32 number;
	bool more;              /* it is in a stream's course: more will come, each sector once */
	bool kick;              /* ht_streams_next() has something now */
};

/* Sectors [from, to) are read from a device, until ht_streams_landed(). */
void ht_streams_read(struct ht_streams *all, u64 from, u64 to, u32 now, struct ht_course *ret);
void ht_streams_landed(struct ht_streams *all, u32 stream, u32 number);

/*
 * A piece was read up to sector `to`: its stream is alive. True if there is enough to read ahead
 * again that it is worth the while.
 */
bool ht_streams_hit(struct ht_streams *all, const struct ht_piece *piece, u64 to, u32 now);

/* Next piece to read ahead; its units are out until ht_streams_gone(). False if there is none. */
bool ht_streams_next(struct ht_streams *all, struct ht_piece *ret);

enum ht_gone {
	HT_GONE_READ,           /* to its last unit */
	HT_GONE_UNREAD,
	HT_GONE_NOT_HAD,        /* it could not be read ahead */
};

/* A piece is not out any more. */
void ht_streams_gone(struct ht_streams *all, const struct ht_piece *piece, enum ht_gone how);

/* The reader has left the piece behind. */
bool ht_streams_passed(const struct ht_streams *all, const struct ht_piece *piece);

/* Is the piece still a stream's? */
bool ht_streams_owns(const struct ht_streams *all, const struct ht_piece *piece);

/*
 * Sectors [from, to) will be read next, behind what the same owner told under this cookie before.
 * `window` in units, 0: the default. -ENOSPC: no room; -EINVAL: not whole units.
 */
int ht_streams_tell(struct ht_streams *all, u64 owner, u64 cookie, u16 source, u64 from, u64 to,
		    u32 window, u32 now);

/* Ends what this owner told under this cookie, if anything. */
void ht_streams_untell(struct ht_streams *all, u64 owner, u64 cookie);

/* Ends what this owner told, or with 0 what was not read for so long. True if anything ended. */
bool ht_streams_end(struct ht_streams *all, u64 owner, u32 now, u32 found_for, u32 told_for);

HT_CORE_END

#endif
