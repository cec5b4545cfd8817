// SPDX-License-Identifier: GPL-2.0-only
/*
 * Encoding and checking of what lies on the devices. See format.h for the layout.
 */
#include <hintier/types.h>

#include "format.h"

#define KEY_KLASS_SHIFT 32
#define KEY_GROUP_SHIFT 40
#define KEY_RESERVED (0x3fULL << 56)
#define KEY_BAD (1ULL << 62)
#define KEY_USED (1ULL << 63)

static_assert(offsetof(struct ht_disk_header, crc) == offsetof(struct ht_disk_state, crc),
	      "one place in all that begins with the magic");

static size_t crc_offset_of(enum ht_kind kind)
{
	return kind <= HT_KIND_STATE ? offsetof(struct ht_disk_header, crc) :
				       offsetof(struct ht_disk_records, crc);
}

/* It starts from kind and place: the same bytes elsewhere have another CRC. */
static u32 sector_crc(const u8 *uuid, enum ht_kind kind, u32 place, const void *sector)
{
	static const u8 zero[4];
	const size_t crc_offset = crc_offset_of(kind);
	const u8 *p = sector;
	__le32 salt[2] = { cpu_to_le32(kind), cpu_to_le32(place) };
	u32 crc = ~0U;

	crc = ht_crc32c(crc, uuid, 16);
	crc = ht_crc32c(crc, salt, sizeof(salt));
	crc = ht_crc32c(crc, p, crc_offset);
	crc = ht_crc32c(crc, zero, sizeof(zero));
	crc = ht_crc32c(crc, p + crc_offset + 4, HT_SECTOR_BYTES - crc_offset - 4);
	return ~crc;
}

u32 ht_sector_off(enum ht_kind kind, const u8 *uuid, u32 place, const void *sector)
{
	const struct ht_disk_header *header = sector;
	__le32 crc;

	if (kind == HT_KIND_HEADER) {
		uuid = header->uuid;
		place = le32_to_cpu(header->role);
	}
	memcpy(&crc, (const u8 *)sector + crc_offset_of(kind), sizeof(crc));
	return le32_to_cpu(crc) ^ sector_crc(uuid, kind, place, sector);
}

const char *ht_refusal_text(enum ht_refusal why)
{
	switch (why) {
	case HT_OK:
		return "no error";
	case HT_REFUSE_FOREIGN:
		return "no hintier header: format the pair first";
	case HT_REFUSE_CRC:
		return "metadata is damaged: checksum does not match";
	case HT_REFUSE_VERSION:
		return "another format version than this module knows";
	case HT_REFUSE_FEATURES:
		return "uses a feature that this module does not know";
	case HT_REFUSE_GEOMETRY:
		return "header contradicts itself, or the device has shrunk";
	case HT_REFUSE_EXTENT:
		return "extent size must be a power of two from 64 KiB to 1 MiB";
	case HT_REFUSE_FAST_SMALL:
		return "fast device is too small";
	case HT_REFUSE_BULK_SMALL:
		return "bulk device is too small";
	case HT_REFUSE_LARGE:
		return "device is too large for this extent size";
	case HT_REFUSE_RECORD:
		return "metadata is damaged: impossible slot record";
	case HT_REFUSE_SHRUNK:
		return "the tier has grown beyond this table's length";
	case HT_REFUSE_DIRTY:
		return "one device was written without the other, and dirty data would be lost: add option discard_dirty to give it up";
	case HT_REFUSE_LOST:
		return "metadata is damaged: impossible entry of the lost map";
	}
	return "unknown refusal";
}

/* Fills in what follows from the extent size; false if that is not allowed. */
static bool derive(struct ht_geometry *geo, u32 extent_sectors)
{
	u32 shift = 7;

	while (shift < 11 && extent_sectors > 1U << shift)
		shift++;
	if (extent_sectors != 1U << shift)
		return false;
	geo->extent_shift = shift;
	geo->units = extent_sectors >> HT_UNIT_SECTOR_SHIFT;
	geo->words = geo->units / 16;
	geo->per_sector = sizeof(((struct ht_disk_records *)0)->records) / (8 + 4 * geo->words);
	geo->lost_per_sector = sizeof(((struct ht_disk_records *)0)->records) /
			       (8 + 2 * geo->words);
	return true;
}

