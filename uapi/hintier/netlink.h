/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * Generic netlink family "hintier", version 1: which tiers there are, what they count, and what
 * happens to them. Hints do not go this way: see ioctl.h.
 *
 * Commands
 *   GET_DEVICE  do:   HINTIER_A_DEV_ID → one HINTIER_A_DEVICE nest
 *               dump: all tiers, one message each
 *   GET_STATS   do:   HINTIER_A_DEV_ID → HINTIER_A_DEVICE and HINTIER_A_STATS nests
 *               dump: all tiers; what does not fit a message goes on in the next, which
 *               again says whose it is. For one consistent answer ask with do
 *   SET         do:   HINTIER_A_DEV_ID, HINTIER_A_KEY, HINTIER_A_VALUE: a tunable, as the
 *               `set` message of the target. CAP_NET_ADMIN
 *   EVENT       multicast group "events" only
 * Errors: ENODEV no such tier, EINVAL attribute missing or malformed (extack says which),
 * ENOENT no such tunable, ERANGE value out of its range.
 *
 * A message
 *   HINTIER_A_DEVICE            nest
 *     HINTIER_A_DEV_IDENT       u64  major << 32 | minor of the tier device, as HINTIER_A_DEV_ID
 *     HINTIER_A_DEV_UUID        binary[16]
 *     HINTIER_A_DEV_MODE        u32  enum hintier_mode
 *     HINTIER_A_DEV_BYTES       u64
 *     HINTIER_A_DEV_EXTENT      u32  bytes
 *     HINTIER_A_DEV_SLOTS       u64  … _FREE, _DIRTY, _CLEAN u64: slots of fast
 *     HINTIER_A_DEV_PINNED      u64  extents that are pinned, once for each who pins them
 *     HINTIER_A_DEV_LOST        u64  bytes that were dropped, and not written or discarded since
 *     HINTIER_A_DEV_OVER        u32  HINTIER_OVER_*: budgets that are spent
 *     HINTIER_A_DEV_FAST_LEFT   s64  … _BULK_LEFT s64: bytes of budgets; below 0: owed; 0 without
 *   HINTIER_A_STATS             nest
 *     HINTIER_A_STAT_IO         nest, repeated: one for each (op, outcome, class) that is not zero
 *       HINTIER_A_IO_OP u8, _OUTCOME u8, _CLASS u8, _COUNT u64, _BYTES u64
 *     HINTIER_A_STAT_LATENCY    nest, repeated: one for each (op, outcome) that is not zero
 *       HINTIER_A_IO_OP u8, _OUTCOME u8, _HISTOGRAM binary, u64[HINTIER_LATENCY_BUCKETS]: of
 *       what fast answers at once one request in eight is timed, and counts for eight
 *     HINTIER_A_STAT_COUNTERS   binary, u64[HINTIER_COUNTERS] in the order of enum hintier_counter
 *     HINTIER_A_STAT_FETCH      nest, repeated: how FETCHes of one class (or of one source) have
 *                               ended, one for each that is not all zero
 *       HINTIER_A_FETCH_CLASS u8 (or _SOURCE u8, below HINTIER_SOURCES),
 *       HINTIER_A_FETCH_BYTES binary, u64[HINTIER_FETCHES] in the order of enum hintier_fetch
 *   HINTIER_A_EVENT             nest
 *     HINTIER_A_EVENT_TYPE u32, _DEV_ID u64, _SEQ u64, _ARG0 … _ARG3 u64
 */
#ifndef _UAPI_HINTIER_NETLINK_H
#define _UAPI_HINTIER_NETLINK_H

#include "types.h"

#define HINTIER_GENL_NAME "hintier"
#define HINTIER_GENL_VERSION 1
#define HINTIER_GENL_MCGRP "events"

enum hintier_cmd {
	HINTIER_CMD_UNSPEC,
	HINTIER_CMD_GET_DEVICE,
	HINTIER_CMD_GET_STATS,
	HINTIER_CMD_SET,
	HINTIER_CMD_EVENT,
	__HINTIER_CMD_MAX
};
#define HINTIER_CMD_MAX (__HINTIER_CMD_MAX - 1)

