/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parameters of a modelled drive: all given at full scale and in real time. The model divides
 * sizes and rates by `scale` and stretches times by `dilation`; counts and the IU stay.
 */
#ifndef HT_FLASH_PARAMS_H
#define HT_FLASH_PARAMS_H

#include "env.h"

HT_C_BEGIN

struct ht_flash_params {
	u64 bytes;	/* capacity */
	u64 dies;	/* FIFO servers */
	u64 stripe;	/* bytes of consecutive addresses that are read from one die */
	u64 page;	/* bytes that a die programs at once, over its planes */
	u64 block;	/* pages that a die programs between two erases */
	u64 iu;		/* indirection unit in bytes, a power of two up to 32 KiB: never scaled */
	u64 buffer;	/* bytes of the write buffer */
	u64 read_ns;	/* the array's time for a page: read, program, block erase */
	u64 program_ns;
	u64 erase_ns;
	u64 channel_bps; /* bytes a second between a die and the controller */
	u64 read_bps;	/* caps of the whole drive */
	u64 write_bps;
	u64 read_cmd_ns; /* link, controller and firmware, for each command */
	u64 write_cmd_ns;
	u64 write_gap_ns; /* least time between two write commands */
	u64 plp;	/* power-loss protection: what the write buffer holds is durable */
	u64 vwc;	/* advertise a volatile write cache */
	u64 tags;	/* marker + tag blocks are kept as 8 bytes */
	u64 cut;	/* what is not durable can be lost (cache.h): with vwc=1,plp=0 what is not
			 * flushed, else what is in flight
			 */
	u64 scale;
	u64 dilation;
};

struct ht_flash_key {
	const char *name;
	size_t offset; /* of the u64 in struct ht_flash_params */
	u64 min, max;
};

extern const struct ht_flash_key ht_flash_keys[]; /* the last one has no name */

static inline u64 *ht_flash_value(struct ht_flash_params *p, const struct ht_flash_key *key)
{
	return (u64 *)((char *)p + key->offset);
}

/* A drive by name: "slc" or "qlc". NULL for any other name. */
const struct ht_flash_params *ht_flash_preset(const char *name);

/*
 * Apply "key=value[,key=value]..." in order; values take the suffixes K, M, G, T (powers of 1024).
 * Returns 0, or -EINVAL with *bad pointing at the word in `text` that was refused.
 */
int ht_flash_parse(struct ht_flash_params *p, const char *text, const char **bad);

/* Digits and at most one suffix K, M, G or T, all of [text, end). */
bool ht_flash_number(const char *text, const char *end, u64 *value);

/* NULL, or why no drive can be like this. */
const char *ht_flash_check(const struct ht_flash_params *p);

HT_C_END

#endif
