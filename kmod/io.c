// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests: ask the shard layer what may happen, and let it happen.
 *
 * decide() looks at the front of a bio and says how far one verdict holds: across several
 * extents if their slots follow each other on fast, or if all of it lives at home. The bio is
 * then cut there: by device mapper when it comes from map(); one that has been parked does piece
 * after piece itself. So no request allocates here, whatever becomes of it, and the worker that
 * all parked bios wait for never waits for memory. Nothing on the way to a slot sleeps or takes a
 * lock of the whole tier.
 */
#include "tier.h"

#define RUN_MAX 4096            /* extents in one verdict */
#define DEEP_SECTORS 128        /* reads below are never deep */
#define TIMED_HITS 8            /* one hit in so many is timed */
#define SHALLOW_READS 2         /* reads in flight on bulk that still count as shallow */

struct ht_io *ht_io_of(struct bio *bio)
{
	return dm_per_bio_data(bio, sizeof(struct ht_io));
}

static enum hintier_op stat_op(const struct ht_io *io)
{
	if (io->flags & HT_IO_FLUSH)
		return HINTIER_OP_FLUSH;
	switch (io->op) {
	case HT_REQ_READ:
		return HINTIER_OP_READ;
	case HT_REQ_DISCARD:
		return HINTIER_OP_DISCARD;
	default:
		return HINTIER_OP_WRITE;
	}
}

/* ---- decide --------------------------------------------------------------------------------- */

/*
 * What is staged comes before all else, and for no request but a read. Without `io` the answer
 * must be one that can be given back.
 */
static bool begin_staged(struct ht_tier *t, struct ht_lock_shard *shard, struct ht_io *io,
			 const struct ht_request *req, struct ht_answer *ans)
{
	if (req->op == HT_REQ_READ)
		return !(io && io->flags & HT_IO_NO_STAGE) && ht_stage_begin(t, shard, io, req, ans);
	ht_stage_forget(t, shard, req->extent);
	return false;
}

static void begin_one(struct ht_tier *t, struct ht_io *io, struct ht_request *req,
		      struct ht_answer *ans)
{
	struct ht_lock_shard *shard;
	unsigned long flags;

	shard = ht_shard_lock(t, req->extent, &flags);
	if (unlikely(shard->staged) && begin_staged(t, shard, io, req, ans)) {
		ht_shard_unlock(shard, flags);
		return;
	}
	ht_begin(&t->map, &shard->core, req, ans);
	if (ans->verdict == HT_DO_ADMIT) {
		if (ht_pool_admit(t, req->extent) == HT_NIL)
			req->no_admit = true;
		ht_begin(&t->map, &shard->core, req, ans);
	}
	if (unlikely(ans->act))
		ht_act(t, ans->slot, ans->act, ans->fetch);
	ht_shard_unlock(shard, flags);
}

static void end_one(struct ht_tier *t, const struct ht_request *req, u32 slot, u8 verdict, bool ok)
{
	struct ht_lock_shard *shard;
	unsigned long flags;
	u32 act;

	shard = ht_shard_lock(t, req->extent, &flags);
	act = ht_end(&t->map, &shard->core, req, slot, verdict, ok);
	if (act)
		ht_act(t, slot, act, 0);
	ht_shard_unlock(shard, flags);
}

/* Second read miss within the memory of the ghosts, or first, as the operator wants it. */
static bool wants_promotion(struct ht_tier *t, const struct ht_io *io, u32 extent, u32 slot,
			    u32 sectors)
{
	u32 *ghost = &t->ghosts[ht_hash(extent) % HT_GHOSTS];
	u32 policy = READ_ONCE(t->engine.tune.promote);

	if (!policy || slot != HT_NIL || (io->flags & HT_IO_NO_PROMOTE) ||
	    READ_ONCE(t->over) & HINTIER_OVER_FAST || READ_ONCE(t->stopping))
		return false;
	/* Large reads at depth are as fast from bulk: a copy would buy nothing but wear. */
	if (sectors >= DEEP_SECTORS && atomic_read(&t->bulk_reads) > SHALLOW_READS)
		return false;
	if (policy == 2 && READ_ONCE(*ghost) != extent) {
		WRITE_ONCE(*ghost, extent);
		return false;
	}
	return true;
}

