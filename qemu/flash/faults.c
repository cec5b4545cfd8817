// SPDX-License-Identifier: GPL-2.0-only
#include "faults.h"

#include "params.h"

#define SECTOR_BITS 9
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *name;
	u32 ops;
} ops[] = {
	{ "read", HT_FAULT_READ },
	{ "write", HT_FAULT_WRITE },
	{ "flush", HT_FAULT_FLUSH },
	{ "erase", HT_FAULT_ERASE },
	{ "all", HT_FAULT_READ | HT_FAULT_WRITE | HT_FAULT_FLUSH | HT_FAULT_ERASE },
};

static bool is_word(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

static u32 read_ops(const char *text, size_t length)
{
	u32 all = 0, i;

	while (length) {
		size_t n = strcspn(text, ",\n ");
		u32 found = 0;

		if (n > length)
			n = length;
		for (i = 0; i < COUNT(ops); i++)
			if (is_word(text, n, ops[i].name))
				found = ops[i].ops;
		if (!found)
			return 0;
		all |= found;
		if (n + 1 == length)
			return 0;
		n += n < length;
		text += n;
		length -= n;
	}
	return all;
}

static bool read_setting(struct ht_fault *fault, const char *text, size_t length)
{
	const struct {
		const char *name;
		u64 *value;
	} keys[] = {
		{ "from", &fault->from },
		{ "sectors", &fault->sectors },
		{ "skip", &fault->skip },
		{ "times", &fault->times },
	};
	const char *equals = memchr(text, '=', length);
	u32 i;

	for (i = 0; equals && i < COUNT(keys); i++)
		if (is_word(text, (size_t)(equals - text), keys[i].name))
			return ht_flash_number(equals + 1, text + length, keys[i].value);
	return false;
}

int ht_faults_add(struct ht_faults *f, const char *text)
{
	struct ht_fault fault = { .times = ~0ULL };
	size_t n = strcspn(text, "\n ");

	if (f->count == HT_FAULTS)
		return -ENOSPC;
	fault.ops = read_ops(text, n);
	if (!fault.ops)
		return -EINVAL;
	for (text += n; *text; text += n) {
		text += strspn(text, "\n ");
		n = strcspn(text, "\n ");
		if (n && !read_setting(&fault, text, n))
			return -EINVAL;
	}
	f->fault[f->count++] = fault;
	return 0;
}

static bool touches(const struct ht_fault *fault, u32 op, u64 offset, u64 length)
{
	u64 from = fault->from << SECTOR_BITS;
	u64 to = from + (fault->sectors << SECTOR_BITS);

	if (!(fault->ops & op))
		return false;
	return !fault->sectors || op == HT_FAULT_FLUSH || (offset < to && offset + length > from);
}

enum ht_fault_kind ht_faults_hit(struct ht_faults *f, u32 op, u64 offset, u64 length)
{
	u32 i;

	for (i = 0; i < f->count; i++) {
		struct ht_fault *fault = &f->fault[i];

		if (!touches(fault, op, offset, length))
			continue;
		if (fault->skip) {
			fault->skip--;
			continue;
		}
		if (!fault->times)
			continue;
		fault->times--;
		f->hits++;
		return fault->sectors ? HT_FAULT_MEDIUM : HT_FAULT_DEVICE;
	}
	return HT_FAULT_NONE;
}