/* Metadata sectors are counted in whole 4 KiB blocks, because that is how they are written. */
static u64 whole_blocks(u64 sectors)
{
	return (sectors + HT_UNIT_SECTORS - 1) & ~(u64)(HT_UNIT_SECTORS - 1);
}

static u64 meta_sectors_for(const struct ht_geometry *geo, u64 slots)
{
	return whole_blocks((slots + geo->per_sector - 1) / geo->per_sector);
}

static u64 lost_sectors_for(const struct ht_geometry *geo, u64 slots)
{
	u64 entries = slots / HT_LOST_SLOTS + 1;

	if (entries > HT_LOST_MAX)
		entries = HT_LOST_MAX;
	return whole_blocks((entries + geo->lost_per_sector - 1) / geo->lost_per_sector);
}

static u64 round_up_extent(const struct ht_geometry *geo, u64 sectors)
{
	u64 mask = ht_extent_sectors(geo) - 1;

	return (sectors + mask) & ~mask;
}

enum ht_refusal ht_format_layout(u64 fast_sectors, u64 bulk_sectors, u32 extent_sectors,
				 struct ht_geometry *ret)
{
	struct ht_geometry geo = { 0 };
	u64 slots, extents;

	if (!derive(&geo, extent_sectors))
		return HT_REFUSE_EXTENT;

	geo.home_start = round_up_extent(&geo, 2048);
	extents = bulk_sectors > geo.home_start ?
		  (bulk_sectors - geo.home_start) >> geo.extent_shift : 0;
	if (!extents)
		return HT_REFUSE_BULK_SMALL;

	/* The records shrink with the slots that they push out: settle from above. */
	slots = fast_sectors >> geo.extent_shift;
	if (slots / 2 >= HT_NIL || extents >= HT_NIL)
		return HT_REFUSE_LARGE;
	geo.meta_start = HT_META_SECTOR;
	while (slots) {
		geo.lost_start = geo.meta_start + meta_sectors_for(&geo, slots);
		geo.slot_start = round_up_extent(&geo, geo.lost_start +
						 lost_sectors_for(&geo, slots));
		if (geo.slot_start + (slots << geo.extent_shift) <= fast_sectors)
			break;
		slots--;
	}
	if (slots < HT_SLOTS_MIN)
		return HT_REFUSE_FAST_SMALL;
	if (slots >= HT_NIL)
		return HT_REFUSE_LARGE;

	geo.slots = (u32)slots;
	geo.extents = (u32)extents;
	geo.meta_sectors = (u32)meta_sectors_for(&geo, slots);
	geo.lost_sectors = (u32)lost_sectors_for(&geo, slots);
	*ret = geo;
	return HT_OK;
}

void ht_header_encode(const struct ht_header *header, void *sector)
{
	const struct ht_geometry *geo = &header->geo;
	struct ht_disk_header *disk = sector;

	memset(disk, 0, sizeof(*disk));
	memcpy(disk->magic, HT_MAGIC, sizeof(disk->magic));
	disk->version = cpu_to_le32(HT_VERSION);
	memcpy(disk->uuid, header->uuid, sizeof(disk->uuid));
	disk->role = cpu_to_le32(header->role);
	disk->extent_sectors = cpu_to_le32(ht_extent_sectors(geo));
	disk->extents = cpu_to_le64(geo->extents);
	disk->slots = cpu_to_le64(geo->slots);
	disk->meta_start = cpu_to_le64(geo->meta_start);
	disk->slot_start = cpu_to_le64(geo->slot_start);
	disk->home_start = cpu_to_le64(geo->home_start);
	if (geo->lost_sectors) {
		disk->incompat = cpu_to_le64(HT_INCOMPAT_LOST);
		disk->lost_start = cpu_to_le64(geo->lost_start);
		disk->lost_sectors = cpu_to_le64(geo->lost_sectors);
	}
	disk->crc = cpu_to_le32(sector_crc(header->uuid, HT_KIND_HEADER, header->role, disk));
}

bool ht_header_ours(const void *sector)
{
	return !memcmp(sector, HT_MAGIC, sizeof(((struct ht_disk_header *)0)->magic));
}

