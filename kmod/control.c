// SPDX-License-Identifier: GPL-2.0-only
/*
 * The control device, /dev/hintier: see uapi/hintier/ioctl.h for what callers are promised.
 *
 * This file only checks and carries; hint.c does so for batches of hints. Answers are written in
 * chunks of one page, whatever their size.
 *
 * A binding holds the memory of a handle, not the tier: once that is removed the handle says so
 * for ever, also if another tier takes the same device number.
 */
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/kdev_t.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "control.h"
#include "core/hint.h"
#include "hintier.h"

#define HT_CHUNK_ENTRIES (PAGE_SIZE / sizeof(struct hintier_residency))

#define HT_FEATURES (HINTIER_FEATURE_CLASSIFY | HINTIER_FEATURE_FETCH | \
		     HINTIER_FEATURE_DONE | HINTIER_FEATURE_QUERY | \
		     HINTIER_FEATURE_VOLATILE | HINTIER_FEATURE_SEQUENCE | \
		     HINTIER_FEATURE_STAGE | HINTIER_FEATURE_WAIT | HINTIER_FEATURE_PIN | \
		     HINTIER_FEATURE_VALUES)

/* An open descriptor. `dev` and `access` are written once; without dev it is unbound. */
struct ht_caller {
	struct mutex lock; /* binds one at a time */
	struct ht_dev *dev;
	u32 access;
	u64 teller;        /* unique: what it tells is known by that */
	u64 cookie;        /* of the newest WAIT; lock */
	bool outcome;
};

static atomic64_t tellers;

static struct ht_dev *caller_dev(struct ht_caller *caller)
{
	/* Pairs with the release in bind_once(): who sees the handle sees the access. */
	return smp_load_acquire(&caller->dev);
}

/* The tier as it is now: -ENXIO unbound, -ENODEV gone. */
static int caller_info(struct ht_caller *caller, struct ht_info *ret)
{
	struct ht_dev *dev = caller_dev(caller);

	return dev ? ht_dev_info(dev, ret) : -ENXIO;
}

static int call_version(void __user *arg)
{
	const struct hintier_version version = {
		.major = HINTIER_ABI_MAJOR,
		.minor = HINTIER_ABI_MINOR,
		.features = HT_FEATURES,
	};

	return copy_to_user(arg, &version, sizeof(version)) ? -EFAULT : 0;
}

/* What the shown descriptor may do decides what the caller may say. */
static u32 shown_access(const struct file *shown)
{
	u32 access = 0;

	if (shown->f_mode & (FMODE_READ | FMODE_WRITE))
		access |= HINTIER_ACCESS_ADVISE;
	if ((shown->f_mode & FMODE_WRITE) || capable(CAP_SYS_ADMIN))
		access |= HINTIER_ACCESS_ADVISE | HINTIER_ACCESS_OWNER;
	return access;
}

/* The handle of the tier that descriptor @fd is open on, with a reference. */
static int shown_tier(int fd, u32 *ret_access, struct ht_dev **ret)
{
	struct file *shown = fget(fd);
	int r = 0;

	if (!shown)
		return -EBADF;
	*ret_access = shown_access(shown);
	if (!S_ISBLK(file_inode(shown)->i_mode)) {
		r = -ENOTBLK;
	} else if (!*ret_access) {
		r = -EPERM;
	} else {
		*ret = ht_dev_get(file_inode(shown)->i_rdev);
		r = *ret ? 0 : -ENXIO;
	}
	fput(shown);
	return r;
}

/* Takes over the reference on @dev if it succeeds. */
static int bind_once(struct ht_caller *caller, struct ht_dev *dev,
		     const struct hintier_bind *bind, void __user *arg)
{
	int r = 0;

	mutex_lock(&caller->lock);
	if (caller->dev) {
		r = -EBUSY;
	} else if (copy_to_user(arg, bind, sizeof(*bind))) {
		r = -EFAULT;
	} else {
		caller->access = bind->access;
		/* Pairs with the acquire in caller_dev(). */
		smp_store_release(&caller->dev, dev);
	}
	mutex_unlock(&caller->lock);
	return r;
}

