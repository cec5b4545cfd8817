// SPDX-License-Identifier: GPL-2.0-only
/*
 * Power cuts and faults, on the word of whoever tests. See disk.h for the commands.
 */
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "disk.h"

static struct ht_disk **disks;
static u32 ndisks;

/* ---- words -------------------------------------------------------------------------------- */

/* The next word of the line, which goes on behind it; empty at the end. */
static char *next_word(char **line)
{
	char *word = strim(*line);
	char *end = word + strcspn(word, " ");

	*line = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static int find_disk(const char *name, u32 *ret)
{
	u32 i;

	for (i = 0; i < ndisks; i++) {
		if (disks[i] && !strcmp(disks[i]->name, name)) {
			*ret = i;
			return 0;
		}
	}
	return -ENODEV;
}

/* The disks that the rest of the line names, as bits; all if it names none. */
static int read_disks(char *line, u32 *ret)
{
	char *word = next_word(&line);
	u32 i;

	*ret = 0;
	for (i = 0; i < ndisks && !*word; i++)
		*ret |= disks[i] ? 1U << i : 0;
	for (; *word; word = next_word(&line)) {
		int error = find_disk(word, &i);

		if (error)
			return error;
		*ret |= 1U << i;
	}
	return 0;
}

/* ---- commands ----------------------------------------------------------------------------- */

/* The locks of several disks, in their order: what happens under them, happens at one instant. */
static void lock_disks(u32 which)
{
	u32 i;

	local_irq_disable();
	for (i = 0; i < ndisks; i++)
		if (which >> i & 1)
			spin_lock_nested(&disks[i]->lock, i);
}

static void unlock_disks(u32 which)
{
	u32 i;

	for (i = 0; i < ndisks; i++)
		if (which >> i & 1)
			spin_unlock(&disks[i]->lock);
	local_irq_enable();
}

static int cut(char *line)
{
	struct bio_list lost = BIO_EMPTY_LIST;
	struct bio *bio;
	u32 which, i;
	u64 seed;
	int error;

	error = kstrtou64(next_word(&line), 0, &seed);
	if (!error)
		error = read_disks(line, &which);
	for (i = 0; i < ndisks && !error; i++)
		if (which >> i & 1 && !disks[i]->cache.line)
			error = -EOPNOTSUPP;
	if (error)
		return error;

	lock_disks(which);
	for (i = 0; i < ndisks; i++) {
		if (!(which >> i & 1))
			continue;
		disks[i]->off = true;
		ht_queue_drop(disks[i], &lost);
		ht_cache_cut(&disks[i]->cache, seed * ndisks + i);
	}
	unlock_disks(which);
	while ((bio = bio_list_pop(&lost)))
		bio_io_error(bio);
	return 0;
}

static int restore(char *line)
{
	u32 which, i;
	int error = read_disks(line, &which);

	if (error)
		return error;
	lock_disks(which);
	for (i = 0; i < ndisks; i++)
		if (which >> i & 1)
			disks[i]->off = false;
	unlock_disks(which);
	return 0;
}

static int fail(char *line)
{
	u32 i;
	int error = find_disk(next_word(&line), &i);

	if (error)
		return error;
	lock_disks(1U << i);
	error = ht_faults_add(&disks[i]->faults, strim(line));
	unlock_disks(1U << i);
	return error;
}

static int heal(char *line)
{
	u32 which, i;
	int error = read_disks(line, &which);

	if (error)
		return error;
	lock_disks(which);
	for (i = 0; i < ndisks; i++)
		if (which >> i & 1)
			disks[i]->faults.count = 0;
	unlock_disks(which);
	return 0;
}

static int run(char *line)
{
	char *word = next_word(&line);

	if (!strcmp(word, "cut"))
		return cut(line);
	if (!strcmp(word, "restore"))
		return restore(line);
	if (!strcmp(word, "fail"))
		return fail(line);
	if (!strcmp(word, "heal"))
		return heal(line);
	return -EINVAL;
}

/* ---- debugfs ------------------------------------------------------------------------------ */

static ssize_t control_write(struct file *file, const char __user *text, size_t length, loff_t *pos)
{
	char *line;
	int error;

	if (length > PAGE_SIZE)
		return -EINVAL;
	line = memdup_user_nul(text, length);
	if (IS_ERR(line))
		return PTR_ERR(line);
	error = run(line);
	kfree(line);
	return error ? error : length;
}

static const struct file_operations control_ops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = control_write,
};

void ht_control_init(struct dentry *root, struct ht_disk **all, u32 count)
{
	disks = all;
	ndisks = count;
	debugfs_create_file("control", 0200, root, NULL, &control_ops);
}
