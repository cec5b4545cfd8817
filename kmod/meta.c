// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is written on the devices beside data: headers, states, and records at activation. Records
 * that change later are commit.c's. Everything here is synchronous, in process context.
 */
#include "tier.h"

#include "core/load.h"

#define LOAD_BYTES HT_META_BUFFER /* read in one piece at activation */

/* Of our own: the block layer's may all be held by bios of a filesystem that waits for us. */
static struct bio_set sync_bios;

int __init ht_meta_init(void)
{
	return bioset_init(&sync_bios, BIO_POOL_SIZE, 0, BIOSET_NEED_BVECS);
}

void ht_meta_exit(void)
{
	bioset_exit(&sync_bios);
}

/* Reads or writes one physically contiguous piece of at most LOAD_BYTES. */
int ht_sync_io(struct block_device *bdev, blk_opf_t opf, sector_t sector, void *page, u32 bytes)
{
	struct bio *bio = bio_alloc_bioset(bdev, 1, opf, GFP_NOIO, &sync_bios);
	int r;

	bio->bi_iter.bi_sector = sector;
	__bio_add_page(bio, virt_to_page(page), bytes, offset_in_page(page));
	r = submit_bio_wait(bio);
	bio_put(bio);
	return r;
}

/* ---- headers: immutable, read in ctr -------------------------------------------------------- */

static const char *read_header(struct block_device *bdev, void *page, struct ht_header *ret,
			       enum ht_refusal *why)
{
	*why = HT_OK;
	if (ht_sync_io(bdev, REQ_OP_READ | REQ_META, HT_HEADER_SECTOR, page, PAGE_SIZE))
		return "cannot read header";
	*why = ht_header_decode(page, ret);
	if (*why == HT_OK)
		*why = ht_header_fits(ret, bdev_nr_sectors(bdev));
	return *why == HT_OK ? NULL : ht_refusal_text(*why);
}

static const char *check_pair(const struct ht_tier *t, const struct ht_header *fast,
			      const struct ht_header *bulk, u32 extent_sectors)
{
	if (fast->role == HT_ROLE_BULK && bulk->role == HT_ROLE_FAST)
		return "devices are swapped: name the fast device first";
	if (fast->role != HT_ROLE_FAST)
		return "first device is not a fast device of a pair";
	if (bulk->role != HT_ROLE_BULK)
		return "second device is not a bulk device of a pair";
	if (!ht_header_pair(fast, bulk))
		return "devices belong to different pairs";
	if (extent_sectors != ht_extent_sectors(&fast->geo))
		return "extent size differs from the one the pair was formatted with";
	if (t->ti->len < (u64)fast->geo.extents << fast->geo.extent_shift ||
	    t->ti->len & (extent_sectors - 1))
		return "table length differs from the tier's size: whole extents of bulk behind its data offset";
	/* A longer table lets the tier grow with its bulk device. */
	if (fast->geo.home_start + t->ti->len > bdev_nr_sectors(t->bulk->bdev))
		return "table length differs from the tier's size: the bulk device is smaller";
	if (t->ti->len >> fast->geo.extent_shift >= HT_NIL)
		return ht_refusal_text(HT_REFUSE_LARGE);
	return NULL;
}

/* Reads and checks both headers; NULL, or one line that says what is wrong, and its errno. */
const char *ht_meta_headers(struct ht_tier *t, u32 extent_sectors, int *ret)
{
	struct ht_header fast, bulk;
	enum ht_refusal why;
	const char *error;
	void *page;

	*ret = -ENOMEM;
	page = (void *)__get_free_page(GFP_KERNEL);
	if (!page)
		return "out of memory";
	*ret = -EINVAL;
	error = read_header(t->fast->bdev, page, &fast, &why);
	if (!error)
		error = read_header(t->bulk->bdev, page, &bulk, &why);
	if (!error)
		error = check_pair(t, &fast, &bulk, extent_sectors);
	if (!error) {
		t->map.geo = fast.geo;
		t->map.geo.extents = t->ti->len >> fast.geo.extent_shift;
		memcpy(t->uuid, fast.uuid, sizeof(t->uuid));
	}
	free_page((unsigned long)page);
	return error;
}

/* ---- states --------------------------------------------------------------------------------- */

static int read_state(struct ht_tier *t, struct block_device *bdev, u32 role, struct ht_state *ret)
{
	const void *copies[HT_STATE_COPIES];
	void *pages = t->meta_buffer;
	int r;

	BUILD_BUG_ON(HT_STATE_COPIES != 2);
	r = ht_sync_io(bdev, REQ_OP_READ | REQ_META, HT_STATE_SECTOR, pages, 2 * PAGE_SIZE);
	if (!r) {
		copies[0] = pages;
		copies[1] = pages + HT_STATE_STRIDE * HT_SECTOR_BYTES;
		if (ht_state_decode(t->uuid, role, copies, ret) != HT_OK)
			r = -EILSEQ;
	}
	if (r == -EILSEQ)
		DMERR("%pg: both copies of its state are damaged: see hintierctl meta check", bdev);
	else if (r)
		DMERR("%pg: cannot read state of the pair: %d", bdev, r);
	return r;
}

