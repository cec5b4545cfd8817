// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Accesses of tiers, counted where they happen. Hangs on the raw tracepoint `hintier_io` of the
 * module, whose arguments are scalars in the order given in count_io(): no BTF of the module is
 * needed. While attached it holds the module, so the agent detaches when the last tier goes.
 */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "hintier/trace.h"
#include "lost.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define IO_KEYS_MAX 4096
#define HEAT_MAX 65536 /* regions: 1 TiB of them */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, IO_KEYS_MAX);
	__type(key, struct hintier_io_key);
	__type(value, struct hintier_io_count);
} io SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HEAT_MAX);
	__type(key, struct hintier_heat_key);
	__type(value, struct hintier_heat);
} heat SEC(".maps");

static __always_inline void count_io(const struct hintier_io_key *key, __u32 bytes)
{
	struct hintier_io_count *count = bpf_map_lookup_elem(&io, key);
	struct hintier_io_count first = { .count = 1, .bytes = bytes };

	if (count) {
		count->count += 1;
		count->bytes += bytes;
	} else if (bpf_map_update_elem(&io, key, &first, BPF_NOEXIST)) {
		count_lost(HINTIER_LOST_COUNTS);
	}
}

static __always_inline void count_heat(__u32 dev, __u8 op, __u64 offset)
{
	struct hintier_heat_key key = { .dev = dev, .region = offset >> HINTIER_HEAT_SHIFT };
	struct hintier_heat *old = bpf_map_lookup_elem(&heat, &key);
	struct hintier_heat first = {};

	if (!old) {
		bpf_map_update_elem(&heat, &key, &first, BPF_NOEXIST);
		old = bpf_map_lookup_elem(&heat, &key);
		if (!old)
			return;
	}
	__sync_fetch_and_add(op == HINTIER_OP_READ ? &old->reads : &old->writes, 1);
	old->last_ns = bpf_ktime_get_ns();
}

SEC("raw_tp/hintier_io")
int on_io(struct bpf_raw_tracepoint_args *ctx)
{
	struct hintier_io_key key = {
		.dev = ctx->args[0],
		.op = ctx->args[1],
		.outcome = ctx->args[2],
		.klass = ctx->args[3],
	};

	count_io(&key, ctx->args[5]);
	if (key.op == HINTIER_OP_READ || key.op == HINTIER_OP_WRITE)
		count_heat(key.dev, key.op, ctx->args[4]);
	return 0;
}
