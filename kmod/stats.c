// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics: per CPU, written without locks, summed when somebody asks. They belong to the
 * handle, so that they survive a table reload.
 */
#include "tier.h"

static u32 bucket(u64 ns)
{
	u32 log2 = fls64(ns);

	return log2 <= 9 ? 0 : min(log2 - 9, HINTIER_LATENCY_BUCKETS - 1U);
}

/* A request, or one part of it, has ended. */
void ht_account(struct ht_tier *t, enum hintier_op op, u8 outcome, u8 klass, sector_t sector,
		u32 bytes, u64 start)
{
	struct ht_stats_cpu __percpu *stats = t->dev->stats;
	u64 latency = ktime_get_ns() - start;

	this_cpu_inc(stats->s.io[op][outcome][klass].count);
	this_cpu_add(stats->s.io[op][outcome][klass].bytes, bytes);
	this_cpu_inc(stats->s.latency[op][outcome][bucket(latency)]);
	trace_hintier_io(t->dev->devt, op, outcome, klass, (u64)sector << SECTOR_SHIFT, bytes,
			 latency);
}

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
