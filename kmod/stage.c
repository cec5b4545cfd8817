// SPDX-License-Identifier: GPL-2.0-only
/*
 * The stage: bounded RAM for what is read ahead of readers in order, used once.
 *
 * It is made of blocks, each with the pages of one extent. A block that is findable hangs in the
 * chain of its extent's shard, and in the order of its stream. Whoever reads its last unit takes
 * it out; so does whatever changes the extent (core/ahead.h says why no stale byte is read); so
 * does the sweep when the reader has left. Then it lives until those who use it are done: the
 * load, and readers that copy.
 *
 *   decide ──found──> READY: copied by the reader itself
 *      │        └───> LOADING: waits in the block, copied by the block's work
 *      └──missed──> core/stream.c finds streams ──> work: takes blocks, sends their reads
 *
 * Nothing waits for the stage to have room, and it waits for no memory: a reader that finds
 * nothing here reads as if there were no stage. Locks: a shard's, and inside it the stage's.
 */
#include "tier.h"

#include "core/ahead.h"
#include "core/bits.h"
#include "core/stream.h"

#include <linux/highmem.h>
#include <linux/shrinker.h>
#include <linux/vmalloc.h>

#define FOUND_IDLE (5 * HZ)     /* what was read ahead of a found stream is kept so long */
#define TOLD_IDLE (30 * HZ)
#define SWEEP_EVERY HZ
#define IN_VAIN 16              /* pieces that could not be had, after which the next read asks again */
#define STALE (HZ / 4)          /* a reader that pauses so long gives room to others */

enum { LOADING, READY, FAILED };

struct ht_staged {
	struct ht_staged *next;         /* shard lock: in its chain */
	struct list_head order;         /* stage lock: of its stream, or of free blocks */
	struct ht_tier *tier;
	struct page **pages;            /* [units], or all NULL */
	struct ht_piece piece;
	struct work_struct work;
	struct bio_list readers;        /* shard lock: joined while LOADING */
	atomic_t users;                 /* being findable, the load, and readers */
	atomic_t pending;               /* bios in flight */
	blk_status_t status;
	u32 slot;                       /* counts as a reader there, while LOADING */
	u32 fast_sectors;
	u32 bulk_sectors;
	u16 unread[HT_UNITS_MAX / 16];  /* shard lock */
	u8 state;                       /* shard lock */
	bool findable;                  /* shard lock */
	bool has_pages;
};

struct ht_stage {
	struct ht_tier *tier;
	spinlock_t lock;
	struct ht_streams streams;
	struct list_head order[HT_STREAMS]; /* findable blocks, as they were asked for */
	struct list_head free;          /* those that have pages first */
	struct ht_staged *blocks;
	u32 nr;
	u32 used;
	u32 limit;                      /* blocks that may be used: falls with memory pressure */
	u32 idle_pages;                 /* blocks that are free and have pages */
	atomic_t loads;
	struct work_struct work;
	struct delayed_work sweep;
	struct bio_set bios;
#ifdef SHRINKER_ALLOCATED
	struct shrinker *shrinker;
#else
	struct shrinker shrinker;
	bool shrinks;
#endif
};