/* Top level attributes. */
enum hintier_attr {
	HINTIER_A_UNSPEC,
	HINTIER_A_DEV_ID, /* u64 */
	HINTIER_A_DEVICE, /* nest, enum hintier_attr_dev */
	HINTIER_A_STATS,  /* nest, enum hintier_attr_stat */
	HINTIER_A_EVENT,  /* nest, enum hintier_attr_event */
	HINTIER_A_KEY,    /* string */
	HINTIER_A_VALUE,  /* string */
	HINTIER_A_PAD,
	__HINTIER_A_MAX
};
#define HINTIER_A_MAX (__HINTIER_A_MAX - 1)

enum hintier_attr_dev {
	HINTIER_A_DEV_UNSPEC,
	HINTIER_A_DEV_IDENT,  /* u64, as HINTIER_A_DEV_ID */
	HINTIER_A_DEV_UUID,   /* binary[16] */
	HINTIER_A_DEV_MODE,   /* u32 */
	HINTIER_A_DEV_BYTES,  /* u64 */
	HINTIER_A_DEV_EXTENT, /* u32 */
	HINTIER_A_DEV_SLOTS,  /* u64 */
	HINTIER_A_DEV_FREE,   /* u64 */
	HINTIER_A_DEV_DIRTY,  /* u64 */
	HINTIER_A_DEV_CLEAN,  /* u64 */
	HINTIER_A_DEV_PAD,
	HINTIER_A_DEV_LOST,   /* u64 */
	HINTIER_A_DEV_PINNED, /* u64 */
	HINTIER_A_DEV_OVER,   /* u32 */
	HINTIER_A_DEV_FAST_LEFT, /* s64 */
	HINTIER_A_DEV_BULK_LEFT, /* s64 */
	__HINTIER_A_DEV_MAX
};
#define HINTIER_A_DEV_MAX (__HINTIER_A_DEV_MAX - 1)

/*
 * Budgets of bytes programmed a day, tunables `fast_gb_day` and `bulk_gb_day`. While fast's is
 * spent, nothing is promoted or fetched to fast and writes that need a new slot go home; while
 * bulk's is spent, nothing is destaged but to make room, and writes go to fast.
 */
#define HINTIER_OVER_FAST (1U << 0)
#define HINTIER_OVER_BULK (1U << 1)

enum hintier_attr_stat {
	HINTIER_A_STAT_UNSPEC,
	HINTIER_A_STAT_IO,       /* nest, enum hintier_attr_io */
	HINTIER_A_STAT_LATENCY,  /* nest, enum hintier_attr_io */
	HINTIER_A_STAT_COUNTERS, /* binary */
	HINTIER_A_STAT_PAD,
	HINTIER_A_STAT_FETCH,    /* nest, enum hintier_attr_fetch */
	__HINTIER_A_STAT_MAX
};
#define HINTIER_A_STAT_MAX (__HINTIER_A_STAT_MAX - 1)

enum hintier_attr_io {
	HINTIER_A_IO_UNSPEC,
	HINTIER_A_IO_OP,        /* u8, enum hintier_op */
	HINTIER_A_IO_OUTCOME,   /* u8, enum hintier_outcome */
	HINTIER_A_IO_CLASS,     /* u8, enum hintier_class */
	HINTIER_A_IO_COUNT,     /* u64 */
	HINTIER_A_IO_BYTES,     /* u64 */
	HINTIER_A_IO_HISTOGRAM, /* binary */
	HINTIER_A_IO_PAD,
	__HINTIER_A_IO_MAX
};
#define HINTIER_A_IO_MAX (__HINTIER_A_IO_MAX - 1)

enum hintier_attr_fetch {
	HINTIER_A_FETCH_UNSPEC,
	HINTIER_A_FETCH_CLASS,  /* u8, enum hintier_class */
	HINTIER_A_FETCH_SOURCE, /* u8 */
	HINTIER_A_FETCH_BYTES,  /* binary */
	__HINTIER_A_FETCH_MAX
};
#define HINTIER_A_FETCH_MAX (__HINTIER_A_FETCH_MAX - 1)

