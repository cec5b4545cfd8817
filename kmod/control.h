/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files behind the control device share. */
#ifndef HT_CONTROL_H
#define HT_CONTROL_H

#include <linux/types.h>

#include <hintier/ioctl.h>

struct ht_dev;

static inline bool ht_aligned(u64 offset, u64 length)
{
	return !((offset | length) & (HINTIER_UNIT_BYTES - 1));
}

static inline bool ht_inside(u64 offset, u64 length, u64 bytes)
{
	return length && offset < bytes && length <= bytes - offset;
}

/* Applies a batch for a caller with this access; sets `done` and `reason` whatever happens. */
int ht_hint_batch(struct ht_dev *dev, u32 access, struct hintier_batch *batch);

#endif