static int call_bind(struct ht_caller *caller, void __user *arg)
{
	struct hintier_bind bind;
	struct ht_info info;
	struct ht_dev *dev;
	int r;

	if (copy_from_user(&bind, arg, sizeof(bind)))
		return -EFAULT;
	if (bind.flags || bind.reserved)
		return -EINVAL;
	r = shown_tier(bind.fd, &bind.access, &dev);
	if (r)
		return r;
	r = ht_dev_info(dev, &info);
	if (!r) {
		bind.bytes = info.bytes;
		bind.extent_bytes = info.extent_bytes;
		bind.unit_bytes = HINTIER_UNIT_BYTES;
		bind.dev_major = MAJOR(info.devt);
		bind.dev_minor = MINOR(info.devt);
		memcpy(bind.uuid, info.uuid, sizeof(bind.uuid));
		r = bind_once(caller, dev, &bind, arg);
	}
	if (r)
		ht_dev_put(dev);
	return r;
}

/* `done` and `reason` are written back whatever happens: they say what to do next. */
static int call_hint(struct ht_caller *caller, void __user *arg)
{
	struct ht_dev *dev = caller_dev(caller);
	struct hintier_batch batch;
	int r;

	if (copy_from_user(&batch, arg, sizeof(batch)))
		return -EFAULT;
	r = ht_hint_batch(dev, caller->access, caller->teller, &batch);
	if (copy_to_user(arg, &batch, sizeof(batch)))
		return -EFAULT;
	return r;
}

static int query_runs(struct ht_dev *dev, struct hintier_query *query,
		      struct hintier_residency *chunk)
{
	struct hintier_residency __user *to = u64_to_user_ptr(query->entries);
	const u64 end = query->offset + query->length;
	u32 n;
	int r;

