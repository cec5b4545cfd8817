/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * On-disk format, version 1. Little-endian, CRC32C on every sector, one idea a sector.
 *
 * Fast device                            Bulk device
 *   sector 0         header (immutable)    sector 0         header (immutable)
 *   sectors 8, 16    state, two copies     sectors 8, 16    state, two copies
 *   meta_start …     slot records          home_start …     homes of extents 0, 1, …
 *   lost_start …     lost map
 *   slot_start …     slots 0, 1, …
 *
 * Headers are written once, by `format`; a tier that grows says so in its states. A state sector
 * has a sequence number and is written to the copy that is older, so a torn write leaves the
 * other; then to that one as well. Record sectors are written in place: a record never straddles
 * a sector, and a sector (512 bytes) is what a device writes whole. The CRC of a sector starts
 * from the pair's UUID, its kind and its place, so one that was written for another pair, or
 * elsewhere, or before the last `format`, is never taken for good.
 *
 * Sizes and numbers read from a device are bounded before they are used.
 */
#ifndef HT_CORE_FORMAT_H
#define HT_CORE_FORMAT_H

#include "types.h"

HT_CORE_BEGIN

#define HT_SECTOR_BYTES 512
#define HT_MAGIC "HINTIER\x01"
#define HT_VERSION 1
#define HT_HEADER_SECTOR 0
#define HT_STATE_SECTOR 8   /* and the next copy HT_STATE_STRIDE sectors on */
#define HT_STATE_STRIDE 8
#define HT_STATE_COPIES 2
#define HT_META_SECTOR 128  /* first record sector: 64 KiB */
#define HT_SLOTS_MIN 16     /* a smaller fast device is refused */

/* Unknown incompat bits: refuse. Unknown ro-compat bits: refuse to write. Compat: ignore. */
#define HT_FEATURES_COMPAT 0ULL
#define HT_FEATURES_RO_COMPAT 0ULL
#define HT_INCOMPAT_LOST (1ULL << 0) /* fast has a lost map: who ignores it reads stale data */
#define HT_FEATURES_INCOMPAT HT_INCOMPAT_LOST

/*
 * Entries of the lost map: one for each so many slots, rounded up to whole blocks. A dropped
 * extent keeps its entry until its owner has rewritten or discarded it. A sixteenth of what fast
 * holds covers more than half a minute of the writes that fill it in ten minutes: longer than an
 * agent takes to see a drop and unlink the file, or a server to write it again.
 */
#define HT_LOST_SLOTS 16
#define HT_LOST_MAX (1U << 20)

enum ht_role {
	HT_ROLE_FAST = 1,
	HT_ROLE_BULK = 2,
};

struct ht_disk_header {                 /* byte offset */
	u8 magic[8];                    /*   0 */
	__le32 crc;                     /*   8  over the sector with crc = 0 */
	__le32 version;                 /*  12 */
	u8 uuid[16];                    /*  16  of the pair */
	__le32 role;                    /*  32  enum ht_role */
	__le32 extent_sectors;          /*  36 */
	__le64 compat;                  /*  40 */
	__le64 ro_compat;               /*  48 */
	__le64 incompat;                /*  56 */
	__le64 extents;                 /*  64  of the tier */
	__le64 slots;                   /*  72  of the fast device */
	__le64 meta_start;              /*  80  sector on fast */
	__le64 slot_start;              /*  88  sector on fast */
	__le64 home_start;              /*  96  sector on bulk */
	__le64 lost_start;              /* 104  sector on fast; zero without HT_INCOMPAT_LOST */
	__le64 lost_sectors;            /* 112  so many of them; zero without */
	u8 reserved[392];               /* 120  zero */
};
static_assert(sizeof(struct ht_disk_header) == HT_SECTOR_BYTES, "one sector");

#define HT_STATE_CLEAN_STOP (1U << 0) /* nothing was in flight when it was written */
#define HT_STATE_HAS_DIRTY (1U << 1)  /* on bulk: fast may hold the only copy of something */
#define HT_STATE_MOVING (1U << 2)     /* on fast: the epoch is moving to the next */
#define HT_STATE_MOVED (1U << 3)      /* on bulk: and has, so fast does not say MOVING any more */

struct ht_disk_state {                  /* byte offset */
	u8 magic[8];                    /*   0 */
	__le32 crc;                     /*   8 */
	__le32 flags;                   /*  12  HT_STATE_* */
	__le64 seq;                     /*  16  the greater of two copies counts */
	__le64 epoch;                   /*  24  of the pair: moves before bulk is written alone */
	__le64 commit_seq;              /*  32  newest sequence number given to a record sector */
	__le64 extents;                 /*  40  of the tier, if it has grown since `format`; or 0 */
	u8 reserved[464];               /*  48  zero */
};
static_assert(sizeof(struct ht_disk_state) == HT_SECTOR_BYTES, "one sector");

/*
 * Record sector: this head, then `per_sector` records of 8 + 4 * words bytes each:
 *   __le64 key                 bits 0-31 extent, 32-39 class, 40-55 group, 62 bad, 63 used
 *   __le16 valid[words]
 *   __le16 dirty[words]
 * words is units / 16: 12-byte records for 64 KiB extents, 24 for 256 KiB, 72 for 1 MiB.
 */
struct ht_disk_records {                /* byte offset */
	__le32 crc;                     /*   0 */
	__le32 index;                   /*   4  which record sector this is */
	__le64 seq;                     /*   8  of the commit that wrote it */
	u8 records[496];                /*  16 */
};
static_assert(sizeof(struct ht_disk_records) == HT_SECTOR_BYTES, "one sector");

