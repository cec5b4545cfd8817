/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note OR BSD-3-Clause */
/*
 * The control device, /dev/hintier: hints in batches and questions about ranges.
 *
 * A caller opens it, asks HINTIER_IOC_VERSION, and binds the descriptor once to one tier by
 * showing a descriptor it holds on the tier's block device (HINTIER_IOC_BIND). The binding is
 * weak: it does not keep the tier alive, and once the tier is removed every call says ENODEV.
 * What the shown descriptor may do decides what the caller may say: opened for reading it may
 * give advice (CLASSIFY, FETCH, SEQUENCE, PIN), ask and wait; *volatile* and DONE, which can make
 * data disappear, and VALUES, which say what may, want it opened for writing, or CAP_SYS_ADMIN.
 *
 * Rules for every structure: offsets and lengths are in bytes of the tier device, multiples of
 * HINTIER_UNIT_BYTES; pointers are __u64; members called `reserved` and unknown flags must be
 * zero. Layouts are the same for 32-bit and 64-bit callers.
 *
 * Errors common to all calls
 *   EBADF    the descriptor shown to BIND is not open
 *   ENOTBLK  it is not a block device
 *   ENXIO    it is a block device, but no hintier tier; or nothing is bound yet
 *   EBUSY    already bound
 *   ENODEV   the bound tier is gone
 *   EAGAIN   the bound tier is suspended; ask again
 *   EOPNOTSUPP  a verb or flag whose feature bit is not set
 *   EINVAL   reserved member or unknown flag not zero, misaligned, or unknown verb
 *   ERANGE   range ends beyond the tier
 *   EPERM    the shown descriptor does not allow it
 *   E2BIG    more elements than a batch may have
 *   ENOSPC   a table or quota is full
 *   EFAULT   a pointer cannot be read or written
 */
#ifndef _UAPI_HINTIER_IOCTL_H
#define _UAPI_HINTIER_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#include "types.h"

#define HINTIER_CONTROL_PATH "/dev/hintier"
#define HINTIER_BATCH_MAX 16384 /* elements in a batch, entries in an answer */

/* Feature bits of struct hintier_version: which verbs and calls this kernel side knows. */
#define HINTIER_FEATURE_CLASSIFY (1ULL << 0)
#define HINTIER_FEATURE_FETCH (1ULL << 1)
#define HINTIER_FEATURE_DONE (1ULL << 2)
#define HINTIER_FEATURE_QUERY (1ULL << 3)
#define HINTIER_FEATURE_VOLATILE (1ULL << 4)
#define HINTIER_FEATURE_SEQUENCE (1ULL << 5)
#define HINTIER_FEATURE_PIN (1ULL << 6)   /* PIN and UNPIN */
#define HINTIER_FEATURE_STAGE (1ULL << 7) /* FETCH with HINTIER_FLAG_STAGE */
#define HINTIER_FEATURE_VALUES (1ULL << 8)
#define HINTIER_FEATURE_WAIT (1ULL << 9)

/* HINTIER_IOC_VERSION, out. */
struct hintier_version {
	__u32 major;
	__u32 minor;
	__u64 features;
};

/* HINTIER_IOC_BIND, in: fd and flags (0). Out: the rest. */
struct hintier_bind {
	__s32 fd;            /* an open descriptor of the tier's block device */
	__u32 flags;         /* 0 */
	__u64 bytes;         /* size of the tier */
	__u32 extent_bytes;
	__u32 unit_bytes;
	__u32 dev_major;
	__u32 dev_minor;
	__u8 uuid[16];       /* of the pair of devices, as in their headers */
	__u32 access;        /* HINTIER_ACCESS_* */
	__u32 reserved;
};
#define HINTIER_ACCESS_ADVISE (1U << 0)
#define HINTIER_ACCESS_OWNER (1U << 1) /* may say DONE and *volatile* */

enum hintier_verb {
	HINTIER_VERB_CLASSIFY = 1, /* class, group, object, depth; renews the age if FLAG_TOUCH */
	HINTIER_VERB_FETCH = 2,    /* bring to fast, or to RAM, before deadline_ms have passed */
	HINTIER_VERB_DONE = 3,     /* not needed: clean units are forgotten, volatile ones dropped, */
				   /* other dirty ones destaged early */
	HINTIER_VERB_SEQUENCE = 4, /* will be read in this order, each byte once */
	HINTIER_VERB_PIN = 5,      /* what of the range is in fast, or comes there, stays */
	HINTIER_VERB_UNPIN = 6,    /* not any more, as far as the same descriptor pinned it */
};

#define HINTIER_FLAG_TOUCH (1U << 0)    /* CLASSIFY: counts as an access */
#define HINTIER_FLAG_VOLATILE (1U << 1) /* CLASSIFY: its owner can recompute it */
#define HINTIER_FLAG_STAGE (1U << 2)    /* FETCH: to RAM, see below */
#define HINTIER_FLAG_RESTART (1U << 3)  /* SEQUENCE: forget what was told under this cookie before */

