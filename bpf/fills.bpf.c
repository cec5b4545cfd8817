// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pages of watched files that come into the page cache, counted by region of the file: which
 * weights a process reads that has them mapped, and so asks nobody.
 */
#include "kernel_types.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "hintier/trace.h"
#include "lost.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define FILES_MAX 4096
#define FILLS_MAX 65536
#define PAGE_SHIFT 12

enum pageflags { PG_head };

/* Watched files; the value is not looked at. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILES_MAX);
	__type(key, struct hintier_root_key);
	__type(value, __u32);
} files SEC(".maps");

/* Emptied by the agent, many times a second. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILLS_MAX);
	__type(key, struct hintier_fill_key);
	__type(value, struct hintier_fill);
} fills SEC(".maps");

static __always_inline __u32 pages_of(const struct folio *folio)
{
	if (!bpf_core_field_exists(folio->_folio_nr_pages) ||
	    !(folio->flags & 1UL << bpf_core_enum_value(enum pageflags, PG_head)))
		return 1;
	return folio->_folio_nr_pages;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_fill, struct folio *folio)
{
	const struct inode *inode = folio->mapping->host;
	struct hintier_root_key file = {};
	struct hintier_fill_key key = {};
	struct hintier_fill first = {}, *fill;

	file.ino = inode->i_ino;
	file.dev = inode->i_sb->s_dev;
	if (!bpf_map_lookup_elem(&files, &file))
		return 0;
	key.ino = file.ino;
	key.dev = file.dev;
	key.region = folio->index >> (HINTIER_FILL_SHIFT - PAGE_SHIFT);
	fill = bpf_map_lookup_elem(&fills, &key);
	if (fill) {
		__sync_fetch_and_add(&fill->pages, pages_of(folio));
		fill->last_ns = bpf_ktime_get_ns();
		fill->pid = bpf_get_current_pid_tgid() >> 32;
		return 0;
	}
	first.pages = pages_of(folio);
	first.last_ns = bpf_ktime_get_ns();
	first.generation = inode->i_generation;
	first.pid = bpf_get_current_pid_tgid() >> 32;
	if (bpf_map_update_elem(&fills, &key, &first, BPF_ANY))
		count_lost(HINTIER_LOST_FILLS);
	return 0;
}
