// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * sch_suimon: the queueing disciplines of Suimon as a qdisc. The library decides; it knows packets by places. Here are
 * the packets themselves, the timer and the gap frames.
 *
 * Packets are also in one list, in the order of arrival. If the discipline breaks, they leave in that order.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/gso.h>
#include <net/inet_ecn.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>

#include "sch_suimon.h"

#define SUIMON_PLACES 4096
#define SUIMON_PLACES_MAX (1 << 20)
/* Ethernet's preamble and gap between frames. */
#define SUIMON_OVERHEAD 20
#define SUIMON_OVERHEAD_MAX 32767

static struct Qdisc_ops sui_qdisc_ops;

static const struct nla_policy suimon_policy[TCA_SUIMON_MAX + 1] = {
	[TCA_SUIMON_TABLE] = { .type = NLA_NUL_STRING, .len = SUIMON_TABLE_MAX },
	[TCA_SUIMON_RATE] = { .type = NLA_U64 },
	[TCA_SUIMON_PLACES] = { .type = NLA_U32 },
	[TCA_SUIMON_GAP] = NLA_POLICY_MAX(NLA_U32, SUIMON_GAP_LOCAL),
	[TCA_SUIMON_OVERHEAD] = NLA_POLICY_MAX(NLA_U32, SUIMON_OVERHEAD_MAX),
};

void suimon_fall_back(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	if (!q->faulty)
		net_err_ratelimited("suimon: %s: the discipline broke, packets leave in the order of arrival\n",
				    qdisc_dev(sch)->name);
	q->faulty = true;
}

static void sui_add(struct Qdisc *sch, struct sk_buff *skb)
{
	struct suimon_sched *q = qdisc_priv(sch);

	__skb_queue_tail(&q->arrived, skb);
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
}

static void sui_remove(struct Qdisc *sch, struct sk_buff *skb)
{
	struct suimon_sched *q = qdisc_priv(sch);

	__skb_unlink(skb, &q->arrived);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
}

/* The packet of a place, which is free from now on; null if the library is wrong about it. */
static struct sk_buff *sui_take(struct Qdisc *sch, u64 place)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = place < q->count ? q->places[place] : NULL;

	if (WARN_ON_ONCE(!skb)) {
		suimon_fall_back(sch);
		return NULL;
	}
	q->places[place] = NULL;
	sui_remove(sch, skb);
	return skb;
}

/* Drops what the library dropped since the last call. */
static void sui_collect_dropped(struct Qdisc *sch, struct sk_buff **to_free)
{
	struct suimon_sched *q = qdisc_priv(sch);
	u32 packets = 0, bytes = 0, place, reason;

	while (sui_output_has_dropped(q->output)) {
		struct sk_buff *skb;

		reason = sui_output_take_dropped(q->output, &place);
		skb = reason == SUIMON_FAULT ? NULL : sui_take(sch, place);

		if (!skb) {
			suimon_fall_back(sch);
			break;
		}
		packets++;
		bytes += qdisc_pkt_len(skb);
		if (to_free) {
			qdisc_drop(skb, sch, to_free);
		} else {
			qdisc_qstats_drop(sch);
			kfree_skb(skb);
		}
	}
	if (packets)
		qdisc_tree_reduce_backlog(sch, packets, bytes);
}

/* After a fault: behind all others, while there is room. */
static int sui_put_last(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct suimon_sched *q = qdisc_priv(sch);

	suimon_fall_back(sch);
	if (q->arrived.qlen >= q->count)
		return qdisc_drop(skb, sch, to_free);
	sui_add(sch, skb);
	return NET_XMIT_SUCCESS;
}