/* Where the lost map lies, between records and slots; false if it cannot lie there. */
static bool header_lost(const struct ht_disk_header *disk, struct ht_geometry *geo)
{
	u64 start = le64_to_cpu(disk->lost_start), sectors = le64_to_cpu(disk->lost_sectors);

	if (!(le64_to_cpu(disk->incompat) & HT_INCOMPAT_LOST))
		return !start && !sectors;
	geo->lost_start = start;
	geo->lost_sectors = (u32)sectors;
	return sectors && sectors <= lost_sectors_for(geo, HT_NIL) &&
	       sectors == whole_blocks(sectors) && !(start % HT_UNIT_SECTORS) &&
	       start >= geo->meta_start + geo->meta_sectors && start <= geo->slot_start &&
	       sectors <= geo->slot_start - start;
}

static bool header_geometry(const struct ht_disk_header *disk, struct ht_geometry *geo)
{
	u64 slots = le64_to_cpu(disk->slots), extents = le64_to_cpu(disk->extents);
	u64 limit = 1ULL << 54; /* sectors: no sum below can overflow */

	geo->meta_start = le64_to_cpu(disk->meta_start);
	geo->slot_start = le64_to_cpu(disk->slot_start);
	geo->home_start = le64_to_cpu(disk->home_start);
	if (!derive(geo, le32_to_cpu(disk->extent_sectors)))
		return false;
	if (slots < HT_SLOTS_MIN || slots >= HT_NIL || !extents || extents >= HT_NIL)
		return false;
	if (geo->meta_start >= limit || geo->slot_start >= limit || geo->home_start >= limit)
		return false;

	geo->slots = (u32)slots;
	geo->extents = (u32)extents;
	geo->meta_sectors = (u32)meta_sectors_for(geo, slots);
	return geo->meta_start >= HT_META_SECTOR && !(geo->meta_start % HT_UNIT_SECTORS) &&
	       geo->slot_start >= geo->meta_start + geo->meta_sectors && header_lost(disk, geo) &&
	       !(geo->slot_start & (ht_extent_sectors(geo) - 1)) &&
	       geo->home_start >= 2048 &&
	       !(geo->home_start & (ht_extent_sectors(geo) - 1));
}

enum ht_refusal ht_header_decode(const void *sector, struct ht_header *ret)
{
	const struct ht_disk_header *disk = sector;
	struct ht_header header = { 0 };

	if (!ht_header_ours(disk))
		return HT_REFUSE_FOREIGN;
	/* The version comes first: another one may have its checksum elsewhere. */
	if (le32_to_cpu(disk->version) != HT_VERSION)
		return HT_REFUSE_VERSION;
	header.role = le32_to_cpu(disk->role);
	memcpy(header.uuid, disk->uuid, sizeof(header.uuid));
	if (ht_sector_off(HT_KIND_HEADER, NULL, 0, disk))
		return HT_REFUSE_CRC;
	if ((le64_to_cpu(disk->incompat) & ~HT_FEATURES_INCOMPAT) ||
	    (le64_to_cpu(disk->ro_compat) & ~HT_FEATURES_RO_COMPAT))
		return HT_REFUSE_FEATURES;
	if (header.role != HT_ROLE_FAST && header.role != HT_ROLE_BULK)
		return HT_REFUSE_GEOMETRY;
	if (!header_geometry(disk, &header.geo))
		return HT_REFUSE_GEOMETRY;
	*ret = header;
	return HT_OK;
}

enum ht_refusal ht_header_fits(const struct ht_header *header, u64 device_sectors)
{
	const struct ht_geometry *geo = &header->geo;
	u64 end = header->role == HT_ROLE_FAST ? ht_slot_sector(geo, geo->slots) :
						 ht_home_sector(geo, geo->extents);

	if (end <= device_sectors)
		return HT_OK;
	return header->role == HT_ROLE_FAST ? HT_REFUSE_FAST_SMALL : HT_REFUSE_BULK_SMALL;
}

bool ht_header_pair(const struct ht_header *fast, const struct ht_header *bulk)
{
	const struct ht_geometry *a = &fast->geo, *b = &bulk->geo;

	return fast->role == HT_ROLE_FAST && bulk->role == HT_ROLE_BULK &&
	       !memcmp(fast->uuid, bulk->uuid, sizeof(fast->uuid)) &&
	       a->extent_shift == b->extent_shift && a->slots == b->slots &&
	       a->extents == b->extents && a->meta_start == b->meta_start &&
	       a->slot_start == b->slot_start && a->home_start == b->home_start &&
	       a->lost_start == b->lost_start && a->lost_sectors == b->lost_sectors;
}

