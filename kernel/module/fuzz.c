// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A test: hands drawn frames to the qdisc of a device of its own kind. A thread sends them while a program of the guest,
 * kernel/module/fuzz.py, adds, changes, renames and removes devices and qdiscs.
 *
 *   insmod suimon_fuzz.ko seed=1
 *   ip link add fuzz0 type suifuzz
 *   echo 1000000 >/sys/module/suimon_fuzz/parameters/frames
 *
 * /sys/module/suimon_fuzz/parameters has what is left to send, what was sent and received, and how many of each kind. The
 * device reads every byte that it gets. Its ring keeps frames for a while, and its queue stops at times, as a card's.
 */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <net/dcbnl.h>
#include <net/pkt_sched.h>

#include "fuzz.h"

#define FUZZ_BATCH 32
#define FUZZ_PAGES 16
/* Packets that somebody else has as well, and those in a device's ring. */
#define FUZZ_HELD 64

static uint speed = 1000;
module_param(speed, uint, 0644);
MODULE_PARM_DESC(speed, "Mbit/s of the devices' lines");
static uint seed = 1;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "of everything that is drawn");
static ulong frames, sent, received, bytes_received;
module_param(frames, ulong, 0644);
MODULE_PARM_DESC(frames, "still to be sent; set it to send some");
module_param(sent, ulong, 0444);
module_param(received, ulong, 0444);
module_param(bytes_received, ulong, 0444);
static uint checksum;
module_param(checksum, uint, 0444);
MODULE_PARM_DESC(checksum, "of every byte received, so that all of them are read");
static bool fail;
module_param(fail, bool, 0644);
MODULE_PARM_DESC(fail, "the thread's allocations fail as /sys/kernel/debug/failslab says");

unsigned long fuzz_kinds[FUZZ_KIND_COUNT];
#define FUZZ_NAME(name) #name,
static const char *const fuzz_names[] = { FUZZ_KINDS(FUZZ_NAME) };

static int fuzz_get_kinds(char *buffer, const struct kernel_param *parameter)
{
	int at = 0, kind;

	for (kind = 0; kind < FUZZ_KIND_COUNT; kind++)
		at += sysfs_emit_at(buffer, at, "%s %lu\n", fuzz_names[kind], fuzz_kinds[kind]);
	return at;
}

static const struct kernel_param_ops fuzz_kinds_ops = { .get = fuzz_get_kinds };
module_param_cb(kinds, &fuzz_kinds_ops, NULL, 0444);

/* Packets that exist; 0 at the end. */
static atomic_t fuzz_alive = ATOMIC_INIT(0);

static int fuzz_get_alive(char *buffer, const struct kernel_param *parameter)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&fuzz_alive));
}

static const struct kernel_param_ops fuzz_alive_ops = { .get = fuzz_get_alive };
module_param_cb(alive, &fuzz_alive_ops, NULL, 0444);

static void fuzz_destruct(struct sk_buff *skb)
{
	atomic_dec(&fuzz_alive);
}

/* The device. */

struct fuzz_card {
	struct rnd_state random;
	struct sk_buff_head ring;
	struct hrtimer wake;
	struct net_device *dev;
	u8 pfc_priorities;
};

static enum hrtimer_restart fuzz_wake(struct hrtimer *timer)
{
	struct fuzz_card *card = container_of(timer, struct fuzz_card, wake);

	netif_wake_queue(card->dev);
	return HRTIMER_NORESTART;
}

static void fuzz_stop_for_a_while(struct fuzz_card *card)
{
	netif_stop_queue(card->dev);
	hrtimer_start(&card->wake, ns_to_ktime(1000 + fuzz_below(&card->random, 200000)), HRTIMER_MODE_REL_SOFT);
}

static netdev_tx_t fuzz_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct fuzz_card *card = netdev_priv(dev);

	if (fuzz_once_in(&card->random, 256)) {
		fuzz_stop_for_a_while(card);
		return NETDEV_TX_BUSY;
	}
	received++;
	checksum = (__force u32)skb_checksum(skb, 0, skb->len, (__force __wsum)checksum);
	bytes_received += skb->len;
	skb_orphan(skb);
	__skb_queue_tail(&card->ring, skb);
	if (card->ring.qlen > FUZZ_HELD)
		consume_skb(__skb_dequeue(&card->ring));
	if (fuzz_once_in(&card->random, 64))
		fuzz_stop_for_a_while(card);
	return NETDEV_TX_OK;
}

static int fuzz_open(struct net_device *dev)
{
	netif_start_queue(dev);
	return 0;
}

static int fuzz_stop(struct net_device *dev)
{
	struct fuzz_card *card = netdev_priv(dev);

	hrtimer_cancel(&card->wake);
	netif_stop_queue(dev);
	__skb_queue_purge(&card->ring);
	return 0;
}

