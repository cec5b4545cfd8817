// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles: by which the rest of the module knows a tier, whatever table is live just now.
 */
#include "tier.h"

static DEFINE_MUTEX(registry_lock);
static LIST_HEAD(registry);

static void dev_free(struct kref *ref)
{
	struct ht_dev *dev = container_of(ref, struct ht_dev, ref);

	free_percpu(dev->stats);
	kfree(dev);
}

void ht_dev_put(struct ht_dev *dev)
{
	if (dev)
		kref_put(&dev->ref, dev_free);
}

static struct ht_dev *find(dev_t devt)
{
	struct ht_dev *dev;

	list_for_each_entry(dev, &registry, registry)
		if (dev->devt == devt)
			return dev;
	return NULL;
}

struct ht_dev *ht_dev_get(dev_t devt)
{
	struct ht_dev *dev;

	mutex_lock(&registry_lock);
	dev = find(devt);
	if (dev)
		kref_get(&dev->ref);
	mutex_unlock(&registry_lock);
	return dev;
}

struct ht_dev *ht_dev_next(struct ht_dev *prev)
{
	struct ht_dev *dev = NULL;
	struct list_head *next;

	mutex_lock(&registry_lock);
	/* A tier that has left the registry meanwhile ends the walk. */
	if (!prev)
		next = registry.next;
	else
		next = list_empty(&prev->registry) ? &registry : prev->registry.next;
	if (next != &registry) {
		dev = list_entry(next, struct ht_dev, registry);
		kref_get(&dev->ref);
	}
	mutex_unlock(&registry_lock);
	ht_dev_put(prev);
	return dev;
}

static struct ht_dev *dev_create(dev_t devt, const struct ht_tier *t)
{
	struct ht_dev *dev = kzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->stats = alloc_percpu(struct ht_stats_cpu);
	if (!dev->stats) {
		kfree(dev);
		return NULL;
	}
	kref_init(&dev->ref);
	init_rwsem(&dev->api);
	init_waitqueue_head(&dev->waiters);
	dev->devt = devt;
	memcpy(dev->uuid, t->uuid, sizeof(dev->uuid));
	dev->extent_bytes = ht_extent_sectors(&t->map.geo) << SECTOR_SHIFT;
	dev->bytes = (u64)t->ti->len << SECTOR_SHIFT;
	dev->mode = t->wanted_mode;
	return dev;
}

/*
 * The handle of a mapped device, for a table that is being made. Each table leaves it once. An
 * error pointer without memory, or (-EXDEV) if the device has a tier over another pair.
 *
 * Memory comes before the lock: a resume takes it, and memory may wait for what is suspended.
 */
struct ht_dev *ht_dev_find_or_create(dev_t devt, const struct ht_tier *t)
{
	struct ht_dev *fresh = dev_create(devt, t), *dev;

	if (!fresh)
		return ERR_PTR(-ENOMEM);
	mutex_lock(&registry_lock);
	dev = find(devt);
	if (dev && memcmp(dev->uuid, t->uuid, sizeof(dev->uuid))) {
		dev = ERR_PTR(-EXDEV);
	} else if (dev) {
		kref_get(&dev->ref);
		dev->instances++;
	} else {
		swap(dev, fresh);
		list_add_tail(&dev->registry, &registry);
		dev->instances++;
	}
	mutex_unlock(&registry_lock);
	ht_dev_put(fresh);
	return dev;
}

/* One live instance for each pair: a second one would not know what the first one writes. */
static bool pair_is_live(const struct ht_dev *me)
{
	struct ht_dev *dev;

	list_for_each_entry(dev, &registry, registry)
		if (READ_ONCE(dev->tier) && !memcmp(dev->uuid, me->uuid, sizeof(me->uuid)))
			return true;
	return false;
}

/* Makes the tier the live one; -EBUSY if its pair is in use. It answers calls after ht_dev.ready. */
int ht_dev_claim(struct ht_dev *dev, struct ht_tier *t)
{
	int r = 0;

	down_write(&dev->api);
	mutex_lock(&registry_lock);
	if (pair_is_live(dev))
		r = -EBUSY;
	else
		WRITE_ONCE(dev->tier, t);
	mutex_unlock(&registry_lock);
	if (!r) {
		dev->ready = false;
		dev->bytes = (u64)t->ti->len << SECTOR_SHIFT;
	}
	up_write(&dev->api);
	return r;
}

/* From now on calls are answered by the tier, or not any more. */
void ht_dev_ready(struct ht_dev *dev, bool ready)
{
	down_write(&dev->api);
	dev->ready = ready;
	up_write(&dev->api);
}

void ht_dev_unclaim(struct ht_dev *dev, struct ht_tier *t)
{
	down_write(&dev->api);
	if (dev->tier == t) {
		dev->ready = false;
		WRITE_ONCE(dev->tier, NULL);
	}
	up_write(&dev->api);
}

/* A table goes; with the last one the tier is gone. */
void ht_dev_leave(struct ht_dev *dev, struct ht_tier *t)
{
	bool last;

	ht_dev_unclaim(dev, t);
	mutex_lock(&registry_lock);
	last = !--dev->instances;
	if (last)
		list_del_init(&dev->registry);
	mutex_unlock(&registry_lock);
	if (last) {
		WRITE_ONCE(dev->gone, true);
		wake_up_all(&dev->waiters);
		if (dev->announced)
			ht_event(dev, HINTIER_EV_REMOVED, 0, 0, 0, 0);
	}
	ht_dev_put(dev);
}

/* The live tier, held for reading until ht_dev_release(); or an error pointer. */
struct ht_tier *ht_dev_hold(struct ht_dev *dev)
{
	down_read(&dev->api);
	if (!dev->gone && dev->ready)
		return dev->tier;
	up_read(&dev->api);
	return ERR_PTR(dev->gone ? -ENODEV : -EAGAIN);
}

void ht_dev_release(struct ht_dev *dev)
{
	up_read(&dev->api);
}