void ht_state_encode(const u8 *uuid, u32 role, const struct ht_state *state, void *sector)
{
	struct ht_disk_state *disk = sector;

	memset(disk, 0, sizeof(*disk));
	memcpy(disk->magic, HT_MAGIC, sizeof(disk->magic));
	disk->flags = cpu_to_le32(state->flags);
	disk->seq = cpu_to_le64(state->seq);
	disk->epoch = cpu_to_le64(state->epoch);
	disk->commit_seq = cpu_to_le64(state->commit_seq);
	disk->extents = cpu_to_le64(state->extents);
	disk->crc = cpu_to_le32(sector_crc(uuid, HT_KIND_STATE, role, disk));
}

enum ht_refusal ht_state_decode(const u8 *uuid, u32 role, const void *copies[HT_STATE_COPIES],
				struct ht_state *ret)
{
	enum ht_refusal why = HT_REFUSE_CRC;

	for (u32 i = 0; i < HT_STATE_COPIES; i++) {
		const struct ht_disk_state *disk = copies[i];
		u64 seq = le64_to_cpu(disk->seq);

		if (memcmp(disk->magic, HT_MAGIC, sizeof(disk->magic)) ||
		    ht_sector_off(HT_KIND_STATE, uuid, role, disk))
			continue;
		/* Numbers near the end of their range would wrap: nobody counted that far. */
		if ((seq | le64_to_cpu(disk->epoch) | le64_to_cpu(disk->commit_seq)) >> 62)
			continue;
		if (le64_to_cpu(disk->extents) >= HT_NIL)
			continue;
		if (why == HT_OK && seq <= ret->seq)
			continue;
		ret->flags = le32_to_cpu(disk->flags);
		ret->seq = seq;
		ret->epoch = le64_to_cpu(disk->epoch);
		ret->commit_seq = le64_to_cpu(disk->commit_seq);
		ret->extents = le64_to_cpu(disk->extents);
		why = HT_OK;
	}
	return why;
}

u64 ht_state_sector(u64 seq)
{
	return HT_STATE_SECTOR + seq % HT_STATE_COPIES * HT_STATE_STRIDE;
}

/* Sectors of records and of the lost map have the same head. */
static void seal(const u8 *uuid, enum ht_kind kind, u32 index, u64 seq, void *sector)
{
	struct ht_disk_records *disk = sector;

	disk->index = cpu_to_le32(index);
	disk->seq = cpu_to_le64(seq);
	disk->crc = cpu_to_le32(sector_crc(uuid, kind, index, disk));
}

static enum ht_refusal check(const u8 *uuid, enum ht_kind kind, u32 index, const void *sector,
			     u64 *ret_seq)
{
	const struct ht_disk_records *disk = sector;

	if (le32_to_cpu(disk->index) != index || ht_sector_off(kind, uuid, index, disk))
		return HT_REFUSE_CRC;
	*ret_seq = le64_to_cpu(disk->seq);
	return HT_OK;
}

void ht_records_seal(const u8 *uuid, u32 index, u64 seq, void *sector)
{
	seal(uuid, HT_KIND_RECORDS, index, seq, sector);
}

void ht_records_init(const u8 *uuid, const struct ht_geometry *geo, u32 index, void *sector)
{
	(void)geo;
	memset(sector, 0, HT_SECTOR_BYTES);
	ht_records_seal(uuid, index, 0, sector);
}

enum ht_refusal ht_records_check(const u8 *uuid, u32 index, const void *sector, u64 *ret_seq)
{
	return check(uuid, HT_KIND_RECORDS, index, sector, ret_seq);
}

/* A record's bytes: records are packed, so nothing in them is aligned. */
static u32 record_bytes(const struct ht_geometry *geo)
{
	return 8 + 4 * geo->words;
}

static void bitmap_put(u8 *p, const u16 *bits, u32 words)
{
	for (u32 w = 0; w < words; w++) {
		p[2 * w] = (u8)bits[w];
		p[2 * w + 1] = (u8)(bits[w] >> 8);
	}
}

static void bitmap_get(const u8 *p, u16 *bits, u32 words)
{
	for (u32 w = 0; w < words; w++)
		bits[w] = (u16)(p[2 * w] | p[2 * w + 1] << 8);
}