/*
 * A clean unit is on both devices: which one has less to read? Small reads go to fast, which
 * answers them sooner, unless it is far behind.
 */
static bool prefers_home(struct ht_tier *t, u32 sectors)
{
	int fast = atomic_read(&t->fast_sectors), bulk = atomic_read(&t->bulk_sectors);

	if (sectors < DEEP_SECTORS)
		fast -= 4 * DEEP_SECTORS;
	return READ_ONCE(t->engine.tune.balance) && fast > bulk;
}

/* What small reads ask for is not counted: it is little, and all CPUs would write one line. */
static void count_deep(atomic_t *sectors, u32 of_read, int sign)
{
	if (of_read >= DEEP_SECTORS)
		atomic_add(sign * (int)of_read, sectors);
}

/* Does the verdict on the next extent continue this one? If not, gives back what it took. */
static bool continues(struct ht_tier *t, struct ht_io *io, struct ht_request *req, u32 *ret_to)
{
	struct ht_answer ans;

	begin_one(t, NULL, req, &ans);
	if (ans.verdict == io->verdict &&
	    (io->verdict == HT_DO_HOME || ans.slot == io->slot + io->count) &&
	    !(io->op == HT_REQ_READ && io->verdict == HT_DO_HOME &&
	      wants_promotion(t, io, req->extent, ans.slot, DEEP_SECTORS))) {
		*ret_to = ans.to;
		return true;
	}
	if (ans.verdict == HT_DO_FAST || ans.verdict == HT_DO_HOME) {
		req->to = ans.to;
		end_one(t, req, ans.slot, ans.verdict, false);
	}
	return false;
}

/* A read that only home can answer: a stream's is not worth a place on fast. */
static void decide_miss(struct ht_tier *t, struct bio *bio, struct ht_io *io, u32 slot)
{
	io->stream = HT_NIL;
	if (t->stage && ht_stage_missed(t, io, bio->bi_iter.bi_sector, bio_end_sector(bio)))
		io->flags |= HT_IO_NO_PROMOTE;
	if (!wants_promotion(t, io, io->extent, slot, bio_sectors(bio))) {
		io->outcome = HINTIER_IO_HOME;
		return;
	}
	io->verdict = HT_DO_ADMIT;
	if (io->stream != HT_NIL)
		ht_stage_landed(t, io);
}

/* Fills in what happens to the front of a bio; returns how many sectors of it. */
static u32 decide(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	const u32 whole = ht_extent_sectors(&t->map.geo);
	const u32 sectors = bio_sectors(bio);
	struct ht_request req = {
		.op = io->op,
		.extent = bio->bi_iter.bi_sector >> t->map.geo.extent_shift,
		.from = bio->bi_iter.bi_sector & (whole - 1),
		.no_admit = ((io->flags & HT_IO_FUA) && ht_fua_wants_home(sectors)) ||
			    (t->map.mode == HINTIER_MODE_WRITETHROUGH &&
			     (io->flags & HT_IO_NO_PROMOTE)) ||
			    READ_ONCE(t->over) == HINTIER_OVER_FAST,
	};
	struct ht_answer ans;
	u32 done, to;

	req.to = min(whole, req.from + sectors);
	req.from_home = io->op == HT_REQ_READ &&
			((io->flags & HT_IO_FROM_HOME) || prefers_home(t, sectors));
	begin_one(t, io, &req, &ans);
	io->extent = req.extent;
	io->count = 1;
	io->slot = ans.slot;
	io->from = req.from;
	io->verdict = ans.verdict;
	io->klass = ans.klass;
	done = ans.to - req.from;
	to = ans.to;
	if (ans.verdict == HT_DO_HOME) {
		if (io->op != HT_REQ_READ)
			io->outcome = req.no_admit ? HINTIER_IO_BYPASS : HINTIER_IO_HOME;
		else
			decide_miss(t, bio, io, ans.slot);
	}

	while (to == whole && done < sectors && io->count < RUN_MAX &&
	       (io->verdict == HT_DO_FAST || io->verdict == HT_DO_HOME)) {
		req.extent++;
		req.from = 0;
		req.to = min(whole, sectors - done);
		if (!continues(t, io, &req, &to))
			break;
		done += to;
		io->count++;
	}
	io->to = io->count == 1 ? io->from + done : (io->from + done - 1) % whole + 1;
	return done;
}

