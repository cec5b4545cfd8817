// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files below watched directories: opened, created, renamed, removed, asked for.
 *
 * A file is its device, inode and generation; its name is the last component only. A directory is
 * watched by device and inode, so it does not matter by which mount or in which container it is
 * reached. A lookup has no inode yet: it counts when a process that has opened files below a
 * root asks for a name with the right suffix, whatever the path before it.
 *
 * Hooks on security_*() see a rename or an unlink before it happens: the inode is there already,
 * so nothing has to be remembered until the call returns, and whoever acts on the record checks
 * by inode anyway.
 */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "hintier/trace.h"
#include "lost.bpf.h"
#include "maps.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline bool watched_device(const struct inode *inode)
{
	__u32 dev = inode->i_sb->s_dev, i;

#pragma unroll
	for (i = 0; i < DEVICES_MAX; i++)
		if (devices[i] == dev)
			return true;
	return more_devices;
}

/* The root that @dir is or lies below; NULL if there is none within reach. */
static __always_inline __u32 *root_above(struct dentry *dir)
{
	struct hintier_root_key key = {};
	__u32 *root;
	int level;

#pragma unroll
	for (level = 0; level < HINTIER_TRACE_LEVELS; level++) {
		struct inode *inode = dir->d_inode;
		struct dentry *up = dir->d_parent;

		if (!inode)
			return NULL;
		key.ino = inode->i_ino;
		key.dev = inode->i_sb->s_dev;
		root = bpf_map_lookup_elem(&roots, &key);
		if (root || up == dir)
			return root;
		dir = up;
	}
	return NULL;
}

/* @id: bpf_get_current_pid_tgid() */
static __always_inline struct hintier_record *record_begin(__u16 type, __u64 id)
{
	struct hintier_record *rec = bpf_ringbuf_reserve(&records, sizeof(*rec), 0);

	if (!rec) {
		count_lost(HINTIER_LOST_RECORDS);
		return NULL;
	}
	__builtin_memset(rec, 0, offsetof(struct hintier_record, name));
	rec->type = type;
	rec->time_ns = bpf_ktime_get_ns();
	rec->pid = id >> 32;
	rec->tid = id;
	return rec;
}

/*
 * One wake-up a burst: the agent arms it before it sleeps. What is not urgent waits for what is,
 * or for the agent's next tick.
 */