/*
 * Sector of the lost map: the same head, then `lost_per_sector` entries of 8 + 2 * words bytes:
 *   __le64 key                 bits 0-31 extent, 63 used
 *   __le16 lost[words]         at least one bit of a used entry
 * A unit is lost if its bit is set here and no slot record claims it.
 */

/* An entry of the lost map in memory. */
struct ht_lost_record {
	bool used;
	u32 extent;
	u16 lost[HT_UNITS_MAX / 16];
};

/* A record in memory. A slot that is bad and not used is retired. */
struct ht_record {
	bool used;
	bool bad;
	u8 klass;
	u16 group;
	u32 extent;
	u16 valid[HT_UNITS_MAX / 16];
	u16 dirty[HT_UNITS_MAX / 16];
};

struct ht_header {
	u32 role;
	u8 uuid[16];
	struct ht_geometry geo;
};

struct ht_state {
	u32 flags;
	u64 seq;
	u64 epoch;
	u64 commit_seq;
	u64 extents;
};

/* Why something on a device is refused. */
enum ht_refusal {
	HT_OK = 0,
	HT_REFUSE_FOREIGN,      /* no hintier header */
	HT_REFUSE_CRC,          /* damaged */
	HT_REFUSE_VERSION,      /* another format version */
	HT_REFUSE_FEATURES,     /* an incompat or ro-compat feature this code does not know */
	HT_REFUSE_GEOMETRY,     /* numbers that contradict each other */
	HT_REFUSE_EXTENT,       /* extent size not a power of two from 64 KiB to 1 MiB */
	HT_REFUSE_FAST_SMALL,   /* fast device too small */
	HT_REFUSE_BULK_SMALL,   /* bulk device too small */
	HT_REFUSE_LARGE,        /* more extents or slots than 32-bit numbers hold */
	HT_REFUSE_RECORD,       /* a record that cannot be: range, or an extent recorded twice */
	HT_REFUSE_SHRUNK,       /* the tier was larger than it is to be now */
	HT_REFUSE_DIRTY,        /* the devices have moved on without each other, and would lose data */
	HT_REFUSE_LOST,         /* the same of the lost map */
};

/* One line for people. */
const char *ht_refusal_text(enum ht_refusal why);

/* CRC32C; begin with crc = ~0 and invert the end yourself, or use it through this file. */
u32 ht_crc32c(u32 crc, const void *data, size_t bytes);

/* What lies in a sector of metadata. */
enum ht_kind {
	HT_KIND_HEADER = 1,
	HT_KIND_STATE = 2,
	HT_KIND_RECORDS = 3,
	HT_KIND_LOST = 4,
};

/*
 * By what the sector's checksum is off; 0: it is right. Whatever a sector holds, turning the same
 * bits changes this by the same amount. `place`: role of the device, or number of the sector; a
 * header tells it and the UUID itself.
 */
u32 ht_sector_off(enum ht_kind kind, const u8 *uuid, u32 place, const void *sector);

/*
 * Geometry of a new pair: sizes of the devices and the extent in sectors. The data offset on
 * bulk is the greater of 1 MiB and an extent. HT_OK, or what is wrong with the sizes.
 */
enum ht_refusal ht_format_layout(u64 fast_sectors, u64 bulk_sectors, u32 extent_sectors,
				 struct ht_geometry *ret);

/* Sectors to write, each HT_SECTOR_BYTES; buffers need no alignment. */
void ht_header_encode(const struct ht_header *header, void *sector);
void ht_state_encode(const u8 *uuid, u32 role, const struct ht_state *state, void *sector);
/* The empty record sector number `index`. */
void ht_records_init(const u8 *uuid, const struct ht_geometry *geo, u32 index, void *sector);

/* True if the sector begins with our magic, whatever else is wrong with it. */
bool ht_header_ours(const void *sector);
enum ht_refusal ht_header_decode(const void *sector, struct ht_header *ret);
/* Do these two belong together, and do they fit devices of these sizes? */
enum ht_refusal ht_header_fits(const struct ht_header *header, u64 device_sectors);
bool ht_header_pair(const struct ht_header *fast, const struct ht_header *bulk);
/* Picks the newer good one of HT_STATE_COPIES sectors; HT_REFUSE_CRC if there is none. */
enum ht_refusal ht_state_decode(const u8 *uuid, u32 role, const void *copies[HT_STATE_COPIES],
				struct ht_state *ret);
/* Sector where the state with this sequence number goes. */
u64 ht_state_sector(u64 seq);

/* Record sectors: check one, take a record out, put one in, seal it again. */
enum ht_refusal ht_records_check(const u8 *uuid, u32 index, const void *sector, u64 *ret_seq);
enum ht_refusal ht_record_get(const struct ht_geometry *geo, const void *sector, u32 nth,
			      struct ht_record *ret);
void ht_record_put(const struct ht_geometry *geo, void *sector, u32 nth,
		   const struct ht_record *record);
void ht_records_seal(const u8 *uuid, u32 index, u64 seq, void *sector);

/* The same for sectors of the lost map. */
static inline u32 ht_lost_capacity(const struct ht_geometry *geo)
{
	return geo->lost_sectors * geo->lost_per_sector;
}

void ht_lost_init(const u8 *uuid, u32 index, void *sector);
enum ht_refusal ht_lost_check(const u8 *uuid, u32 index, const void *sector, u64 *ret_seq);
enum ht_refusal ht_lost_get(const struct ht_geometry *geo, const void *sector, u32 nth,
			    struct ht_lost_record *ret);
void ht_lost_put(const struct ht_geometry *geo, void *sector, u32 nth,
		 const struct ht_lost_record *record);
void ht_lost_seal(const u8 *uuid, u32 index, u64 seq, void *sector);

HT_CORE_END

#endif
