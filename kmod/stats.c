// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics: per CPU, written without locks, summed when somebody asks. They belong to the
 * handle, so that they survive a table reload.
 */
#include "tier.h"

void ht_dev_count(struct ht_dev *dev, enum hintier_counter which, u64 n)
{
	this_cpu_add(dev->stats->s.counters[which], n);
}

int ht_dev_stats(struct ht_dev *dev, struct ht_stats *ret)
{
	u64 *sum = (u64 *)ret;
	int cpu;

	BUILD_BUG_ON(sizeof(struct ht_stats_cpu) > 32768); /* alloc_percpu() refuses more */
	memset(ret, 0, sizeof(*ret));
	for_each_possible_cpu(cpu) {
		const u64 *part = (const u64 *)&per_cpu_ptr(dev->stats, cpu)->s;

		for (u32 i = 0; i < sizeof(*ret) / sizeof(u64); i++)
			sum[i] += part[i];
	}
	return READ_ONCE(dev->gone) ? -ENODEV : 0;
}
