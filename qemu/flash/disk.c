// SPDX-License-Identifier: GPL-2.0-only
/*
 * ht_flash: block devices with the contents of RAM and the times of flash drives.
 *
 *   insmod ht_flash.ko slc=scale=61,dilation=4,tags=1 qlc=scale=61,dilation=4,tags=1
 *
 * makes /dev/ht_slc and /dev/ht_qlc; ideal=... makes /dev/ht_ideal (see disk.h). A device is made
 * for each parameter that is given; "default" changes nothing in the preset. Keys are those of
 * struct ht_flash_params. Statistics: report.c; power cuts and faults: control.c.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "disk.h"

static char *slc, *qlc, *ideal;
module_param(slc, charp, 0444);
MODULE_PARM_DESC(slc, "make /dev/ht_slc: key=value,... or \"default\"");
module_param(qlc, charp, 0444);
MODULE_PARM_DESC(qlc, "make /dev/ht_qlc: key=value,... or \"default\"");
module_param(ideal, charp, 0444);
MODULE_PARM_DESC(ideal, "make /dev/ht_ideal, an SLC and a QLC drive as one: key=value,... or \"default\"");

static const struct block_device_operations ht_ops = {
	.owner = THIS_MODULE,
	.submit_bio = ht_submit,
};

/* The device has the size of its last drive: of the QLC, where there are two. */
static u64 disk_bytes(const struct ht_disk *d)
{
	const struct ht_flash_params *p = &d->drive[d->ndrives - 1].params;

	return round_down(p->bytes / p->scale, HT_STORE_BLOCK);
}

static int set_params(struct ht_disk *d, const char *const *drives, const char *text)
{
	const char *bad;
	u32 i;

	for (i = 0; i < d->ndrives; i++) {
		struct ht_flash_params *p = &d->drive[i].params;

		*p = *ht_flash_preset(drives[i]);
		if (strcmp(text, "default") && ht_flash_parse(p, text, &bad)) {
			pr_err("ht_flash: %s: bad parameter at '%s'\n", d->name, bad);
			return -EINVAL;
		}
		bad = ht_flash_check(p);
		if (bad) {
			pr_err("ht_flash: %s: %s\n", d->name, bad);
			return -EINVAL;
		}
	}
	return 0;
}

static void put_page_of_store(void *page)
{
	free_page((unsigned long)page);
}

/* The write buffer of the drive that is written to. */
static int allocate_cache(struct ht_disk *d)
{
	const struct ht_flash_params *p = &d->drive[0].params;
	struct ht_cache *c = &d->cache;

	if (!p->cut)
		return 0;
	c->media = &d->store;
	c->write_through = p->plp || !p->vwc;
	c->random = 1;
	c->capacity = p->buffer / p->scale / HT_STORE_BLOCK + 1;
	c->index = vcalloc(disk_bytes(d) / HT_STORE_BLOCK, sizeof(*c->index));
	c->line = vcalloc(c->capacity, sizeof(*c->line));
	return c->index && c->line ? 0 : -ENOMEM;
}

static int allocate(struct ht_disk *d)
{
	u32 i;

	d->store.leaves = ht_store_leaves(disk_bytes(d));
	d->store.leaf = vcalloc(d->store.leaves, sizeof(*d->store.leaf));
	d->store.tags = d->drive[0].params.tags;
	d->store.put = put_page_of_store;
	d->queue = vcalloc(HT_QUEUE_DEPTH, sizeof(*d->queue));
	if (!d->store.leaf || !d->queue)
		return -ENOMEM;
	for (i = 0; i < d->ndrives; i++) {
		struct ht_drive *drive = &d->drive[i];

		drive->dies = kcalloc(drive->params.dies, sizeof(*drive->dies), GFP_KERNEL);
		if (!drive->dies)
			return -ENOMEM;
		ht_flash_init(&drive->flash, &drive->params, drive->dies);
	}
	return allocate_cache(d);
}

static int add_disk_of(struct ht_disk *d)
{
	struct ht_flash_params *p = &d->drive[d->ndrives - 1].params;
	struct gendisk *disk = ht_alloc_disk(p->vwc, max_t(u32, p->iu, 4096));
	int error;

	if (IS_ERR(disk))
		return PTR_ERR(disk);
	disk->fops = &ht_ops;
	disk->private_data = d;
	disk->flags |= GENHD_FL_NO_PART;
	snprintf(disk->disk_name, DISK_NAME_LEN, "ht_%s", d->name);
	set_capacity(disk, disk_bytes(d) >> SECTOR_SHIFT);
	error = add_disk(disk);
	if (error) {
		put_disk(disk);
		return error;
	}
	d->disk = disk;
	return 0;
}

static void free_store(struct ht_disk *d)
{
	void *page;

	if (d->cache.line)
		ht_cache_cut(&d->cache, 0);
	vfree(d->cache.line);
	vfree(d->cache.index);
	if (d->store.leaf)
		ht_store_erase(&d->store, 0, disk_bytes(d));
	while ((page = ht_store_unstock(&d->store)))
		put_page_of_store(page);
	vfree(d->store.leaf);
}

/* Takes what ht_disk_create() has got done. */
void ht_disk_destroy(struct ht_disk *d)
{
	u32 i;

	if (d->disk) {
		del_gendisk(d->disk);
		while (READ_ONCE(d->queued)) /* the last bios of a user that did not wait */
			msleep(20);
		hrtimer_cancel(&d->timer);
		put_disk(d->disk);
	}
	free_store(d);
	for (i = 0; i < d->ndrives; i++)
		kfree(d->drive[i].dies);
	vfree(d->queue);
	kfree(d);
}

struct ht_disk *ht_disk_create(const char *name, const char *const *drives, u32 ndrives,
			       const char *text)
{
	struct ht_disk *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int error;

	if (!d)
		return ERR_PTR(-ENOMEM);
	d->name = name;
	d->ndrives = ndrives;
	ht_queue_init(d);
	error = set_params(d, drives, text);
	if (!error)
		error = allocate(d);
	if (!error)
		error = add_disk_of(d);
	if (error) {
		ht_disk_destroy(d);
		return ERR_PTR(error);
	}
	return d;
}

/* ---- the module --------------------------------------------------------------------------- */

static struct ht_disk *disks[3];

static void destroy_all(void)
{
	u32 i;

	ht_report_exit();
	for (i = 0; i < ARRAY_SIZE(disks); i++)
		if (disks[i])
			ht_disk_destroy(disks[i]);
}

static int __init ht_flash_module_init(void)
{
	static const char *const one[] = { "slc", "qlc" };
	const struct {
		const char *name, *const *drives, *text;
		u32 ndrives;
	} wanted[] = {
		{ "slc", &one[0], slc, 1 },
		{ "qlc", &one[1], qlc, 1 },
		{ "ideal", &one[0], ideal, 2 },
	};
	u32 i;

	ht_control_init(ht_report_init(), disks, ARRAY_SIZE(disks));
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct ht_disk *d;

		if (!wanted[i].text)
			continue;
		d = ht_disk_create(wanted[i].name, wanted[i].drives, wanted[i].ndrives,
				   wanted[i].text);
		if (IS_ERR(d)) {
			destroy_all();
			return PTR_ERR(d);
		}
		disks[i] = d;
		ht_report_add(d);
	}
	return 0;
}

static void __exit ht_flash_module_exit(void)
{
	destroy_all();
}

module_init(ht_flash_module_init);
module_exit(ht_flash_module_exit);
MODULE_DESCRIPTION("hintier lab: RAM with the times of flash drives");
MODULE_LICENSE("GPL");
