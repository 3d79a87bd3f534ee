// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What arrives at the device, for a discipline that measures rates by acknowledgements: it hears each TCP segment. A
 * bridge or a bond takes the packets of its ports before.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <net/pkt_sched.h>

#include "sch_suimon.h"

static bool sui_is_tcp(const struct sk_buff *skb)
{
	const u8 *header = skb_network_header(skb);

	if (skb->pkt_type != PACKET_HOST)
		return false;
	if (skb->protocol == htons(ETH_P_IP))
		return skb_headlen(skb) >= sizeof(struct iphdr) &&
		       ((const struct iphdr *)header)->protocol == IPPROTO_TCP;
	return skb_headlen(skb) >= sizeof(struct ipv6hdr) &&
	       ((const struct ipv6hdr *)header)->nexthdr == IPPROTO_TCP;
}

/*
 * The lock of the calls that packets make. Of a root qdisc it is its own, also while it takes the place of another one;
 * before, nothing else calls its library.
 */
static spinlock_t *sui_lock(struct Qdisc *sch)
{
	return qdisc_lock(sch->parent == TC_H_ROOT ? sch : qdisc_root_bh(sch));
}

static int sui_hear(struct suimon_sched *q, struct sk_buff *skb)
{
	u8 headers[SUIMON_HEADERS] __aligned(4);
	struct suimon_offer packet;
	spinlock_t *lock;

	if (!sui_is_tcp(skb))
		goto out;
	suimon_read(skb, q, headers, &packet);
	/* Packets arrive with softirqs off, as they are sent. */
	lock = sui_lock(q->sch);
	spin_lock(lock);
	if (q->output && !q->faulty && sui_output_hear(q->output, &packet, ktime_get_ns()) == SUIMON_FAULT)
		suimon_fall_back(q->sch);
	spin_unlock(lock);
out:
	consume_skb(skb);
	return NET_RX_SUCCESS;
}

static int sui_hear_ipv4(struct sk_buff *skb, struct net_device *dev, struct packet_type *type,
			 struct net_device *arrived)
{
	return sui_hear(container_of(type, struct suimon_sched, ipv4), skb);
}

static int sui_hear_ipv6(struct sk_buff *skb, struct net_device *dev, struct packet_type *type,
			 struct net_device *arrived)
{
	return sui_hear(container_of(type, struct suimon_sched, ipv6), skb);
}

void suimon_update_looks(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);
	u32 looks = q->output ? sui_output_looks_at(q->output) : 0;
	bool heard = q->looks & SUIMON_ARRIVALS;

	/* First, so that packets which are sent have the number of a flow that those which arrive have too. */
	WRITE_ONCE(q->looks, looks);
	if (!(looks & SUIMON_ARRIVALS) == !heard)
		return;
	if (heard) {
		dev_remove_pack(&q->ipv4);
		dev_remove_pack(&q->ipv6);
		return;
	}
	q->ipv4 = (struct packet_type){
		.type = htons(ETH_P_IP), .dev = qdisc_dev(sch), .func = sui_hear_ipv4,
	};
	q->ipv6 = (struct packet_type){
		.type = htons(ETH_P_IPV6), .dev = qdisc_dev(sch), .func = sui_hear_ipv6,
	};
	dev_add_pack(&q->ipv4);
	dev_add_pack(&q->ipv6);
}

void suimon_stop_hearing(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	if (!(q->looks & SUIMON_ARRIVALS))
		return;
	dev_remove_pack(&q->ipv4);
	dev_remove_pack(&q->ipv6);
	q->looks = 0;
}
