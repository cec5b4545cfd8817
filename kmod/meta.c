// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is written on the devices beside data: headers, states, and records at activation. Records
 * that change later are commit.c's. Everything here is synchronous, in process context.
 */
#include "tier.h"

#define LOAD_BYTES (256U << 10) /* read in one piece at activation */

/* Reads or writes one physically contiguous piece of at most LOAD_BYTES. */
int ht_sync_io(struct block_device *bdev, blk_opf_t opf, sector_t sector, void *page, u32 bytes)
{
	struct bio *bio = bio_alloc(bdev, 1, opf, GFP_NOIO);
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
	if (t->ti->len != (u64)fast->geo.extents << fast->geo.extent_shift)
		return "table length differs from the tier's size: whole extents of bulk behind its data offset";
	return NULL;
}

/* Reads and checks both headers; NULL, or one line that says what is wrong. */
const char *ht_meta_headers(struct ht_tier *t, u32 extent_sectors)
{
	struct ht_header fast, bulk;
	enum ht_refusal why;
	const char *error;
	void *page;

	page = (void *)__get_free_page(GFP_KERNEL);
	if (!page)
		return "out of memory";
	error = read_header(t->fast->bdev, page, &fast, &why);
	if (!error)
		error = read_header(t->bulk->bdev, page, &bulk, &why);
	if (!error)
		error = check_pair(t, &fast, &bulk, extent_sectors);
	if (!error) {
		t->map.geo = fast.geo;
		memcpy(t->uuid, fast.uuid, sizeof(t->uuid));
	}
	free_page((unsigned long)page);
	return error;
}

/* ---- states --------------------------------------------------------------------------------- */

static int read_state(struct ht_tier *t, struct block_device *bdev, u32 role, struct ht_state *ret)
{
	const void *copies[HT_STATE_COPIES];
	void *pages;
	int r = -ENOMEM;

	BUILD_BUG_ON(HT_STATE_COPIES != 2);
	pages = (void *)__get_free_pages(GFP_NOIO, 1);
	if (!pages)
		return r;
	r = ht_sync_io(bdev, REQ_OP_READ | REQ_META, HT_STATE_SECTOR, pages, 2 * PAGE_SIZE);
	if (!r) {
		copies[0] = pages;
		copies[1] = pages + HT_STATE_STRIDE * HT_SECTOR_BYTES;
		if (ht_state_decode(t->uuid, role, copies, ret) != HT_OK)
			r = -EILSEQ;
	}
	free_pages((unsigned long)pages, 1);
	if (r)
		DMERR("%pg: cannot read state of the pair: %d", bdev, r);
	return r;
}

/* Writes the state to its older copy, durably. */
static int write_state(struct ht_tier *t, struct block_device *bdev, u32 role,
		       struct ht_state *state)
{
	void *page = (void *)get_zeroed_page(GFP_NOIO);
	int r;

	if (!page)
		return -ENOMEM;
	state->seq++;
	ht_state_encode(t->uuid, role, state, page);
	r = ht_sync_io(bdev, REQ_OP_WRITE | REQ_SYNC | REQ_META | REQ_PREFLUSH | REQ_FUA,
		       ht_state_sector(state->seq), page, PAGE_SIZE);
	free_page((unsigned long)page);
	if (r)
		DMERR("%pg: cannot write state of the pair: %d", bdev, r);
	return r;
}

/* ---- records -------------------------------------------------------------------------------- */

static enum ht_refusal load_sector(struct ht_tier *t, u32 index, const void *sector,
				   enum ht_trust trust)
{
	const struct ht_geometry *geo = &t->map.geo;
	struct ht_record record;
	enum ht_refusal why;
	u64 seq;

	why = ht_records_check(t->uuid, index, sector, &seq);
	if (why != HT_OK)
		return why;
	/* A sequence number near the end of its range would wrap: nobody wrote that many. */
	if (seq >> 62)
		return HT_REFUSE_RECORD;
	t->commit_seq = max(t->commit_seq, seq);
	for (u32 nth = 0; nth < geo->per_sector; nth++) {
		u64 slot = (u64)index * geo->per_sector + nth;

		why = ht_record_get(geo, sector, nth, &record);
		if (why == HT_OK && record.used && slot >= geo->slots)
			why = HT_REFUSE_RECORD;
		if (why == HT_OK && record.used)
			why = ht_record_load(&t->map, slot, &record, trust);
		if (why != HT_OK)
			return why;
	}
	return HT_OK;
}

