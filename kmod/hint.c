// SPDX-License-Identifier: GPL-2.0-only
/*
 * HINTIER_IOC_HINT: has core judge a batch element by element and passes on what it lets through in
 * order, up to the first that is refused. The elements are read in chunks of one page, whatever
 * the size of the batch.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "control.h"
#include "core/hint.h"
#include "hintier.h"
#include "trace.h"

#define HT_CHUNK_HINTS (PAGE_SIZE / sizeof(struct hintier_hint))

static const int reason_errno[] = {
	[HINTIER_REASON_VERB] = -EINVAL,
	[HINTIER_REASON_UNSUPPORTED] = -EOPNOTSUPP,
	[HINTIER_REASON_FLAGS] = -EINVAL,
	[HINTIER_REASON_RESERVED] = -EINVAL,
	[HINTIER_REASON_CLASS] = -EINVAL,
	[HINTIER_REASON_GROUP] = -EINVAL,
	[HINTIER_REASON_ALIGN] = -EINVAL,
	[HINTIER_REASON_RANGE] = -ERANGE,
	[HINTIER_REASON_ACCESS] = -EPERM,
	[HINTIER_REASON_FULL] = -ENOSPC,
	[HINTIER_REASON_FAULT] = -EFAULT,
	[HINTIER_REASON_STATE] = -ENODEV,
	[HINTIER_REASON_EPOCH] = -EINVAL,
	[HINTIER_REASON_BUDGET] = -EDQUOT,
};

/* Who carries out a verb that core lets through. */
static int (*const carry_out[])(struct ht_dev *dev, u64 teller, const struct hintier_hint *hint) = {
	[HINTIER_VERB_CLASSIFY] = ht_dev_classify,
	[HINTIER_VERB_FETCH] = ht_dev_fetch,
	[HINTIER_VERB_DONE] = ht_dev_done,
	[HINTIER_VERB_SEQUENCE] = ht_dev_sequence,
	[HINTIER_VERB_PIN] = ht_dev_pin,
	[HINTIER_VERB_UNPIN] = ht_dev_unpin,
};

/* What the tier itself refused, told as a reason. */
static u32 reason_of(int r)
{
	switch (r) {
	case 0:
		return HINTIER_REASON_NONE;
	case -ENOSPC:
		return HINTIER_REASON_FULL;
	case -ERANGE: /* it has shrunk meanwhile */
		return HINTIER_REASON_RANGE;
	case -ESTALE:
		return HINTIER_REASON_EPOCH;
	case -EDQUOT:
		return HINTIER_REASON_BUDGET;
	}
	return HINTIER_REASON_STATE;
}

/* Applies one hint; what refuses it goes to @reason. */
static int apply_hint(struct ht_dev *dev, const struct ht_info *info, u32 access, u64 teller,
		      const struct hintier_hint *hint, u32 *reason)
{
	int r;

	*reason = ht_hint_refusal(hint, access, info->bytes);
	if (*reason) {
		r = reason_errno[*reason];
	} else {
		r = carry_out[ht_index(hint->verb, ARRAY_SIZE(carry_out))](dev, teller, hint);
		*reason = reason_of(r);
		if (*reason == HINTIER_REASON_EPOCH)
			r = reason_errno[*reason];
	}
	ht_dev_count(dev, r ? HINTIER_C_HINTS_REFUSED : HINTIER_C_HINTS, 1);
	if (!r)
		trace_hintier_hint(info->devt, hint->verb, hint->klass, hint->offset, hint->length);
	return r;
}

static int apply_chunks(struct ht_dev *dev, const struct ht_info *info, u32 access, u64 teller,
			struct hintier_batch *batch, struct hintier_hint *chunk)
{
	const struct hintier_hint __user *from = u64_to_user_ptr(batch->hints);
	size_t unread;
	u32 i, want, have;
	int r;

	while (batch->done < batch->count) {
		want = min_t(u32, batch->count - batch->done, HT_CHUNK_HINTS);
		unread = copy_from_user(chunk, from + batch->done, want * sizeof(*chunk));
		have = want - DIV_ROUND_UP(unread, sizeof(*chunk));
		for (i = 0; i < have; i++) {
			r = apply_hint(dev, info, access, teller, &chunk[i], &batch->reason);
			if (r)
				return r;
			batch->done++;
		}
		if (have < want) {
			batch->reason = HINTIER_REASON_FAULT;
			return -EFAULT;
		}
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/* @dev is NULL if the caller has bound nothing. */
int ht_hint_batch(struct ht_dev *dev, u32 access, u64 teller, struct hintier_batch *batch)
{
	struct hintier_hint *chunk;
	struct ht_info info;
	int r;

	r = ht_batch_refusal(batch);
	if (r)
		return r;
	r = dev ? ht_dev_info(dev, &info) : -ENXIO;
	if (r) {
		batch->reason = HINTIER_REASON_STATE;
		return r;
	}
	chunk = kmalloc_array(HT_CHUNK_HINTS, sizeof(*chunk), GFP_KERNEL);
	if (!chunk)
		return -ENOMEM;
	r = apply_chunks(dev, &info, access, teller, batch, chunk);
	kfree(chunk);
	return r;
}
