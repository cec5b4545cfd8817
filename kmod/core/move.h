/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Transfers: what a destage or a fill does to its slot, as a numbered recipe. Every call needs
 * the lock of the extent's shard, except where it says so.
 *
 * Destage                                 Fill (promotion, FETCH)
 *  1 begin: freeze units and generation    1 begin: hash an empty slot in state FILL
 *  2 caller reads the pad from home        2 caller reads the range from home, serves the
 *    and the units from the slot; those      readers that joined
 *    that it cannot read stay there
 *  3 caller writes the others home, and    3 wanted: did no write overtake it? then
 *    the pad back                          4 caller writes the pages to the slot
 *  4 finish: if nothing moved meanwhile,
 *    they are clean in memory; the next    5 finish: the units become valid, or the slot goes
 *    commit flushes bulk and records it
 *
 * The pad is what an indirection unit of bulk has beside the units that go there: written together,
 * the drive need not read what is missing. Nobody else writes the home meanwhile, so the pad is as
 * good without, if it cannot be read.
 *
 * Write-through is a fill whose step 2 takes the data from the writer and writes it home.
 *
 * A trim discards the home of a slot that discards have emptied. It has to wait until no record
 * claims what was dropped (R3): until then the slot is in state TRIM, and a write to the extent
 * ends that. When the record's end is durable the slot goes to state DESTAGE by itself, and the
 * caller learns HT_ACT_TRIM:
 *
 *  1 caller discards the home
 *  2 finish: the slot goes, unless it was written meanwhile
 *
 * While a slot is in state DESTAGE it serves reads and takes writes (a write only moves the
 * generation), but nothing else writes its home. While it is in state FILL it serves nobody;
 * a write cancels the fill and waits for its end.
 */
#ifndef HT_CORE_MOVE_H
#define HT_CORE_MOVE_H

#include "types.h"

HT_CORE_BEGIN

struct ht_move {
	u32 slot;
	u32 extent;
	u32 gen;                      /* generation that was frozen */
	u32 count;                    /* units to move */
	u32 unread;                   /* units left out of them: fast cannot read them */
	bool bad;                     /* the medium failed in the slot: set by the caller */
	u32 padding;                  /* units of the pad */
	u16 units[HT_UNITS_MAX / 16]; /* which ones */
	u16 pad[HT_UNITS_MAX / 16];
};

/*
 * False if there is nothing dirty, or it is busy: its home is being written or discarded, or it
 * moves. This and ht_fill_begin() need the lock of the holds as well.
 */
bool ht_destage_begin(struct ht_map *map, struct ht_shard *shard, u32 slot, struct ht_move *ret);
/* A slot that is stuck may be destaged again: its medium may have come back. Returns HT_ACT_*. */
u32 ht_destage_retry(struct ht_map *map, u32 slot);
/*
 * HT_ACT_*; *ret_clean tells whether the units count as clean now. A slot that is bad, or whose
 * owner said DONE, forgets them then.
 */
u32 ht_destage_finish(struct ht_map *map, const struct ht_move *move, bool ok, bool *ret_clean);

/*
 * A free slot for units [from, to) of an extent without one. False if the extent has a slot or
 * an entry in the lost map, or its home is being written just now.
 */
bool ht_fill_begin(struct ht_map *map, struct ht_shard *shard, u32 slot, u32 extent, u32 from,
		   u32 to, struct ht_move *ret);
/* Still wanted? Else the slot must not be written. */
bool ht_fill_wanted(const struct ht_map *map, const struct ht_move *move);
/* HT_ACT_*; *ret_valid tells whether the slot serves reads now. */
u32 ht_fill_finish(struct ht_map *map, const struct ht_move *move, bool ok, bool *ret_valid);

/* Destage, step 2: this unit cannot be read; it stays where it is. */
void ht_move_leave(struct ht_move *move, u32 unit);

/* HT_ACT_*. */
u32 ht_trim_finish(struct ht_map *map, u32 slot);

/* Destage, step 2: the pad cannot be read. */
void ht_move_unpad(struct ht_move *move);

/* What a run is of. */
enum ht_move_part {
	HT_MOVE_UNITS,
	HT_MOVE_PAD,
	HT_MOVE_HOME,           /* both: what is written home */
};

/* Next run of units at or after *unit: [*unit, *end). False when there is none. */
bool ht_move_run(const struct ht_geometry *geo, const struct ht_move *move, enum ht_move_part part,
		 u32 *unit, u32 *end);

HT_CORE_END

#endif
