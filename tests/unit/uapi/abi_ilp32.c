/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pins of abi.def as a compiler for a 32-bit machine sees them (-m32 -fsyntax-only). There a
 * __u64 is aligned to four bytes, so a member that is not naturally aligned, or a hole that the
 * compiler filled, shows up as another offset.
 */
#include <stddef.h>

#include <hintier/ioctl.h>
#include <hintier/netlink.h>

_Static_assert(sizeof(void *) == 4, "compile this one with -m32");

#define STRUCT(type, size) _Static_assert(sizeof(struct type) == (size), #type);
#define MEMBER(type, name, offset, size)                                  \
	_Static_assert(offsetof(struct type, name) == (offset) &&         \
			       sizeof(((struct type *)0)->name) == (size), \
		       #type "." #name);
#define CALL(name, number) _Static_assert((name) == (number), #name);
#define VALUE(name, value) _Static_assert((name) == (value), #name);
#include "abi.def"