	while (query->next < end && query->count < query->max) {
		n = min_t(u32, query->max - query->count, HT_CHUNK_ENTRIES);
		r = ht_dev_query(dev, query->next, end - query->next, chunk, n, &n, &query->next);
		if (r)
			return r;
		if (copy_to_user(to + query->count, chunk, n * sizeof(*chunk)))
			return -EFAULT;
		query->count += n;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static int query_refusal(struct ht_caller *caller, const struct hintier_query *query)
{
	struct ht_info info;
	int r;

	r = ht_query_refusal(query);
	if (!r)
		r = caller_info(caller, &info);
	if (r)
		return r;
	return ht_inside(query->offset, query->length, info.bytes) ? 0 : -ERANGE;
}

static int call_query(struct ht_caller *caller, void __user *arg)
{
	struct hintier_residency *chunk;
	struct hintier_query query;
	int r;

	if (copy_from_user(&query, arg, sizeof(query)))
		return -EFAULT;
	r = query_refusal(caller, &query);
	if (r)
		return r;
	/* Zeroed: members that a state does not fill go to the caller all the same. */
	chunk = kcalloc(HT_CHUNK_ENTRIES, sizeof(*chunk), GFP_KERNEL);
	if (!chunk)
		return -ENOMEM;
	query.count = 0;
	query.next = query.offset;
	r = query_runs(caller_dev(caller), &query, chunk);
	kfree(chunk);
	if (copy_to_user(arg, &query, sizeof(query)))
		return -EFAULT;
	return r;
}

static int call_epoch(struct ht_caller *caller, void __user *arg)
{
	struct ht_dev *dev = caller_dev(caller);
	struct hintier_epoch epoch = {};
	int r;

	if (!dev)
		return -ENXIO;
	r = ht_dev_epoch(dev, &epoch.epoch);
	if (r)
		return r;
	return copy_to_user(arg, &epoch, sizeof(epoch)) ? -EFAULT : 0;
}

static int call_values(struct ht_caller *caller, void __user *arg)
{
	struct ht_dev *dev = caller_dev(caller);
	struct hintier_values head;

	if (copy_from_user(&head, arg, sizeof(head)))
		return -EFAULT;
	return ht_values_upload(dev, caller->access, &head);
}

/* The tier is held only while it is asked: what is waited for may need it to be suspended. */
static int wait_for(struct ht_caller *caller, const struct hintier_wait *wait)
{
	struct ht_dev *dev = caller_dev(caller);
	bool outcome = wait->flags & HINTIER_WAIT_OUTCOME;
	long left = msecs_to_jiffies(wait->timeout_ms);
	DEFINE_WAIT_FUNC(entry, woken_wake_function);
	int r;

	add_wait_queue(&dev->waiters, &entry);
	for (;;) {
		r = ht_dev_waits(dev, caller->teller, wait->cookie, outcome);
		if (r <= 0)
			break;
		r = wait->timeout_ms ? -ETIMEDOUT : -EAGAIN;
		if (!left)
			break;
		r = -EINTR;
		if (signal_pending(current))
			break;
		left = wait_woken(&entry, TASK_INTERRUPTIBLE, left);
	}
	remove_wait_queue(&dev->waiters, &entry);
	return r;
}

static int call_wait(struct ht_caller *caller, void __user *arg)
{
	struct hintier_wait wait;
	int r;

	if (copy_from_user(&wait, arg, sizeof(wait)))
		return -EFAULT;
	r = ht_wait_refusal(&wait);
	if (r)
		return r;
	if (!caller_dev(caller))
		return -ENXIO;
	mutex_lock(&caller->lock);
	caller->cookie = wait.cookie;
	caller->outcome = wait.flags & HINTIER_WAIT_OUTCOME;
	mutex_unlock(&caller->lock);
	return wait_for(caller, &wait);
}

/* ---- the device ---- */

static long ht_control_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;

	switch (cmd) {
	case HINTIER_IOC_VERSION:
		return call_version(user);
	case HINTIER_IOC_BIND:
		return call_bind(file->private_data, user);
	case HINTIER_IOC_HINT:
		return call_hint(file->private_data, user);
	case HINTIER_IOC_QUERY:
		return call_query(file->private_data, user);
	case HINTIER_IOC_EPOCH:
		return call_epoch(file->private_data, user);
	case HINTIER_IOC_VALUES:
		return call_values(file->private_data, user);
	case HINTIER_IOC_WAIT:
		return call_wait(file->private_data, user);
	}
	return -ENOTTY;
}

/* Readable when the newest WAIT is over; without one it is. */
static __poll_t ht_control_poll(struct file *file, struct poll_table_struct *table)
{
	struct ht_caller *caller = file->private_data;
	struct ht_dev *dev = caller_dev(caller);
	int waits;

	if (!dev)
		return EPOLLERR;
	poll_wait(file, &dev->waiters, table);
	mutex_lock(&caller->lock);
	waits = ht_dev_waits(dev, caller->teller, caller->cookie, caller->outcome);
	mutex_unlock(&caller->lock);
	if (waits < 0)
		return EPOLLERR | EPOLLHUP;
	return waits ? 0 : EPOLLIN | EPOLLRDNORM;
}

static int ht_control_open(struct inode *inode, struct file *file)
{
	struct ht_caller *caller = kzalloc(sizeof(*caller), GFP_KERNEL_ACCOUNT);

	if (!caller)
		return -ENOMEM;
	mutex_init(&caller->lock);
	caller->teller = atomic64_inc_return(&tellers);
	file->private_data = caller;
	return nonseekable_open(inode, file);
}

static int ht_control_release(struct inode *inode, struct file *file)
{
	struct ht_caller *caller = file->private_data;

	if (caller->dev) {
		ht_dev_teller_gone(caller->dev, caller->teller);
		ht_dev_put(caller->dev);
	}
	mutex_destroy(&caller->lock);
	kfree(caller);
	return 0;
}

static const struct file_operations control_fops = {
	.owner = THIS_MODULE,
	.open = ht_control_open,
	.release = ht_control_release,
	.poll = ht_control_poll,
	.unlocked_ioctl = ht_control_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* Anyone may open it: opening gives nothing, a descriptor of the tier does. */
static struct miscdevice control_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "hintier",
	.mode = 0666,
	.fops = &control_fops,
};

int __init ht_control_init(void)
{
	return misc_register(&control_device);
}

void ht_control_exit(void)
{
	misc_deregister(&control_device);
}
