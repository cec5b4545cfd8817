/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The value table: what keeping an extent in its slot is worth, by its group and by its age since
 * it was last used, once it is clean and while it is dirty; and which dirty ones are rather dropped
 * than destaged. Whoever uploads it has learned it; values only compare with each other.
 */
#ifndef HT_CORE_VALUE_H
#define HT_CORE_VALUE_H

#include <hintier/ioctl.h>

#include "env.h"

HT_CORE_BEGIN

struct ht_values {
	u32 until;                      /* ms of a clock that wraps: from then on it says nothing */
	u32 edges[HINTIER_AGE_BINS];    /* seconds: where each bin begins */
	struct hintier_value_row rows[HINTIER_GROUPS];
};

/* 0 or an errno: what is wrong with it on any tier. */
int ht_values_refusal(const struct hintier_values *head);
/* The head of a table whose rows have been copied; groups without a row are worth 0. */
void ht_values_begin(struct ht_values *values, const struct hintier_values *head, u32 now);
/* A row with something unknown in it is refused. */
int ht_value_row_refusal(const struct hintier_value_row *row);

static inline bool ht_values_rule(const struct ht_values *values, u32 now)
{
	return values && values->until - now - 1 < 1U << 31;
}

/* The bin of an age in seconds. */
u32 ht_value_bin(const struct ht_values *values, u32 age);

static inline u32 ht_value(const struct ht_values *values, bool dirty, u32 group, u32 bin)
{
	const struct hintier_value_row *row = &values->rows[group];

	return dirty ? row->dirty[bin] : row->clean[bin];
}

static inline bool ht_value_drop(const struct ht_values *values, u32 group, u32 bin)
{
	return values->rows[group].drop >> bin & 1;
}

HT_CORE_END

#endif
