// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The device of a qdisc changes while it is in use: its MTU, and its line's rate if none was given. The discipline follows,
 * and keeps what is queued. Settings that make no sense there keep the qdisc as it was.
 */
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/pkt_sched.h>

#include "sch_suimon.h"

/* All qdiscs of the module; RTNL is held. */
static LIST_HEAD(sui_followers);

u64 suimon_line_rate(struct net_device *dev)
{
	struct ethtool_link_ksettings settings;

	if (__ethtool_get_link_ksettings(dev, &settings))
		return 0;
	if (!settings.base.speed || settings.base.speed == (u32)SPEED_UNKNOWN)
		return 0;
	return settings.base.speed * 1000000ULL;
}

struct sk_buff *suimon_longest_gap_of(struct net_device *dev, enum suimon_gap_frame kind)
{
	u32 frame = clamp_t(u32, dev->mtu + ETH_HLEN + SUIMON_FCS, SUIMON_FRAME_MIN, SUIMON_GAP_MAX);

	return suimon_longest_gap(dev, kind, frame);
}

static void sui_follow(struct Qdisc *sch, struct suimon_device *device)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct net_device *dev = qdisc_dev(sch);
	char message[SUIMON_REASON] = "there is no memory";
	struct sk_buff *gap = suimon_longest_gap_of(dev, q->gap_frame);
	u32 answer = SUIMON_REFUSED;
	LIST_HEAD(memory);

	if (gap && suimon_set_aside(device, q->table, &memory) != SUIMON_FAULT) {
		sch_tree_lock(sch);
		answer = sui_output_change_device(q->output, device, q->table, ktime_get_ns(), &memory, message,
						  sizeof(message));
		if (answer == SUIMON_OK) {
			swap(q->gap, gap);
			q->device = *device;
			q->rate = device->rate;
		} else if (answer == SUIMON_FAULT) {
			suimon_fall_back(sch);
		}
		sch_tree_unlock(sch);
	}
	suimon_free_all(&memory);
	kfree_skb(gap);
	if (answer == SUIMON_REFUSED)
		netdev_warn(dev, "sch_suimon keeps a line of %llu bit/s and an MTU of %u, not %llu and %u: %s\n", q->rate,
			    q->device.mtu, device->rate, device->mtu, message);
	else if (answer == SUIMON_OK)
		/* Nothing may wait for a time that the old rate gave. */
		qdisc_watchdog_schedule_ns(&q->watchdog, ktime_get_ns());
}

static int sui_device_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct suimon_sched *q;

	if (event != NETDEV_CHANGE && event != NETDEV_UP && event != NETDEV_CHANGEMTU)
		return NOTIFY_DONE;
	list_for_each_entry(q, &sui_followers, follower) {
		struct suimon_device device = q->device;

		if (qdisc_dev(q->sch) != dev || q->faulty)
			continue;
		device.mtu = dev->mtu;
		/* A link that is down has no rate: the last one counts. */
		if (!q->line_given)
			device.rate = suimon_line_rate(dev) ?: q->rate;
		if (device.mtu != q->device.mtu || device.rate != q->device.rate)
			sui_follow(q->sch, &device);
	}
	return NOTIFY_DONE;
}

static struct notifier_block sui_notifier = { .notifier_call = sui_device_event };

int suimon_register_follower(void)
{
	return register_netdevice_notifier(&sui_notifier);
}

void suimon_unregister_follower(void)
{
	unregister_netdevice_notifier(&sui_notifier);
}

void suimon_start_following(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	ASSERT_RTNL();
	list_add_tail(&q->follower, &sui_followers);
}

void suimon_stop_following(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	ASSERT_RTNL();
	list_del_init(&q->follower);
}
