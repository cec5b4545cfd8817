// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table line: from words to struct ht_args, and back. The grammar is at the head of target.c.
 */
#include "tier.h"

#define ARGS_MAX 64
#define STAGE_MIB 64
#define STAGE_MIB_MAX 4096

static const char *const modes[] = {
	[HINTIER_MODE_WRITEBACK] = "writeback",
	[HINTIER_MODE_WRITETHROUGH] = "writethrough",
	[HINTIER_MODE_WRITEAROUND] = "writearound",
	[HINTIER_MODE_BYPASS] = "bypass",
	[HINTIER_MODE_FAIL] = "fail",
};

const char *ht_mode_name(u32 mode)
{
	return mode < ARRAY_SIZE(modes) ? modes[mode] : "?";
}

static int fail(struct dm_target *ti, char *error)
{
	ti->error = error;
	return -EINVAL;
}

/* Modes that a table may ask for: those that are no failure. */
static bool parse_mode(const char *word, u8 *ret)
{
	for (u32 mode = 0; mode <= HINTIER_MODE_WRITEAROUND; mode++) {
		if (strcmp(word, modes[mode]))
			continue;
		*ret = mode;
		return true;
	}
	return false;
}

static int parse_option(struct dm_target *ti, struct dm_arg_set *as, unsigned int *left,
			struct ht_args *ret)
{
	const char *key = dm_shift_arg(as), *word;
	u64 value;

	(*left)--;
	if (!strcmp(key, "discard_dirty")) {
		ret->discard_dirty = true;
		return 0;
	}
	if (!*left)
		return fail(ti, "option without a value");
	word = dm_shift_arg(as);
	(*left)--;
	if (!strcmp(key, "mode"))
		return parse_mode(word, &ret->mode) ? 0 :
		       fail(ti, "mode must be writeback, writethrough or writearound");
	if (kstrtoull(word, 0, &value))
		return fail(ti, "value of a tunable is not a number");
	if (!strcmp(key, "stage_mib")) {
		ret->stage_mib = value;
		return value <= STAGE_MIB_MAX ? 0 : fail(ti, "stage_mib is above 4096");
	}
	switch (ht_tunable_set(&ret->tune, key, value)) {
	case 0:
		return 0;
	case -ERANGE:
		return fail(ti, "value of a tunable is out of its range");
	default:
		return fail(ti, "unknown option");
	}
}

int ht_args_parse(struct dm_target *ti, unsigned int argc, char **argv, struct ht_args *ret)
{
	static const struct dm_arg groups[] = {
		{ 0, ARGS_MAX, "number of options does not match" },
	};
	struct dm_arg_set as = { .argc = argc, .argv = argv };
	unsigned int left = 0;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	ret->stage_mib = STAGE_MIB;
	ht_tunables_init(&ret->tune);
	if (argc < 3)
		return fail(ti, "need: <fast device> <bulk device> <extent sectors> [<#options> <option>...]");
	ret->fast = dm_shift_arg(&as);
	ret->bulk = dm_shift_arg(&as);
	if (kstrtou32(dm_shift_arg(&as), 10, &ret->extent_sectors) ||
	    !is_power_of_2(ret->extent_sectors) ||
	    ret->extent_sectors < HINTIER_EXTENT_MIN_BYTES >> SECTOR_SHIFT ||
	    ret->extent_sectors > HINTIER_EXTENT_MAX_BYTES >> SECTOR_SHIFT)
		return fail(ti, "extent must be a power of two from 128 to 2048 sectors");
	if (as.argc && dm_read_arg_group(groups, &as, &left, &ti->error))
		return -EINVAL;
	if (as.argc > left)
		return fail(ti, "words behind the last option");
	while (left && !r)
		r = parse_option(ti, &as, &left, ret);
	return r;
}

/* The table line as it would have to be given now: tunables that differ from their defaults. */
void ht_args_emit(struct ht_tier *t, char *result, unsigned int maxlen)
{
	const struct ht_tunables *tune = &t->engine.tune;
	const struct ht_tunable *key;
	struct ht_tunables defaults;
	unsigned int words = 2, sz = 0;

	ht_tunables_init(&defaults);
	for (u32 i = 0; (key = ht_tunable(i)); i++)
		if (ht_tunable_get(tune, key) != ht_tunable_get(&defaults, key))
			words += 2;
	if (t->stage_mib != STAGE_MIB)
		words += 2;
	if (t->discard_dirty)
		words++;
	DMEMIT("%s %s %u %u mode %s", t->fast->name, t->bulk->name,
	       ht_extent_sectors(&t->map.geo), words, ht_mode_name(t->wanted_mode));
	for (u32 i = 0; (key = ht_tunable(i)); i++)
		if (ht_tunable_get(tune, key) != ht_tunable_get(&defaults, key))
			DMEMIT(" %s %u", key->key, ht_tunable_get(tune, key));
	if (t->stage_mib != STAGE_MIB)
		DMEMIT(" stage_mib %u", t->stage_mib);
	if (t->discard_dirty)
		DMEMIT(" discard_dirty");
}
