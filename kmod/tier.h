/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The live tier and what its rooms call in each other. For lock order see hintier.h.
 *
 * A request in one picture:
 *
 *   map ──> decide (io.c) ──verdict──> remapped to fast or home ──> end_io ──> ht_io_end
 *                    │
 *                    ├─ join, wait ──> a transfer's list (xfer.c) ──┐
 *                    ├─ commit ──────> the commit's list (commit.c) ├──> routed again by the worker
 *                    └─ promote ─────> the worker (worker.c) ───────┘
 */
#ifndef HT_TIER_H
#define HT_TIER_H

#include <linux/bio.h>
#include <linux/device-mapper.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "core/budget.h"
#include "core/commit.h"
#include "core/engine.h"
#include "core/fate.h"
#include "core/format.h"
#include "core/hit.h"
#include "core/lost.h"
#include "core/move.h"
#include "core/pair.h"
#include "core/record.h"
#include "core/shard.h"
#include "hintier.h"
#include "stage.h"
#include "trace.h"

#define DM_MSG_PREFIX "hintier"

#define HT_BLOCK_SHIFT 3               /* record sectors are written in blocks of 4 KiB */
#define HT_BLOCK_SECTORS (1U << HT_BLOCK_SHIFT)
#define HT_COMMIT_BLOCKS 128           /* blocks that one round of a commit writes */
#define HT_META_BUFFER (256U << 10)
#define HT_XFERS_MAX 64
#define HT_XFER_BYTES (8U << 20)       /* pages of all transfers */
#define HT_GHOSTS 16384                /* extents whose first read miss is remembered */
#define HT_FETCHES 4096                /* FETCH hints that are queued or not yet told about */
#define HT_FETCH_BITS 10

struct ht_lock_shard {
	spinlock_t lock;
	struct ht_staged *staged;  /* what is read ahead of its extents, see stage.c */
	struct ht_shard core;
} ____cacheline_aligned_in_smp;

/* What happens to one bio, or to a piece of one that was parked: lives in dm's per-bio data. */
struct ht_io {
	struct bvec_iter iter;  /* the piece as it came, for another try */
	union {
		struct ht_hold hold; /* of a discard that may go down to bulk */
		struct ht_staged *staged; /* with HT_DO_STAGED */
		struct {
			u32 stream; /* of a read from bulk, see stage.c */
			u32 stream_number;
		};
		struct {
			struct ht_lock_shard *shard; /* with HT_IO_HIT */
			struct ht_hit hit;
		};
	};
	u64 start;              /* ns, unless `timed` is 0 */
	u32 extent;             /* first one */
	u32 count;              /* extents, in slots that follow each other */
	u32 slot;
	u32 left;               /* sectors of the bio behind this piece */
	u16 from;               /* sectors: first extent from here, last one up to there */
	u16 to;
	u16 flags;              /* HT_IO_* */
	u8 op;                  /* enum ht_request_op */
	u8 verdict;             /* enum ht_verdict */
	u8 outcome;             /* enum hintier_outcome */
	u8 klass;
	u8 timed;               /* for how many requests its latency stands */
	bool tried;             /* failed on fast, and asks whether fast is still there */
};

#define HT_IO_HELD (1U << 0)       /* counts are held in shards: ht_end() is due */
#define HT_IO_READING (1U << 1)    /* counted as a demand read on bulk */
#define HT_IO_NO_PROMOTE (1U << 2) /* the worker has seen it: no promotion, no second hand-over */
#define HT_IO_FLUSH (1U << 3)      /* an empty flush */
#define HT_IO_SYNC (1U << 4)       /* a FUA write that landed and waits for its record */
#define HT_IO_FUA (1U << 5)        /* came with FUA: a device without a cache strips it off the bio */
#define HT_IO_FROM_HOME (1U << 6) /* fast has failed to read what home has, too */
#define HT_IO_NO_STAGE (1U << 7)   /* what was read ahead for it was no good */
#define HT_IO_HIT (1U << 8)        /* HT_IO_HELD, by ht_hit_begin() */

#define HT_DO_STAGED 0xff          /* a verdict of stage.c, beside enum ht_verdict */