/* ---- execute -------------------------------------------------------------------------------- */

/* Carries a verdict out for a bio that it holds for as a whole. Returns DM_MAPIO_*. */
static int execute(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	const struct ht_geometry *geo = &t->map.geo;

	io->iter = bio->bi_iter;
	switch (io->verdict) {
	case HT_DO_FAST:
		io->flags |= HT_IO_HELD;
		io->outcome = HINTIER_IO_FAST;
		if (io->op == HT_REQ_READ)
			count_deep(&t->fast_sectors, bio_sectors(bio), 1);
		bio_set_dev(bio, t->fast->bdev);
		bio->bi_iter.bi_sector = ht_slot_sector(geo, io->slot) + io->from;
		return DM_MAPIO_REMAPPED;
	case HT_DO_HOME:
		if (io->op == HT_REQ_READ) {
			io->flags |= HT_IO_READING;
			atomic_inc(&t->bulk_reads);
			count_deep(&t->bulk_sectors, bio_sectors(bio), 1);
		} else {
			io->flags |= HT_IO_HELD;
			ht_blank_clear(t, io->extent, io->count);
		}
		bio_set_dev(bio, t->bulk->bdev);
		bio->bi_iter.bi_sector += geo->home_start;
		return DM_MAPIO_REMAPPED;
	case HT_DO_STAGED:
		ht_stage_serve(t, bio, io);
		return DM_MAPIO_SUBMITTED;
	case HT_DO_ADMIT:
	case HT_DO_TEE:
		ht_park_promote(t, bio);
		return DM_MAPIO_SUBMITTED;
	case HT_DO_JOIN:
	case HT_DO_WAIT:
		ht_park_move(t, bio, io->extent);
		return DM_MAPIO_SUBMITTED;
	case HT_DO_COMMIT:
		ht_park_commit(t, bio);
		return DM_MAPIO_SUBMITTED;
	default:
		/* Ended as a bio that a device has failed, so that it is counted. */
		io->outcome = io->verdict == HT_DO_LOST ? HINTIER_IO_LOST : HINTIER_IO_ERROR;
		ht_io_fail(bio, BLK_STS_IOERR);
		return DM_MAPIO_SUBMITTED;
	}
}

/* Decides and executes in one step what lies in one extent and needs nothing more than its slot. */
static bool map_hit(struct ht_tier *t, struct bio *bio, struct ht_io *io, bool read)
{
	const u32 whole = ht_extent_sectors(&t->map.geo);
	const u32 extent = bio->bi_iter.bi_sector >> t->map.geo.extent_shift;
	const u32 from = bio->bi_iter.bi_sector & (whole - 1);
	const u32 to = from + bio_sectors(bio);
	struct ht_hit hit = ht_hit_units(from, to);
	struct ht_lock_shard *shard;
	unsigned long flags;
	bool begun;

	if (to > whole || (io->flags & HT_IO_FUA))
		return false;
	shard = ht_shard_lock(t, extent, &flags);
	begun = likely(!shard->staged) &&
		ht_hit_begin(&t->map, extent, read, read && prefers_home(t, to - from), &hit);
	if (likely(begun))
		io->klass = t->map.slots[hit.slot].klass;
	ht_shard_unlock(shard, flags);
	if (unlikely(!begun))
		return false;

	io->hit = hit;
	io->shard = shard;
	io->flags = HT_IO_HELD | HT_IO_HIT;
	io->extent = extent;
	io->count = 1;
	io->slot = hit.slot;
	io->from = from;
	io->to = to;
	io->verdict = HT_DO_FAST;
	if (read)
		count_deep(&t->fast_sectors, to - from, 1);
	bio_set_dev(bio, t->fast->bdev);
	bio->bi_iter.bi_sector = ht_slot_sector(&t->map.geo, hit.slot) + from;
	return true;
}

/* The line is shared by all CPUs, and written once in a tick. */
static void note_read(struct ht_tier *t)
{
	u32 now = ht_now_tick();

	if (READ_ONCE(t->read_at) != now)
		WRITE_ONCE(t->read_at, now);
}

/*
 * To look at the clock twice is a fifth of what a hit costs. Hits are many and alike: the first
 * of TIMED_HITS stands for them, unless somebody traces each.
 */
