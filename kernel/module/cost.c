// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A test: what a qdisc costs for a packet, in cycles of the processor. Packets go to the qdisc of a device and are taken out
 * again as by the kernel's output path, each at its time on a line of 1 Gbit/s; only the qdisc's own calls are measured.
 *
 *   insmod suimon_cost.ko
 *   echo dummy0 >/sys/module/suimon_cost/parameters/run
 *   cat /sys/module/suimon_cost/parameters/cycles
 *
 * kernel/module/cost.py runs it in a guest, where a program's instructions are those of the processor and time is virtual:
 * it passes when the test says so.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/pkt_sched.h>

#define COST_FRAME 1514
/* FCS, preamble and the gap between frames. */
#define COST_OVERHEAD 24
#define COST_BACKLOG 16
#define COST_FLOWS 8
/* A packet that has not left by then never will. */
#define COST_WAITS_MAX 1000

static ulong packets = 20000;
module_param(packets, ulong, 0644);
MODULE_PARM_DESC(packets, "of a run, at least one");
static ulong cycles, gaps, waits;
module_param(cycles, ulong, 0444);
MODULE_PARM_DESC(cycles, "of the latest run, in the calls of the qdisc");
module_param(gaps, ulong, 0444);
MODULE_PARM_DESC(gaps, "gap frames of the latest run");
module_param(waits, ulong, 0444);
MODULE_PARM_DESC(waits, "calls that returned no frame");

static u64 cost_clock(void)
{
	u32 low, high;

	asm volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (u64)high << 32 | low;
}

/* The cycles between two readings of the clock. */
static u64 cost_of_clock = U64_MAX;

static void cost_count(u64 start)
{
	cycles += cost_clock() - start - cost_of_clock;
}

static struct sk_buff *cost_packet(struct net_device *dev, u16 flow)
{
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + COST_FRAME, GFP_KERNEL);
	struct iphdr *ip;
	struct udphdr *udp;

	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD);
	memset(skb_put(skb, COST_FRAME), 0, COST_FRAME);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	skb_set_transport_header(skb, ETH_HLEN + sizeof(*ip));
	eth_hdr(skb)->h_proto = htons(ETH_P_IP);
	ip = ip_hdr(skb);
	ip->version = IPVERSION;
	ip->ihl = sizeof(*ip) / 4;
	ip->ttl = IPDEFTTL;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = htons(COST_FRAME - ETH_HLEN);
	ip->saddr = htonl(0x0a000001);
	ip->daddr = htonl(0x0a000002);
	ip_send_check(ip);
	udp = udp_hdr(skb);
	udp->source = htons(1024 + flow);
	udp->dest = htons(9);
	udp->len = htons(COST_FRAME - ETH_HLEN - sizeof(*ip));
	skb->protocol = htons(ETH_P_IP);
	skb->dev = dev;
	return skb;
}

static void cost_line(unsigned int length)
{
	ndelay((length + COST_OVERHEAD) * 8);
}

static int cost_enqueue(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sk_buff *to_free = NULL;
	u64 start;
	int answer;

	qdisc_skb_cb(skb)->pkt_len = skb->len;
	start = cost_clock();
	answer = sch->enqueue(skb, sch, &to_free);
	cost_count(start);
	kfree_skb_list(to_free);
	return answer == NET_XMIT_SUCCESS && !to_free ? 0 : -ENOBUFS;
}

/* The next packet; null if there is none. */
static struct sk_buff *cost_dequeue(struct Qdisc *sch)
{
	int waited;

	for (waited = 0; waited < COST_WAITS_MAX; waited++) {
		u64 start = cost_clock();
		struct sk_buff *skb = sch->dequeue(sch);

		cost_count(start);
		if (!skb) {
			waits++;
			cost_line(COST_FRAME);
			continue;
		}
		cost_line(skb->len);
		if (skb->protocol == htons(ETH_P_IP))
			return skb;
		gaps++;
		kfree_skb(skb);
	}
	return NULL;
}

/* Softirqs stay off, so that a qdisc's timer, which fires meanwhile, takes no packet. */
static int cost_measure(struct net_device *dev)
{
	struct Qdisc *sch = rtnl_dereference(netdev_get_tx_queue(dev, 0)->qdisc);
	struct sk_buff_head fresh;
	struct sk_buff *skb;
	int err = 0, number;
	ulong left;

	__skb_queue_head_init(&fresh);
	for (number = 0; number < COST_BACKLOG; number++) {
		skb = cost_packet(dev, number % COST_FLOWS);
		if (skb)
			__skb_queue_tail(&fresh, skb);
	}
	spin_lock_bh(qdisc_lock(sch));
	while (!err && (skb = __skb_dequeue(&fresh)))
		err = cost_enqueue(sch, skb);
	cycles = gaps = waits = 0;
	for (left = packets; left && !err; left--) {
		skb = cost_dequeue(sch);
		err = skb ? cost_enqueue(sch, skb) : -ENODATA;
	}
	spin_unlock_bh(qdisc_lock(sch));
	__skb_queue_purge(&fresh);
	return err;
}

static int cost_run(const char *name, const struct kernel_param *parameter)
{
	char trimmed[IFNAMSIZ];
	struct net_device *dev;
	int err;

	strscpy(trimmed, name, sizeof(trimmed));
	rtnl_lock();
	dev = __dev_get_by_name(&init_net, strim(trimmed));
	err = dev ? cost_measure(dev) : -ENODEV;
	rtnl_unlock();
	return err;
}

static const struct kernel_param_ops cost_run_ops = { .set = cost_run };
module_param_cb(run, &cost_run_ops, NULL, 0200);
MODULE_PARM_DESC(run, "a device: measures its qdisc");

static int __init cost_init(void)
{
	int time;

	for (time = 0; time < 1000; time++) {
		u64 start = cost_clock();

		cost_of_clock = min(cost_of_clock, cost_clock() - start);
	}
	return 0;
}

static void __exit cost_exit(void)
{
}

module_init(cost_init);
module_exit(cost_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A test of sch_suimon: the cost of a qdisc beside that of the kernel's own");