static int fuzz_change_mtu(struct net_device *dev, int mtu)
{
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

static const struct net_device_ops fuzz_ops = {
	.ndo_open = fuzz_open,
	.ndo_stop = fuzz_stop,
	.ndo_start_xmit = fuzz_xmit,
	.ndo_change_mtu = fuzz_change_mtu,
	.ndo_set_mac_address = eth_mac_addr,
};

static int fuzz_link_settings(struct net_device *dev, struct ethtool_link_ksettings *settings)
{
	settings->base.speed = READ_ONCE(speed);
	settings->base.duplex = DUPLEX_FULL;
	return 0;
}

static const struct ethtool_ops fuzz_ethtool_ops = { .get_link_ksettings = fuzz_link_settings };

#ifdef CONFIG_DCB
/* Priority-based flow control as a setting, for `suimon host`. A card with two such traffic classes refuses a third. */
#define FUZZ_PFC_CLASSES 2

static int fuzz_get_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct fuzz_card *card = netdev_priv(dev);

	pfc->pfc_cap = FUZZ_PFC_CLASSES;
	pfc->pfc_en = card->pfc_priorities;
	pfc->requests[0] = received;
	return 0;
}

static int fuzz_set_pfc(struct net_device *dev, struct ieee_pfc *pfc)
{
	struct fuzz_card *card = netdev_priv(dev);

	if (hweight8(pfc->pfc_en) > FUZZ_PFC_CLASSES)
		return -EINVAL;
	card->pfc_priorities = pfc->pfc_en;
	return 0;
}

static const struct dcbnl_rtnl_ops fuzz_dcbnl_ops = { .ieee_getpfc = fuzz_get_pfc, .ieee_setpfc = fuzz_set_pfc };
#endif