static __always_inline void record_submit(struct hintier_record *rec, bool urgent)
{
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (urgent && armed) {
		armed = 0;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(rec, flags);
}

static __always_inline void record_file(struct hintier_record *rec, struct inode *inode,
					struct dentry *dentry, struct dentry *parent)
{
	struct inode *dir = parent->d_inode;
	__u32 n = dentry->d_name.len;

	rec->dev = inode->i_sb->s_dev;
	rec->ino = inode->i_ino;
	rec->generation = inode->i_generation;
	if (dir) {
		rec->parent_ino = dir->i_ino;
		rec->parent_generation = dir->i_generation;
	}
	if (n > sizeof(rec->name) - 1)
		n = sizeof(rec->name) - 1;
	barrier_var(n); /* or clang proves the bound to itself and not to the verifier */
	n &= sizeof(rec->name) - 1;
	if (!bpf_probe_read_kernel(rec->name, n, dentry->d_name.name))
		rec->name_bytes = n;
}

static __always_inline bool regular(const struct inode *inode)
{
	return inode && (inode->i_mode & S_IFMT) == S_IFREG;
}

static __always_inline bool from_agent(__u64 id)
{
	return id >> 32 == self_pid;
}

static __always_inline void note_reader(__u32 root, __u32 pid)
{
	__u32 *known = bpf_map_lookup_elem(&readers, &pid);

	if (known)
		*known = root;
	else
		bpf_map_update_elem(&readers, &pid, &root, BPF_ANY);
}

SEC("fentry/security_file_open")
int BPF_PROG(on_open, struct file *file)
{
	struct inode *inode = file->f_inode;
	struct dentry *dentry = file->f_path.dentry;
	__u64 id = bpf_get_current_pid_tgid();
	struct hintier_record *rec;
	__u32 *root;

	if (!regular(inode) || !watched_device(inode) || from_agent(id))
		return 0;
	root = root_above(dentry->d_parent);
	if (!root)
		return 0;
	note_reader(*root, id >> 32);
	rec = record_begin(HINTIER_REC_OPEN, id);
	if (!rec)
		return 0;
	rec->root = *root;
	if (file->f_mode & FMODE_CREATED)
		rec->flags |= HINTIER_REC_CREATED;
	if (file->f_mode & FMODE_WRITE)
		rec->flags |= HINTIER_REC_WRITE;
	record_file(rec, inode, dentry, dentry->d_parent);
	record_submit(rec, !(file->f_mode & FMODE_WRITE));
	return 0;
}

SEC("fentry/security_inode_rename")
int BPF_PROG(on_rename, struct inode *old_dir, struct dentry *old_dentry, struct inode *new_dir,
	     struct dentry *new_dentry)
{
	struct inode *inode = old_dentry->d_inode;
	struct inode *replaced = new_dentry->d_inode;
	__u64 id = bpf_get_current_pid_tgid();
	struct hintier_record *rec;
	__u32 *from, *to;

	if (!regular(inode) || !watched_device(inode) || from_agent(id))
		return 0;
	to = root_above(new_dentry->d_parent);
	from = to ? to : root_above(old_dentry->d_parent);
	if (!from)
		return 0;
	rec = record_begin(HINTIER_REC_RENAME, id);
	if (!rec)
		return 0;
	rec->root = *from;
	if (!to)
		rec->flags |= HINTIER_REC_OUTSIDE;
	record_file(rec, inode, new_dentry, new_dentry->d_parent);
	if (replaced)
		rec->replaced_ino = replaced->i_ino;
	record_submit(rec, true);
	return 0;
}

SEC("fentry/security_inode_unlink")
int BPF_PROG(on_unlink, struct inode *dir, struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;
	__u64 id = bpf_get_current_pid_tgid();
	struct hintier_record *rec;
	__u32 *root;

	if (!regular(inode) || !watched_device(inode) || from_agent(id))
		return 0;
	root = root_above(dentry->d_parent);
	if (!root)
		return 0;
	rec = record_begin(HINTIER_REC_UNLINK, id);
	if (!rec)
		return 0;
	rec->root = *root;
	record_file(rec, inode, dentry, dentry->d_parent);
	record_submit(rec, false);
	return 0;
}

/*
 * True if @rec->name ends in one of the suffixes, by its last eight bytes. No name that matters is
 * shorter.
 */
static __always_inline bool any_suffix_fits(const struct hintier_record *rec)
{
	__u32 at = rec->name_bytes - sizeof(__u64), which;
	__u64 end;

	if (rec->name_bytes < sizeof(end) || at > HINTIER_TRACE_NAME - sizeof(end))
		return false;
	barrier_var(at); /* as above */
	if (at > HINTIER_TRACE_NAME - sizeof(end))
		return false;
	end = *(const __u64 *)(rec->name + at);
	for (which = 0; which < HINTIER_TRACE_SUFFIXES; which++)
		if (suffixes[which].mask && (end & suffixes[which].mask) == suffixes[which].end)
			return true;
	return false;
}

/*
 * The end of the path at @path into @rec: a second read from further on when it is longer than a
 * name, and no third: paths of more than two names' room do not count.
 */
static __always_inline bool read_path_end(struct hintier_record *rec, const char *path, bool user)
{
	long n = user ? bpf_probe_read_user_str(rec->name, sizeof(rec->name), path)
		      : bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), path);

	if (n == sizeof(rec->name)) {
		path += n - 1;
		n = user ? bpf_probe_read_user_str(rec->name, sizeof(rec->name), path)
			 : bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), path);
		if (n == sizeof(rec->name))
			return false;
	}
	if (n <= 0)
		return false;
	rec->name_bytes = n - 1;
	return true;
}

/* Somebody who uses a root has asked for @path, and been answered @ret. */
static __always_inline int looked_up(const char *path, bool user, long ret)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 pid = id >> 32;
	struct hintier_record *rec;
	__u32 *root;

	if (ret != 0 && ret != -ENOENT)
		return 0;
	root = bpf_map_lookup_elem(&readers, &pid);
	if (!root)
		return 0;
	rec = record_begin(HINTIER_REC_LOOKUP, id);
	if (!rec)
		return 0;
	if (!read_path_end(rec, path, user) || !any_suffix_fits(rec)) {
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
		return 0;
	}
	rec->root = *root;
	if (ret >= 0)
		rec->flags |= HINTIER_REC_FOUND;
	record_submit(rec, ret >= 0);
	return 0;
}

/*
 * Lookups are seen on their way out of what all system calls of a kind come to: access(), stat()
 * and open(), each with its answer. An open that succeeded is no lookup: the file's own hook tells
 * more.
 */
SEC("fexit/do_faccessat")
int BPF_PROG(on_access, int dir, const char *path, int mode, int flags, long ret)
{
	return looked_up(path, true, ret);
}

SEC("fexit/vfs_statx")
int BPF_PROG(on_stat, int dir, struct filename *path, int flags, void *stat, __u32 mask, int ret)
{
	return looked_up(path->name, false, ret);
}

SEC("fexit/do_sys_openat2")
int BPF_PROG(on_no_open, int dir, const char *path, void *how, long ret)
{
	return ret == -ENOENT ? looked_up(path, true, ret) : 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	__u64 id = bpf_get_current_pid_tgid();
	__u32 pid = task->tgid;
	struct hintier_record *rec;
	__u32 *root;

	if (task->pid != task->tgid)
		return 0;
	root = bpf_map_lookup_elem(&readers, &pid);
	if (!root)
		return 0;
	rec = record_begin(HINTIER_REC_EXIT, id);
	if (rec) {
		rec->root = *root;
		record_submit(rec, false);
	}
	bpf_map_delete_elem(&readers, &pid);
	return 0;
}
