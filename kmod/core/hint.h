/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What callers of the control device may say: everything about a hint, a batch or a query that
 * can be judged from its bytes, the tier's size and the caller's access. What these let through
 * is well formed, inside the tier and allowed.
 */
#ifndef HT_CORE_HINT_H
#define HT_CORE_HINT_H

#include <hintier/ioctl.h>

#include "env.h"

HT_CORE_BEGIN

static inline bool ht_aligned(u64 offset, u64 length)
{
	return !((offset | length) & (HINTIER_UNIT_BYTES - 1));
}

static inline bool ht_inside(u64 offset, u64 length, u64 bytes)
{
	return length && offset < bytes && length <= bytes - offset;
}

/* An enum hintier_reason; `bytes` of the tier, `access` as HINTIER_ACCESS_*. */
u32 ht_hint_refusal(const struct hintier_hint *hint, u32 access, u64 bytes);

/* 0 or an errno, with the reason in the batch. */
int ht_batch_refusal(struct hintier_batch *batch);

/* 0 or an errno: what is wrong with it on any tier. */
int ht_wait_refusal(const struct hintier_wait *wait);
int ht_query_refusal(const struct hintier_query *query);

HT_CORE_END

#endif
