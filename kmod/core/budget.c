// SPDX-License-Identifier: GPL-2.0-only
/*
 * Budgets. See budget.h.
 */
#include "budget.h"

#define DAY_MS 86400000ULL
#define GB 1000000000LL

/* Bytes that a limit gives in so many ms, at most a day: limit * GB / DAY_MS, cancelled down. */
static s64 given(u32 limit, u64 ms)
{
	return (s64)((ms < DAY_MS ? ms : DAY_MS) * limit * 625 / 54);
}

bool ht_budget_tell(struct ht_budget *budget, u32 limit, u64 programmed, u64 now)
{
	s64 day = limit * GB;

	if (!limit) {
		memset(budget, 0, sizeof(*budget));
		return false;
	}
	if (!budget->begun) {
		budget->begun = true;
		budget->left = day / 24;
	} else {
		budget->left += given(limit, now - budget->when);
		budget->left -= (s64)(programmed - budget->told);
	}
	budget->told = programmed;
	budget->when = now;
	if (budget->left > day)
		budget->left = day;
	if (budget->left < -day)
		budget->left = -day;
	if (budget->left < 0)
		budget->over = true;
	else if (budget->left >= day / (24 * 60))
		budget->over = false;
	return budget->over;
}
