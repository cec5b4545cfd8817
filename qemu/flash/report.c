// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics in debugfs, one file for each device: JSON to read, "reset" to write.
 *
 * Byte counts are the lab's own (multiply by `scale` for full scale), times are virtual (divide by
 * `dilation`). A latency histogram is a list of [upper bound in ns, count], without empty bins.
 */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "disk.h"

static struct dentry *root;

/* The first value beyond a bin; the inverse of latency_bin() in queue.c. */
static u64 bin_end(u32 bin)
{
	if (bin < 4)
		return bin + 1;
	return (u64)(4 + bin % 4 + 1) << (bin / 4 - 1);
}

static void show_latency(struct seq_file *m, const char *name, const struct ht_latency *l)
{
	const char *comma = "";
	u32 i;

	seq_printf(m, "  \"%s\": {\"count\": %llu, \"sum_ns\": %llu, \"max_ns\": %llu, \"histogram\": [",
		   name, l->count, l->sum_ns, l->max_ns);
	for (i = 0; i < HT_LATENCY_BINS; i++) {
		if (!l->bin[i])
			continue;
		seq_printf(m, "%s[%llu, %llu]", comma, bin_end(i), l->bin[i]);
		comma = ", ";
	}
	seq_puts(m, "]},\n");
}

static void show_params(struct seq_file *m, struct ht_flash_params *p)
{
	const struct ht_flash_key *key;

	seq_puts(m, "    {\"parameters\": {");
	for (key = ht_flash_keys; key->name; key++)
		seq_printf(m, "%s\"%s\": %llu", key == ht_flash_keys ? "" : ", ", key->name,
			   *ht_flash_value(p, key));
	seq_puts(m, "},\n");
}

static void show_drive(struct seq_file *m, struct ht_drive *drive, u64 now)
{
	struct ht_flash *f = &drive->flash;
	const struct ht_flash_counts *c = &f->counts;

	show_params(m, &drive->params);
	seq_printf(m, "     \"buffered_bytes\": %llu,\n", ht_flash_buffered(f, now));
	seq_printf(m, "     \"reads\": %llu, \"read_bytes\": %llu, \"die_wait_ns\": %llu,\n", c->reads,
		   c->read_bytes, c->die_wait_ns);
	seq_printf(m, "     \"writes\": %llu, \"written_bytes\": %llu, \"flushes\": %llu,\n", c->writes,
		   c->write_bytes, c->flushes);
	seq_printf(m, "     \"programmed_bytes\": %llu, \"padded_bytes\": %llu, \"erases\": %llu,\n",
		   c->programs * f->page, c->padded_bytes, c->erases);
	seq_printf(m, "     \"rmw_units\": %llu, \"rmw_bytes\": %llu}", c->rmw_units, c->rmw_bytes);
}

/* Under the lock, for one consistent view: seq_file retries with a bigger buffer if it must. */
static int show(struct seq_file *m, void *unused)
{
	struct ht_disk *d = m->private;
	unsigned long flags;
	u64 now;
	u32 i;

	spin_lock_irqsave(&d->lock, flags);
	now = ktime_get_ns();
	seq_printf(m, "{\"device\": \"%s\",\n", d->disk->disk_name);
	seq_printf(m, "  \"bytes\": %llu,\n", (u64)get_capacity(d->disk) << SECTOR_SHIFT);
	seq_printf(m, "  \"since_reset_ns\": %llu,\n", now - d->reset_ns);
	seq_printf(m, "  \"commands\": %llu, \"own_ns\": %llu,\n", d->commands, d->own_ns);
	seq_printf(m, "  \"discards\": %llu, \"discarded_bytes\": %llu, \"zeroed_bytes\": %llu,\n",
		   d->discards, d->discard_bytes, d->zero_bytes);
	seq_printf(m, "  \"cuts\": %llu, ", d->cache.cuts);
	seq_printf(m, "\"cut_lost_sectors\": %llu, \"cut_kept_sectors\": %llu,\n", d->cache.lost,
		   d->cache.kept);
	seq_printf(m, "  \"faults_hit\": %llu,\n", d->faults.hits);
	seq_printf(m, "  \"blocks_tagged\": %llu, \"blocks_stored\": %llu,\n", d->store.tagged,
		   d->store.paged);
	show_latency(m, "read_latency", &d->read_latency);
	show_latency(m, "write_latency", &d->write_latency);
	seq_puts(m, "  \"drives\": [\n");
	for (i = 0; i < d->ndrives; i++) {
		show_drive(m, &d->drive[i], now);
		seq_puts(m, i + 1 < d->ndrives ? ",\n" : "\n");
	}
	seq_puts(m, "  ]}\n");
	spin_unlock_irqrestore(&d->lock, flags);
	return 0;
}

static void reset(struct ht_disk *d)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&d->lock, flags);
	for (i = 0; i < d->ndrives; i++) {
		ht_flash_buffered(&d->drive[i].flash, ktime_get_ns());
		memset(&d->drive[i].flash.counts, 0, sizeof(d->drive[i].flash.counts));
	}
	memset(&d->read_latency, 0, sizeof(d->read_latency));
	memset(&d->write_latency, 0, sizeof(d->write_latency));
	d->discards = 0;
	d->discard_bytes = 0;
	d->zero_bytes = 0;
	d->commands = 0;
	d->own_ns = 0;
	d->reset_ns = ktime_get_ns();
	spin_unlock_irqrestore(&d->lock, flags);
}

static ssize_t report_write(struct file *file, const char __user *text, size_t length, loff_t *pos)
{
	struct ht_disk *d = ((struct seq_file *)file->private_data)->private;
	char word[8] = {};

	if (length >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, text, length))
		return -EFAULT;
	if (!sysfs_streq(word, "reset"))
		return -EINVAL;
	reset(d);
	return length;
}

static int report_open(struct inode *inode, struct file *file)
{
	return single_open(file, show, inode->i_private);
}

static const struct file_operations report_ops = {
	.owner = THIS_MODULE,
	.open = report_open,
	.read = seq_read,
	.write = report_write,
	.llseek = seq_lseek,
	.release = single_release,
};

struct dentry *ht_report_init(void)
{
	root = debugfs_create_dir("ht_flash", NULL);
	return root;
}

void ht_report_add(struct ht_disk *d)
{
	debugfs_create_file(d->name, 0600, root, d, &report_ops);
}

void ht_report_exit(void)
{
	debugfs_remove_recursive(root);
}
