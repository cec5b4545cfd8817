/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When a drive would have done what it is asked, by arithmetic alone.
 *
 *   read    the command waits for the dies that hold its stripes (each a FIFO server: the next
 *           start is the later of arrival and the previous end) and for its share of the read bus
 *   write   acknowledged once the write bus has moved it and the write buffer has room for it
 *   drain   whole pages leave the buffer in order, each to the next die in turn that is not
 *           erasing, not faster than the write bus; a die holds one program at a time, running or
 *           waiting behind reads, so a read waits for one program at most, whatever is buffered;
 *           an erase follows the last page of a block
 *   IU      parts of indirection units wait in the buffer for their rest; one that is pushed out
 *           incomplete costs a read of its stripe and a program of what was missing
 *   flush   without power-loss protection, waits until all that was buffered is programmed
 *
 * Not modelled: garbage collection (a drive whose files are deleted whole and trimmed has little),
 * overwrites and reads served from the buffer, suspended programs, reads of trimmed addresses
 * answered without a die.
 *
 * Time is whatever the caller's clock counts, in ns, and never goes back between calls.
 */
#ifndef HT_FLASH_MODEL_H
#define HT_FLASH_MODEL_H

#include "params.h"

HT_C_BEGIN

#define HT_FLASH_PARTS 64 /* incomplete IUs that the buffer keeps */

struct ht_flash_die {
	u64 end;	 /* of everything it was given */
	u64 program_end; /* of the last program it was given */
	u64 erase_end;	 /* of the last erase */
	u64 pages;	 /* programmed since then */
	u64 page_end;	 /* not of this die: when page n is programmed, in slot n modulo dies */
};

/* All since the last reset. */
struct ht_flash_counts {
	u64 reads, read_bytes;
	u64 writes, write_bytes;
	u64 flushes;
	u64 programs;	  /* pages; times page size: bytes programmed */
	u64 padded_bytes; /* programmed to fill a page that a flush could not wait for */
	u64 erases;
	u64 rmw_units;	  /* IUs written in part */
	u64 rmw_bytes;	  /* what had to be read and programmed again for them */
	u64 die_wait_ns;  /* that reads spent behind other work of their slowest die */
};

struct ht_flash_part {
	u64 unit;
	u64 sectors; /* bit map of those written */
};

struct ht_flash {
	/* Derived from the parameters once: scaled and dilated. */
	u64 dies, stripe, page, block, iu, buffer_pages, scale;
	u64 read_ns, program_ns, erase_ns, read_cmd_ns, write_cmd_ns, write_gap_ns;
	u64 channel_rate, read_rate, write_rate; /* ns a byte, in units of 2^-HT_FLASH_RATE_SHIFT */
	u64 page_gap_ns;			 /* between two program starts */
	bool plp;

	u64 read_bus_free, write_bus_free;

	/* Pages by number: done <= started <= arrived, and started - done <= dies. */
	u64 arrived, started, done;
	u64 started_slot, done_slot; /* the same, modulo dies */
	u64 next_die;		     /* whose turn it is */
	u64 open_bytes;		     /* of the page that is not full yet */
	u64 head_ready;		     /* when page `started` had arrived, if nothing was pending */
	u64 last_start;

	u32 nparts, oldest_part;
	struct ht_flash_part parts[HT_FLASH_PARTS];

	struct ht_flash_counts counts;
	struct ht_flash_die *die; /* the caller's: dies of them, zeroed */
};

/* A command's end: at `when`, if `pages` are done by then; else ask again. */
struct ht_flash_wait {
	u64 when;
	u64 pages;
};

#define HT_FLASH_RATE_SHIFT 20

/* Parameters have passed ht_flash_check; die has room for p->dies. */
void ht_flash_init(struct ht_flash *f, const struct ht_flash_params *p, struct ht_flash_die *die);

/* Take a command that arrives `now`; offsets and lengths in bytes, multiples of 512. */
void ht_flash_read(struct ht_flash *f, u64 now, u64 offset, u64 length,
		   struct ht_flash_wait *wait);
void ht_flash_write(struct ht_flash *f, u64 now, u64 offset, u64 length, bool fua,
		    struct ht_flash_wait *wait);
void ht_flash_flush(struct ht_flash *f, u64 now, struct ht_flash_wait *wait);
void ht_flash_discard(struct ht_flash *f, u64 now, u64 offset, u64 length,
		      struct ht_flash_wait *wait);

/* Has it ended? If not, wait->when becomes the next time, after `now`, that is worth asking. */
bool ht_flash_done(struct ht_flash *f, u64 now, struct ht_flash_wait *wait);

/* Bytes in the write buffer that are not programmed yet. */
u64 ht_flash_buffered(struct ht_flash *f, u64 now);

/* How much of a read of `length` goes to `a` so that it and the rest on `b` end together. */
u64 ht_flash_share(const struct ht_flash *a, const struct ht_flash *b, u64 now, u64 length);

HT_C_END

#endif
