/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place that knows which kernel it is.
 *
 * BLK_FEAT_NOWAIT: since "block: move the nowait flag to queue_limits" (6.11) limits and features
 * are handed to blk_alloc_disk(); before, setters are called on its queue. The second half goes
 * when 6.1 does.
 */
#ifndef HT_FLASH_COMPAT_H
#define HT_FLASH_COMPAT_H

#include <linux/blkdev.h>
#include <linux/err.h>

#define HT_MAX_SECTORS 2048 /* 1 MiB; what is told to readers-ahead */
#define HT_MAX_ERASE_SECTORS (1U << 23) /* 4 GiB a command */

/* `iu`: bytes of the indirection unit; drives report it as what should be written at least. */
#ifdef BLK_FEAT_NOWAIT

static inline struct gendisk *ht_alloc_disk(bool write_cache, u32 iu)
{
	struct queue_limits limits = {
		.logical_block_size = SECTOR_SIZE,
		.physical_block_size = 4096,
		.io_min = iu,
		.max_hw_sectors = HT_MAX_SECTORS,
		.io_opt = iu,
		.discard_granularity = 4096,
		.max_hw_discard_sectors = HT_MAX_ERASE_SECTORS,
		.max_write_zeroes_sectors = HT_MAX_ERASE_SECTORS,
		.features = BLK_FEAT_NOWAIT |
			    (write_cache ? BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA : 0),
	};

	return blk_alloc_disk(&limits, NUMA_NO_NODE);
}

#else

static inline struct gendisk *ht_alloc_disk(bool write_cache, u32 iu)
{
	struct gendisk *disk = blk_alloc_disk(NUMA_NO_NODE);
	struct request_queue *q;

	if (!disk)
		return ERR_PTR(-ENOMEM);
	q = disk->queue;
	blk_queue_logical_block_size(q, SECTOR_SIZE);
	blk_queue_physical_block_size(q, 4096);
	blk_queue_io_min(q, iu);
	blk_queue_max_hw_sectors(q, HT_MAX_SECTORS);
	blk_queue_io_opt(q, iu);
	q->limits.discard_granularity = 4096;
	blk_queue_max_discard_sectors(q, HT_MAX_ERASE_SECTORS);
	blk_queue_max_write_zeroes_sectors(q, HT_MAX_ERASE_SECTORS);
	blk_queue_write_cache(q, write_cache, write_cache);
	blk_queue_flag_set(QUEUE_FLAG_NONROT, q);
	blk_queue_flag_set(QUEUE_FLAG_NOWAIT, q);
	return disk;
}

#endif

#endif
