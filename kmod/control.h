/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files behind the control device share. */
#ifndef HT_CONTROL_H
#define HT_CONTROL_H

#include <linux/types.h>

#include <hintier/ioctl.h>

struct ht_dev;

/*
 * Applies a batch for a caller with this access; sets `done` and `reason` whatever happens.
 * `teller` is that caller's alone, as long as it lives.
 */
int ht_hint_batch(struct ht_dev *dev, u32 access, u64 teller, struct hintier_batch *batch);

/* Takes a value table over, or says what is wrong with it. */
int ht_values_upload(struct ht_dev *dev, u32 access, const struct hintier_values *head);

#endif