static int sui_put(struct sk_buff *skb, struct Qdisc *sch, u16 class, struct sk_buff **to_free)
{
	struct suimon_sched *q = qdisc_priv(sch);
	u8 headers[SUIMON_HEADERS] __aligned(4);
	struct suimon_offer offer;
	u32 place, answer = SUIMON_FAULT;

	if (!q->faulty) {
		suimon_read(skb, q, headers, &offer);
		offer.class = class;
		answer = sui_output_enqueue(q->output, &offer, ktime_get_ns(), &place);
	}
	switch (answer) {
	case SUIMON_OK:
		if (WARN_ON_ONCE(place >= q->count || q->places[place]))
			return sui_put_last(skb, sch, to_free);
		q->places[place] = skb;
		sui_add(sch, skb);
		sui_collect_dropped(sch, to_free);
		return NET_XMIT_SUCCESS;
	case SUIMON_FAULT:
		return sui_put_last(skb, sch, to_free);
	default:
		qdisc_drop(skb, sch, to_free);
		sui_collect_dropped(sch, to_free);
		return NET_XMIT_DROP;
	}
}

/* Splits what the stack left for the card to split: a discipline needs the frames. As sch_tbf does. */
static int sui_put_segments(struct sk_buff *skb, struct Qdisc *sch, u16 class, struct sk_buff **to_free)
{
	netdev_features_t features = netif_skb_features(skb) & ~NETIF_F_GSO_MASK;
	unsigned int before = qdisc_pkt_len(skb), bytes = 0;
	struct sk_buff *segment, *next;
	int taken = 0;

	segment = skb_gso_segment(skb, features);
	if (IS_ERR_OR_NULL(segment))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segment, segment, next) {
		unsigned int length = segment->len;

		skb_mark_not_on_list(segment);
		qdisc_skb_cb(segment)->pkt_len = length;
		if (sui_put(segment, sch, class, to_free) == NET_XMIT_SUCCESS) {
			taken++;
			bytes += length;
		}
	}
	if (taken)
		qdisc_tree_reduce_backlog(sch, 1 - taken, before - bytes);
	consume_skb(skb);
	return taken ? NET_XMIT_SUCCESS : NET_XMIT_DROP;
}

static int sui_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	u16 class;
	int answer;

	if (!suimon_classify(skb, sch, &class, &answer)) {
		if (answer & __NET_XMIT_BYPASS)
			qdisc_qstats_drop(sch);
		__qdisc_drop(skb, to_free);
		return answer;
	}
	if (skb_is_gso(skb))
		return sui_put_segments(skb, sch, class, to_free);
	return sui_put(skb, sch, class, to_free);
}

/* A gap frame. Without memory for it the gap is lost, and the next frame follows at once. */
static struct sk_buff *sui_dequeue_gap(struct Qdisc *sch, u32 frame, u64 now)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = NULL;

	if (frame >= SUIMON_FRAME_MIN && frame - SUIMON_FCS <= q->gap->len)
		skb = suimon_gap(q->gap, frame);
	if (!skb) {
		q->gaps_lost++;
		qdisc_watchdog_schedule_ns(&q->watchdog, now);
		return NULL;
	}
	/* Qdiscs above take from their counts what leaves, and have not counted this one. */
	qdisc_tree_reduce_backlog(sch, -1, -(int)qdisc_pkt_len(skb));
	return skb;
}

static struct sk_buff *sui_dequeue_first(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = skb_peek(&q->arrived);

	if (skb) {
		sui_remove(sch, skb);
		qdisc_bstats_update(sch, skb);
	}
	return skb;
}

static struct sk_buff *sui_dequeue(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct suimon_next next = {};
	u64 now = ktime_get_ns();
	struct sk_buff *skb;

	if (!q->faulty && sui_output_dequeue(q->output, now, &next) == SUIMON_FAULT)
		suimon_fall_back(sch);
	if (!q->faulty)
		sui_collect_dropped(sch, NULL);
	if (q->faulty)
		return sui_dequeue_first(sch);
	switch (next.kind) {
	case SUIMON_PACKET:
		skb = sui_take(sch, next.value);
		if (!skb)
			return sui_dequeue_first(sch);
		if (INET_ECN_is_ce(next.tos))
			INET_ECN_set_ce(skb);
		qdisc_bstats_update(sch, skb);
		return skb;
	case SUIMON_GAP:
		return sui_dequeue_gap(sch, next.value, now);
	case SUIMON_NOT_BEFORE:
		qdisc_watchdog_schedule_ns(&q->watchdog, next.value);
		return NULL;
	default:
		return NULL;
	}
}