/* Writes pair.next to its copy, durably. */
int ht_meta_write_state(struct ht_tier *t, u32 role)
{
	struct block_device *bdev = role == HT_ROLE_FAST ? t->fast->bdev : t->bulk->bdev;
	void *page = t->meta_buffer;
	int r;

	memset(page, 0, PAGE_SIZE);
	ht_state_encode(t->uuid, role, &t->pair.next, page);
	r = ht_sync_io(bdev, REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_PREFLUSH | REQ_FUA,
		       ht_state_sector(t->pair.next.seq), page, PAGE_SIZE);
	if (r)
		DMERR("%pg: cannot write state of the pair: %d", bdev, r);
	return r;
}

/* ---- records -------------------------------------------------------------------------------- */

static int load_records(struct ht_tier *t, enum ht_trust trust, bool *ret_dirty)
{
	const struct ht_geometry *geo = &t->map.geo;
	const u32 step = LOAD_BYTES / HT_SECTOR_BYTES;
	enum ht_refusal why = HT_OK;
	void *buffer = t->meta_buffer;
	int r = 0;

	for (u32 at = 0; at < geo->meta_sectors && !r; at += step) {
		u32 count = min(step, geo->meta_sectors - at);

		r = ht_sync_io(t->fast->bdev, REQ_OP_READ | REQ_META, geo->meta_start + at, buffer,
			       count * HT_SECTOR_BYTES);
		if (r)
			DMERR("%pg: cannot read records: %d", t->fast->bdev, r);
		for (u32 i = 0; i < count && !r; i++) {
			why = ht_load_records(&t->map, &t->pair, t->uuid, at + i,
					      buffer + i * HT_SECTOR_BYTES, trust, ret_dirty);
			if (why != HT_OK) {
				DMERR("%pg: record sector %u: %s", t->fast->bdev, at + i,
				      ht_refusal_text(why));
				r = -EILSEQ;
			}
		}
		cond_resched();
	}
	return r;
}

/* ---- activation and stop -------------------------------------------------------------------- */

/* Reads all that changes; into an empty map. */
int ht_meta_load(struct ht_tier *t)
{
	struct ht_state fast, bulk;
	enum ht_refusal why;
	enum ht_trust trust;
	bool dirty = false;
	int r;

	r = read_state(t, t->fast->bdev, HT_ROLE_FAST, &fast);
	if (!r)
		r = read_state(t, t->bulk->bdev, HT_ROLE_BULK, &bulk);
	if (r)
		return r;
	trust = ht_pair_load(&t->pair, &fast, &bulk, t->discard_dirty);
	why = ht_pair_resize(&t->pair, t->map.geo.extents);
	if (why == HT_OK) {
		r = load_records(t, trust, &dirty);
		if (!r)
			r = ht_lostmap_load(t);
		if (r)
			return r;
		/* Bulk alone does not know what is lost, either. */
		dirty = dirty || t->map.lost.used;
		t->map.bulk = dirty ? HT_BULK_PARTIAL : HT_BULK_WHOLE;
		why = ht_pair_judge(&t->pair, dirty);
	}
	if (why != HT_OK) {
		DMERR("%pg: %s", t->fast->bdev, ht_refusal_text(why));
		return -EUCLEAN;
	}
	if (t->pair.differ)
		DMWARN("%pg: one device was written without the other: what fast holds clean is void",
		       t->fast->bdev);
	return 0;
}

/* Says on both devices what core/pair.h wants said. */
static int reach(struct ht_tier *t, enum ht_pair_goal goal)
{
	bool dirty = ht_engine_all_dirty(&t->engine) || t->map.lost.used;
	enum ht_pair_action action = ht_pair_begin(&t->pair, goal, dirty);
	int r = 0;

	for (; action != HT_PAIR_DONE; action = ht_pair_next(&t->pair, !r)) {
		switch (action) {
		case HT_PAIR_COMMIT:
			r = ht_commit(t);
			break;
		case HT_PAIR_WRITE_FAST:
			r = ht_meta_write_state(t, HT_ROLE_FAST);
			break;
		case HT_PAIR_WRITE_BULK:
			r = ht_meta_write_state(t, HT_ROLE_BULK);
			break;
		default:
			return r ? r : -EIO;
		}
	}
	return 0;
}

/* Before the first request. */
int ht_meta_start(struct ht_tier *t)
{
	return reach(t, HT_PAIR_START);
}

/* After the last one: the clean stop. */
int ht_meta_stop(struct ht_tier *t)
{
	return reach(t, HT_PAIR_STOP);
}
