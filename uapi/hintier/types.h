/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * The words that kernel, BPF programs and user space share.
 *
 * Everything here is ABI: values are never renumbered, new ones go at the end.
 */
#ifndef _UAPI_HINTIER_TYPES_H
#define _UAPI_HINTIER_TYPES_H

#include <linux/types.h>

#define HINTIER_ABI_MAJOR 1 /* differs: do not talk to each other */
#define HINTIER_ABI_MINOR 0 /* grows: additions that old callers do not see */

/* The granule of valid, dirty and volatile inside an extent, and of every hint. */
#define HINTIER_UNIT_BYTES 4096

/* Extent sizes that a tier can have: powers of two, both ends included. */
#define HINTIER_EXTENT_MIN_BYTES (64 * 1024)
#define HINTIER_EXTENT_MAX_BYTES (1024 * 1024)

/* What a range holds: for statistics, shares and defaults. */
enum hintier_class {
	HINTIER_CLASS_OTHER = 0,
	HINTIER_CLASS_WEIGHTS = 1,
	HINTIER_CLASS_EXPERT = 2,
	HINTIER_CLASS_KV = 3,
	HINTIER_CLASS_CHECKPOINT = 4,
	HINTIER_CLASS_STREAM = 5,
	HINTIER_CLASSES
};

/* Groups of extents that age alike; group 0 holds what nobody classified. */
#define HINTIER_GROUPS 256

/* Bins of age since the last use, in a value table. */
#define HINTIER_AGE_BINS 40

/* How a request was served: one of these for each request, part by part. */
enum hintier_outcome {
	HINTIER_IO_FAST = 0,   /* the fast device */
	HINTIER_IO_HOME = 1,   /* the home on bulk */
	HINTIER_IO_STAGE = 2,  /* data read ahead into RAM */
	HINTIER_IO_JOINED = 3, /* a transfer that was already in flight */
	HINTIER_IO_BYPASS = 4, /* a write sent home: no slot, or not worth one */
	HINTIER_IO_LOST = 5,   /* refused: its data was volatile and has been dropped */
	HINTIER_IO_ERROR = 6,  /* a device failed */
	HINTIER_OUTCOMES
};

enum hintier_op {
	HINTIER_OP_READ = 0,
	HINTIER_OP_WRITE = 1,
	HINTIER_OP_DISCARD = 2,
	HINTIER_OP_FLUSH = 3,
	HINTIER_OPS
};

/*
 * Which rule of a caller spoke: hints are counted apart for sources below this one; all others
 * are counted as the last.
 */
#define HINTIER_SOURCES 32

/* How a FETCH ended. */
enum hintier_fetch {
	HINTIER_FETCH_TIMELY = 0,    /* there before it was read */
	HINTIER_FETCH_LATE = 1,      /* a read had to wait for it */
	HINTIER_FETCH_UNUSED = 2,    /* left again without being read */
	HINTIER_FETCH_CANCELLED = 3, /* overwritten, discarded, refused or out of room */
	HINTIER_FETCHES
};

/* What the target does with new data; a failing device only moves it down the list. */
enum hintier_mode {
	HINTIER_MODE_WRITEBACK = 0,    /* writes land in fast and are destaged later */
	HINTIER_MODE_WRITETHROUGH = 1, /* writes go to both: fast never holds the only copy */
	HINTIER_MODE_WRITEAROUND = 2,  /* writes go home: fast is a read tier */
	HINTIER_MODE_BYPASS = 3,       /* fast failed: everything goes home, dirty units fail */
	HINTIER_MODE_FAIL = 4,         /* metadata of fast and bulk disagree at run time */
	HINTIER_MODES
};

#endif