static void sui_reset(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);
	u32 place;

	qdisc_watchdog_cancel(&q->watchdog);
	if (!q->output)
		return;
	__skb_queue_purge(&q->arrived);
	memset(q->places, 0, q->count * sizeof(*q->places));
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
	if (q->faulty)
		return;
	if (sui_output_flush(q->output, ktime_get_ns()) == SUIMON_FAULT)
		suimon_fall_back(sch);
	while (!q->faulty) {
		u32 reason = sui_output_take_dropped(q->output, &place);

		if (reason == SUIMON_OK)
			break;
		if (reason == SUIMON_FAULT)
			suimon_fall_back(sch);
	}
}

/* Whether the table is one of the discipline that the qdisc is named after; a qdisc of the name suimon has any. */
static bool sui_is_named_after(const struct Qdisc *sch, const char *table)
{
	size_t length = strlen(sch->ops->id);

	return !strcmp(sch->ops->id, sui_qdisc_ops.id) ||
	       (!strncmp(table, sch->ops->id, length) && (!table[length] || table[length] == '\n'));
}

int suimon_parse(struct nlattr *opt, struct nlattr **tb, struct netlink_ext_ack *extack)
{
	int err;

	if (!opt) {
		NL_SET_ERR_MSG_MOD(extack, "there is no table of settings");
		return -EINVAL;
	}
	/* tc sends TCA_OPTIONS without NLA_F_NESTED. */
	err = nla_parse_nested_deprecated(tb, TCA_SUIMON_MAX, opt, suimon_policy, extack);
	if (err)
		return err;
	if (!tb[TCA_SUIMON_TABLE]) {
		NL_SET_ERR_MSG_MOD(extack, "there is no table of settings");
		return -EINVAL;
	}
	return 0;
}

static int sui_parse(struct Qdisc *sch, struct nlattr *opt, struct nlattr **tb,
		     struct netlink_ext_ack *extack)
{
	int err = suimon_parse(opt, tb, extack);

	if (err)
		return err;
	if (!sui_is_named_after(sch, nla_data(tb[TCA_SUIMON_TABLE]))) {
		NL_SET_ERR_MSG_MOD(extack, "the table is of another discipline: name the qdisc suimon");
		return -EINVAL;
	}
	return 0;
}

/*
 * A reason outlives the call: netlink copies it later, without RTNL. The kernel's own buffer has room for 80 bytes, and
 * ours are used in turn.
 */
static char sui_reasons[8][SUIMON_REASON];

static char *sui_next_reason(void)
{
	static u32 used;

	ASSERT_RTNL();
	return sui_reasons[used++ % ARRAY_SIZE(sui_reasons)];
}

static int sui_error(u32 answer, const char *message, struct netlink_ext_ack *extack)
{
	char *reason;

	switch (answer) {
	case SUIMON_OK:
		return 0;
	case SUIMON_REFUSED:
		reason = sui_next_reason();
		scnprintf(reason, SUIMON_REASON, KBUILD_MODNAME ": %s", message);
		if (extack)
			extack->_msg = reason;
		return -EINVAL;
	default:
		return -ENOMEM;
	}
}

/* Memory and the output, for the table. */
static int sui_create(struct Qdisc *sch, const char *table, struct netlink_ext_ack *extack)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);
	char message[SUIMON_REASON] = "";
	LIST_HEAD(spare);
	u32 answer;

	q->device = (struct suimon_device){
		.rate = q->rate,
		.seed = get_random_u64(),
		.overhead = q->overhead,
		.mtu = dev->mtu,
		.places = q->count,
	};
	q->places = kvcalloc(q->count, sizeof(*q->places), GFP_KERNEL);
	q->gap = suimon_longest_gap_of(dev, q->gap_frame);
	q->table = kvmemdup(table, strlen(table) + 1, GFP_KERNEL);
	if (!q->places || !q->gap || !q->table || suimon_alloc_classes(table, &spare))
		return -ENOMEM;
	answer = sui_output_create(&q->device, table, ktime_get_ns(), &q->output, message,
				   sizeof(message));
	if (answer == SUIMON_OK) {
		suimon_number_classes(q, &spare);
		qdisc_class_hash_grow(sch, &q->classes);
		suimon_start_renewal(sch);
		suimon_start_following(sch);
		suimon_update_looks(sch);
	}
	suimon_free_classes(&spare);
	return sui_error(answer, message, extack);
}

