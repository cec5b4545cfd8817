// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "hintier": see uapi/hintier/netlink.h for its messages.
 *
 * A tier's statistics are a row of entries: one for each (op, outcome, class), one for each
 * (op, outcome) histogram, the counters, one for each class and source of FETCHes. A message is filled from a cursor on that row until
 * it is full; an answer has room for all of it, a dump goes on in the next message.
 *
 * Dumps walk the tiers by device number, so that one that comes or goes meanwhile does not make
 * another be told twice or left out.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <net/genetlink.h>

#include <hintier/netlink.h>

#include "hintier.h"

#define HT_SETTING_MAX 64 /* bytes of a key or value, with its end */

enum {
	STAT_LATENCY = HINTIER_OPS * HINTIER_OUTCOMES * HINTIER_CLASSES,
	STAT_COUNTERS = STAT_LATENCY + HINTIER_OPS * HINTIER_OUTCOMES,
	STAT_FETCHED = STAT_COUNTERS + 1,
	STAT_FETCHED_FOR = STAT_FETCHED + HINTIER_CLASSES,
	STAT_END = STAT_FETCHED_FOR + HINTIER_SOURCES,
};

static struct genl_family ht_family;

static const struct nla_policy ht_policy[HINTIER_A_MAX + 1] = {
	[HINTIER_A_DEV_ID] = { .type = NLA_U64 },
	[HINTIER_A_KEY] = { .type = NLA_NUL_STRING, .len = HT_SETTING_MAX - 1 },
	[HINTIER_A_VALUE] = { .type = NLA_NUL_STRING, .len = HT_SETTING_MAX - 1 },
};

static u64 netlink_id(dev_t dev)
{
	return (u64)MAJOR(dev) << 32 | MINOR(dev);
}

/* ---- messages ---- */

