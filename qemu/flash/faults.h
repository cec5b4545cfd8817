/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Commands that a drive fails because it was told to. A fault is written as
 *
 *   OPS [from=SECTOR] [sectors=N] [skip=N] [times=N]
 *
 * OPS are of read, write, flush, erase (discard and write-zeroes), with commas between, or all.
 * It hits commands that touch the range (default: the whole device; flushes have no range and are
 * always hit), but not the first `skip` of them, and only `times` of them (default: for ever).
 * With a range it is the medium's fault: a write leaves its first half behind. Without one it is
 * the device's: nothing happens.
 */
#ifndef HT_FLASH_FAULTS_H
#define HT_FLASH_FAULTS_H

#include "env.h"

HT_C_BEGIN

#define HT_FAULTS 16

enum {
	HT_FAULT_READ = 1,
	HT_FAULT_WRITE = 2,
	HT_FAULT_FLUSH = 4,
	HT_FAULT_ERASE = 8,
};

struct ht_fault {
	u32 ops;
	u64 from, sectors; /* sectors 0: everywhere */
	u64 skip, times;
};

struct ht_faults {
	u32 count;
	struct ht_fault fault[HT_FAULTS];
	u64 hits;
};

enum ht_fault_kind { HT_FAULT_NONE, HT_FAULT_MEDIUM, HT_FAULT_DEVICE };

/* -EINVAL for a word that is none of the above, -ENOSPC when there are HT_FAULTS already. */
int ht_faults_add(struct ht_faults *f, const char *text);

/* Does this command fail? Offset and length in bytes; op is one of HT_FAULT_*. */
enum ht_fault_kind ht_faults_hit(struct ht_faults *f, u32 op, u64 offset, u64 length);

HT_C_END

#endif