static int sui_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SUIMON_MAX + 1];
	int err;

	/* The kernel calls sui_destroy after an error. */
	qdisc_watchdog_init(&q->watchdog, sch);
	__skb_queue_head_init(&q->arrived);
	INIT_LIST_HEAD(&q->class_list);
	INIT_LIST_HEAD(&q->follower);
	suimon_init_renewal(sch);
	get_random_bytes(&q->key, sizeof(q->key));
	err = tcf_block_get(&q->block, &q->filters, sch, extack);
	if (!err)
		err = qdisc_class_hash_init(&q->classes);
	if (!err)
		err = sui_parse(sch, opt, tb, extack);
	if (err)
		return err;
	if (tb[TCA_SUIMON_GAP])
		q->gap_frame = nla_get_u32(tb[TCA_SUIMON_GAP]);
	q->overhead = tb[TCA_SUIMON_OVERHEAD] ? nla_get_u32(tb[TCA_SUIMON_OVERHEAD]) :
						SUIMON_OVERHEAD;
	q->count = tb[TCA_SUIMON_PLACES] ? nla_get_u32(tb[TCA_SUIMON_PLACES]) : SUIMON_PLACES;
	if (!q->count || q->count > SUIMON_PLACES_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "places must be 1 to 1048576");
		return -ERANGE;
	}
	q->line_given = tb[TCA_SUIMON_RATE];
	q->rate = q->line_given ? nla_get_u64(tb[TCA_SUIMON_RATE]) : suimon_line_rate(qdisc_dev(sch));
	if (!q->rate) {
		NL_SET_ERR_MSG_MOD(extack, "the device has no line rate: give it");
		return -EINVAL;
	}
	return sui_create(sch, nla_data(tb[TCA_SUIMON_TABLE]), extack);
}

/* Whether something is given that an output has for life, and not as this one has it. */
static bool sui_device_differs(const struct suimon_sched *q, struct nlattr **tb)
{
	return (tb[TCA_SUIMON_PLACES] && nla_get_u32(tb[TCA_SUIMON_PLACES]) != q->count) ||
	       (tb[TCA_SUIMON_RATE] && nla_get_u64(tb[TCA_SUIMON_RATE]) != q->rate) ||
	       (tb[TCA_SUIMON_OVERHEAD] && nla_get_u32(tb[TCA_SUIMON_OVERHEAD]) != q->overhead) ||
	       (tb[TCA_SUIMON_GAP] && nla_get_u32(tb[TCA_SUIMON_GAP]) != q->gap_frame);
}

int suimon_set_table(struct Qdisc *sch, char *table, struct netlink_ext_ack *extack)
{
	struct suimon_sched *q = qdisc_priv(sch);
	char message[SUIMON_REASON] = "";
	LIST_HEAD(spare);
	LIST_HEAD(memory);
	u32 answer;

	if (!table || suimon_alloc_classes(table, &spare)) {
		kvfree(table);
		return -ENOMEM;
	}
	answer = suimon_set_aside(&q->device, table, &memory);
	if (answer == SUIMON_FAULT)
		goto free;
	sch_tree_lock(sch);
	answer = sui_output_change(q->output, table, ktime_get_ns(), &memory, message, sizeof(message));
	if (answer == SUIMON_FAULT)
		suimon_fall_back(sch);
	if (answer == SUIMON_OK) {
		swap(q->table, table);
		suimon_number_classes(q, &spare);
	}
	if (!q->faulty)
		sui_collect_dropped(sch, NULL);
	sch_tree_unlock(sch);
	if (answer == SUIMON_OK) {
		qdisc_class_hash_grow(sch, &q->classes);
		suimon_update_looks(sch);
	}
free:
	suimon_free_all(&memory);
	suimon_free_classes(&spare);
	kvfree(table);
	return sui_error(answer, message, extack);
}