static int load_records(struct ht_tier *t, enum ht_trust trust)
{
	const struct ht_geometry *geo = &t->map.geo;
	const u32 step = LOAD_BYTES / HT_SECTOR_BYTES;
	enum ht_refusal why = HT_OK;
	void *buffer;
	int r = 0;

	buffer = (void *)__get_free_pages(GFP_NOIO, get_order(LOAD_BYTES));
	if (!buffer)
		return -ENOMEM;
	for (u32 at = 0; at < geo->meta_sectors && !r; at += step) {
		u32 count = min(step, geo->meta_sectors - at);

		r = ht_sync_io(t->fast->bdev, REQ_OP_READ | REQ_META, geo->meta_start + at, buffer,
			       count * HT_SECTOR_BYTES);
		for (u32 i = 0; i < count && !r; i++) {
			why = load_sector(t, at + i, buffer + i * HT_SECTOR_BYTES, trust);
			if (why != HT_OK) {
				DMERR("%pg: record sector %u: %s", t->fast->bdev, at + i,
				      ht_refusal_text(why));
				r = -EILSEQ;
			}
		}
		cond_resched();
	}
	free_pages((unsigned long)buffer, get_order(LOAD_BYTES));
	return r;
}

/* ---- activation and stop -------------------------------------------------------------------- */

/* Reads all that changes; into an empty map. */
int ht_meta_load(struct ht_tier *t)
{
	enum ht_trust trust = HT_TRUST_ALL;
	bool agree;
	int r;

	r = read_state(t, t->fast->bdev, HT_ROLE_FAST, &t->fast_state);
	if (!r)
		r = read_state(t, t->bulk->bdev, HT_ROLE_BULK, &t->bulk_state);
	if (r)
		return r;
	/* R13: bulk moves on alone only when fast was away. */
	agree = t->fast_state.epoch == t->bulk_state.epoch ||
		((t->fast_state.flags & HT_STATE_MOVING) &&
		 t->fast_state.epoch + 1 == t->bulk_state.epoch);
	if (!agree)
		trust = t->discard_dirty ? HT_TRUST_NONE : HT_TRUST_DIRTY;
	t->commit_seq = t->fast_state.commit_seq;
	r = load_records(t, trust);
	if (r || agree)
		return r;
	for (u32 slot = 0; slot < t->map.geo.slots; slot++) {
		if (ht_list_of(&t->map, slot) != HT_LIST_DIRTY)
			continue;
		DMERR("%pg: bulk was written without this device, which holds newer data: add option discard_dirty to give that up",
		      t->fast->bdev);
		return -EUCLEAN;
	}
	DMWARN("%pg: bulk was written without this device: what it holds is void", t->fast->bdev);
	return 0;
}

/* Says on both devices that the tier runs; before the first request. */
int ht_meta_start(struct ht_tier *t)
{
	int r;

	t->bulk_state.flags = HT_STATE_HAS_DIRTY;
	t->fast_state.flags = 0;
	t->fast_state.epoch = t->bulk_state.epoch;
	t->fast_state.commit_seq = t->commit_seq;
	r = write_state(t, t->bulk->bdev, HT_ROLE_BULK, &t->bulk_state);
	if (!r)
		r = write_state(t, t->fast->bdev, HT_ROLE_FAST, &t->fast_state);
	return r;
}

/* The clean stop: everything is committed and nothing in flight. */
int ht_meta_stop(struct ht_tier *t)
{
	int r;

	t->fast_state.flags = HT_STATE_CLEAN_STOP;
	t->fast_state.commit_seq = t->commit_seq;
	t->bulk_state.flags = HT_STATE_CLEAN_STOP;
	if (ht_engine_dirty(&t->engine))
		t->bulk_state.flags |= HT_STATE_HAS_DIRTY;
	r = write_state(t, t->fast->bdev, HT_ROLE_FAST, &t->fast_state);
	if (!r)
		r = write_state(t, t->bulk->bdev, HT_ROLE_BULK, &t->bulk_state);
	return r;
}

/* R14: before the first home write without fast, so that its clean units are void for ever. */
int ht_meta_move_epoch(struct ht_tier *t)
{
	t->bulk_state.epoch++;
	return write_state(t, t->bulk->bdev, HT_ROLE_BULK, &t->bulk_state);
}