static u32 ticks(void)
{
	return (u32)jiffies;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static void free_pages_of(struct ht_staged *b)
{
	for (u32 i = 0; i < b->tier->map.geo.units; i++) {
		if (b->pages[i])
			__free_page(b->pages[i]);
		b->pages[i] = NULL;
	}
	b->has_pages = false;
}

/* The worker may be the one that memory is freed by: it takes what is there. */
static bool get_pages(struct ht_staged *b)
{
	for (u32 i = 0; i < b->tier->map.geo.units && !b->has_pages; i++) {
		if (!b->pages[i])
			b->pages[i] = alloc_page(GFP_NOWAIT | __GFP_NOWARN | __GFP_NORETRY |
						 __GFP_NOMEMALLOC);
		if (!b->pages[i]) {
			free_pages_of(b);
			return false;
		}
	}
	b->has_pages = true;
	return true;
}

static void give_block(struct ht_stage *stage, struct ht_staged *b)
{
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	if (b->has_pages) {
		list_add(&b->order, &stage->free);
		stage->idle_pages++;
	} else {
		list_add_tail(&b->order, &stage->free);
	}
	stage->used--;
	spin_unlock_irqrestore(&stage->lock, flags);
}

/* A free block with pages, for the next piece of a stream. NULL: no stream wants, or no room. */
static struct ht_staged *take_block(struct ht_stage *stage)
{
	struct ht_staged *b = NULL;

	spin_lock_irq(&stage->lock);
	if (stage->used < stage->limit)
		b = list_first_entry_or_null(&stage->free, struct ht_staged, order);
	if (b && ht_streams_next(&stage->streams, &b->piece)) {
		list_del_init(&b->order);
		stage->used++;
		if (b->has_pages)
			stage->idle_pages--;
	} else {
		b = NULL;
	}
	spin_unlock_irq(&stage->lock);
	return b;
}

static void put_block(struct ht_staged *b)
{
	if (atomic_dec_and_test(&b->users))
		give_block(b->tier->stage, b);
}

/* Under the shard's lock: nobody finds it any more. What is unread is no more the stream's. */
static void hide(struct ht_stage *stage, struct ht_lock_shard *shard, struct ht_staged *b)
{
	struct ht_staged **link = &shard->staged;
	bool read = !ht_bits_any(b->unread, b->piece.from, b->piece.to);

	while (*link != b)
		link = &(*link)->next;
	*link = b->next;
	b->findable = false;
	spin_lock(&stage->lock);
	list_del_init(&b->order);
	ht_streams_gone(&stage->streams, &b->piece, read ? HT_GONE_READ : HT_GONE_UNREAD);
	spin_unlock(&stage->lock);
	if (!read)
		ht_count(b->tier, HINTIER_C_STAGE_UNUSED_BYTES,
			 (u64)ht_bits_count(b->unread, b->piece.from, b->piece.to) *
			 HINTIER_UNIT_BYTES);
	put_block(b);
}

static struct ht_staged *find(struct ht_lock_shard *shard, u32 extent)
{
	struct ht_staged *b = shard->staged;

	while (b && b->piece.extent != extent)
		b = b->next;
	return b;
}

void ht_stage_forget(struct ht_tier *t, struct ht_lock_shard *shard, u32 extent)
{
	struct ht_staged *b = find(shard, extent);

	if (b)
		hide(t->stage, shard, b);
}

/* A block that was found without its shard's lock, with a reference, is to go. */
static void drop(struct ht_stage *stage, struct ht_staged *b)
{
	struct ht_lock_shard *shard;
	unsigned long flags;

	shard = ht_shard_lock(stage->tier, b->piece.extent, &flags);
	if (b->findable)
		hide(stage, shard, b);
	ht_shard_unlock(shard, flags);
	put_block(b);
}

/* ---- loads ---------------------------------------------------------------------------------- */

static void copy_piece(struct ht_staged *b, u32 at, const struct bio_vec *bv)
{
	char *to = bvec_kmap_local((struct bio_vec *)bv);
	u32 done = 0;

	while (done < bv->bv_len) {
		u32 in_page = (at + done) % PAGE_SIZE;
		u32 bytes = min_t(u32, bv->bv_len - done, PAGE_SIZE - in_page);

		memcpy(to + done, page_address(b->pages[(at + done) / PAGE_SIZE]) + in_page, bytes);
		done += bytes;
	}
	kunmap_local(to);
	flush_dcache_page(bv->bv_page);
}

static void copy_out(struct ht_staged *b, struct bio *bio)
{
	u64 start = (u64)b->piece.extent << b->tier->map.geo.extent_shift;
	u32 at = (bio->bi_iter.bi_sector - start) << SECTOR_SHIFT;
	struct bvec_iter iter;
	struct bio_vec bv;

	/* Its segments need not be whole sectors. */
	bio_for_each_segment(bv, bio, iter) {
		copy_piece(b, at, &bv);
		at += bv.bv_len;
	}
}

/* What was read ahead is no good: the read finds out for itself, from a device. */
static void read_plainly(struct ht_tier *t, struct bio *bio)
{
	ht_io_of(bio)->flags |= HT_IO_NO_STAGE;
	ht_park_retry(t, bio);
}

static void answer(struct ht_staged *b, struct bio *bio, u8 state, u8 outcome)
{
	if (state == FAILED) {
		read_plainly(b->tier, bio);
		return;
	}
	ht_io_of(bio)->outcome = outcome;
	copy_out(b, bio);
	bio_endio(bio);
}

static void serve_joined(struct work_struct *work)
{
	struct ht_staged *b = container_of(work, struct ht_staged, work);
	struct bio *bio;

	/* Its state is final, and nobody joins any more. */
	while ((bio = bio_list_pop(&b->readers)))
		answer(b, bio, b->state, HINTIER_IO_JOINED);
	put_block(b);
}

static void load_ended(struct ht_staged *b)
{
	struct ht_tier *t = b->tier;
	struct ht_stage *stage = t->stage;
	struct ht_request req = { .op = HT_REQ_READ, .extent = b->piece.extent };
	struct ht_lock_shard *shard;
	unsigned long flags;
	bool joined;

	/* Whoever waits for the last load and then takes the tier down waits for this, too. */
	rcu_read_lock();
	atomic_sub(b->fast_sectors, &t->fast_sectors);
	atomic_sub(b->bulk_sectors, &t->bulk_sectors);
	shard = ht_shard_lock(t, b->piece.extent, &flags);
	if (b->slot != HT_NIL)
		ht_act(t, b->slot, ht_end(&t->map, &shard->core, &req, b->slot, HT_DO_FAST, true),
		       0);
	/* Pairs with the acquire in ht_stage_serve(): who sees that sees the data. */
	smp_store_release(&b->state, b->status ? FAILED : READY);
	if (b->status && b->findable)
		hide(stage, shard, b);
	joined = !bio_list_empty(&b->readers);
	ht_shard_unlock(shard, flags);
	if (joined)
		queue_work(t->wq, &b->work);
	else
		put_block(b);
	if (atomic_dec_and_test(&stage->loads)) {
		wake_up_all(&t->drained);
		if (READ_ONCE(t->held_back))
			ht_worker_kick(t);
	}
	rcu_read_unlock();
}

static void io_put(struct ht_staged *b)
{
	if (atomic_dec_and_test(&b->pending))
		load_ended(b);
}

static void load_endio(struct bio *bio)
{
	struct ht_staged *b = bio->bi_private;

	if (bio->bi_status)
		b->status = bio->bi_status;
	bio_put(bio);
	io_put(b);
}

static void submit_run(struct ht_staged *b, bool fast, u32 from, u32 to)
{
	struct ht_tier *t = b->tier;
	const struct ht_geometry *geo = &t->map.geo;
	u64 start = fast ? ht_slot_sector(geo, b->slot) : ht_home_sector(geo, b->piece.extent);
	struct bio *bio = bio_alloc_bioset(fast ? t->fast->bdev : t->bulk->bdev, to - from,
					   REQ_OP_READ, GFP_NOIO, &t->stage->bios);

	bio->bi_iter.bi_sector = start + from * HT_UNIT_SECTORS;
	bio->bi_private = b;
	bio->bi_end_io = load_endio;
	for (; from < to; from++)
		__bio_add_page(bio, b->pages[from], PAGE_SIZE, 0);
	atomic_inc(&b->pending);
	submit_bio_noacct(bio);
}

static void submit(struct ht_staged *b, const struct ht_ahead *ahead)
{
	u32 from = b->piece.from, to = b->piece.to, end;

	atomic_set(&b->pending, 1);
	b->status = BLK_STS_OK;
	for (; from < to; from = end) {
		bool fast = ht_bits_test(ahead->units, from);

		end = ht_bits_find(ahead->units, from, to, !fast);
		submit_run(b, fast, from, end);
	}
	io_put(b);
}

/* What is on both devices comes from the one with less to read. */
static bool prefers_home(struct ht_tier *t)
{
	return READ_ONCE(t->engine.tune.balance) &&
	       atomic_read(&t->fast_sectors) > atomic_read(&t->bulk_sectors);
}

/* Makes a block findable and starts to fill it; false if that may not be done now. */
static bool load(struct ht_stage *stage, struct ht_staged *b)
{
	struct ht_tier *t = stage->tier;
	u32 from = b->piece.from, to = b->piece.to;
	struct ht_lock_shard *shard;
	struct ht_ahead ahead;
	unsigned long flags;
	bool begun;

	shard = ht_shard_lock(t, b->piece.extent, &flags);
	spin_lock(&t->hold_lock);
	begun = !find(shard, b->piece.extent) &&
		ht_ahead_begin(&t->map, &shard->core, b->piece.extent, from, to, prefers_home(t),
			       &ahead);
	spin_unlock(&t->hold_lock);
	if (begun) {
		if (ahead.act)
			ht_act(t, ahead.slot, ahead.act, ahead.fetch);
		b->slot = ahead.slot;
		b->fast_sectors = ht_bits_count(ahead.units, from, to) * HT_UNIT_SECTORS;
		b->bulk_sectors = (to - from) * HT_UNIT_SECTORS - b->fast_sectors;
		b->state = LOADING;
		b->findable = true;
		memset(b->unread, 0, sizeof(b->unread));
		ht_bits_set(b->unread, from, to);
		atomic_set(&b->users, 2);
		b->next = shard->staged;
		shard->staged = b;
		spin_lock(&stage->lock);
		list_add_tail(&b->order, &stage->order[b->piece.stream]);
		spin_unlock(&stage->lock);
	}
	ht_shard_unlock(shard, flags);
	if (!begun)
		return false;

	atomic_inc(&stage->loads);
	atomic_add(b->fast_sectors, &t->fast_sectors);
	atomic_add(b->bulk_sectors, &t->bulk_sectors);
	ht_count(t, HINTIER_C_STAGED_BYTES, (u64)(to - from) * HINTIER_UNIT_BYTES);
	submit(b, &ahead);
	return true;
}

/* ---- the work: reads ahead, and drops what readers have left ---------------------------------- */

/* A block whose reader is past it, or whose stream has ended; with a reference. NULL: none. */
static struct ht_staged *left_behind(struct ht_stage *stage)
{
	struct ht_staged *b = NULL, *first;

	spin_lock_irq(&stage->lock);
	for (u32 nth = 0; nth < HT_STREAMS && !b; nth++) {
		first = list_first_entry_or_null(&stage->order[nth], struct ht_staged, order);
		if (first && ht_streams_passed(&stage->streams, &first->piece))
			b = first;
	}
	if (b)
		atomic_inc(&b->users);
	spin_unlock_irq(&stage->lock);
	return b;
}

static void drop_left_behind(struct ht_stage *stage)
{
	struct ht_staged *b;

	while ((b = left_behind(stage)))
		drop(stage, b);
}

/* The last block of the stream that was not read for longest, and at least so long; or NULL. */
static struct ht_staged *idlest(struct ht_stage *stage, u32 age)
{
	struct ht_staged *b = NULL;
	unsigned long flags;
	u32 now = ticks();

	spin_lock_irqsave(&stage->lock, flags);
	for (u32 nth = 0; nth < HT_STREAMS; nth++) {
		u32 idle = now - stage->streams.stream[nth].used;

		if (list_empty(&stage->order[nth]) || idle < age)
			continue;
		b = list_last_entry(&stage->order[nth], struct ht_staged, order);
		age = idle;
	}
	if (b)
		atomic_inc(&b->users);
	spin_unlock_irqrestore(&stage->lock, flags);
	return b;
}

/* Takes room from a stream whose reader pauses. */
static void make_room(struct ht_stage *stage)
{
	struct ht_staged *b;

	if (READ_ONCE(stage->used) < READ_ONCE(stage->limit))
		return;
	b = idlest(stage, STALE);
	if (b)
		drop(stage, b);
}

static void give_up(struct ht_stage *stage, struct ht_staged *b)
{
	spin_lock_irq(&stage->lock);
	ht_streams_gone(&stage->streams, &b->piece, HT_GONE_NOT_HAD);
	spin_unlock_irq(&stage->lock);
	give_block(stage, b);
}

static void sweep_later(struct ht_stage *stage)
{
	if (READ_ONCE(stage->streams.active) || READ_ONCE(stage->limit) < stage->nr ||
	    READ_ONCE(stage->idle_pages))
		queue_delayed_work(stage->tier->wq, &stage->sweep, SWEEP_EVERY);
}

static void stage_work(struct work_struct *work)
{
	struct ht_stage *stage = container_of(work, struct ht_stage, work);
	struct ht_staged *b;
	struct blk_plug plug;
	u32 in_vain = 0;

	drop_left_behind(stage);
	make_room(stage);
	blk_start_plug(&plug);
	while (!READ_ONCE(stage->tier->stopping) && in_vain < IN_VAIN && (b = take_block(stage))) {
		if (!get_pages(b)) {
			/* Its stream reads these from a device. */
			give_up(stage, b);
			break;
		}
		if (!load(stage, b)) {
			give_up(stage, b);
			in_vain++;
		}
		cond_resched();
	}
	blk_finish_plug(&plug);
	if (!READ_ONCE(stage->tier->stopping))
		sweep_later(stage);
}

static void kick(struct ht_stage *stage)
{
	if (!READ_ONCE(stage->tier->stopping))
		queue_work(stage->tier->wq, &stage->work);
}

/* Free blocks' pages that nobody has needed for a while go back, some each time. */
static void free_some(struct ht_stage *stage, u32 most)
{
	struct ht_staged *b;
	unsigned long flags;

	while (most--) {
		spin_lock_irqsave(&stage->lock, flags);
		b = list_first_entry_or_null(&stage->free, struct ht_staged, order);
		if (b && b->has_pages) {
			list_del_init(&b->order);
			stage->idle_pages--;
			stage->used++;
		} else {
			b = NULL;
		}
		spin_unlock_irqrestore(&stage->lock, flags);
		if (!b)
			return;
		free_pages_of(b);
		give_block(stage, b);
	}
}

static void stage_sweep(struct work_struct *work)
{
	struct ht_stage *stage = container_of(to_delayed_work(work), struct ht_stage, sweep);
	bool quiet;

	spin_lock_irq(&stage->lock);
	ht_streams_end(&stage->streams, 0, ticks(), FOUND_IDLE, TOLD_IDLE);
	stage->limit = min(stage->nr, stage->limit + stage->nr / 8 + 1);
	quiet = !stage->streams.active;
	spin_unlock_irq(&stage->lock);
	drop_left_behind(stage);
	if (quiet)
		free_some(stage, stage->nr / 8 + 1);
	kick(stage);
}

/* ---- reads ---------------------------------------------------------------------------------- */

bool ht_stage_begin(struct ht_tier *t, struct ht_lock_shard *shard, struct ht_io *io,
		    const struct ht_request *req, struct ht_answer *ans)
{
	struct ht_staged *b = find(shard, req->extent);
	u32 from = req->from / HT_UNIT_SECTORS, to;
	struct ht_stage *stage = t->stage;
	u64 start;
	bool more;

	if (!b || from < b->piece.from || from >= b->piece.to)
		return false;
	to = min(req->to, b->piece.to * HT_UNIT_SECTORS);
	ans->verdict = HT_DO_STAGED;
	ans->slot = HT_NIL;
	ans->klass = 0;
	ans->act = 0;
	ans->to = to;
	if (!io)
		return true;

	atomic_inc(&b->users);
	io->staged = b;
	/* A unit counts as read when its end is. */
	ht_bits_clear(b->unread, from, to / HT_UNIT_SECTORS);
	start = (u64)req->extent << t->map.geo.extent_shift;
	spin_lock(&stage->lock);
	more = ht_streams_hit(&stage->streams, &b->piece, start + to, ticks());
	spin_unlock(&stage->lock);
	if (!ht_bits_any(b->unread, b->piece.from, b->piece.to))
		hide(stage, shard, b);
	if (more)
		kick(stage);
	return true;
}

/* Waits with the load if that is still under way. */
static bool join(struct ht_tier *t, struct ht_staged *b, struct bio *bio)
{
	struct ht_lock_shard *shard;
	unsigned long flags;
	bool loading;

	shard = ht_shard_lock(t, b->piece.extent, &flags);
	loading = b->state == LOADING;
	if (loading)
		bio_list_add(&b->readers, bio);
	ht_shard_unlock(shard, flags);
	return loading;
}

void ht_stage_serve(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	struct ht_staged *b = io->staged;
	/* Pairs with the release in load_ended(). A state that is final stays so as long as we use it. */
	u8 state = smp_load_acquire(&b->state);

	if (state == LOADING && join(t, b, bio)) {
		put_block(b);
		return;
	}
	answer(b, bio, READ_ONCE(b->state), HINTIER_IO_STAGE);
	put_block(b);
}

bool ht_stage_missed(struct ht_tier *t, struct ht_io *io, u64 from, u64 to)
{
	struct ht_stage *stage = t->stage;
	struct ht_course course;
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	ht_streams_read(&stage->streams, from, to, ticks(), &course);
	spin_unlock_irqrestore(&stage->lock, flags);
	io->stream = course.stream;
	io->stream_number = course.number;
	if (course.kick)
		kick(stage);
	return course.more;
}

void ht_stage_landed(struct ht_tier *t, struct ht_io *io)
{
	struct ht_stage *stage = t->stage;
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	ht_streams_landed(&stage->streams, io->stream, io->stream_number);
	spin_unlock_irqrestore(&stage->lock, flags);
	io->stream = HT_NIL;
}

/* ---- what is told --------------------------------------------------------------------------- */

/* Ranges are remembered from the first time on that anything is told. */
static int need_ranges(struct ht_stage *stage)
{
	struct ht_streams *all = &stage->streams;
	struct ht_range *ranges;

	if (READ_ONCE(all->ranges))
		return 0;
	ranges = vzalloc(HT_RANGES * sizeof(*ranges));
	if (!ranges)
		return -ENOSPC;
	spin_lock_irq(&stage->lock);
	if (!all->ranges) {
		ht_streams_room(all, ranges);
		ranges = NULL;
	}
	spin_unlock_irq(&stage->lock);
	vfree(ranges); /* somebody else was sooner */
	return 0;
}

int ht_stage_tell(struct ht_tier *t, u64 owner, const struct hintier_hint *hint)
{
	struct ht_stage *stage = t->stage;
	int r;

	if (!stage)
		return -ENOSPC;
	r = need_ranges(stage);
	if (r)
		return r;
	spin_lock_irq(&stage->lock);
	r = ht_streams_tell(&stage->streams, owner, hint->cookie, hint->source,
			    hint->offset >> SECTOR_SHIFT,
			    (hint->offset + hint->length) >> SECTOR_SHIFT, hint->depth, ticks());
	spin_unlock_irq(&stage->lock);
	if (!r)
		kick(stage);
	return r;
}

void ht_stage_untell(struct ht_tier *t, u64 owner)
{
	struct ht_stage *stage = t->stage;
	bool any;

	if (!stage)
		return;
	spin_lock_irq(&stage->lock);
	any = ht_streams_end(&stage->streams, owner, 0, 0, 0);
	spin_unlock_irq(&stage->lock);
	if (any)
		drop_left_behind(stage);
}

/* ---- memory pressure ------------------------------------------------------------------------ */

static unsigned long shrink_count(struct shrinker *shrinker, struct shrink_control *sc);
static unsigned long shrink_scan(struct shrinker *shrinker, struct shrink_control *sc);

#ifdef SHRINKER_ALLOCATED

static struct ht_stage *stage_of(struct shrinker *shrinker)
{
	return shrinker->private_data;
}

static int add_shrinker(struct ht_stage *stage)
{
	struct shrinker *s = shrinker_alloc(0, "hintier-stage");

	if (!s)
		return -ENOMEM;
	s->count_objects = shrink_count;
	s->scan_objects = shrink_scan;
	s->seeks = DEFAULT_SEEKS;
	s->private_data = stage;
	stage->shrinker = s;
	shrinker_register(s);
	return 0;
}

static void remove_shrinker(struct ht_stage *stage)
{
	if (stage->shrinker)
		shrinker_free(stage->shrinker);
}

#else

static struct ht_stage *stage_of(struct shrinker *shrinker)
{
	return container_of(shrinker, struct ht_stage, shrinker);
}

static int add_shrinker(struct ht_stage *stage)
{
	struct shrinker *s = &stage->shrinker;
	int r;

	s->count_objects = shrink_count;
	s->scan_objects = shrink_scan;
	s->seeks = DEFAULT_SEEKS;
	r = register_shrinker(s, "hintier-stage");
	stage->shrinks = !r;
	return r;
}

static void remove_shrinker(struct ht_stage *stage)
{
	if (stage->shrinks)
		unregister_shrinker(&stage->shrinker);
}

#endif

/* Counted in pages. */
static unsigned long shrink_count(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct ht_stage *stage = stage_of(shrinker);

	return (unsigned long)(READ_ONCE(stage->used) + READ_ONCE(stage->idle_pages)) *
	       stage->tier->map.geo.units;
}

static unsigned long shrink_scan(struct shrinker *shrinker, struct shrink_control *sc)
{
	struct ht_stage *stage = stage_of(shrinker);
	u32 units = stage->tier->map.geo.units;
	u32 want = DIV_ROUND_UP(sc->nr_to_scan, units), freed = 0, before, keep;
	struct ht_staged *b;
	unsigned long flags;

	spin_lock_irqsave(&stage->lock, flags);
	/* It grows again with every sweep. Some room stays: a few blocks still help. */
	keep = min(stage->limit, stage->used);
	stage->limit = max(keep - min(want, keep), stage->nr / 8 + 1);
	spin_unlock_irqrestore(&stage->lock, flags);
	while (freed < want) {
		before = READ_ONCE(stage->idle_pages);
		if (!before) {
			b = idlest(stage, 0);
			if (!b)
				break;
			drop(stage, b);
		}
		free_some(stage, 1);
		freed++;
	}
	return freed ? (unsigned long)freed * units : SHRINK_STOP;
}

/* ---- life ----------------------------------------------------------------------------------- */

bool ht_stage_idle(struct ht_tier *t)
{
	return !t->stage || !atomic_read(&t->stage->loads);
}

/* An empty stage, as nothing is findable and nothing in flight. */
void ht_stage_reset(struct ht_tier *t)
{
	struct ht_stage *stage = t->stage;
	const struct ht_geometry *geo = &t->map.geo;

	if (!stage)
		return;
	spin_lock_irq(&stage->lock);
	ht_streams_init(&stage->streams, geo->extent_shift,
			(u64)geo->extents << geo->extent_shift, stage->nr * geo->units);
	stage->limit = stage->nr;
	spin_unlock_irq(&stage->lock);
}

/* `stopping` is set: nothing new is read ahead. */
void ht_stage_clear(struct ht_tier *t)
{
	struct ht_stage *stage = t->stage;
	struct ht_staged *b;

	if (!stage)
		return;
	/* Each may have started the other before it could see that the tier stops. */
	cancel_work_sync(&stage->work);
	cancel_delayed_work_sync(&stage->sweep);
	cancel_work_sync(&stage->work);
	wait_event(t->drained, ht_stage_idle(t));
	synchronize_rcu();
	while ((b = idlest(stage, 0)))
		drop(stage, b);
	free_some(stage, stage->nr);
}

void ht_stage_resume(struct ht_tier *t)
{
	if (t->stage)
		kick(t->stage);
}

static int create_blocks(struct ht_stage *stage)
{
	struct ht_tier *t = stage->tier;
	u32 units = t->map.geo.units;
	struct page **pages;

	stage->blocks = kvcalloc(stage->nr, sizeof(*stage->blocks), GFP_KERNEL);
	if (!stage->blocks)
		return -ENOMEM;
	pages = kvcalloc(stage->nr, units * sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	for (u32 i = 0; i < stage->nr; i++) {
		struct ht_staged *b = &stage->blocks[i];

		b->tier = t;
		b->pages = pages + (size_t)i * units;
		bio_list_init(&b->readers);
		INIT_WORK(&b->work, serve_joined);
		list_add_tail(&b->order, &stage->free);
	}
	return 0;
}

int ht_stage_create(struct ht_tier *t, u32 mib)
{
	struct ht_stage *stage;
	int r;

	if (!mib)
		return 0;
	stage = kzalloc(sizeof(*stage), GFP_KERNEL);
	if (!stage)
		return -ENOMEM;
	t->stage = stage;
	stage->tier = t;
	spin_lock_init(&stage->lock);
	INIT_LIST_HEAD(&stage->free);
	for (u32 i = 0; i < HT_STREAMS; i++)
		INIT_LIST_HEAD(&stage->order[i]);
	INIT_WORK(&stage->work, stage_work);
	INIT_DELAYED_WORK(&stage->sweep, stage_sweep);
	stage->nr = mib << (20 - SECTOR_SHIFT - t->map.geo.extent_shift);
	ht_stage_reset(t);
	r = bioset_init(&stage->bios, 64, 0, BIOSET_NEED_BVECS);
	if (!r)
		r = create_blocks(stage);
	if (!r)
		r = add_shrinker(stage);
	return r;
}

void ht_stage_destroy(struct ht_tier *t)
{
	struct ht_stage *stage = t->stage;

	if (!stage)
		return;
	remove_shrinker(stage);
	if (stage->blocks) {
		free_some(stage, stage->nr);
		kvfree(stage->blocks[0].pages);
	}
	kvfree(stage->blocks);
	vfree(stage->streams.ranges);
	bioset_exit(&stage->bios);
	kfree(stage);
	t->stage = NULL;
}
