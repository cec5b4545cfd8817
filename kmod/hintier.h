/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the rooms of the module meet: the tier, its handle, and what they call in each other.
 *
 * A `struct ht_tier` is one live instance of the target: it belongs to a table, appears in ctr
 * and goes in dtr. A `struct ht_dev` is the handle by which everybody else knows a tier: one for
 * each mapped device, it outlives table reloads, and dies weakly: holders keep the memory, calls
 * say -ENODEV.
 *
 * Lock order, outermost first:
 *   ht_dev.api (rwsem)        calls from control.c, netlink.c and messages hold it for reading;
 *                             attaching and detaching a tier holds it for writing
 *   ht_tier.commit_mutex      one commit at a time; process context
 *   shard lock (irq safe)     one at a time, never two
 *   engine lock (irq safe)    a leaf, may be taken inside a shard lock
 *   ht_tier.wait_lock, hold_lock, fetch_lock, xfer locks (irq safe): leaves, may be taken inside a
 *                             shard lock
 * The registry's mutex is taken inside ht_dev.api, and nothing inside it. Nothing sleeps, allocates or submits under a spin lock.
 */
#ifndef HT_HINTIER_H
#define HT_HINTIER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <hintier/ioctl.h>
#include <hintier/netlink.h>
#include <hintier/types.h>

struct ht_tier;
struct ht_stats_cpu;
struct ht_values;

/* The handle. Fields marked const never change after ht_dev_find_or_create(). */
struct ht_dev {
	struct kref ref;
	struct list_head registry;      /* registry mutex */
	dev_t devt;                     /* const: the tier's block device */
	u8 uuid[16];                    /* const: of the pair */
	u32 extent_bytes;               /* const */
	u32 instances;                  /* tables that hold it; registry mutex */
	bool gone;                      /* the last table is gone */
	bool ready;                     /* api: the tier answers calls: not suspended */
	bool announced;                 /* HINTIER_EV_CREATED was sent */
	struct rw_semaphore api;
	struct ht_tier *tier;           /* api and registry mutex: the live one */
	struct ht_stats_cpu __percpu *stats;
	u64 bytes;                      /* of the tier, as of the newest table */
	u32 mode;                       /* enum hintier_mode, newest */
	atomic64_t events;              /* sequence numbers of ht_event() */
	atomic64_t drops;               /* numbers of HINTIER_EV_DROP */
	u32 epoch;                      /* write epoch that a table stopped with */
	wait_queue_head_t waiters;      /* for FETCHes, see ht_dev_waits() */
};

/* ---- registry.c: finding tiers ------------------------------------------------------------ */

/* The tier of a block device with a reference, or NULL if it is none. */
struct ht_dev *ht_dev_get(dev_t devt);
/*
 * Walks the registry: the first tier, or the one after `prev`, with a reference; NULL at the
 * end. Drops the reference on `prev`. Tiers that come or go meanwhile may be missed.
 */
struct ht_dev *ht_dev_next(struct ht_dev *prev);
void ht_dev_put(struct ht_dev *dev);

/* ---- what control.c and netlink.c ask of a tier ------------------------------------------- */
/*
 * All may sleep. Callers have checked alignment, ranges against dev->bytes, flags and reserved
 * members; these check ranges again and answer
 *   -ENODEV the tier is gone, -EAGAIN it is suspended, -ERANGE beyond its end,
 * or what is said below.
 */
struct ht_info {
	dev_t devt;
	u8 uuid[16];
	u32 mode;
	u32 extent_bytes;
	u64 bytes;
	u64 slots;                      /* slot numbers are 0 while the tier is suspended */
	u64 free;
	u64 dirty;
	u64 clean;
	u64 pinned;                     /* extents, once for each who pins them */
	u64 lost;                       /* bytes */
	s64 fast_left;                  /* of budgets, bytes; below 0: owed */
	s64 bulk_left;
	u32 over;                       /* HINTIER_OVER_* */
};

/* Only -ENODEV; a suspended tier answers. */
int ht_dev_info(struct ht_dev *dev, struct ht_info *ret);

/* Sums over the CPUs; about 11 KiB, so not for the stack. Works on suspended tiers. */
struct ht_io_stat {
	u64 count;
	u64 bytes;
};

struct ht_stats {
	struct ht_io_stat io[HINTIER_OPS][HINTIER_OUTCOMES][HINTIER_CLASSES];
	u64 latency[HINTIER_OPS][HINTIER_OUTCOMES][HINTIER_LATENCY_BUCKETS];
	u64 counters[HINTIER_COUNTERS];
	u64 fetched[HINTIER_CLASSES][HINTIER_FETCHES]; /* bytes */
	u64 fetched_for[HINTIER_SOURCES][HINTIER_FETCHES];
};

int ht_dev_stats(struct ht_dev *dev, struct ht_stats *ret);

/* A tunable by name, as the `set` message: -ENOENT unknown, -EINVAL no number, -ERANGE bounds. */
int ht_dev_set(struct ht_dev *dev, const char *key, const char *value);

/*
 * Class, group, object and depth of what has a slot now, and volatile marks; the rest is skipped.
 * -ESTALE: an epoch that was never started.
 */
int ht_dev_classify(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint);
/* Queues; -ENOSPC when the queue is full. */
int ht_dev_fetch(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint);
/*
 * Clean units are forgotten, volatile ones dropped, other dirty ones destaged early; skips what
 * was written since epoch. -ESTALE as above.
 */
int ht_dev_done(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint);

/* -ENOSPC: too many ranges or sequences are told, or the tier has no stage. */
int ht_dev_sequence(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint);
/* -ENOSPC: a quota or the table is full. */
int ht_dev_pin(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint);
int ht_dev_unpin(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint);
/* Whoever told sequences, or pinned, is gone: they end. */
void ht_dev_teller_gone(struct ht_dev *dev, u64 teller);

/*
 * Runs of units in the same state from `offset` on, at most `max` of them, into `buf`;
 * `*ret_next` is where it stopped.
 */
int ht_dev_query(struct ht_dev *dev, u64 offset, u64 length, struct hintier_residency *buf,
		 u32 max, u32 *ret_count, u64 *ret_next);
/* The rows of *values rule from now on, under this head; *values is what ruled before, or NULL. */
int ht_dev_rule(struct ht_dev *dev, const struct hintier_values *head, struct ht_values **values);
/*
 * Is there still something to wait for? 1 or 0, or -ENODEV. Asked again when dev->waiters are
 * woken.
 */
int ht_dev_waits(struct ht_dev *dev, u64 teller, u64 cookie, bool outcome);
/* Starts a new write epoch. */
int ht_dev_epoch(struct ht_dev *dev, u64 *ret);

/* Counts a hint, accepted or refused. */
void ht_dev_count(struct ht_dev *dev, enum hintier_counter which, u64 n);

/* ---- netlink.c ----------------------------------------------------------------------------- */

/* Sends an event to the multicast group; from process context, may sleep. */
void ht_event(struct ht_dev *dev, enum hintier_event type, u64 arg0, u64 arg1, u64 arg2, u64 arg3);

int ht_netlink_init(void);
void ht_netlink_exit(void);

/* ---- control.c, meta.c, target.c ----------------------------------------------------------- */

int ht_control_init(void);
void ht_control_exit(void);

int ht_meta_init(void);
void ht_meta_exit(void);

int ht_target_init(void);
void ht_target_exit(void);

#endif
