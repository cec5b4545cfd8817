/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A budget of bytes programmed on a device, in GB (10^9 bytes) a day.
 *
 * What is not used is kept, up to a day's worth; what is used beyond it is owed, up to a day's
 * worth, so that what is over a day old counts no more. A budget begins with an hour's worth. It
 * is over when something is owed, until there is a minute's worth again: users do not flap.
 *
 * A budget only says so. Who programs what could as well be left gives way; durability does not.
 */
#ifndef HT_CORE_BUDGET_H
#define HT_CORE_BUDGET_H

#include "env.h"

HT_CORE_BEGIN

#define HT_BUDGET_MAX 1000000U  /* GB a day */

struct ht_budget {
	u64 told;               /* bytes programmed, as of the last call */
	u64 when;               /* ms, of the last call */
	s64 left;               /* bytes; below 0: owed */
	bool begun;
	bool over;
};

/*
 * It is `now` (ms of a clock that does not go back), and so many bytes have been programmed since
 * the counter began. A limit of 0: there is no budget, and a later one begins anew. Returns whether
 * it is over.
 */
bool ht_budget_tell(struct ht_budget *budget, u32 limit, u64 programmed, u64 now);

HT_CORE_END

#endif