/* One transfer between a slot and a home; see xfer.c. */
struct ht_xfer {
	struct ht_tier *tier;
	struct work_struct work;
	struct list_head idle;  /* xfer_lock */
	struct ht_move move;
	struct page **pages;    /* [units] */
	atomic_t pending;       /* bios in flight */
	blk_status_t status;    /* first failure */
	spinlock_t lock;
	struct bio *tee;        /* a write that is written through, until it is home */
	struct bio_list readers;/* lock: want the data */
	struct bio_list waiters;/* lock: want to be routed again at the end */
	u32 fetch;              /* number of the FETCH, 0 for none */
	u16 nr;
	u8 kind;                /* enum ht_move_kind */
	u8 step;
	bool read_ok;
	bool was_tee;
};

enum { HT_OUT_COMING, HT_OUT_LEFT, HT_OUTS };

/* A FETCH that was accepted, until all its extents have told how they ended. All: fetch_lock. */
struct ht_fetch {
	u64 teller;             /* who may wait for it, under */
	u64 cookie;
	u64 bytes[HINTIER_FETCHES];
	u32 number;             /* 0: not in use */
	u32 first;              /* extent */
	u32 next;               /* next extent to start */
	u32 end;
	u32 coming;             /* extents that are neither there nor given up */
	u32 left;               /* extents that have not told yet */
	u32 depth;
	u64 object;
	u64 due;                /* ns: the order in which they are started */
	u64 deadline;           /* ns, 0 for none */
	struct list_head todo;  /* has extents to start */
	struct list_head told;  /* its events are due */
	struct hlist_node out[HT_OUTS]; /* in fetch_out, as long as there are any */
	u16 source;
	u16 group;
	u16 from;               /* units: its first extent from here, its last one up to there */
	u16 to;
	u8 klass;
	bool to_stage;
};

/* What a FETCH wants of one extent. */
struct ht_wanted {
	u32 number;             /* of the FETCH */
	u32 extent;
	u32 from;               /* units */
	u32 to;
};

enum { HT_BUDGET_FAST, HT_BUDGET_BULK, HT_BUDGETS };

struct ht_args {
	const char *fast;
	const char *bulk;
	u32 extent_sectors;
	u8 mode;
	bool discard_dirty;     /* accept a pair whose epochs differ although fast holds dirty data */
	u32 stage_mib;
	struct ht_tunables tune;
};

struct ht_tier {
	struct dm_target *ti;
	struct ht_dev *dev;
	struct dm_dev *fast;
	struct dm_dev *bulk;
	u8 uuid[16];
	u8 wanted_mode;         /* by the table; map.mode may be lower */
	bool discard_dirty;
	u32 stage_mib;
	bool loaded;            /* between preresume and postsuspend */
	bool stopping;          /* no new background transfers */
	bool destage_failed;    /* since the last drain began */
	unsigned long pause_until; /* jiffies: no destage or commit of the worker's before */
	bool held_back;         /* demand reads in flight kept the worker from destaging */
	u32 read_at;            /* tick of the newest demand read, see core/lull.h */
	bool pressure;          /* worker: above the high mark, and told */

	struct ht_map map;
	struct ht_lock_shard *shards;
	u32 nr_shards;
	struct ht_engine engine;
	spinlock_t engine_lock;
	struct ht_values *values;    /* engine_lock: vmalloc, those that the engine knows */

	struct workqueue_struct *wq;
	struct work_struct worker;
	struct delayed_work again;   /* kicks the worker a little later */
	spinlock_t wait_lock;
	struct bio_list retry;       /* wait_lock: to be routed again */
	struct bio_list promote;     /* wait_lock: reads whose extent is to be promoted */
	struct bio_list commit_wait; /* wait_lock: for a commit that starts from now on */
	wait_queue_head_t drained;
	atomic_t drainers;           /* messages that wait for everything to be clean */

	struct mutex commit_mutex;
	struct work_struct commit_work;
	struct delayed_work commit_timer;
	unsigned long *changed;      /* bitmap: blocks with a changed record */
	atomic_t armed;              /* the commit timer runs */
	atomic_t suspect;            /* fast has failed a request: flush it to see if it lives */
	atomic_t bulk_written;       /* since its last good flush, see core/commit.h */
	bool bulk_torn;              /* a destage has failed, and may have written a part */
	u8 *lost_image;              /* vmalloc: sectors of the lost map, as last gathered */
	unsigned long *lost_round;   /* bitmap: blocks of it that this round of a commit writes */
	u32 nr_lost_blocks;
	u32 nr_blocks;
	u32 *batch;                  /* [HT_COMMIT_BLOCKS] block numbers of this round */
	struct page **meta_pages;    /* [HT_COMMIT_BLOCKS] */
	void *meta_buffer;           /* activation's, then commit_mutex: states on their way */
	unsigned long *news;         /* bitmaps: which records of each block have news */
	struct ht_pair pair;         /* commit_mutex */

