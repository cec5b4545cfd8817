/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stage: RAM for what is read ahead of readers in order. See stage.c.
 */
#ifndef HT_STAGE_H
#define HT_STAGE_H

#include <linux/blk_types.h>
#include <linux/types.h>

#include <hintier/ioctl.h>

struct ht_answer;
struct ht_io;
struct ht_lock_shard;
struct ht_request;
struct ht_stage;
struct ht_staged;
struct ht_tier;

/* Memory of a tier's stage of so many MiB; with 0 it has none, and t->stage stays NULL. */
int ht_stage_create(struct ht_tier *t, u32 mib);
void ht_stage_destroy(struct ht_tier *t);
/* At activation, and when nothing is in flight any more. */
void ht_stage_reset(struct ht_tier *t);
void ht_stage_clear(struct ht_tier *t);
/* The tier goes on after all. */
void ht_stage_resume(struct ht_tier *t);
/* Nothing is being read ahead. */
bool ht_stage_idle(struct ht_tier *t);

/* ---- under the shard's lock, and only if it has anything staged ---- */

/*
 * Answers a read with HT_DO_STAGED if its front is in the stage; `io` then holds that (without
 * an io it only says so). True if it did.
 */
bool ht_stage_begin(struct ht_tier *t, struct ht_lock_shard *shard, struct ht_io *io,
		    const struct ht_request *req, struct ht_answer *ans);
/* The extent's contents are about to change: nobody is to find what was read ahead of it. */
void ht_stage_forget(struct ht_tier *t, struct ht_lock_shard *shard, u32 extent);

/* ---- without locks ---- */

/* A bio that ht_stage_begin() has answered: copies, or joins what is in flight. */
void ht_stage_serve(struct ht_tier *t, struct bio *bio, struct ht_io *io);
/*
 * A read of sectors [from, to) goes to a device, until ht_stage_landed(). True if it is part of a
 * stream: not worth a place on fast.
 */
bool ht_stage_missed(struct ht_tier *t, struct ht_io *io, u64 from, u64 to);
void ht_stage_landed(struct ht_tier *t, struct ht_io *io);

/* A FETCH to RAM is waiting to be started. */
void ht_stage_fetch(struct ht_tier *t);

/* Ranges that will be read in this order; see ht_streams_tell(). */
int ht_stage_tell(struct ht_tier *t, u64 owner, const struct hintier_hint *hint);
void ht_stage_untell(struct ht_tier *t, u64 owner);

#endif
