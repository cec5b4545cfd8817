/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A block device of the lab: one store of contents, and the drives whose times it has. An ordinary
 * one has one drive. /dev/ht_ideal has two: it writes to the first and reads from both, as much
 * from each as makes them end together; this is the bound that no tier can beat.
 */
#ifndef HT_FLASH_DISK_H
#define HT_FLASH_DISK_H

#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/spinlock.h>

#include "cache.h"
#include "faults.h"
#include "model.h"
#include "store.h"

#define HT_QUEUE_DEPTH 4096 /* commands in the drive; more wait before it, first come first served */
#define HT_LATENCY_BINS 128 /* four for each power of two */

struct ht_drive {
	struct ht_flash_params params;
	struct ht_flash flash;
	struct ht_flash_die *dies;
};

struct ht_command {
	struct ht_flash_wait wait;
	struct ht_flash *flash; /* whose pages are waited for */
	struct bio *bio;
	u64 start;
};

struct ht_latency {
	u64 count, sum_ns, max_ns;
	u64 bin[HT_LATENCY_BINS];
};

struct ht_disk {
	const char *name;
	struct gendisk *disk;
	u32 ndrives;
	struct ht_drive drive[2];

	spinlock_t lock; /* everything below, and the models above */
	struct ht_store store;
	struct ht_cache cache; /* without lines unless the parameter `cut` is set */
	struct ht_faults faults;
	bool off; /* after a cut, until power is restored: everything fails */
	struct ht_command *queue; /* a heap: the earliest first */
	u32 queued;
	struct bio_list waiting;
	struct hrtimer timer;
	u64 armed; /* when the timer goes off; U64_MAX: it does not */

	struct ht_latency read_latency, write_latency;
	u64 discards, discard_bytes, zero_bytes;
	u64 commands, own_ns; /* own_ns: in our code; with -icount shift=0 these are instructions */
	u64 reset_ns; /* when the counters were zero */
};

/* Named `name`; `drives` are "slc" or "qlc"; `text` sets parameters, see params.h. */
struct ht_disk *ht_disk_create(const char *name, const char *const *drives, u32 ndrives,
			       const char *text);
void ht_disk_destroy(struct ht_disk *d);

void ht_submit(struct bio *bio);
void ht_queue_init(struct ht_disk *d);

/* Under the lock: takes what is in flight and what waits off the disk; its data is where it is. */
void ht_queue_drop(struct ht_disk *d, struct bio_list *ret);

/*
 * debugfs: ht_flash/control takes one command a write.
 *
 *   cut SEED [DEVICE...]    power goes: at one instant, all that is in flight fails, of what is
 *                           not durable a subset stays, and until `restore` everything fails.
 *                           Needs the parameter `cut`. Devices: slc, qlc, ideal; default: all
 *   restore [DEVICE...]     power is back
 *   fail DEVICE FAULT       see faults.h
 *   heal [DEVICE...]        no faults any more
 */
void ht_control_init(struct dentry *root, struct ht_disk **disks, u32 count);

/* debugfs: ht_flash/<name> reads as JSON; writing "reset" to it starts all counters anew. */
struct dentry *ht_report_init(void);
void ht_report_add(struct ht_disk *d);
void ht_report_exit(void);

#endif
