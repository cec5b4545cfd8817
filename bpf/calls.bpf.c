// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions of inference libraries, entered and left: what phase a process is in.
 *
 * The agent attaches the two programs to each function that it finds in a library or binary; the
 * attachment belongs to the file, so processes that start later are seen as well. Which function
 * it is comes as the attachment's cookie.
 */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "hintier/trace.h"
#include "lost.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CALLERS_MAX 1024

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} calls SEC(".maps");

/* Processes that have called: the end of each is told. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CALLERS_MAX);
	__type(key, __u32);
	__type(value, __u8);
} callers SEC(".maps");

/*
 * llama_decode(ctx, batch) takes the batch by value, which x86-64 puts on the stack behind the
 * return address; its first member is the number of tokens.
 */
static __always_inline __u32 batch_tokens(const struct pt_regs *regs)
{
	__s32 tokens = 0;

	if (bpf_probe_read_user(&tokens, sizeof(tokens), (const void *)(regs->sp + 8)) || tokens < 0)
		return 0;
	return tokens;
}

static __always_inline void submit(__u8 what, bool returned, __u32 tokens)
{
	struct hintier_call *call = bpf_ringbuf_reserve(&calls, sizeof(*call), 0);
	__u64 id = bpf_get_current_pid_tgid();

	if (!call) {
		count_lost(HINTIER_LOST_CALLS);
		return;
	}
	call->time_ns = bpf_ktime_get_ns();
	call->pid = id >> 32;
	call->tid = id;
	call->tokens = tokens;
	call->what = what;
	call->returned = returned;
	call->reserved = 0;
	/* The agent looks ten times a second: phases are slower than that. */
	bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
}

SEC("uprobe")
int on_call(struct pt_regs *regs)
{
	__u8 what = bpf_get_attach_cookie(regs), yes = 1;
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	bool batch = what == HINTIER_CALL_DECODE || what == HINTIER_CALL_ENCODE;

	if (!bpf_map_lookup_elem(&callers, &pid))
		bpf_map_update_elem(&callers, &pid, &yes, BPF_ANY);
	submit(what, false, batch ? batch_tokens(regs) : 0);
	return 0;
}

SEC("uretprobe")
int on_return(struct pt_regs *regs)
{
	submit(bpf_get_attach_cookie(regs), true, 0);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_caller_exit, struct task_struct *task)
{
	__u32 pid = task->tgid;

	if (task->pid != task->tgid || !bpf_map_lookup_elem(&callers, &pid))
		return 0;
	bpf_map_delete_elem(&callers, &pid);
	submit(HINTIER_CALL_EXIT, true, 0);
	return 0;
}