	spinlock_t xfer_lock;
	struct list_head idle_xfers;
	struct ht_xfer *xfers;       /* [nr_xfers + 1]: the last one stands for trims */
	u32 nr_xfers;
	u32 destaging;               /* xfer_lock: in flight */
	u32 filling;
	atomic_t bulk_reads;         /* demand reads in flight on bulk */
	atomic_t fast_sectors;       /* and what they and those on fast carry */
	atomic_t bulk_sectors;
	u32 *ghosts;                 /* racy on purpose: a lost entry costs a promotion */

	spinlock_t hold_lock;        /* map.holds; taken inside a shard's lock */
	struct work_struct trim_work;
	struct completion trim_done;
	u32 trim_head;               /* engine_lock: slots whose homes are to be trimmed */
	u32 trim_tail;

	spinlock_t fetch_lock;
	struct ht_fetch *fetches;    /* [HT_FETCHES], by number */
	struct hlist_head (*fetch_out)[1 << HT_FETCH_BITS]; /* [HT_OUTS], by teller and cookie */
	struct list_head fetch_todo[2]; /* to fast, to the stage: by due */
	struct list_head fetch_told;
	u32 fetch_head;              /* number of the next one to accept */

	struct ht_stage *stage;      /* NULL: none */

	struct bio_set xfer_bios;
	struct delayed_work budget_work;
	struct ht_budget budget[HT_BUDGETS]; /* budget_work */
	u32 over;                    /* bits of those that are spent; see budget.c */

	u32 discard_granularity;     /* sectors: of what goes down to bulk, 0 for nothing */
	unsigned long *blank;        /* bitmap: regions of bulk, see blank.c; or NULL */
	u32 blank_shift;             /* extents in a region */
};

/* Shard of an extent, and its lock. */
static inline struct ht_lock_shard *ht_shard_lock(struct ht_tier *t, u32 extent,
						  unsigned long *flags)
{
	struct ht_lock_shard *shard = &t->shards[ht_shard_of(&t->map, extent)];

	spin_lock_irqsave(&shard->lock, *flags);
	return shard;
}

static inline void ht_shard_unlock(struct ht_lock_shard *shard, unsigned long flags)
{
	spin_unlock_irqrestore(&shard->lock, flags);
}

/* What pins and values count in; under the engine's lock, ages. */
static inline u32 ht_now_ms(void)
{
	return (u32)ktime_to_ms(ktime_get());
}

/* What lulls count in. */
static inline u32 ht_now_tick(void)
{
	return (u32)jiffies;
}

static inline u32 ht_quiet_ticks(const struct ht_tier *t)
{
	return (u32)msecs_to_jiffies(READ_ONCE(t->engine.tune.quiet_ms));
}

static inline u16 ht_now_second(void)
{
	return (u16)ktime_get_seconds();
}

/* ---- args.c ---- */
int ht_args_parse(struct dm_target *ti, unsigned int argc, char **argv, struct ht_args *ret);
void ht_args_emit(struct ht_tier *t, char *result, unsigned int maxlen);
const char *ht_mode_name(u32 mode);

/* ---- tier.c: memory of a tier, activation, failure ---- */
struct ht_tier *ht_tier_create(struct dm_target *ti, const struct ht_args *args);
void ht_tier_destroy(struct ht_tier *t);
int ht_tier_activate(struct ht_tier *t);
void ht_tier_stop(struct ht_tier *t);
void ht_tier_deactivate(struct ht_tier *t);
void ht_tier_degraded(struct ht_tier *t, enum hintier_mode old, const char *why);

/* ---- meta.c: headers, states and records on the devices ---- */
const char *ht_meta_headers(struct ht_tier *t, u32 extent_sectors, int *ret);
int ht_meta_load(struct ht_tier *t);
int ht_meta_start(struct ht_tier *t);
int ht_meta_stop(struct ht_tier *t);
int ht_meta_write_state(struct ht_tier *t, u32 role);
int ht_sync_io(struct block_device *bdev, blk_opf_t opf, sector_t sector, void *page, u32 bytes);

