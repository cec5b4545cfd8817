// SPDX-License-Identifier: GPL-2.0-only
/*
 * ht_canary what=NAME: does one thing that the debug kernel must report. A report that finds
 * nothing on our module is worth something only if it finds these.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

static char *what = "";
module_param(what, charp, 0444);

static int nothing;
static int __rcu *guarded = (int __rcu *)&nothing;
static volatile int sink;

static void kasan(void)
{
	volatile char *p = kmalloc(32, GFP_KERNEL);

	if (p)
		sink = p[32 + (int)strlen(what)];
	kfree((void *)p);
}

static void ubsan(void)
{
	volatile int bits = 40;

	sink = 1 << bits;
}

static void kmemleak(void)
{
	for (int i = 0; i < 16; i++)
		sink = !kmalloc(1000, GFP_KERNEL);
}

static void rcu(void)
{
	sink = *rcu_dereference(guarded);
}

static void atomic(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

static void never(struct timer_list *timer)
{
}

/* The timer goes off while the memory is long gone, if nobody stops it: it is set to a day. */
static void objects(void)
{
	struct timer_list *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, never, 0);
	mod_timer(timer, jiffies + 86400UL * HZ);
	kfree(timer);
}

static void lockdep(void)
{
	static DEFINE_MUTEX(a);
	static DEFINE_MUTEX(b);

	mutex_lock(&a);
	mutex_lock(&b);
	mutex_unlock(&b);
	mutex_unlock(&a);
	mutex_lock(&b);
	mutex_lock(&a);
	mutex_unlock(&a);
	mutex_unlock(&b);
}

static const struct {
	const char *name;
	void (*act)(void);
} deeds[] = {
	{ "kasan", kasan }, { "ubsan", ubsan }, { "kmemleak", kmemleak }, { "rcu", rcu },
	{ "atomic", atomic }, { "objects", objects }, { "lockdep", lockdep },
};

static int __init ht_canary_init(void)
{
	for (int i = 0; i < ARRAY_SIZE(deeds); i++) {
		if (strcmp(deeds[i].name, what))
			continue;
		deeds[i].act();
		return 0;
	}
	return -EINVAL;
}

static void __exit ht_canary_exit(void)
{
}

module_init(ht_canary_init);
module_exit(ht_canary_exit);

MODULE_DESCRIPTION("what the debug kernel must notice");
MODULE_LICENSE("GPL");
