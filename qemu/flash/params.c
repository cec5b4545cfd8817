// SPDX-License-Identifier: GPL-2.0-only
#include "params.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define GB 1000000000ULL

/*
 * Chosen so that the figures of public data sheets and of the table in the unit test come out
 * (tests/unit/flash/figures_test.cpp prints them side by side), and nothing else.
 *
 * Both are data-centre drives whose makers state power-loss protection: an acknowledged write is
 * durable, a FLUSH has nothing to wait for, and such drives report no volatile write cache. For
 * crash tests say plp=0,vwc=1,cut=1, and cut=1 alone for drives that have no volatile cache.
 */

/* SLC NAND like Solidigm P5810 800 GB: 32 dies of 256 Gbit with four planes of 16 KiB. */
static const struct ht_flash_params slc = {
	.bytes = 800 * GB,
	.dies = 32,
	.stripe = 16 * KIB,
	.page = 64 * KIB,
	.block = 768,
	.iu = 4 * KIB,
	.buffer = 16 * MIB,
	.read_ns = 32000,
	.program_ns = 300000,
	.erase_ns = 5000000,
	.channel_bps = 1600 * 1000000ULL,
	.read_bps = 6400 * 1000000ULL,
	.write_bps = 4000 * 1000000ULL,
	.read_cmd_ns = 20000,
	.write_cmd_ns = 13000,
	.write_gap_ns = 2020,
	.plp = 1,
	.vwc = 0,
	.scale = 1,
	.dilation = 1,
};

/*
 * QLC NAND like Solidigm P5336 61.44 TB. A die queue stands for three dies: the drive's power and
 * its controller, not the number of dies, bound what it does at once.
 */
static const struct ht_flash_params qlc = {
	.bytes = 61440 * GB,
	.dies = 128,
	.stripe = 64 * KIB,
	.page = 64 * KIB,
	.block = 3072,
	.iu = 16 * KIB,
	.buffer = 32 * MIB,
	.read_ns = 85000,
	.program_ns = 2000000,
	.erase_ns = 10000000,
	.channel_bps = 1600 * 1000000ULL,
	.read_bps = 7000 * 1000000ULL,
	.write_bps = 3300 * 1000000ULL,
	.read_cmd_ns = 20000,
	.write_cmd_ns = 24000,
	.write_gap_ns = 0,
	.plp = 1,
	.vwc = 0,
	.scale = 1,
	.dilation = 1,
};

#define KEY(member, least, most) { #member, offsetof(struct ht_flash_params, member), least, most }
#define SECOND 1000000000ULL

const struct ht_flash_key ht_flash_keys[] = {
	KEY(bytes, 1 * MIB, 1ULL << 56),
	KEY(dies, 1, 4096),
	KEY(stripe, 512, 16 * MIB),
	KEY(page, 512, 16 * MIB),
	KEY(block, 1, 1 << 20),
	KEY(iu, 512, 32 * KIB),
	KEY(buffer, 4 * KIB, 1ULL << 40),
	KEY(read_ns, 0, SECOND),
	KEY(program_ns, 0, SECOND),
	KEY(erase_ns, 0, SECOND),
	KEY(channel_bps, 1000000, 1ULL << 40),
	KEY(read_bps, 1000000, 1ULL << 40),
	KEY(write_bps, 1000000, 1ULL << 40),
	KEY(read_cmd_ns, 0, SECOND),
	KEY(write_cmd_ns, 0, SECOND),
	KEY(write_gap_ns, 0, SECOND),
	KEY(plp, 0, 1),
	KEY(vwc, 0, 1),
	KEY(tags, 0, 1),
	KEY(cut, 0, 1),
	KEY(scale, 1, 1024),
	KEY(dilation, 1, 16),
	{}
};

const struct ht_flash_params *ht_flash_preset(const char *name)
{
	if (!strcmp(name, "slc"))
		return &slc;
	if (!strcmp(name, "qlc"))
		return &qlc;
	return NULL;
}

static const struct ht_flash_key *find_key(const char *name, size_t length)
{
	const struct ht_flash_key *key;

	for (key = ht_flash_keys; key->name; key++)
		if (strlen(key->name) == length && !memcmp(key->name, name, length))
			return key;
	return NULL;
}

static u32 suffix_shift(char c)
{
	switch (c) {
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	case 'T':
		return 40;
	default:
		return 0;
	}
}

bool ht_flash_number(const char *text, const char *end, u64 *value)
{
	const char *digits = text;
	u32 shift;
	u64 v = 0;

	for (; text < end && *text >= '0' && *text <= '9'; text++) {
		if (v > (~0ULL - 9) / 10)
			return false;
		v = v * 10 + (u64)(*text - '0');
	}
	if (text == digits)
		return false;
	shift = text < end ? suffix_shift(*text) : 0;
	if (shift)
		text++;
	*value = v << shift;
	return text == end && *value >> shift == v;
}

int ht_flash_parse(struct ht_flash_params *p, const char *text, const char **bad)
{
	while (*text) {
		const char *end = text + strcspn(text, ",\n");
		const char *equals = memchr(text, '=', (size_t)(end - text));
		const struct ht_flash_key *key;
		u64 value;

		*bad = text;
		if (!equals)
			return -EINVAL;
		key = find_key(text, (size_t)(equals - text));
		if (!key || !ht_flash_number(equals + 1, end, &value) || value < key->min ||
		    value > key->max)
			return -EINVAL;
		*ht_flash_value(p, key) = value;
		text = *end ? end + 1 : end;
	}
	return 0;
}

const char *ht_flash_check(const struct ht_flash_params *p)
{
	if (p->iu & (p->iu - 1))
		return "iu is not a power of two";
	if (p->page / p->scale < 64 || p->stripe / p->scale < 64)
		return "page or stripe is too small for this scale";
	if (p->buffer < 2 * p->page)
		return "buffer holds less than two pages";
	if (p->bytes / p->scale < 1 * MIB)
		return "bytes is less than 1 MiB after scaling";
	if (p->cut && p->tags)
		return "cut needs whole blocks: tags must be 0";
	return NULL;
}