static void time_hit(struct ht_tier *t, struct ht_io *io, bool read)
{
	if (trace_hintier_io_enabled())
		io->timed = 1;
	else if (!(this_cpu_read(t->dev->stats->hits[read]) % TIMED_HITS))
		io->timed = TIMED_HITS;
	if (io->timed)
		io->start = ktime_get_ns();
}

static void time_all(struct ht_io *io)
{
	if (!io->timed)
		io->start = ktime_get_ns();
	io->timed = 1;
}

int ht_io_map(struct ht_tier *t, struct bio *bio)
{
	struct ht_io *io = dm_per_bio_data(bio, sizeof(*io));
	u32 sectors;

	io->timed = 0;
	io->flags = bio->bi_opf & REQ_FUA ? HT_IO_FUA : 0;
	io->left = 0;
	io->tried = false;
	io->klass = 0;
	io->outcome = HINTIER_IO_FAST;
	bio->bi_iter.bi_sector = dm_target_offset(t->ti, bio->bi_iter.bi_sector);
	io->iter = bio->bi_iter;

	switch (bio_op(bio)) {
	case REQ_OP_READ:
		io->op = HT_REQ_READ;
		note_read(t);
		break;
	case REQ_OP_WRITE:
		io->op = HT_REQ_WRITE;
		break;
	case REQ_OP_WRITE_ZEROES:
		io->op = HT_REQ_ZEROES;
		break;
	case REQ_OP_DISCARD:
		io->op = HT_REQ_DISCARD;
		time_all(io);
		return ht_discard(t, bio, io);
	default:
		return DM_MAPIO_KILL;
	}
	if (!bio_sectors(bio)) {
		io->flags |= HT_IO_FLUSH;
		time_all(io);
		ht_park_commit(t, bio);
		return DM_MAPIO_SUBMITTED;
	}

	if (io->op != HT_REQ_ZEROES) {
		bool read = io->op == HT_REQ_READ;

		time_hit(t, io, read);
		if (map_hit(t, bio, io, read)) {
			this_cpu_inc(t->dev->stats->hits[read]);
			return DM_MAPIO_REMAPPED;
		}
	}
	time_all(io);
	sectors = decide(t, bio, io);
	if (sectors < bio_sectors(bio))
		dm_accept_partial_bio(bio, sectors);
	return execute(t, bio, io);
}

void ht_io_fail(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
}

/* Routes a bio that was parked, or its next piece; from process context. */
void ht_io_route(struct ht_tier *t, struct bio *bio)
{
	struct ht_io *io = ht_io_of(bio);
	u32 sectors;

	bio->bi_opf &= ~REQ_NOWAIT; /* here one may wait */
	if (io->op == HT_REQ_DISCARD) {
		if (ht_discard(t, bio, io) == DM_MAPIO_REMAPPED)
			submit_bio_noacct(bio);
		return;
	}
	sectors = decide(t, bio, io);
	io->left += bio_sectors(bio) - sectors;
	bio->bi_iter.bi_size = sectors << SECTOR_SHIFT;
	if (execute(t, bio, io) == DM_MAPIO_REMAPPED)
		submit_bio_noacct(bio);
}

/* ---- end ------------------------------------------------------------------------------------ */

/* Gives back what the request holds in each of its extents. */
static void end_all(struct ht_tier *t, struct ht_io *io, bool ok)
{
	const u32 whole = ht_extent_sectors(&t->map.geo);
	struct ht_request req = { .op = io->op, .extent = io->extent, .from = io->from };

	for (u32 i = 0; i < io->count; i++) {
		req.to = i + 1 < io->count ? whole : io->to;
		end_one(t, &req, io->slot + i, io->verdict, ok);
		req.extent++;
		req.from = 0;
	}
}

/* R15: some say only that the device could not take the request. */
enum ht_fault ht_fault_of(blk_status_t status)
{
	switch (status) {
	case BLK_STS_OK:
		return HT_FAULT_NONE;
	case BLK_STS_AGAIN:
		return HT_FAULT_BUSY;
	case BLK_STS_NOTSUPP:
	case BLK_STS_TARGET:
		return HT_FAULT_UNSUPPORTED;
	case BLK_STS_IOERR:
	case BLK_STS_MEDIUM:
	case BLK_STS_PROTECTION:
		return HT_FAULT_MEDIUM;
	default:
		return HT_FAULT_DEVICE;
	}
}

