/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which system calls ask whether a path exists, by the numbers of x86-64.
 *
 * They are seen on their way out, where both the answer and the arguments are known: one program
 * instead of a pair with a map between. An open that succeeded is not a lookup, since the
 * file's own hook tells more. 32-bit callers have other numbers and are taken for what
 * these mean; the suffix sorts them out.
 */
#ifndef HINTIER_BPF_SYSCALLS_H
#define HINTIER_BPF_SYSCALLS_H

#ifndef __TARGET_ARCH_x86
#error "add the numbers and registers of this architecture"
#endif

enum {
	NR_OPEN = 2,
	NR_STAT = 4,
	NR_LSTAT = 6,
	NR_ACCESS = 21,
	NR_OPENAT = 257,
	NR_NEWFSTATAT = 262,
	NR_FACCESSAT = 269,
	NR_STATX = 332,
	NR_OPENAT2 = 437,
	NR_FACCESSAT2 = 439,
};

/* The path that the call which now returns @ret has looked up, or NULL. */
static __always_inline const char *syscall_lookup_path(const struct pt_regs *regs, long ret)
{
	if (ret != 0 && ret != -ENOENT)
		return NULL;

	switch (regs->orig_ax) {
	case NR_STAT:
	case NR_LSTAT:
	case NR_ACCESS:
		return (const char *)regs->di;
	case NR_NEWFSTATAT:
	case NR_FACCESSAT:
	case NR_FACCESSAT2:
	case NR_STATX:
		return (const char *)regs->si;
	case NR_OPEN:
		return ret ? (const char *)regs->di : NULL;
	case NR_OPENAT:
	case NR_OPENAT2:
		return ret ? (const char *)regs->si : NULL;
	}
	return NULL;
}

#endif
