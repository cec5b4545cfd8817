// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judging hints, see hint.h.
 */
#include "hint.h"

#define VERBS (HINTIER_VERB_UNPIN + 1)

/*
 * For each verb: which flags it takes, which are for later, which only an owner may add, who may
 * say it.
 */
static const struct rule {
	bool known;
	u8 flags;
	u8 later;
	u8 owner;
	u32 access;
} rules[VERBS] = {
	[HINTIER_VERB_CLASSIFY] = {
		.known = true,
		.flags = HINTIER_FLAG_TOUCH | HINTIER_FLAG_VOLATILE,
		.owner = HINTIER_FLAG_VOLATILE,
		.access = HINTIER_ACCESS_ADVISE,
	},
	[HINTIER_VERB_FETCH] = {
		.known = true,
		.flags = HINTIER_FLAG_STAGE,
		.access = HINTIER_ACCESS_ADVISE,
	},
	[HINTIER_VERB_DONE] = {
		.known = true,
		.access = HINTIER_ACCESS_OWNER,
	},
	[HINTIER_VERB_SEQUENCE] = {
		.known = true,
		.flags = HINTIER_FLAG_RESTART,
		.access = HINTIER_ACCESS_ADVISE,
	},
	[HINTIER_VERB_PIN] = {
		.known = true,
		.access = HINTIER_ACCESS_ADVISE,
	},
	[HINTIER_VERB_UNPIN] = {
		.known = true,
		.access = HINTIER_ACCESS_ADVISE,
	},
};

u32 ht_hint_refusal(const struct hintier_hint *hint, u32 access, u64 bytes)
{
	const struct rule *rule;

	if (hint->verb >= VERBS || !hint->verb)
		return HINTIER_REASON_VERB;
	rule = &rules[ht_index(hint->verb, VERBS)];
	if (!rule->known)
		return HINTIER_REASON_UNSUPPORTED;
	if (hint->flags & ~(rule->flags | rule->later))
		return HINTIER_REASON_FLAGS;
	if (hint->flags & rule->later)
		return HINTIER_REASON_UNSUPPORTED;
	if (hint->reserved)
		return HINTIER_REASON_RESERVED;
	if (hint->klass >= HINTIER_CLASSES)
		return HINTIER_REASON_CLASS;
	if (hint->group >= HINTIER_GROUPS)
		return HINTIER_REASON_GROUP;
	if (!ht_aligned(hint->offset, hint->length))
		return HINTIER_REASON_ALIGN;
	if (!ht_inside(hint->offset, hint->length, bytes))
		return HINTIER_REASON_RANGE;
	if (!(access & rule->access) ||
	    ((hint->flags & rule->owner) && !(access & HINTIER_ACCESS_OWNER)))
		return HINTIER_REASON_ACCESS;
	return HINTIER_REASON_NONE;
}

int ht_batch_refusal(struct hintier_batch *batch)
{
	batch->done = 0;
	batch->reason = HINTIER_REASON_NONE;
	if (batch->flags) {
		batch->reason = HINTIER_REASON_FLAGS;
		return -EINVAL;
	}
	if (batch->reserved[0] || batch->reserved[1]) {
		batch->reason = HINTIER_REASON_RESERVED;
		return -EINVAL;
	}
	if (!batch->count)
		return -EINVAL;
	return batch->count > HINTIER_BATCH_MAX ? -E2BIG : 0;
}

int ht_wait_refusal(const struct hintier_wait *wait)
{
	if (wait->flags & ~HINTIER_WAIT_OUTCOME || wait->reserved[0] || wait->reserved[1])
		return -EINVAL;
	return wait->timeout_ms > HINTIER_WAIT_MAX_MS ? -EINVAL : 0;
}

int ht_query_refusal(const struct hintier_query *query)
{
	if (query->flags || query->reserved || !query->max)
		return -EINVAL;
	if (query->max > HINTIER_BATCH_MAX)
		return -E2BIG;
	return ht_aligned(query->offset, query->length) ? 0 : -EINVAL;
}
