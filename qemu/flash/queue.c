// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bios: contents move when they are submitted, completion comes when the model says so. Where power
 * can be cut, they are durable at the earliest when they are acknowledged (cache.h).
 *
 * A heap of commands by time and one timer for its top; nothing sleeps, and no command needs
 * memory that is not there. Writes take pages from the store's stock, which is filled up before
 * the lock is taken.
 */
#include <linux/ktime.h>
#include <linux/log2.h>

#include "disk.h"

/* ---- the heap ----------------------------------------------------------------------------- */

static void push(struct ht_disk *d, const struct ht_command *command)
{
	struct ht_command *q = d->queue;
	u32 i = d->queued++;

	while (i && q[(i - 1) / 2].wait.when > command->wait.when) {
		q[i] = q[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	q[i] = *command;
}

static struct ht_command pop(struct ht_disk *d)
{
	struct ht_command *q = d->queue, top = q[0], *last = &q[--d->queued];
	u32 i = 0, child;

	while ((child = 2 * i + 1) < d->queued) {
		if (child + 1 < d->queued && q[child + 1].wait.when < q[child].wait.when)
			child++;
		if (q[child].wait.when >= last->wait.when)
			break;
		q[i] = q[child];
		i = child;
	}
	q[i] = *last;
	return top;
}

static void arm(struct ht_disk *d)
{
	u64 when = d->queued ? d->queue[0].wait.when : U64_MAX;

	if (when >= d->armed)
		return;
	d->armed = when;
	hrtimer_start(&d->timer, ns_to_ktime(when), HRTIMER_MODE_ABS_SOFT);
}

void ht_queue_drop(struct ht_disk *d, struct bio_list *ret)
{
	while (d->queued)
		bio_list_add(ret, pop(d).bio);
	bio_list_merge(ret, &d->waiting);
	bio_list_init(&d->waiting);
}

/* ---- contents ----------------------------------------------------------------------------- */

static void write_bytes(struct ht_disk *d, u64 offset, const void *data, u32 length)
{
	if (d->cache.line)
		ht_cache_write(&d->cache, offset, data, length);
	else
		ht_store_write(&d->store, offset, data, length);
}

static void read_bytes(struct ht_disk *d, u64 offset, void *data, u32 length)
{
	if (d->cache.line)
		ht_cache_read(&d->cache, offset, data, length);
	else
		ht_store_read(&d->store, offset, data, length);
}

static void move_data(struct ht_disk *d, struct bio *bio, struct bvec_iter start)
{
	u64 offset = (u64)start.bi_sector << SECTOR_SHIFT;
	bool write = op_is_write(bio_op(bio));
	struct bvec_iter iter;
	struct bio_vec bv;

	/* The lab has no high memory: each is one run of bytes. */
	__bio_for_each_bvec(bv, bio, iter, start) {
		if (write)
			write_bytes(d, offset, bvec_virt(&bv), bv.bv_len);
		else
			read_bytes(d, offset, bvec_virt(&bv), bv.bv_len);
		offset += bv.bv_len;
	}
}

static void erase(struct ht_disk *d, u64 offset, u64 length)
{
	if (d->cache.line)
		ht_cache_erase(&d->cache, offset, length);
	else
		ht_store_erase(&d->store, offset, length);
}

/* What the command has written is acknowledged now. */
static void settle(struct ht_disk *d, const struct bio *bio)
{
	if (!d->cache.line || !op_is_write(bio_op(bio)))
		return;
	if (bio->bi_opf & REQ_PREFLUSH)
		ht_cache_flushed(&d->cache);
	ht_cache_written(&d->cache, (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT,
			 bio->bi_iter.bi_size, bio->bi_opf & REQ_FUA);
}

static u64 pages_needed(const struct ht_disk *d, const struct bio *bio)
{
	u32 bytes = bio->bi_iter.bi_size;

	switch (bio_op(bio)) {
	case REQ_OP_WRITE:
		return d->cache.line ? ht_cache_need(bytes) : ht_store_need(bytes);
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		if (d->cache.line && bytes <= HT_CACHE_ERASE)
			return ht_cache_need(bytes);
		return ht_store_need(0);
	default:
		return 0;
	}
}

/* Without the lock, since allocating may wait: what was there may be gone once it is taken. */
static bool fill_stock(struct ht_disk *d, u64 need, gfp_t gfp)
{
	while (READ_ONCE(d->store.stocked) < need) {
		void *page = (void *)__get_free_page(gfp | __GFP_NOWARN);
		unsigned long flags;

		if (!page)
			return false;
		spin_lock_irqsave(&d->lock, flags);
		ht_store_stock(&d->store, page);
		spin_unlock_irqrestore(&d->lock, flags);
	}
	return true;
}

/* ---- time --------------------------------------------------------------------------------- */

static void read_both(struct ht_disk *d, u64 now, u64 offset, u64 length, struct ht_flash_wait *wait)
{
	struct ht_flash *a = &d->drive[0].flash, *b = &d->drive[1].flash;
	u64 share = ht_flash_share(a, b, now, length);
	struct ht_flash_wait other = {};

	if (share)
		ht_flash_read(a, now, offset, share, wait);
	if (share < length)
		ht_flash_read(b, now, offset + share, length - share, &other);
	wait->when = max(wait->when, other.when);
}

static void admit(struct ht_disk *d, u64 now, struct bio *bio)
{
	struct ht_command command = { .bio = bio, .start = now, .flash = &d->drive[0].flash };
	u64 offset = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	u64 length = bio->bi_iter.bi_size;
	struct ht_flash_wait flushed = {};

	if (bio->bi_opf & REQ_PREFLUSH)
		ht_flash_flush(command.flash, now, &flushed);
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		if (d->ndrives == 2)
			read_both(d, now, offset, length, &command.wait);
		else
			ht_flash_read(command.flash, now, offset, length, &command.wait);
		break;
	case REQ_OP_WRITE:
		if (length)
			ht_flash_write(command.flash, now, offset, length,
				       bio->bi_opf & REQ_FUA, &command.wait);
		break;
	case REQ_OP_FLUSH:
		ht_flash_flush(command.flash, now, &flushed);
		break;
	default:
		ht_flash_discard(command.flash, now, offset, length, &command.wait);
	}
	command.wait.when = max(command.wait.when, flushed.when);
	command.wait.pages = max(command.wait.pages, flushed.pages);
	push(d, &command);
}

static u32 latency_bin(u64 ns)
{
	u32 octave;

	if (ns < 4)
		return ns;
	octave = ilog2(ns);
	return min_t(u32, 4 * (octave - 1) + (ns >> (octave - 2) & 3), HT_LATENCY_BINS - 1);
}

static void account(struct ht_disk *d, const struct ht_command *command, u64 now)
{
	u64 ns = now - command->start;
	struct ht_latency *l;

	switch (bio_op(command->bio)) {
	case REQ_OP_READ:
		l = &d->read_latency;
		break;
	case REQ_OP_WRITE:
		l = &d->write_latency;
		break;
	default:
		return;
	}
	l->count++;
	l->sum_ns += ns;
	l->max_ns = max(l->max_ns, ns);
	l->bin[latency_bin(ns)]++;
}

static enum hrtimer_restart expire(struct hrtimer *timer)
{
	struct ht_disk *d = container_of(timer, struct ht_disk, timer);
	struct bio_list done = BIO_EMPTY_LIST;
	unsigned long flags;
	struct bio *bio;
	u64 now;

	spin_lock_irqsave(&d->lock, flags);
	now = ktime_get_ns();
	d->armed = U64_MAX;
	while (d->queued && d->queue[0].wait.when <= now) {
		struct ht_command command = pop(d);

		if (!ht_flash_done(command.flash, now, &command.wait)) {
			push(d, &command);
			continue;
		}
		account(d, &command, now);
		settle(d, command.bio);
		bio_list_add(&done, command.bio);
		bio = bio_list_pop(&d->waiting);
		if (bio)
			admit(d, now, bio);
	}
	arm(d);
	d->own_ns += ktime_get_ns() - now;
	spin_unlock_irqrestore(&d->lock, flags);

	while ((bio = bio_list_pop(&done)))
		bio_endio(bio);
	return HRTIMER_NORESTART;
}

/* ---- entry -------------------------------------------------------------------------------- */

static bool known(const struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
	case REQ_OP_FLUSH:
	case REQ_OP_DISCARD:
	case REQ_OP_WRITE_ZEROES:
		return true;
	default:
		return false;
	}
}

static void move_or_erase(struct ht_disk *d, struct bio *bio)
{
	u64 offset = (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT;
	u64 length = bio->bi_iter.bi_size;

	switch (bio_op(bio)) {
	case REQ_OP_READ:
	case REQ_OP_WRITE:
		move_data(d, bio, bio->bi_iter);
		break;
	case REQ_OP_DISCARD:
		d->discards++;
		d->discard_bytes += length;
		erase(d, offset, length);
		break;
	case REQ_OP_WRITE_ZEROES:
		d->zero_bytes += length;
		erase(d, offset, length);
		break;
	default:
		break;
	}
}

static void accept(struct ht_disk *d, struct bio *bio)
{
	u64 now = ktime_get_ns();

	d->commands++;
	if (d->cache.line && (bio->bi_opf & REQ_PREFLUSH))
		ht_cache_flush(&d->cache);
	move_or_erase(d, bio);
	if (d->queued < HT_QUEUE_DEPTH)
		admit(d, now, bio);
	else
		bio_list_add(&d->waiting, bio);
	arm(d);
	d->own_ns += ktime_get_ns() - now;
}

static u32 fault_op(const struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return HT_FAULT_READ;
	case REQ_OP_WRITE:
		return bio_sectors(bio) ? HT_FAULT_WRITE : HT_FAULT_FLUSH;
	case REQ_OP_FLUSH:
		return HT_FAULT_FLUSH;
	default:
		return HT_FAULT_ERASE;
	}
}

/* A write that meets a bad medium has written its first half. */
static void write_half(struct ht_disk *d, struct bio *bio)
{
	struct bvec_iter half = bio->bi_iter;

	half.bi_size = round_down(half.bi_size / 2, SECTOR_SIZE);
	move_data(d, bio, half);
	if (d->cache.line)
		ht_cache_written(&d->cache, (u64)half.bi_sector << SECTOR_SHIFT, half.bi_size,
				 false);
}

/* Under the lock: does the command fail? */
static blk_status_t fault(struct ht_disk *d, struct bio *bio)
{
	enum ht_fault_kind kind;

	if (d->off)
		return BLK_STS_IOERR;
	if (!d->faults.count)
		return BLK_STS_OK;
	if (bio->bi_opf & REQ_PREFLUSH && bio_sectors(bio) &&
	    ht_faults_hit(&d->faults, HT_FAULT_FLUSH, 0, 0))
		return BLK_STS_IOERR;
	kind = ht_faults_hit(&d->faults, fault_op(bio), (u64)bio->bi_iter.bi_sector << SECTOR_SHIFT,
			     bio->bi_iter.bi_size);
	if (kind == HT_FAULT_NONE)
		return BLK_STS_OK;
	if (kind == HT_FAULT_DEVICE)
		return BLK_STS_IOERR;
	if (bio_op(bio) == REQ_OP_WRITE)
		write_half(d, bio);
	return BLK_STS_MEDIUM;
}

static void refuse(struct bio *bio, blk_status_t status)
{
	bio->bi_status = status;
	bio_endio(bio);
}

void ht_submit(struct bio *bio)
{
	struct ht_disk *d = bio->bi_bdev->bd_disk->private_data;
	bool nowait = bio->bi_opf & REQ_NOWAIT;
	gfp_t gfp = nowait || in_interrupt() || irqs_disabled() ? GFP_NOWAIT : GFP_NOIO;
	u64 need = pages_needed(d, bio);
	blk_status_t status = BLK_STS_OK;
	bool accepted = false;
	unsigned long flags;

	if (!known(bio)) {
		refuse(bio, BLK_STS_NOTSUPP);
		return;
	}
	while (!accepted) {
		if (!fill_stock(d, need, gfp)) {
			refuse(bio, nowait ? BLK_STS_AGAIN : BLK_STS_RESOURCE);
			return;
		}
		spin_lock_irqsave(&d->lock, flags);
		accepted = d->store.stocked >= need;
		if (accepted)
			status = fault(d, bio);
		if (accepted && !status)
			accept(d, bio);
		spin_unlock_irqrestore(&d->lock, flags);
	}
	if (unlikely(status))
		refuse(bio, status);
}

void ht_queue_init(struct ht_disk *d)
{
	spin_lock_init(&d->lock);
	bio_list_init(&d->waiting);
	d->armed = U64_MAX;
	hrtimer_init(&d->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	d->timer.function = expire;
}