/* ---- io.c ---- */
int ht_io_map(struct ht_tier *t, struct bio *bio);
int ht_io_end(struct ht_tier *t, struct bio *bio, struct ht_io *io, blk_status_t *status);
struct ht_io *ht_io_of(struct bio *bio);
void ht_io_route(struct ht_tier *t, struct bio *bio);
void ht_io_fail(struct bio *bio, blk_status_t status);
enum ht_fault ht_fault_of(blk_status_t status);
bool ht_device_failed(blk_status_t status);

/* ---- discard.c ---- */
int ht_discard(struct ht_tier *t, struct bio *bio, struct ht_io *io);
void ht_discard_end(struct ht_tier *t, struct ht_io *io, blk_status_t *status);
bool ht_discard_grain(const struct ht_tier *t, u64 *from, u64 *to);

/* ---- budget.c ---- */
void ht_budget_init(struct ht_tier *t);
void ht_budget_kick(struct ht_tier *t);

/* ---- blank.c ---- */
int ht_blank_create(struct ht_tier *t);
void ht_blank_destroy(struct ht_tier *t);
void ht_blank_reset(struct ht_tier *t);
bool ht_blank(const struct ht_tier *t, u32 extent);
void ht_blank_set(struct ht_tier *t, u64 from, u64 to);
void ht_blank_clear(struct ht_tier *t, u32 extent, u32 count);

/* ---- trim.c ---- */
void ht_trim_init(struct ht_tier *t);
void ht_trim_queue(struct ht_tier *t, u32 slot);
void ht_trim_kick(struct ht_tier *t);

/* ---- pool.c: what verdicts and ends ask beside; all under the slot's shard lock ---- */
void ht_act(struct ht_tier *t, u32 slot, u32 act, u32 fetch);
u32 ht_pool_admit(struct ht_tier *t, u32 extent);
void ht_pool_place(struct ht_tier *t, u32 slot, u32 act);
void ht_record_later(struct ht_tier *t, u32 slot);
void ht_commit_later(struct ht_tier *t);
typedef void (*ht_slot_fn)(struct ht_tier *t, struct ht_shard *shard, u32 slot, void *context);
void ht_visit_slot(struct ht_tier *t, u32 slot, ht_slot_fn visit, void *context);

/* ---- lost.c: what was dropped ---- */
struct ht_drop_note {
	u64 offset;             /* of the extent */
	u64 object;
	u32 bytes;              /* 0: nothing was dropped */
};

int ht_lostmap_create(struct ht_tier *t);
void ht_lostmap_destroy(struct ht_tier *t);
int ht_lostmap_load(struct ht_tier *t);
u32 ht_lostmap_gather(struct ht_tier *t, u64 seq);
u32 ht_lostmap_add(struct ht_tier *t, struct bio *bio, u32 block);
void ht_lostmap_publish(struct ht_tier *t, bool ok);
u64 ht_lostmap_units(struct ht_tier *t);
void ht_drop_units(struct ht_tier *t, struct ht_shard *shard, u32 slot, u32 from, u32 to,
		   struct ht_drop_note *ret);
void ht_drop_tell(struct ht_tier *t, const struct ht_drop_note *note);

/* ---- park.c: bios that wait ---- */
void ht_park_retry(struct ht_tier *t, struct bio *bio);
void ht_park_commit(struct ht_tier *t, struct bio *bio);
void ht_park_promote(struct ht_tier *t, struct bio *bio);
void ht_park_move(struct ht_tier *t, struct bio *bio, u32 extent);

/* ---- commit.c ---- */
int ht_commit(struct ht_tier *t);
void ht_commit_kick(struct ht_tier *t);
void ht_commit_init(struct ht_tier *t);

/* ---- xfer.c ---- */
int ht_xfers_create(struct ht_tier *t);
void ht_xfers_destroy(struct ht_tier *t);
struct ht_xfer *ht_xfer_get(struct ht_tier *t, enum ht_move_kind kind);
void ht_xfer_put(struct ht_xfer *x);
void ht_xfer_start(struct ht_xfer *x);
bool ht_xfers_idle(struct ht_tier *t);

