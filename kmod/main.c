// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading and unloading. The netlink family comes first, because a tier announces itself as soon
 * as it exists; the control device comes last, because it lets callers in.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "hintier.h"

static int __init ht_init(void)
{
	int r;

	r = ht_netlink_init();
	if (r)
		return r;
	r = ht_meta_init();
	if (r)
		goto out_netlink;
	r = ht_target_init();
	if (r)
		goto out_meta;
	r = ht_control_init();
	if (r)
		goto out_target;
	return 0;

out_target:
	ht_target_exit();
out_meta:
	ht_meta_exit();
out_netlink:
	ht_netlink_exit();
	return r;
}

static void __exit ht_exit(void)
{
	ht_control_exit();
	ht_target_exit();
	ht_meta_exit();
	ht_netlink_exit();
}

module_init(ht_init);
module_exit(ht_exit);

MODULE_DESCRIPTION("hintier: two-drive tier that takes hints about LLM data");
MODULE_AUTHOR("hintier authors");
MODULE_LICENSE("GPL");
MODULE_ALIAS("dm-hintier"); /* a table line loads the module */
