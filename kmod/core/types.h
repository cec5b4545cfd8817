/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words of core: geometry, slots and the table that holds them.
 *
 * An extent is a fixed, aligned range of the tier; its home is its place on the bulk device. A
 * slot is a place for one extent on the fast device. A unit is 4 KiB, the granule of valid and
 * dirty. Sectors are 512 bytes.
 *
 * Who may touch what (the caller's locks, see kmod/hintier.h for their order):
 *   shard lock   the chain through `next`, extent, state, flags, counts, bits of every slot that
 *                is hashed there; a slot that is not hashed belongs to whoever took it off a list
 *   engine lock  prev, link, list, used of every slot
 */
#ifndef HT_CORE_TYPES_H
#define HT_CORE_TYPES_H

#include "env.h"

#include <hintier/types.h>

#define HT_SECTOR_SHIFT 9
#define HT_UNIT_SECTOR_SHIFT 3
#define HT_UNIT_SECTORS (1U << HT_UNIT_SECTOR_SHIFT)
#define HT_UNITS_MAX 256
#define HT_NIL 0xffffffffU /* no slot, no extent */

/* What the devices' headers fix for ever. */
struct ht_geometry {
	u32 extent_shift;  /* log2 of the extent's sectors: 7 (64 KiB) to 11 (1 MiB) */
	u32 units;         /* units of an extent */
	u32 words;         /* 16-bit words of a bitmap over them */
	u32 slots;         /* of the fast device */
	u32 extents;       /* of the tier */
	u32 per_sector;    /* records in a metadata sector */
	u32 meta_sectors;  /* metadata sectors that hold records */
	u32 lost_per_sector; /* entries of the lost map in a metadata sector */
	u32 lost_sectors;  /* metadata sectors that hold the lost map; 0: the pair has none */
	u64 meta_start;    /* sector of the first record on fast */
	u64 lost_start;    /* sector of the lost map on fast */
	u64 slot_start;    /* sector of slot 0 on fast */
	u64 home_start;    /* sector of extent 0 on bulk */
};

enum ht_slot_state {
	HT_SLOT_FREE = 0,  /* not hashed */
	HT_SLOT_LIVE,      /* hashed; its units tell what it holds, possibly nothing */
	HT_SLOT_DESTAGE,   /* live, and dirty units are on their way home */
	HT_SLOT_FILL,      /* hashed, and still empty: units are on their way from home */
	HT_SLOT_TRIM,      /* hashed, emptied by a discard: its home is trimmed when no record
			    * claims it any more, see move.h
			    */
	HT_SLOT_STUCK,     /* live, and fast cannot read some dirty units: no destage until a write */
	HT_SLOT_BAD,       /* retired: the medium failed there; not hashed */
};

/* Slot flags. The record is what the metadata on fast says about the slot. */
#define HT_F_RECORDED (1U << 0) /* the newest submitted record is not free */
#define HT_F_CHANGED (1U << 1)  /* differs from the newest submitted record */
#define HT_F_STALE (1U << 2)    /* a record may claim units that have been dropped since */
#define HT_F_FETCHED (1U << 3)  /* brought by a FETCH, and not read since */
#define HT_F_DONE (1U << 4)     /* its owner said DONE: drop it, or destage and forget it first */
#define HT_F_DROPPED (1U << 5)  /* stale, and since the newest submitted record */
#define HT_F_LATE (1U << 6)     /* a read waits for the fill in flight */
#define HT_F_HOME (1U << 7)     /* home was written behind it: flush bulk before its next record */
#define HT_F_BAD (1U << 8)      /* the medium failed there: takes nothing new, retired when empty */
#define HT_F_RDIRTY (1U << 9)   /* a record calls some unit dirty, or may call it so */

enum ht_list {
	HT_LIST_NONE = 0, /* taken off: owned by a transfer */
	HT_LIST_FREE,     /* not hashed, recorded free */
	HT_LIST_EMPTY,    /* hashed without units: a write is on its way, or a commit must pass */
	HT_LIST_CLEAN,    /* no unit dirty */
	HT_LIST_DEAD,     /* clean too: of an object that has lost something */
	HT_LIST_PINNED,   /* clean too: was found pinned when something had to leave */
	HT_LIST_DIRTY,    /* some unit dirty */
	HT_LIST_AGED,     /* dirty too: past the spread mark, and left dirty there */
	HT_LIST_EARLY,    /* dirty too: its owner said DONE */
	HT_LIST_STUCK,    /* dirty too: cannot be destaged */
	HT_LIST_BAD,      /* retired */
	HT_LISTS,
	HT_LIST_GROUPS = HT_LISTS, /* clean too: a list for each group, while values rule */
	HT_LISTS_ALL = HT_LIST_GROUPS + HINTIER_GROUPS
};

struct ht_slot {
	u32 next;         /* next slot in the hash chain */
	u32 extent;       /* HT_NIL: not hashed */
	u32 gen;          /* moves with every write, discard and drop */
	u32 epoch;        /* write epoch of the newest write */
	union {
		u32 prev; /* list neighbours */
		u32 move; /* on no list: number of the transfer in flight */
	};
	u32 link;
	u16 fetch;        /* number of the FETCH that brought it */
	u16 used;         /* engine lock: second of its last use, as far as its list has seen */
	u16 readers;      /* requests in flight */
	u16 writers;
	u16 flags;
	u16 list;         /* enum ht_list */
	u8 state : 4;     /* enum ht_slot_state */
	u8 klass : 4;     /* enum hintier_class */
	u8 touched;       /* read since its list last looked */
	u8 group;
	u8 depth;         /* in its chain, saturated */
	u64 object;       /* what it belongs to, as the agent numbers it */
};
static_assert(sizeof(struct ht_slot) == 48, "memory per slot is promised");

/* The bitmaps of a slot, side by side. */
enum ht_bits {
	HT_VALID = 0,  /* the slot holds the unit */
	HT_DIRTY,      /* and its home does not: only ever set on valid units */
	HT_RCLEAN,     /* a record says clean, or may say so: overwriting needs intent first */
	HT_VOLATILE,   /* its owner can do without it: only ever set on dirty units, in RAM (R11) */
	HT_BITS
};

#define HT_HOMING 32 /* counters of home writes in flight, per shard, by hash of the extent */

/* A shard of the hash; its caller holds the shard's lock. */
struct ht_shard {
	u16 homing[HT_HOMING];
};

/* What bulk says of itself, see pair.h: write-back begins only once it says HAS_DIRTY. */
enum ht_bulk {
	HT_BULK_PARTIAL = 0, /* fast may hold the only copy of something */
	HT_BULK_WHOLE,       /* nothing is dirty */
	HT_BULK_ENDING,      /* nothing is yet, and a write waits for the commit that ends this */
};

/* An extent of which units are lost. */
struct ht_lost_entry {
	u32 extent;             /* HT_NIL: free */
	u32 next;               /* in the hash chain, or next free one */
	bool changed;           /* since it was last gathered */
};

/* The lost map, see lost.h. Its chains and bits belong to the shard locks. */
struct ht_lost {
	struct ht_lost_entry *entries; /* [capacity] */
	u16 *bits;              /* [capacity * geo.words] */
	u32 *buckets;           /* [1 << bucket_bits] */
	u8 *changed;            /* [geo.lost_sectors] differs from the newest submitted one */
	u32 bucket_bits;        /* >= shard_bits */
	u32 capacity;
	u32 free;               /* engine lock: first free entry */
	u32 used;               /* engine lock; read without: an extent's entry is counted first */
};

/*
 * Extents whose homes a discard in flight may change: no transfer begins there. Whoever sends the
 * discard links its hold before it asks for the first extent. Holds have a lock of their own,
 * taken inside a shard's lock.
 */
struct ht_hold {
	u32 first;
	u32 last;
	struct ht_hold *next;
	struct ht_hold **link; /* what points here */
};

/* The slot table. Everything in it is allocated by the caller, see ht_map_init(). */
struct ht_map {
	struct ht_geometry geo;
	struct ht_slot *slots;  /* [geo.slots] */
	u16 *bits;              /* [geo.slots * HT_BITS * geo.words] */
	u32 *buckets;           /* [1 << bucket_bits] */
	struct ht_hold *holds;
	u32 bucket_bits;
	u32 shard_bits;         /* <= bucket_bits */
	struct ht_lost lost;
	u32 epoch;              /* current write epoch */
	u32 iu;                 /* units of bulk's indirection unit, a power of two; 0, 1: a unit */
	u8 mode;                /* enum hintier_mode */
	u8 bulk;                /* enum ht_bulk */
};

/* Knuth's multiplicative hash: consecutive extents go to different shards. */
static inline u32 ht_hash(u32 extent)
{
	return extent * 0x9e3779b1U;
}

static inline u32 ht_bucket_of(const struct ht_map *map, u32 extent)
{
	return ht_hash(extent) >> (32 - map->bucket_bits);
}

/* Which shard, that is which lock, an extent belongs to. */
static inline u32 ht_shard_of(const struct ht_map *map, u32 extent)
{
	return ht_hash(extent) >> (32 - map->shard_bits);
}

static inline u16 *ht_slot_bits(const struct ht_map *map, u32 slot, enum ht_bits which)
{
	return map->bits + ((u64)slot * HT_BITS + which) * map->geo.words;
}

static inline u64 ht_slot_sector(const struct ht_geometry *geo, u32 slot)
{
	return geo->slot_start + ((u64)slot << geo->extent_shift);
}

static inline u64 ht_home_sector(const struct ht_geometry *geo, u32 extent)
{
	return geo->home_start + ((u64)extent << geo->extent_shift);
}

static inline u32 ht_extent_sectors(const struct ht_geometry *geo)
{
	return 1U << geo->extent_shift;
}

#endif