static int sui_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SUIMON_MAX + 1];
	const char *given;
	int err;

	err = sui_parse(sch, opt, tb, extack);
	if (err)
		return err;
	if (sui_device_differs(q, tb)) {
		NL_SET_ERR_MSG_MOD(extack, "places, line, overhead and gap cannot change: delete the qdisc and add it");
		return -EINVAL;
	}
	given = nla_data(tb[TCA_SUIMON_TABLE]);
	err = suimon_set_table(sch, kvmemdup(given, strlen(given) + 1, GFP_KERNEL), extack);
	if (!err && tb[TCA_SUIMON_RATE])
		q->line_given = true;
	return err;
}

static void sui_destroy(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	suimon_stop_following(sch);
	suimon_stop_hearing(sch);
	suimon_stop_renewal(sch);
	/* Filters have classes until they go. */
	tcf_block_put(q->block);
	suimon_free_classes(&q->class_list);
	qdisc_class_hash_destroy(&q->classes);
	qdisc_watchdog_cancel(&q->watchdog);
	__skb_queue_purge(&q->arrived);
	sui_output_destroy(q->output);
	kfree_skb(q->gap);
	kvfree(q->places);
	kvfree(q->table);
}

static int sui_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct nlattr *nest = nla_nest_start_noflag(skb, TCA_OPTIONS);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_string(skb, TCA_SUIMON_TABLE, q->table) ||
	    nla_put_u64_64bit(skb, TCA_SUIMON_RATE, q->rate, TCA_SUIMON_PAD) ||
	    nla_put_u32(skb, TCA_SUIMON_PLACES, q->count) ||
	    nla_put_u32(skb, TCA_SUIMON_OVERHEAD, q->overhead) ||
	    nla_put_u32(skb, TCA_SUIMON_GAP, q->gap_frame)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int sui_dump_stats(struct Qdisc *sch, struct gnet_dump *d)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct tc_suimon_xstats xstats = {};

	sch_tree_lock(sch);
	suimon_read_counters(sch, &xstats.counters);
	xstats.gaps_lost = q->gaps_lost;
	xstats.faulty = q->faulty;
	sch_tree_unlock(sch);
	return gnet_stats_copy_app(d, &xstats, sizeof(xstats));
}

static struct Qdisc_ops sui_qdisc_ops __read_mostly = {
	.id = "suimon", /* any discipline */
	.cl_ops = &suimon_class_ops,
	.priv_size = sizeof(struct suimon_sched),
	.enqueue = sui_enqueue,
	.dequeue = sui_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = sui_init,
	.reset = sui_reset,
	.destroy = sui_destroy,
	.change = sui_change,
	.dump = sui_dump,
	.dump_stats = sui_dump_stats,
	.owner = THIS_MODULE,
};
MODULE_ALIAS_NET_SCH("suimon");

/* Precise pacing under its own name, for tc. */
static struct Qdisc_ops sui_psp_ops __read_mostly;
MODULE_ALIAS_NET_SCH("psp");

static int __init sui_module_init(void)
{
	int err = suimon_create_pools();

	if (err)
		return err;
	err = suimon_register_follower();
	if (err)
		goto destroy_pools;
	err = register_qdisc(&sui_qdisc_ops);
	if (err)
		goto unregister_follower;
	sui_psp_ops = sui_qdisc_ops;
	sui_psp_ops.next = NULL;
	strscpy(sui_psp_ops.id, "psp", sizeof(sui_psp_ops.id));
	err = register_qdisc(&sui_psp_ops);
	if (err)
		goto unregister;
	return 0;

unregister:
	unregister_qdisc(&sui_qdisc_ops);
unregister_follower:
	suimon_unregister_follower();
destroy_pools:
	suimon_destroy_pools();
	return err;
}

static void __exit sui_module_exit(void)
{
	unregister_qdisc(&sui_psp_ops);
	unregister_qdisc(&sui_qdisc_ops);
	suimon_unregister_follower();
	suimon_destroy_pools();
}

module_init(sui_module_init);
module_exit(sui_module_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Queueing disciplines of Suimon: precise pacing with gap frames, and others");
