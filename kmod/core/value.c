// SPDX-License-Identifier: GPL-2.0-only
/* The value table. See value.h. */
#include "value.h"

int ht_values_refusal(const struct hintier_values *head)
{
	if (head->flags || head->reserved || !head->groups || head->groups > HINTIER_GROUPS ||
	    !head->ttl_ms || head->ttl_ms > HINTIER_VALUES_MAX_MS || head->edges_ms[0])
		return -EINVAL;
	for (u32 bin = 1; bin < HINTIER_AGE_BINS; bin++)
		if (head->edges_ms[bin] <= head->edges_ms[bin - 1])
			return -EINVAL;
	return 0;
}

int ht_value_row_refusal(const struct hintier_value_row *row)
{
	return row->drop >> HINTIER_AGE_BINS ? -EINVAL : 0;
}

void ht_values_begin(struct ht_values *values, const struct hintier_values *head, u32 now)
{
	values->until = now + head->ttl_ms;
	for (u32 bin = 0; bin < HINTIER_AGE_BINS; bin++)
		values->edges[bin] = head->edges_ms[bin] / 1000;
	memset(&values->rows[head->groups], 0,
	       (HINTIER_GROUPS - head->groups) * sizeof(values->rows[0]));
}

u32 ht_value_bin(const struct ht_values *values, u32 age)
{
	u32 bin = 0;

	while (bin + 1 < HINTIER_AGE_BINS && age >= values->edges[bin + 1])
		bin++;
	return bin;
}
