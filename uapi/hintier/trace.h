/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * What the BPF programs tell the agent: records in a ring buffer, and counts in maps.
 *
 * A device is the kernel's own number, major << 20 | minor (HINTIER_TRACE_DEV), not stat's.
 * Times are CLOCK_MONOTONIC nanoseconds.
 */
#ifndef _UAPI_HINTIER_TRACE_H
#define _UAPI_HINTIER_TRACE_H

#include <linux/types.h>

#include "types.h"

#define HINTIER_TRACE_DEV(major, minor) (((__u32)(major) << 20) | (__u32)(minor))

/* Room for a name and its NUL; of a longer one, or of a path, its end is kept. */
#define HINTIER_TRACE_NAME 128

/* How far above a file a watched directory may be. */
#define HINTIER_TRACE_LEVELS 8

/* Watched directories at once; the suffixes of the names that matter there, of 8 bytes at most. */
#define HINTIER_TRACE_ROOTS 64
#define HINTIER_TRACE_SUFFIXES 4

enum hintier_record_type {
	HINTIER_REC_OPEN = 1,   /* a regular file below a root was opened */
	HINTIER_REC_RENAME = 2, /* it is about to be called `name` */
	HINTIER_REC_UNLINK = 3, /* `name` is about to go */
	HINTIER_REC_LOOKUP = 4, /* a process that uses a root asked for a path */
	HINTIER_REC_EXIT = 5,   /* such a process has ended */
};

#define HINTIER_REC_CREATED (1U << 0) /* OPEN: this open created it */
#define HINTIER_REC_WRITE (1U << 1)   /* OPEN: for writing */
#define HINTIER_REC_FOUND (1U << 2)   /* LOOKUP: it exists (else ENOENT) */
#define HINTIER_REC_OUTSIDE (1U << 3) /* RENAME: to a place below no root */

/*
 * Members that a type does not have are zero. LOOKUP knows no file, only a name: `name` is then
 * the end of the path asked for. `parent` is the directory that holds `name` (RENAME: will hold).
 */
struct hintier_record {
	__u16 type;              /* enum hintier_record_type */
	__u16 flags;             /* HINTIER_REC_* */
	__u32 root;              /* value of the root in map `roots` */
	__u64 time_ns;
	__u32 pid;               /* process (tgid), as the initial pid namespace numbers it */
	__u32 tid;
	__u32 dev;
	__u32 generation;
	__u64 ino;
	__u64 parent_ino;
	__u32 parent_generation;
	__u32 name_bytes;        /* without the NUL */
	__u64 replaced_ino;      /* RENAME: what `name` meant before, or 0 */
	char name[HINTIER_TRACE_NAME];
};

/* Key of map `roots`; the value is a __u32 that records carry back. */
struct hintier_root_key {
	__u64 ino;
	__u32 dev;
	__u32 reserved;
};

/* Map `io`, per CPU: what hintier_io said. */
struct hintier_io_key {
	__u32 dev;
	__u8 op;      /* enum hintier_op */
	__u8 outcome; /* enum hintier_outcome */
	__u8 klass;   /* enum hintier_class */
	__u8 reserved;
};

struct hintier_io_count {
	__u64 count;
	__u64 bytes;
};

/* Map `heat`, least recently used first out: touches of a region of a tier. */
#define HINTIER_HEAT_SHIFT 24 /* 16 MiB */

struct hintier_heat_key {
	__u32 dev;
	__u32 region; /* offset >> HINTIER_HEAT_SHIFT */
};

struct hintier_heat {
	__u64 reads;
	__u64 writes;
	__u64 last_ns;
};

/* Functions of an inference library that a process entered or left: ring buffer `calls`. */
enum hintier_call_what {
	HINTIER_CALL_EXIT = 0, /* the process has ended; no function */
	HINTIER_CALL_DECODE = 1,
	HINTIER_CALL_ENCODE = 2,
	HINTIER_CALL_STATE_SAVE = 3,
	HINTIER_CALL_STATE_LOAD = 4,
};

struct hintier_call {
	__u64 time_ns;
	__u32 pid;
	__u32 tid;
	__u32 tokens;   /* DECODE and ENCODE, when entered: of the batch */
	__u8 what;      /* enum hintier_call_what */
	__u8 returned;  /* it has come back */
	__u16 reserved;
};

/* Map `fills`: pages of files that came into the page cache, by region of the file. */
#define HINTIER_FILL_SHIFT 16 /* 64 KiB */

struct hintier_fill_key {
	__u64 ino;
	__u32 dev;
	__u32 region; /* offset >> HINTIER_FILL_SHIFT */
};

struct hintier_fill {
	__u64 pages; /* of 4 KiB */
	__u64 last_ns;
	__u32 generation;
	__u32 pid; /* of the process that was last to have some read */
};

/* Map `lost`, per CPU, one element: records that found the ring buffer full, or no room. */
enum hintier_lost {
	HINTIER_LOST_RECORDS,
	HINTIER_LOST_COUNTS,
	HINTIER_LOST_CALLS,
	HINTIER_LOST_FILLS,
	HINTIER_LOSTS
};

#endif