static int fill_device(struct sk_buff *skb, const struct ht_info *info)
{
	struct nlattr *nest = nla_nest_start(skb, HINTIER_A_DEVICE);

	if (!nest ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_IDENT, netlink_id(info->devt),
			      HINTIER_A_DEV_PAD) ||
	    nla_put(skb, HINTIER_A_DEV_UUID, sizeof(info->uuid), info->uuid) ||
	    nla_put_u32(skb, HINTIER_A_DEV_MODE, info->mode) ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_BYTES, info->bytes, HINTIER_A_DEV_PAD) ||
	    nla_put_u32(skb, HINTIER_A_DEV_EXTENT, info->extent_bytes) ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_SLOTS, info->slots, HINTIER_A_DEV_PAD) ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_FREE, info->free, HINTIER_A_DEV_PAD) ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_DIRTY, info->dirty, HINTIER_A_DEV_PAD) ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_CLEAN, info->clean, HINTIER_A_DEV_PAD) ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_PINNED, info->pinned, HINTIER_A_DEV_PAD) ||
	    nla_put_u64_64bit(skb, HINTIER_A_DEV_LOST, info->lost, HINTIER_A_DEV_PAD) ||
	    nla_put_u32(skb, HINTIER_A_DEV_OVER, info->over) ||
	    nla_put_s64(skb, HINTIER_A_DEV_FAST_LEFT, info->fast_left, HINTIER_A_DEV_PAD) ||
	    nla_put_s64(skb, HINTIER_A_DEV_BULK_LEFT, info->bulk_left, HINTIER_A_DEV_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_io(struct sk_buff *skb, const struct ht_stats *stats, u32 entry)
{
	const u32 klass = entry % HINTIER_CLASSES;
	const u32 outcome = entry / HINTIER_CLASSES % HINTIER_OUTCOMES;
	const u32 op = entry / HINTIER_CLASSES / HINTIER_OUTCOMES;
	const struct ht_io_stat *io = &stats->io[op][outcome][klass];
	struct nlattr *nest;

	if (!io->count)
		return 0;
	nest = nla_nest_start(skb, HINTIER_A_STAT_IO);
	if (!nest ||
	    nla_put_u8(skb, HINTIER_A_IO_OP, op) ||
	    nla_put_u8(skb, HINTIER_A_IO_OUTCOME, outcome) ||
	    nla_put_u8(skb, HINTIER_A_IO_CLASS, klass) ||
	    nla_put_u64_64bit(skb, HINTIER_A_IO_COUNT, io->count, HINTIER_A_IO_PAD) ||
	    nla_put_u64_64bit(skb, HINTIER_A_IO_BYTES, io->bytes, HINTIER_A_IO_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_latency(struct sk_buff *skb, const struct ht_stats *stats, u32 entry)
{
	const u32 outcome = entry % HINTIER_OUTCOMES;
	const u32 op = entry / HINTIER_OUTCOMES;
	const u64 *histogram = stats->latency[op][outcome];
	struct nlattr *nest;

	if (!memchr_inv(histogram, 0, sizeof(stats->latency[op][outcome])))
		return 0;
	nest = nla_nest_start(skb, HINTIER_A_STAT_LATENCY);
	if (!nest ||
	    nla_put_u8(skb, HINTIER_A_IO_OP, op) ||
	    nla_put_u8(skb, HINTIER_A_IO_OUTCOME, outcome) ||
	    nla_put(skb, HINTIER_A_IO_HISTOGRAM, sizeof(stats->latency[op][outcome]), histogram))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_fetched(struct sk_buff *skb, int what, u8 which, const u64 *bytes)
{
	struct nlattr *nest;

	if (!memchr_inv(bytes, 0, HINTIER_FETCHES * sizeof(*bytes)))
		return 0;
	nest = nla_nest_start(skb, HINTIER_A_STAT_FETCH);
	if (!nest || nla_put_u8(skb, what, which) ||
	    nla_put(skb, HINTIER_A_FETCH_BYTES, HINTIER_FETCHES * sizeof(*bytes), bytes))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_entry(struct sk_buff *skb, const struct ht_stats *stats, u32 entry)
{
	if (entry < STAT_LATENCY)
		return fill_io(skb, stats, entry);
	if (entry < STAT_COUNTERS)
		return fill_latency(skb, stats, entry - STAT_LATENCY);
	if (entry < STAT_FETCHED)
		return nla_put(skb, HINTIER_A_STAT_COUNTERS, sizeof(stats->counters),
			       stats->counters);
	if (entry < STAT_FETCHED_FOR)
		return fill_fetched(skb, HINTIER_A_FETCH_CLASS, entry - STAT_FETCHED,
				    stats->fetched[entry - STAT_FETCHED]);
	return fill_fetched(skb, HINTIER_A_FETCH_SOURCE, entry - STAT_FETCHED_FOR,
			    stats->fetched_for[entry - STAT_FETCHED_FOR]);
}

/* Puts entries from *cursor on, as many as fit; -EMSGSIZE if not even one did. */
static int fill_stats(struct sk_buff *skb, const struct ht_stats *stats, u32 *cursor)
{
	struct nlattr *nest = nla_nest_start(skb, HINTIER_A_STATS);
	const u32 from = *cursor;
	unsigned char *mark;

	if (!nest)
		return -EMSGSIZE;
	for (; *cursor < STAT_END; ++*cursor) {
		mark = skb_tail_pointer(skb);
		if (fill_entry(skb, stats, *cursor)) {
			nlmsg_trim(skb, mark);
			break;
		}
	}
	if (*cursor == from)
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Where a message goes, and under which number. */
struct reply {
	struct sk_buff *skb;
	u32 portid;
	u32 seq;
	int flags;
};

/* One message about a tier. With @stats its statistics from *cursor on, else the device alone. */
static int fill_message(const struct reply *to, const struct ht_info *info,
		       const struct ht_stats *stats, u32 *cursor)
{
	const u8 cmd = stats ? HINTIER_CMD_GET_STATS : HINTIER_CMD_GET_DEVICE;
	void *head = genlmsg_put(to->skb, to->portid, to->seq, &ht_family, to->flags, cmd);

	if (!head)
		return -EMSGSIZE;
	if (fill_device(to->skb, info) || (stats && fill_stats(to->skb, stats, cursor))) {
		genlmsg_cancel(to->skb, head);
		return -EMSGSIZE;
	}
	genlmsg_end(to->skb, head);
	return 0;
}

/* An upper bound of what fill_message() writes. */
static size_t message_room(bool stats)
{
	const size_t number = nla_total_size_64bit(sizeof(u64));
	const size_t byte = nla_total_size(sizeof(u8));
	size_t room = nla_total_size(0) + 10 * number + nla_total_size(16) +
		      3 * nla_total_size(sizeof(u32));

	if (!stats)
		return room;
	room += nla_total_size(0);
	room += STAT_LATENCY * (nla_total_size(0) + 3 * byte + 2 * number);
	room += (STAT_COUNTERS - STAT_LATENCY) *
		(nla_total_size(0) + 2 * byte +
		 nla_total_size(HINTIER_LATENCY_BUCKETS * sizeof(u64)));
	room += (STAT_END - STAT_FETCHED) *
		(nla_total_size(0) + byte + nla_total_size(HINTIER_FETCHES * sizeof(u64)));
	return room + nla_total_size(HINTIER_COUNTERS * sizeof(u64));
}

/* What is told about a tier; `stats` is NULL unless asked for. */
struct report {
	struct ht_info info;
	struct ht_stats *stats;
};

static void drop_report(struct report *report)
{
	kvfree(report->stats);
	report->stats = NULL;
}

static int take_report(struct ht_dev *dev, bool want_stats, struct report *ret)
{
	int r;

	ret->stats = NULL;
	r = ht_dev_info(dev, &ret->info);
	if (r || !want_stats)
		return r;
	ret->stats = kvmalloc(sizeof(*ret->stats), GFP_KERNEL);
	if (!ret->stats)
		return -ENOMEM;
	r = ht_dev_stats(dev, ret->stats);
	if (r)
		drop_report(ret);
	return r;
}

/* ---- requests ---- */

static struct ht_dev *find_tier(u64 id)
{
	const dev_t devt = MKDEV(id >> 32, id & MINORMASK);

	return netlink_id(devt) == id ? ht_dev_get(devt) : NULL;
}

static int wanted_tier(struct genl_info *info, struct ht_dev **ret)
{
	const struct nlattr *id = info->attrs[HINTIER_A_DEV_ID];

	if (!id) {
		NL_SET_ERR_MSG(info->extack, "HINTIER_A_DEV_ID is missing");
		return -EINVAL;
	}
	*ret = find_tier(nla_get_u64(id));
	if (!*ret) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "no hintier tier has this device number");
		return -ENODEV;
	}
	return 0;
}

static int answer(struct genl_info *info, const struct report *report)
{
	struct reply to = { .portid = info->snd_portid, .seq = info->snd_seq };
	u32 cursor = 0;
	int r;

	to.skb = genlmsg_new(message_room(report->stats), GFP_KERNEL);
	if (!to.skb)
		return -ENOMEM;
	r = fill_message(&to, &report->info, report->stats, &cursor);
	if (WARN_ON_ONCE(r || (report->stats && cursor < STAT_END))) {
		nlmsg_free(to.skb);
		return -EMSGSIZE;
	}
	return genlmsg_reply(to.skb, info);
}

static int do_get(struct sk_buff *skb, struct genl_info *info)
{
	struct report report;
	struct ht_dev *dev;
	int r;

	r = wanted_tier(info, &dev);
	if (r)
		return r;
	r = take_report(dev, info->genlhdr->cmd == HINTIER_CMD_GET_STATS, &report);
	ht_dev_put(dev);
	if (r)
		return r;
	r = answer(info, &report);
	drop_report(&report);
	return r;
}

/* What a dump remembers from one message to the next; all zero at its start. */
struct dump_place {
	u64 finished; /* the tier that was told last */
	u64 begun; /* one that was told in part, up to */
	u32 cursor;
};

static struct dump_place *dump_place(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct dump_place) > sizeof(cb->ctx));
	return (struct dump_place *)cb->ctx;
}

/* Device number of the next tier after @id, 0 at the end. */
static u64 tier_after(u64 id)
{
	struct ht_dev *dev = NULL;
	u64 next = U64_MAX;

	while ((dev = ht_dev_next(dev))) {
		if (netlink_id(dev->devt) > id)
			next = min(next, netlink_id(dev->devt));
	}
	return next == U64_MAX ? 0 : next;
}

/* As much as fits of what there is to tell; -EMSGSIZE if there is more to come. */
static int dump_tier(const struct reply *to, struct dump_place *place, struct ht_dev *dev,
		     bool want_stats)
{
	struct report report;
	int r;

	r = take_report(dev, want_stats, &report);
	if (r)
		return r == -ENODEV ? 0 : r; /* it has just gone */
	r = fill_message(to, &report.info, report.stats, &place->cursor);
	if (!r && want_stats && place->cursor < STAT_END)
		r = -EMSGSIZE;
	drop_report(&report);
	return r;
}

static int dump(struct sk_buff *skb, struct netlink_callback *cb, bool want_stats)
{
	const struct reply to = {
		.skb = skb,
		.portid = NETLINK_CB(cb->skb).portid,
		.seq = cb->nlh->nlmsg_seq,
		.flags = NLM_F_MULTI,
	};
	struct dump_place *place = dump_place(cb);
	struct ht_dev *dev;
	u64 id;
	int r;

	while ((id = tier_after(place->finished))) {
		if (place->begun != id)
			place->cursor = 0;
		place->begun = id;
		dev = find_tier(id);
		r = dev ? dump_tier(&to, place, dev, want_stats) : 0;
		if (dev)
			ht_dev_put(dev);
		if (r)
			return skb->len ?: r;
		place->finished = id;
	}
	return skb->len;
}

static int dump_devices(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, false);
}

static int dump_stats(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump(skb, cb, true);
}

static int do_set(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *key = info->attrs[HINTIER_A_KEY];
	const struct nlattr *value = info->attrs[HINTIER_A_VALUE];
	struct ht_dev *dev;
	int r;

	if (!key || !value) {
		NL_SET_ERR_MSG(info->extack, "HINTIER_A_KEY or HINTIER_A_VALUE is missing");
		return -EINVAL;
	}
	r = wanted_tier(info, &dev);
	if (r)
		return r;
	r = ht_dev_set(dev, nla_data(key), nla_data(value));
	ht_dev_put(dev);
	switch (r) {
	case -ENOENT:
		NL_SET_ERR_MSG_ATTR(info->extack, key, "no tunable has this name");
		break;
	case -ERANGE:
		NL_SET_ERR_MSG_ATTR(info->extack, value, "value is out of the tunable's range");
		break;
	case -EINVAL:
		NL_SET_ERR_MSG_ATTR(info->extack, value, "value is not what the tunable takes");
		break;
	}
	return r;
}

/* ---- events ---- */

static int fill_event(struct sk_buff *skb, struct ht_dev *dev, enum hintier_event type, u64 seq,
		     const u64 args[4])
{
	void *head = genlmsg_put(skb, 0, 0, &ht_family, 0, HINTIER_CMD_EVENT);
	struct nlattr *nest = head ? nla_nest_start(skb, HINTIER_A_EVENT) : NULL;
	int i;

	if (!nest || nla_put_u32(skb, HINTIER_A_EVENT_TYPE, type) ||
	    nla_put_u64_64bit(skb, HINTIER_A_EVENT_DEV_ID, netlink_id(dev->devt),
			      HINTIER_A_EVENT_PAD) ||
	    nla_put_u64_64bit(skb, HINTIER_A_EVENT_SEQ, seq, HINTIER_A_EVENT_PAD))
		return -EMSGSIZE;
	for (i = 0; i < 4; i++)
		if (nla_put_u64_64bit(skb, HINTIER_A_EVENT_ARG0 + i, args[i], HINTIER_A_EVENT_PAD))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	genlmsg_end(skb, head);
	return 0;
}

/* The number is taken whether or not the event is heard: a gap tells of loss. */
void ht_event(struct ht_dev *dev, enum hintier_event type, u64 arg0, u64 arg1, u64 arg2, u64 arg3)
{
	const u64 args[4] = { arg0, arg1, arg2, arg3 };
	const u64 seq = atomic64_inc_return(&dev->events);
	struct sk_buff *skb;

	if (!genl_has_listeners(&ht_family, &init_net, 0))
		return;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_NOIO);
	if (!skb)
		return;
	if (fill_event(skb, dev, type, seq, args)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_multicast(&ht_family, skb, 0, 0, GFP_NOIO);
}

/* ---- the family ---- */

static const struct genl_small_ops ht_ops[] = {
	{
		.cmd = HINTIER_CMD_GET_DEVICE,
		.doit = do_get,
		.dumpit = dump_devices,
	},
	{
		.cmd = HINTIER_CMD_GET_STATS,
		.doit = do_get,
		.dumpit = dump_stats,
	},
	{
		.cmd = HINTIER_CMD_SET,
		.flags = GENL_ADMIN_PERM,
		.doit = do_set,
	},
};

static const struct genl_multicast_group ht_groups[] = {
	{ .name = HINTIER_GENL_MCGRP },
};

static struct genl_family ht_family __ro_after_init = {
	.name = HINTIER_GENL_NAME,
	.version = HINTIER_GENL_VERSION,
	.maxattr = HINTIER_A_MAX,
	.policy = ht_policy,
	.module = THIS_MODULE,
	.small_ops = ht_ops,
	.n_small_ops = ARRAY_SIZE(ht_ops),
	.mcgrps = ht_groups,
	.n_mcgrps = ARRAY_SIZE(ht_groups),
};

int __init ht_netlink_init(void)
{
	return genl_register_family(&ht_family);
}

void ht_netlink_exit(void)
{
	genl_unregister_family(&ht_family);
}