/* ---- worker.c ---- */
void ht_worker(struct work_struct *work);
void ht_worker_again(struct work_struct *work);
void ht_worker_kick(struct ht_tier *t);
void ht_worker_pause(struct ht_tier *t);
int ht_worker_fill(struct ht_tier *t, u32 extent, struct bio *bio, const struct ht_fetch *fetch);
int ht_worker_drain(struct ht_tier *t);
int ht_worker_drop_clean(struct ht_tier *t);

/* ---- fetch.c ---- */
int ht_fetch_create(struct ht_tier *t);
void ht_fetch_destroy(struct ht_tier *t);
void ht_fetch_reset(struct ht_tier *t);
void ht_fetch_stop(struct ht_tier *t);
int ht_fetch_queue(struct ht_tier *t, u64 teller, const struct hintier_hint *hint);
/* The next extent to start, with a copy of its FETCH if that is wanted; false if there is none. */
bool ht_fetch_next(struct ht_tier *t, bool to_stage, struct ht_wanted *ret, struct ht_fetch *of);
/* It could not be started as yet. */
void ht_fetch_put_back(struct ht_tier *t, const struct ht_wanted *wanted);
bool ht_fetch_waiting(struct ht_tier *t, bool to_stage);
void ht_fetch_start_some(struct ht_tier *t);
bool ht_fetch_out(struct ht_tier *t, u64 teller, u64 cookie, bool outcome);
/*
 * From any context, once each for every extent of a FETCH: it is there; of what use it was. Or both
 * at once: it will never come, or somebody had to wait for it.
 */
void ht_fetch_came(struct ht_tier *t, u32 number);
void ht_fetch_outcome(struct ht_tier *t, u32 number, u32 units, enum hintier_fetch how);
void ht_fetch_over(struct ht_tier *t, u32 number, u32 units, enum hintier_fetch how);
void ht_fetch_tell(struct ht_tier *t);

/* ---- advice.c ---- */
void ht_hint_apply(struct ht_slot *s, u8 klass, u16 group, u64 object, u32 depth);
int ht_tier_set(struct ht_tier *t, const char *key, const char *value);

/* ---- registry.c ---- */
struct ht_dev *ht_dev_find_or_create(dev_t devt, const struct ht_tier *t);
int ht_dev_claim(struct ht_dev *dev, struct ht_tier *t);
void ht_dev_ready(struct ht_dev *dev, bool ready);
void ht_dev_unclaim(struct ht_dev *dev, struct ht_tier *t);
void ht_dev_leave(struct ht_dev *dev, struct ht_tier *t);
struct ht_tier *ht_dev_hold(struct ht_dev *dev);
void ht_dev_release(struct ht_dev *dev);

/* ---- stats.c ---- */
struct ht_stats_cpu {
	struct ht_stats s;
	u32 hits[2];            /* writes, reads: to choose the ones that are timed */
};

static inline void ht_count(struct ht_tier *t, enum hintier_counter which, u64 n)
{
	this_cpu_add(t->dev->stats->s.counters[which], n);
}

/* Latencies are told in powers of two, the first of which is 512 ns. */
static inline u32 ht_latency_bucket(u64 ns)
{
	u32 log2 = fls64(ns);

	return log2 <= 9 ? 0 : min(log2 - 9, HINTIER_LATENCY_BUCKETS - 1U);
}

/* A request, or one part of it, has ended. Inline: it is a part of every hit. */
static inline void ht_account(struct ht_tier *t, enum hintier_op op, u8 outcome,
			      const struct ht_io *io)
{
	struct ht_stats __percpu *stats = &t->dev->stats->s;
	struct ht_io_stat __percpu *stat = &stats->io[op][outcome][io->klass];
	u32 bytes = io->iter.bi_size;
	u64 latency;

	this_cpu_inc(stat->count);
	this_cpu_add(stat->bytes, bytes);
	if (!io->timed)
		return;
	latency = ktime_get_ns() - io->start;
	this_cpu_add(stats->latency[op][outcome][ht_latency_bucket(latency)], io->timed);
	trace_hintier_io(t->dev->devt, op, outcome, io->klass,
			 (u64)io->iter.bi_sector << SECTOR_SHIFT, bytes, latency);
}

#endif