/*
 * One hint.
 *
 * FETCH: what has the earliest deadline is started first; what has none goes as if its deadline
 * were now. What could not be started by its deadline is cancelled. To fast go whole extents, as
 * far as slots are free or can be freed without destaging. To RAM (HINTIER_FLAG_STAGE) go the
 * units of the range, into at most three quarters of the stage: more has to wait until something
 * was read, and is cancelled after 30 s; what came is forgotten when it was read, and 30 s after
 * it came. Each part of a FETCH ends in one of the ways of enum hintier_fetch, counted by class and
 * by source, and told by an event when all of it has ended. If two want the same, the later one
 * has it, and the earlier one counts as cancelled. FETCHes outlive the descriptor; a tier that is
 * suspended cancels them. ENOSPC: 4096 are under way, or to RAM on a tier without a stage.
 * EDQUOT: to fast, and its budget (tunable `fast_gb_day`) is spent.
 *
 * PIN: no extent that the range touches is evicted, and of a dirty one nothing volatile is dropped
 * for room. It is destaged like any other; DONE, discards and a failing medium take it away all the
 * same, and what is not in fast has to be fetched. It holds for deadline_ms (0: 10 minutes; a day at
 * most), until UNPIN, until the descriptor is closed, or until the tier is suspended. What a
 * descriptor pins again, or in part, it has pinned once: the newer time counts. Pins of others are
 * theirs: an extent stays as long as any of them holds it. Charged are the extents of the range,
 * each to everyone who pins it. ENOSPC: more than the tunables `pins` (percent of slots, all
 * together) or `pins_one` (of one descriptor) allow, or more than 1024 ranges.
 *
 * SEQUENCE: what the same descriptor tells under the same cookie will be read in the order told.
 * The target reads it ahead into RAM, from both devices at once, by at most `depth` units that
 * have not been read yet (0: as many as help, up to 16 MiB), at the reader's pace. It stops, and
 * forgets what was not read, when nothing has been read for 30 s, when the descriptor is closed,
 * when the tier is suspended, and when the cookie is used again with FLAG_RESTART: give each
 * reader its own cookie, and say so whenever it begins anew. ENOSPC: more than 48 sequences or 32768 ranges at once, or a
 * tier without a stage. A read that finds nothing there is an ordinary read.
 *
 * `epoch` is the write epoch (HINTIER_IOC_EPOCH) taken before the file was mapped to
 * the range: DONE and *volatile* skip what was written since, so that blocks freed and reused
 * between the mapping and the hint are safe. `cookie` comes back in the event that tells how a
 * FETCH ended.
 *
 * Units marked *volatile* while fast has the only copy may be dropped, by DONE or when fast runs
 * full: reads of a dropped unit, and writes of a part of it, fail with EIO until it is written as
 * a whole or discarded, also after a crash. A mark holds until the unit is written or discarded,
 * and is forgotten when the tier is reloaded. Only mark what a file alone owns, and what its
 * reader can lose.
 */
struct hintier_hint {
	__u16 verb;        /* enum hintier_verb */
	__u8 klass;        /* enum hintier_class */
	__u8 flags;        /* HINTIER_FLAG_* */
	__u16 group;       /* below HINTIER_GROUPS */
	__u16 source;      /* which rule of the caller spoke; counted apart */
	__u64 offset;
	__u64 length;      /* > 0 */
	__u64 object;      /* caller's id of what the range belongs to; 0: none */
	__u32 depth;       /* place of the object in its chain, 0 first; SEQUENCE: see above */
	__u32 deadline_ms; /* FETCH: 0 means as soon as possible; PIN: for so long, see above */
	__u64 cookie;      /* FETCH, SEQUENCE */
	__u64 epoch;       /* DONE, FLAG_VOLATILE */
	__u64 reserved;
};

/*
 * HINTIER_IOC_HINT. Elements are applied in order up to the first that is refused; the call then
 * fails with that element's error, `done` says how many were applied (and so which one was
 * refused) and `reason` why.
 */
struct hintier_batch {
	__u64 hints;       /* pointer to struct hintier_hint[count] */
	__u32 count;       /* 1 … HINTIER_BATCH_MAX */
	__u32 flags;       /* 0 */
	__u32 done;        /* out */
	__u32 reason;      /* out, enum hintier_reason */
	__u64 reserved[2];
};

enum hintier_reason {
	HINTIER_REASON_NONE = 0,
	HINTIER_REASON_VERB = 1,       /* unknown verb */
	HINTIER_REASON_UNSUPPORTED = 2,/* known, but not built into this kernel side */
	HINTIER_REASON_FLAGS = 3,      /* unknown flag, or one that the verb does not take */
	HINTIER_REASON_RESERVED = 4,   /* a reserved member is not zero */
	HINTIER_REASON_CLASS = 5,
	HINTIER_REASON_GROUP = 6,
	HINTIER_REASON_ALIGN = 7,
	HINTIER_REASON_RANGE = 8,      /* empty, or ends beyond the tier */
	HINTIER_REASON_ACCESS = 9,     /* the shown descriptor does not allow it */
	HINTIER_REASON_FULL = 10,      /* table or quota full */
	HINTIER_REASON_FAULT = 11,     /* the element cannot be read */
	HINTIER_REASON_STATE = 12,     /* tier suspended, failed or gone */
	HINTIER_REASON_EPOCH = 13,     /* not a write epoch that this tier has started */
	HINTIER_REASON_BUDGET = 14,    /* FETCH to fast: its budget of bytes a day is spent */
};

