/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's structures, cut down to the members that our programs read. CO-RE finds their
 * real places when a program is loaded, so neither order nor size matters here.
 */
#ifndef HINTIER_BPF_KERNEL_TYPES_H
#define HINTIER_BPF_KERNEL_TYPES_H

#include <linux/types.h>
#include <stdbool.h>


#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct super_block {
	__u32 s_dev;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_generation;
};

struct qstr {
	__u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct path {
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode;
	struct inode *f_inode;
	struct path f_path;
};

struct filename {
	const char *name;
};

struct pt_regs {
	unsigned long di;
	unsigned long si;
	unsigned long sp;
};

struct address_space {
	struct inode *host;
};

struct folio {
	unsigned long flags;
	struct address_space *mapping;
	unsigned long index;
	unsigned int _folio_nr_pages; /* of a large one; newer kernels call it otherwise */
};

struct task_struct {
	int pid;
	int tgid;
};

#pragma clang attribute pop

/* Flags that are not in any uapi header: include/linux/fs.h. */
#define FMODE_WRITE 0x2
#define FMODE_CREATED 0x100000

#define S_IFMT 00170000
#define S_IFREG 0100000

#define ENOENT 2

#endif