void ht_record_put(const struct ht_geometry *geo, void *sector, u32 nth,
		   const struct ht_record *record)
{
	struct ht_disk_records *disk = sector;
	u8 *p = disk->records + (size_t)nth * record_bytes(geo);
	__le64 key;

	memset(p, 0, record_bytes(geo));
	key = cpu_to_le64((record->bad ? KEY_BAD : 0) |
			  (record->used ? KEY_USED | (u64)record->group << KEY_GROUP_SHIFT |
			   (u64)record->klass << KEY_KLASS_SHIFT | record->extent : 0));
	memcpy(p, &key, sizeof(key));
	if (!record->used)
		return;
	bitmap_put(p + 8, record->valid, geo->words);
	bitmap_put(p + 8 + 2 * geo->words, record->dirty, geo->words);
}

enum ht_refusal ht_record_get(const struct ht_geometry *geo, const void *sector, u32 nth,
			      struct ht_record *ret)
{
	const struct ht_disk_records *disk = sector;
	const u8 *p = disk->records + (size_t)nth * record_bytes(geo);
	__le64 disk_key;
	u64 key;

	memcpy(&disk_key, p, sizeof(disk_key));
	key = le64_to_cpu(disk_key);
	memset(ret, 0, sizeof(*ret));
	ret->bad = key & KEY_BAD;
	if (!(key & KEY_USED))
		return key & ~KEY_BAD ? HT_REFUSE_RECORD : HT_OK;
	if (key & KEY_RESERVED)
		return HT_REFUSE_RECORD;

	ret->used = true;
	ret->extent = (u32)key;
	ret->klass = (u8)(key >> KEY_KLASS_SHIFT);
	ret->group = (u16)(key >> KEY_GROUP_SHIFT);
	bitmap_get(p + 8, ret->valid, geo->words);
	bitmap_get(p + 8 + 2 * geo->words, ret->dirty, geo->words);
	if (ret->extent >= geo->extents || ret->klass >= HINTIER_CLASSES ||
	    ret->group >= HINTIER_GROUPS)
		return HT_REFUSE_RECORD;
	for (u32 w = 0; w < geo->words; w++)
		if (ret->dirty[w] & ~ret->valid[w])
			return HT_REFUSE_RECORD;
	return HT_OK;
}

/* ---- the lost map --------------------------------------------------------------------------- */

void ht_lost_init(const u8 *uuid, u32 index, void *sector)
{
	memset(sector, 0, HT_SECTOR_BYTES);
	ht_lost_seal(uuid, index, 0, sector);
}

enum ht_refusal ht_lost_check(const u8 *uuid, u32 index, const void *sector, u64 *ret_seq)
{
	return check(uuid, HT_KIND_LOST, index, sector, ret_seq);
}

void ht_lost_seal(const u8 *uuid, u32 index, u64 seq, void *sector)
{
	seal(uuid, HT_KIND_LOST, index, seq, sector);
}

static u32 lost_bytes(const struct ht_geometry *geo)
{
	return 8 + 2 * geo->words;
}

void ht_lost_put(const struct ht_geometry *geo, void *sector, u32 nth,
		 const struct ht_lost_record *record)
{
	struct ht_disk_records *disk = sector;
	u8 *p = disk->records + (size_t)nth * lost_bytes(geo);
	__le64 key = cpu_to_le64(KEY_USED | record->extent);

	memset(p, 0, lost_bytes(geo));
	if (!record->used)
		return;
	memcpy(p, &key, sizeof(key));
	bitmap_put(p + 8, record->lost, geo->words);
}

enum ht_refusal ht_lost_get(const struct ht_geometry *geo, const void *sector, u32 nth,
			    struct ht_lost_record *ret)
{
	const struct ht_disk_records *disk = sector;
	const u8 *p = disk->records + (size_t)nth * lost_bytes(geo);
	__le64 disk_key;
	u64 key;

	memcpy(&disk_key, p, sizeof(disk_key));
	key = le64_to_cpu(disk_key);
	memset(ret, 0, sizeof(*ret));
	bitmap_get(p + 8, ret->lost, geo->words);
	ret->used = key & KEY_USED;
	ret->extent = (u32)key;
	/* Bits and key come and go together; there is nothing else in a key. */
	for (u32 w = 0; w < geo->words; w++)
		if (ret->lost[w])
			return ret->used && key == (KEY_USED | ret->extent) &&
			       ret->extent < geo->extents ? HT_OK : HT_REFUSE_LOST;
	return key ? HT_REFUSE_LOST : HT_OK;
}