/* One queue with a lock, as most cards have it. Every second device leaves nothing to the card. */
static void fuzz_setup(struct net_device *dev)
{
	static u32 created;
	struct fuzz_card *card = netdev_priv(dev);

	ether_setup(dev);
	dev->netdev_ops = &fuzz_ops;
	dev->ethtool_ops = &fuzz_ethtool_ops;
#ifdef CONFIG_DCB
	dev->dcbnl_ops = &fuzz_dcbnl_ops;
#endif
	dev->needs_free_netdev = true;
	dev->flags |= IFF_NOARP;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA | NETIF_F_GSO_SOFTWARE |
			   NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_STAG_TX;
	if (created & 1)
		dev->features |= dev->hw_features;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = 65535;
	eth_hw_addr_random(dev);
	card->dev = dev;
	prandom_seed_state(&card->random, seed + created++);
	__skb_queue_head_init(&card->ring);
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(&card->wake, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	card->wake.function = fuzz_wake;
#else
	hrtimer_setup(&card->wake, fuzz_wake, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
#endif
}

static struct rtnl_link_ops fuzz_link_ops __read_mostly = {
	.kind = "suifuzz",
	.priv_size = sizeof(struct fuzz_card),
	.setup = fuzz_setup,
};

/* The sender. */

struct fuzz_sender {
	struct rnd_state random;
	struct fuzz_text text;
	struct page *pages[FUZZ_PAGES];
	struct sk_buff *held[FUZZ_HELD];
};

static struct fuzz_sender *fuzz_sender;
static struct task_struct *fuzz_task;

/* The first device of the kind, held; null without. */
static struct net_device *fuzz_device(void)
{
	struct net_device *dev, *found = NULL;

	rcu_read_lock();
	for_each_netdev_rcu(&init_net, dev) {
		if (dev->netdev_ops == &fuzz_ops && dev->reg_state == NETREG_REGISTERED) {
			found = dev;
			dev_hold(dev);
			break;
		}
	}
	rcu_read_unlock();
	return found;
}

/* Somebody else has the packet too, or its bytes, and lets go of it later. */
static void fuzz_hold(struct fuzz_sender *sender, struct sk_buff *skb)
{
	struct sk_buff **place = &sender->held[fuzz_below(&sender->random, FUZZ_HELD)];

	if (!fuzz_once_in(&sender->random, 8))
		return;
	kfree_skb(*place);
	/* The stack may change a shared packet's header only if it needs no more memory for it. */
	if (!skb_is_nonlinear(skb) && !skb_is_gso(skb) && !skb_vlan_tag_present(skb) && fuzz_once_in(&sender->random, 2)) {
		*place = skb_get(skb);
		fuzz_count(FUZZ_shared);
	} else {
		*place = skb_clone(skb, GFP_KERNEL | __GFP_NOWARN);
		fuzz_count(FUZZ_cloned);
	}
}

/* What the stack knows of a packet beside its bytes. */
static void fuzz_draw_fields(struct rnd_state *random, struct sk_buff *skb)
{
	skb->mark = prandom_u32_state(random);
	skb->priority = fuzz_once_in(random, 2) ? fuzz_below(random, 16) : prandom_u32_state(random);
	if (fuzz_once_in(random, 4))
		__skb_set_hash(skb, prandom_u32_state(random), fuzz_once_in(random, 2), fuzz_once_in(random, 2));
	if (fuzz_once_in(random, 4)) {
		__vlan_hwaccel_put_tag(skb, htons(fuzz_once_in(random, 2) ? ETH_P_8021Q : ETH_P_8021AD),
				       prandom_u32_state(random));
		fuzz_count(FUZZ_tag_beside_frame);
	}
}

/*
 * Hands a packet to the root qdisc as the stack does, but without the stack's checks: it has no empty frames, and none of
 * wrong offsets.
 */
static void fuzz_enqueue(struct sk_buff *skb)
{
	struct netdev_queue *queue = netdev_get_tx_queue(skb->dev, 0);
	struct sk_buff *to_free = NULL;
	struct Qdisc *root;

	fuzz_count(FUZZ_past_the_stack);
	skb_set_queue_mapping(skb, 0);
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	tcf_set_drop_reason(skb, SKB_DROP_REASON_QDISC_DROP);
	rcu_read_lock_bh();
	root = rcu_dereference_bh(queue->qdisc);
	if (root->enqueue && !(root->flags & TCQ_F_NOLOCK)) {
		spin_lock(qdisc_lock(root));
		if (test_bit(__QDISC_STATE_DEACTIVATED, &root->state))
			__qdisc_drop(skb, &to_free);
		else
			root->enqueue(skb, root, &to_free);
		spin_unlock(qdisc_lock(root));
		__netif_schedule(root);
	} else {
		__qdisc_drop(skb, &to_free);
	}
	rcu_read_unlock_bh();
	kfree_skb_list(to_free);
}

static void fuzz_send(struct fuzz_sender *sender, struct net_device *dev)
{
	struct rnd_state *random = &sender->random;
	bool segments = fuzz_once_in(random, 8);
	struct sk_buff *skb;

	fuzz_write(random, &sender->text, segments);
	skb = (segments ? fuzz_segments : fuzz_lay_out)(random, &sender->text, sender->pages, FUZZ_PAGES);
	sent++;
	if (!skb) {
		fuzz_count(FUZZ_no_memory);
		return;
	}
	atomic_inc(&fuzz_alive);
	skb->destructor = fuzz_destruct;
	skb->dev = dev;
	fuzz_draw_fields(random, skb);
	fuzz_hold(sender, skb);
	if (!skb->len || fuzz_once_in(random, 8))
		fuzz_enqueue(skb);
	else
		dev_queue_xmit(skb);
}

static int fuzz_run(void *argument)
{
	struct fuzz_sender *sender = argument;
	struct rnd_state *random = &sender->random;

	while (!kthread_should_stop()) {
		struct net_device *dev = READ_ONCE(frames) ? fuzz_device() : NULL;
		u32 batch = min_t(ulong, READ_ONCE(frames), 1 + fuzz_below(random, FUZZ_BATCH)), left = batch;

		if (dev) {
#ifdef CONFIG_FAULT_INJECTION
			current->make_it_fail = fail;
#endif
			while (left--)
				fuzz_send(sender, dev);
#ifdef CONFIG_FAULT_INJECTION
			current->make_it_fail = 0;
#endif
			dev_put(dev);
			WRITE_ONCE(frames, frames - batch);
		}
		/* The program's turn; at times long enough for the line to become idle. */
		if (fuzz_once_in(random, 32))
			usleep_range(1000, 20000);
		else
			usleep_range(5, 100);
	}
	return 0;
}

static void fuzz_free(struct fuzz_sender *sender)
{
	int i;

	for (i = 0; i < FUZZ_HELD; i++)
		kfree_skb(sender->held[i]);
	for (i = 0; i < FUZZ_PAGES; i++)
		if (sender->pages[i])
			put_page(sender->pages[i]);
	vfree(sender->text.bytes);
	kvfree(sender);
}

static struct fuzz_sender *fuzz_create(void)
{
	struct fuzz_sender *sender = kvzalloc(sizeof(*sender), GFP_KERNEL);
	int i;

	if (!sender)
		return NULL;
	prandom_seed_state(&sender->random, seed);
	sender->text.bytes = vzalloc(FUZZ_LENGTH_MAX + FUZZ_HEADERS);
	for (i = 0; i < FUZZ_PAGES; i++)
		sender->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (sender->text.bytes && sender->pages[FUZZ_PAGES - 1])
		return sender;
	fuzz_free(sender);
	return NULL;
}

static int __init fuzz_init(void)
{
	int err;

	fuzz_sender = fuzz_create();
	if (!fuzz_sender)
		return -ENOMEM;
	err = rtnl_link_register(&fuzz_link_ops);
	if (!err) {
		fuzz_task = kthread_run(fuzz_run, fuzz_sender, "suifuzz");
		err = PTR_ERR_OR_ZERO(fuzz_task);
		if (err)
			rtnl_link_unregister(&fuzz_link_ops);
	}
	if (err)
		fuzz_free(fuzz_sender);
	return err;
}

static void __exit fuzz_exit(void)
{
	kthread_stop(fuzz_task);
	rtnl_link_unregister(&fuzz_link_ops);
	fuzz_free(fuzz_sender);
	if (atomic_read(&fuzz_alive))
		pr_err("suimon_fuzz: BUG: %d packets were never freed\n", atomic_read(&fuzz_alive));
}

module_init(fuzz_init);
module_exit(fuzz_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A test of sch_suimon: drawn frames through the qdisc of a device");