bool ht_device_failed(blk_status_t status)
{
	return ht_fault_is_failure(ht_fault_of(status));
}

/* Fast failed it in all these extents; true if home has all that it met there. */
static bool slots_failed(struct ht_tier *t, struct ht_io *io, bool medium)
{
	const u32 whole = ht_extent_sectors(&t->map.geo);
	struct ht_request req = { .op = io->op, .extent = io->extent, .from = io->from };
	struct ht_lock_shard *shard;
	unsigned long flags;
	bool clean = true;
	u32 act;

	for (u32 i = 0; i < io->count; i++) {
		req.to = i + 1 < io->count ? whole : io->to;
		shard = ht_shard_lock(t, req.extent, &flags);
		clean &= ht_slot_failed(&t->map, &req, io->slot + i, medium, &act);
		ht_act(t, io->slot + i, act, 0);
		ht_shard_unlock(shard, flags);
		req.extent++;
		req.from = 0;
	}
	return clean;
}

/* Makes an ended bio as it was when it came, so that it can be routed again. */
static void rewind(struct bio *bio, struct ht_io *io)
{
	bio->bi_iter = io->iter;
	bio->bi_status = BLK_STS_OK;
	if (io->flags & HT_IO_FUA)
		bio->bi_opf |= REQ_FUA;
	/* A bio that was split below has used up its count of parts. */
	atomic_set(&bio->__bi_remaining, 1);
	bio_clear_flag(bio, BIO_CHAIN);
}

/* A write went home, or to the slot: what that means for flushes and counters. */
static void note_end(struct ht_tier *t, struct ht_io *io)
{
	u32 bytes = io->iter.bi_size;

	if (io->verdict == HT_DO_HOME) {
		/* Before the counts are given back: a commit after that must flush it. */
		if (!atomic_read(&t->bulk_written))
			atomic_set(&t->bulk_written, 1);
		ht_blank_clear(t, io->extent, io->count);
		ht_count(t, HINTIER_C_BULK_WRITE_BYTES, bytes);
	} else if (io->op == HT_REQ_READ) {
		count_deep(&t->fast_sectors, bytes >> SECTOR_SHIFT, -1);
	} else {
		ht_count(t, HINTIER_C_FAST_WRITE_BYTES, bytes);
	}
}

static void end_reading(struct ht_tier *t, struct ht_io *io)
{
	if (io->stream != HT_NIL)
		ht_stage_landed(t, io);
	count_deep(&t->bulk_sectors, io->iter.bi_size >> SECTOR_SHIFT, -1);
	if (atomic_dec_and_test(&t->bulk_reads) && READ_ONCE(t->held_back))
		ht_worker_kick(t);
}

/* A device has failed it: count that, and let a commit find out whether fast still lives. */
static void note_failure(struct ht_tier *t, struct ht_io *io, struct ht_ended *e)
{
	if (e->verdict != HT_DO_FAST) {
		ht_count(t, HINTIER_C_ERRORS_BULK, 1);
		return;
	}
	ht_count(t, HINTIER_C_ERRORS_FAST, 1);
	atomic_set(&t->suspect, 1);
	ht_commit_kick(t);
	e->clean = slots_failed(t, io, e->fault == HT_FAULT_MEDIUM);
}

/* Carries out what core/fate.h says of a request that has met with more than success. */
static int follow(struct ht_tier *t, struct bio *bio, struct ht_io *io, const struct ht_ended *e,
		  blk_status_t *status)
{
	switch (ht_fate(&t->map, e)) {
	case HT_FATE_TELL:
		return DM_ENDIO_DONE;
	case HT_FATE_FAIL:
		*status = *status ? *status : BLK_STS_IOERR;
		return DM_ENDIO_DONE;
	case HT_FATE_AGAIN:
		if (ht_fault_is_failure(e->fault))
			io->flags |= HT_IO_FROM_HOME;
		rewind(bio, io);
		ht_park_retry(t, bio);
		return DM_ENDIO_INCOMPLETE;
	case HT_FATE_COMMIT:
		io->tried = true;
		rewind(bio, io);
		break;
	case HT_FATE_RECORD:
		io->flags |= HT_IO_SYNC;
		break;
	}
	ht_park_commit(t, bio);
	return DM_ENDIO_INCOMPLETE;
}

