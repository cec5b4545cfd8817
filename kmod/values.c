// SPDX-License-Identifier: GPL-2.0-only
/*
 * HINTIER_IOC_VALUES: reads a value table, and has it rule in the place of the one before. Nothing
 * of it counts before all of it has been found good.
 */
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "control.h"
#include "hintier.h"

#include "core/value.h"

static int read_rows(struct ht_values *values, const struct hintier_values *head)
{
	if (copy_from_user(values->rows, u64_to_user_ptr(head->rows),
			   head->groups * sizeof(values->rows[0])))
		return -EFAULT;
	for (u32 group = 0; group < head->groups; group++)
		if (ht_value_row_refusal(&values->rows[group]))
			return -EINVAL;
	return 0;
}

/* @dev is NULL if the caller has bound nothing. */
int ht_values_upload(struct ht_dev *dev, u32 access, const struct hintier_values *head)
{
	struct ht_values *values;
	int r;

	r = ht_values_refusal(head);
	if (r)
		return r;
	if (!dev)
		return -ENXIO;
	if (!(access & HINTIER_ACCESS_OWNER))
		return -EPERM;
	values = vmalloc(sizeof(*values));
	if (!values)
		return -ENOMEM;
	r = read_rows(values, head);
	if (!r)
		r = ht_dev_rule(dev, head, &values);
	vfree(values);
	return r;
}