/*
 * Bucket b counts latencies in [2^(b+8), 2^(b+9)) ns; the first takes all below, the last all
 * above: 512 ns … 137 s.
 */
#define HINTIER_LATENCY_BUCKETS 28

enum hintier_counter {
	HINTIER_C_FAST_WRITE_BYTES,    /* programmed on fast: user data, promotions, metadata */
	HINTIER_C_BULK_WRITE_BYTES,    /* programmed on bulk: destage and bypass */
	HINTIER_C_META_WRITE_BYTES,    /* of the first, metadata */
	HINTIER_C_ADMITTED,            /* extents that got a slot by a write */
	HINTIER_C_PROMOTED,            /* extents that got a slot by a read or a FETCH */
	HINTIER_C_DESTAGED_BYTES,
	HINTIER_C_EVICTED,             /* clean extents that lost their slot */
	HINTIER_C_DROPPED_DIRTY_BYTES, /* dirty units forgotten by discard: never written to bulk */
	HINTIER_C_DISCARDED_BYTES,
	HINTIER_C_COMMITS,
	HINTIER_C_HINTS,
	HINTIER_C_HINTS_REFUSED,
	HINTIER_C_FETCH_TIMELY,        /* in the order of enum hintier_fetch */
	HINTIER_C_FETCH_LATE,
	HINTIER_C_FETCH_UNUSED,
	HINTIER_C_FETCH_CANCELLED,
	HINTIER_C_WAITED_SLOT,         /* writes that went home because no slot was free */
	HINTIER_C_ERRORS_FAST,
	HINTIER_C_ERRORS_BULK,
	HINTIER_C_DROPPED_VOLATILE_BYTES, /* dirty units dropped because their owner can do without */
	HINTIER_C_DROPS_REFUSED,       /* drops that became destages: the lost map was full */
	HINTIER_C_SLOTS_RETIRED,       /* for good, because the medium failed there */
	HINTIER_C_STAGED_BYTES,        /* read ahead into RAM */
	HINTIER_C_STAGE_UNUSED_BYTES,  /* of these, left or overwritten before they were read */
	HINTIER_C_PADDED_BYTES,        /* written home again, so that bulk gets whole indirection units */
	HINTIER_COUNTERS
};

enum hintier_attr_event {
	HINTIER_A_EVENT_UNSPEC,
	HINTIER_A_EVENT_TYPE,   /* u32, enum hintier_event */
	HINTIER_A_EVENT_DEV_ID, /* u64 */
	HINTIER_A_EVENT_SEQ,    /* u64: counts the tier's events, a gap means loss */
	HINTIER_A_EVENT_ARG0,   /* u64 */
	HINTIER_A_EVENT_ARG1,   /* u64 */
	HINTIER_A_EVENT_ARG2,   /* u64 */
	HINTIER_A_EVENT_ARG3,   /* u64 */
	HINTIER_A_EVENT_PAD,
	__HINTIER_A_EVENT_MAX
};
#define HINTIER_A_EVENT_MAX (__HINTIER_A_EVENT_MAX - 1)

enum hintier_event {
	HINTIER_EV_CREATED = 1,
	HINTIER_EV_REMOVED = 2,
	HINTIER_EV_MODE = 3,     /* arg0 old mode, arg1 new mode */
	HINTIER_EV_PRESSURE = 4, /* arg0 dirty slots, arg1 slots; once per crossing of the high mark */
	HINTIER_EV_FETCH = 5,    /* arg0 cookie, arg1 enum hintier_fetch, arg2 bytes, */
				 /* arg3 source, and enum hintier_class << 16 */
	HINTIER_EV_DROP = 6,     /* arg0 offset of the extent, arg1 bytes lost in it, arg2 object, */
				 /* arg3 number of the drop: counts up from 1, a gap means loss */
	HINTIER_EV_BUDGET = 7,   /* arg0 device (0 fast, 1 bulk), arg1 1: spent, 0: no longer, */
				 /* arg2 10^9 bytes a day */
};

#endif
