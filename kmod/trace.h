/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints of a tier: what happened to a request, to an extent, to a hint, and to the metadata.
 *
 * The arguments are scalars in a fixed order, because programs attach to the raw tracepoints and
 * read them by position: an argument is never moved, new ones go at the end. Offsets and lengths
 * are bytes of the tier device; op, outcome, klass and verb are the values of
 * uapi/hintier/{types,ioctl}.h.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hintier

#if !defined(_HINTIER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _HINTIER_TRACE_H

#include <linux/kdev_t.h>
#include <linux/tracepoint.h>

#include <hintier/ioctl.h>

#define ht_show_op(op)					\
	__print_symbolic(op,				\
		{ HINTIER_OP_READ, "read" },		\
		{ HINTIER_OP_WRITE, "write" },		\
		{ HINTIER_OP_DISCARD, "discard" },	\
		{ HINTIER_OP_FLUSH, "flush" })

#define ht_show_outcome(outcome)			\
	__print_symbolic(outcome,			\
		{ HINTIER_IO_FAST, "fast" },		\
		{ HINTIER_IO_HOME, "home" },		\
		{ HINTIER_IO_STAGE, "stage" },		\
		{ HINTIER_IO_JOINED, "joined" },	\
		{ HINTIER_IO_BYPASS, "bypass" },	\
		{ HINTIER_IO_LOST, "lost" },		\
		{ HINTIER_IO_ERROR, "error" })

#define ht_show_class(klass)				\
	__print_symbolic(klass,				\
		{ HINTIER_CLASS_OTHER, "other" },	\
		{ HINTIER_CLASS_WEIGHTS, "weights" },	\
		{ HINTIER_CLASS_EXPERT, "expert" },	\
		{ HINTIER_CLASS_KV, "kv" },		\
		{ HINTIER_CLASS_CHECKPOINT, "checkpoint" }, \
		{ HINTIER_CLASS_STREAM, "stream" })

#define ht_show_verb(verb)				\
	__print_symbolic(verb,				\
		{ HINTIER_VERB_CLASSIFY, "classify" },	\
		{ HINTIER_VERB_FETCH, "fetch" },	\
		{ HINTIER_VERB_DONE, "done" },		\
		{ HINTIER_VERB_SEQUENCE, "sequence" },	\
		{ HINTIER_VERB_PIN, "pin" },		\
		{ HINTIER_VERB_UNPIN, "unpin" })

/* What hintier_migrate moved: the values of its `kind`. */
#ifndef HT_MOVE_KINDS
#define HT_MOVE_KINDS
enum ht_move_kind {
	HT_MOVE_PROMOTE = 0,	/* bulk to fast, asked for by a read */
	HT_MOVE_FETCH = 1,	/* bulk to fast, asked for by a hint */
	HT_MOVE_DESTAGE = 2,	/* fast to home */
	HT_MOVE_EVICT = 3,	/* a clean extent lost its slot */
	HT_MOVE_DROP = 4,	/* forgotten without destaging */
};
#endif

#define ht_show_move(kind)				\
	__print_symbolic(kind,				\
		{ HT_MOVE_PROMOTE, "promote" },		\
		{ HT_MOVE_FETCH, "fetch" },		\
		{ HT_MOVE_DESTAGE, "destage" },		\
		{ HT_MOVE_EVICT, "evict" },		\
		{ HT_MOVE_DROP, "drop" })

/* A request, or the part of it that lies in one extent, has ended. */
TRACE_EVENT(hintier_io,
	TP_PROTO(dev_t dev, u8 op, u8 outcome, u8 klass, u64 offset, u32 bytes, u64 latency_ns),
	TP_ARGS(dev, op, outcome, klass, offset, bytes, latency_ns),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, bytes)
		__field(u64, offset)
		__field(u64, latency_ns)
		__field(u8, op)
		__field(u8, outcome)
		__field(u8, klass)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->bytes = bytes;
		__entry->offset = offset;
		__entry->latency_ns = latency_ns;
		__entry->op = op;
		__entry->outcome = outcome;
		__entry->klass = klass;
	),
	TP_printk("%d,%d %s %s %s offset=%llu bytes=%u latency_ns=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), ht_show_op(__entry->op),
		  ht_show_outcome(__entry->outcome), ht_show_class(__entry->klass),
		  __entry->offset, __entry->bytes, __entry->latency_ns)
);

/* The target moved, evicted or forgot something of its own accord, or failed to (error < 0). */
TRACE_EVENT(hintier_migrate,
	TP_PROTO(dev_t dev, u8 kind, u64 offset, u32 bytes, int error),
	TP_ARGS(dev, kind, offset, bytes, error),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, bytes)
		__field(u64, offset)
		__field(int, error)
		__field(u8, kind)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->bytes = bytes;
		__entry->offset = offset;
		__entry->error = error;
		__entry->kind = kind;
	),
	TP_printk("%d,%d %s offset=%llu bytes=%u error=%d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), ht_show_move(__entry->kind),
		  __entry->offset, __entry->bytes, __entry->error)
);

/* A hint was accepted. */
TRACE_EVENT(hintier_hint,
	TP_PROTO(dev_t dev, u8 verb, u8 klass, u64 offset, u64 length),
	TP_ARGS(dev, verb, klass, offset, length),
	TP_STRUCT__entry(
		__field(u64, offset)
		__field(u64, length)
		__field(dev_t, dev)
		__field(u8, verb)
		__field(u8, klass)
	),
	TP_fast_assign(
		__entry->offset = offset;
		__entry->length = length;
		__entry->dev = dev;
		__entry->verb = verb;
		__entry->klass = klass;
	),
	TP_printk("%d,%d %s %s offset=%llu length=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), ht_show_verb(__entry->verb),
		  ht_show_class(__entry->klass), __entry->offset, __entry->length)
);

/* A batch of metadata records became durable. */
TRACE_EVENT(hintier_commit,
	TP_PROTO(dev_t dev, u32 records, u64 latency_ns),
	TP_ARGS(dev, records, latency_ns),
	TP_STRUCT__entry(
		__field(u64, latency_ns)
		__field(dev_t, dev)
		__field(u32, records)
	),
	TP_fast_assign(
		__entry->latency_ns = latency_ns;
		__entry->dev = dev;
		__entry->records = records;
	),
	TP_printk("%d,%d records=%u latency_ns=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->records,
		  __entry->latency_ns)
);

#endif /* _HINTIER_TRACE_H */

/* This part must be outside protection */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
