/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What becomes of a request once a device has ended it (R9, R15, C7).
 */
#ifndef HT_CORE_FATE_H
#define HT_CORE_FATE_H

#include "shard.h"

#include <hintier/types.h>

HT_CORE_BEGIN

enum ht_fault {
	HT_FAULT_NONE,
	HT_FAULT_BUSY,        /* REQ_NOWAIT, and the device would have had to wait: no failure */
	HT_FAULT_UNSUPPORTED, /* it does not know such a request: no failure either */
	HT_FAULT_DEVICE,      /* failed, and who knows why */
	HT_FAULT_MEDIUM,      /* failed, and the place may be to blame */
};

/* A failure counts as one only if the device could take the request (R15). */
static inline bool ht_fault_is_failure(enum ht_fault fault)
{
	return fault >= HT_FAULT_DEVICE;
}

struct ht_ended {
	u8 op;       /* enum ht_request_op */
	u8 verdict;  /* enum ht_verdict that sent it */
	u8 fault;    /* enum ht_fault */
	bool fua;
	bool nowait;
	bool tried;  /* it has been repeated after fast had failed it */
	bool clean;  /* fast failed it, and ht_slot_failed() met nothing dirty */
};

enum ht_fate {
	HT_FATE_TELL,   /* its submitter learns what the device said */
	HT_FATE_FAIL,   /* its submitter learns of an error */
	HT_FATE_AGAIN,  /* ask ht_begin() again, where one may wait; a read that failed, `from_home` */
	HT_FATE_COMMIT, /* and that after a commit, which tells if fast still lives; it is `tried` */
	HT_FATE_RECORD, /* wait for a commit as HT_WAITS_FUA */
};

static inline bool ht_wrote_fast(const struct ht_ended *e)
{
	return e->verdict == HT_DO_FAST && e->op != HT_REQ_READ;
}

/*
 * Did it do what it was for? It is the `ok` of its ht_end(). No flush will cover a write that
 * lands in a fast device that was given up meanwhile.
 */
static inline bool ht_ended_ok(const struct ht_map *map, const struct ht_ended *e)
{
	return e->fault == HT_FAULT_NONE &&
	       !(map->mode >= HINTIER_MODE_BYPASS && ht_wrote_fast(e));
}

enum ht_fate ht_fate(const struct ht_map *map, const struct ht_ended *e);

/*
 * R9: a FUA write that has no record waits for two writes and their flushes on fast; a small one
 * is sooner at home.
 */
static inline bool ht_fua_wants_home(u32 sectors)
{
	return sectors < 64;
}

HT_CORE_END

#endif
