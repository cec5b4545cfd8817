/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What could not be told, counted: enum hintier_lost.
 */
#ifndef HINTIER_BPF_LOST_H
#define HINTIER_BPF_LOST_H

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, HINTIER_LOSTS);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

static __always_inline void count_lost(__u32 what)
{
	__u64 *n = bpf_map_lookup_elem(&lost, &what);

	if (n)
		*n += 1;
}

#endif