static int end_request(struct ht_tier *t, struct bio *bio, struct ht_io *io, blk_status_t *status)
{
	struct ht_ended e = {
		.op = io->op,
		.verdict = io->verdict,
		.fault = ht_fault_of(*status),
		.fua = io->flags & HT_IO_FUA,
		.nowait = bio->bi_opf & REQ_NOWAIT,
		/* Whoever zeroes has another way to do it. */
		.tried = io->tried || bio_op(bio) == REQ_OP_WRITE_ZEROES,
	};
	bool ok = ht_ended_ok(&t->map, &e);

	if (unlikely(ht_fault_is_failure(e.fault)))
		note_failure(t, io, &e);
	if (io->flags & HT_IO_READING)
		end_reading(t, io);
	if (io->flags & HT_IO_HELD) {
		note_end(t, io);
		end_all(t, io, ok);
	}
	io->flags &= ~(HT_IO_READING | HT_IO_HELD | HT_IO_HIT);
	if (likely(ok && !e.fua))
		return DM_ENDIO_DONE;
	return follow(t, bio, io, &e, status);
}

/* The piece is done: on to the one behind it. */
static void go_on(struct ht_tier *t, struct bio *bio, struct ht_io *io)
{
	u32 done = io->iter.bi_size;

	io->iter.bi_size += io->left << SECTOR_SHIFT;
	bio_advance_iter(bio, &io->iter, done);
	io->left = 0;
	io->tried = false;
	io->flags &= HT_IO_FUA;
	rewind(bio, io);
	ht_park_retry(t, bio);
}

static noinline void end_hit_slowly(struct ht_tier *t, const struct ht_io *io)
{
	struct ht_request req = {
		.op = io->op, .extent = io->extent, .from = io->from, .to = io->to,
	};

	end_one(t, &req, io->slot, HT_DO_FAST, true);
}

/* The end of what map_hit() has let through, if it met with nothing but success. */
static bool end_hit(struct ht_tier *t, struct ht_io *io, bool read)
{
	unsigned long flags;
	bool ended;

	/* Before the hold is given back, as note_end() has to. */
	if (read)
		count_deep(&t->fast_sectors, io->to - io->from, -1);
	else if (likely(t->map.mode < HINTIER_MODE_BYPASS))
		ht_count(t, HINTIER_C_FAST_WRITE_BYTES, io->iter.bi_size);
	else
		return false;
	spin_lock_irqsave(&io->shard->lock, flags);
	ended = ht_hit_end(&t->map, read, &io->hit);
	spin_unlock_irqrestore(&io->shard->lock, flags);
	if (unlikely(!ended))
		end_hit_slowly(t, io);
	if (read)
		ht_account(t, HINTIER_OP_READ, HINTIER_IO_FAST, io);
	else
		ht_account(t, HINTIER_OP_WRITE, HINTIER_IO_FAST, io);
	return true;
}

static noinline int end_any(struct ht_tier *t, struct bio *bio, struct ht_io *io,
			    blk_status_t *status)
{
	if (io->op == HT_REQ_DISCARD)
		ht_discard_end(t, io, status);
	else if ((io->flags & (HT_IO_HELD | HT_IO_READING)) &&
		 end_request(t, bio, io, status) == DM_ENDIO_INCOMPLETE)
		return DM_ENDIO_INCOMPLETE;
	if (*status && io->outcome != HINTIER_IO_LOST)
		io->outcome = HINTIER_IO_ERROR;
	ht_account(t, stat_op(io), io->outcome, io);
	if (io->left && !*status) {
		go_on(t, bio, io);
		return DM_ENDIO_INCOMPLETE;
	}
	return DM_ENDIO_DONE;
}

int ht_io_end(struct ht_tier *t, struct bio *bio, struct ht_io *io, blk_status_t *status)
{
	if (likely((io->flags & HT_IO_HIT) && !*status && end_hit(t, io, io->op == HT_REQ_READ)))
		return DM_ENDIO_DONE;
	return end_any(t, bio, io, status);
}