/*
 * HINTIER_IOC_QUERY: what is where. Answers runs of units in the same state, in order; `next` is
 * where to go on when the answer did not fit (offset + length when it did).
 */
struct hintier_query {
	__u64 offset;
	__u64 length;
	__u64 entries;     /* pointer to struct hintier_residency[max] */
	__u32 max;         /* 1 … HINTIER_BATCH_MAX */
	__u32 flags;       /* 0 */
	__u32 count;       /* out */
	__u32 reserved;
	__u64 next;        /* out */
};

#define HINTIER_IS_FAST (1U << 0)  /* valid in fast */
#define HINTIER_IS_DIRTY (1U << 1) /* and only there */
#define HINTIER_IS_LOST (1U << 2)  /* dropped while volatile: reads fail */
#define HINTIER_IS_MOVING (1U << 3)/* a transfer is in flight */

struct hintier_residency {
	__u64 offset;
	__u64 length;
	__u32 state;       /* HINTIER_IS_*; 0: at home on bulk only */
	__u8 klass;
	__u8 reserved;
	__u16 group;
	__u64 object;
};

/*
 * HINTIER_IOC_WAIT: for the FETCHes that this descriptor has told under a cookie. Without flags,
 * until none of them has anything on the way: what they wanted is there, or will not come. With
 * HINTIER_WAIT_OUTCOME until it is also known what became of all they brought, that is until it
 * was read or is gone.
 *
 * Returns 0 when that is so, also if nothing was ever told under the cookie; ETIMEDOUT; EINTR, and
 * may be called again. With timeout_ms 0 it does not wait, but answers EAGAIN. In any case poll()
 * says from then on that the descriptor is readable when the newest WAIT is over (and POLLERR when
 * the tier is gone). A suspended tier has nothing on the way.
 */
struct hintier_wait {
	__u64 cookie;
	__u32 timeout_ms;  /* at most HINTIER_WAIT_MAX_MS, else EINVAL */
	__u32 flags;       /* HINTIER_WAIT_* */
	__u64 reserved[2];
};
#define HINTIER_WAIT_OUTCOME (1U << 0)
#define HINTIER_WAIT_MAX_MS 60000

/*
 * HINTIER_IOC_VALUES: the value table, in the place of the one before it, all at once. Wants
 * HINTIER_ACCESS_OWNER. Age is the time since an extent came to fast, or was seen to have been read
 * since: it is looked at when its turn comes, and counted in seconds, up to 18 hours.
 *
 * As long as the table lives, the clean extent that leaves fast is one of the lowest value at its
 * age, of the group's oldest ones the deepest in its chain. Of what is dirty the 32 oldest are
 * compared in the same way; whoever's `drop` says so is dropped as far as it is volatile, all else
 * is destaged. After ttl_ms what was longest not used goes first, and all that is dirty is
 * destaged. With or without a table, clean extents of an object that has lost something go before
 * all others. A tier that is suspended forgets the table.
 */
struct hintier_value_row {
	__u32 clean[HINTIER_AGE_BINS];
	__u32 dirty[HINTIER_AGE_BINS];
	__u64 drop;        /* bit for each bin */
};

struct hintier_values {
	__u64 rows;        /* pointer to struct hintier_value_row[groups] */
	__u32 groups;      /* 1 … HINTIER_GROUPS: those behind are worth 0 */
	__u32 ttl_ms;      /* 1 … HINTIER_VALUES_MAX_MS */
	__u32 flags;       /* 0 */
	__u32 reserved;
	__u32 edges_ms[HINTIER_AGE_BINS]; /* where each bin begins: 0 first, ascending */
};
#define HINTIER_VALUES_MAX_MS (24 * 60 * 60 * 1000)

/* HINTIER_IOC_EPOCH, out: starts a new write epoch and returns its number. */
struct hintier_epoch {
	__u64 epoch;
	__u64 reserved;
};

#define HINTIER_IOC_MAGIC 0xB7
#define HINTIER_IOC_VERSION _IOR(HINTIER_IOC_MAGIC, 0, struct hintier_version)
#define HINTIER_IOC_BIND _IOWR(HINTIER_IOC_MAGIC, 1, struct hintier_bind)
#define HINTIER_IOC_HINT _IOWR(HINTIER_IOC_MAGIC, 2, struct hintier_batch)
#define HINTIER_IOC_QUERY _IOWR(HINTIER_IOC_MAGIC, 3, struct hintier_query)
#define HINTIER_IOC_EPOCH _IOR(HINTIER_IOC_MAGIC, 4, struct hintier_epoch)
#define HINTIER_IOC_VALUES _IOW(HINTIER_IOC_MAGIC, 6, struct hintier_values)
#define HINTIER_IOC_WAIT _IOW(HINTIER_IOC_MAGIC, 5, struct hintier_wait)

#endif
