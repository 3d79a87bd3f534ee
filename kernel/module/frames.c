// SPDX-License-Identifier: MIT OR GPL-2.0
/* Packets as the disciplines see them, and gap frames. */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/siphash.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/pkt_sched.h>
#include <net/route.h>

#include "sch_suimon.h"

/*
 * The type of service, and the numbers of the addresses if they are looked at: 16 bits of their hashes, with a key that no
 * stranger knows.
 */
static void suimon_read_ip(const u8 *datagram, u32 length, const siphash_key_t *key, u32 looks,
			   struct suimon_offer *offer)
{
	const struct iphdr *ip = (const struct iphdr *)datagram;
	const struct ipv6hdr *ip6 = (const struct ipv6hdr *)datagram;

	if (ip->version == 4 && length >= sizeof(*ip)) {
		offer->tos = ip->tos;
		if (!(looks & SUIMON_FLOWS))
			return;
		offer->source = (u16)siphash_1u32((__force u32)ip->saddr, key);
		offer->destination = (u16)siphash_1u32((__force u32)ip->daddr, key);
	} else if (ip->version == 6 && length >= sizeof(*ip6)) {
		offer->tos = ipv6_get_dsfield(ip6);
		if (!(looks & SUIMON_FLOWS))
			return;
		offer->source = (u16)siphash(&ip6->saddr, sizeof(ip6->saddr), key);
		offer->destination = (u16)siphash(&ip6->daddr, sizeof(ip6->daddr), key);
	}
}

/*
 * What the socket, or a filter, set as the packet's priority; otherwise the class selector of its DSCP (RFC 2474, section
 * 4.2.2). Linux derives a priority from an IPv4 type of service, too, by the meaning that RFC 1349 gave it: not that one.
 */
static u8 suimon_priority(const struct sk_buff *skb, u8 tos)
{
	u32 derived = rt_tos2priority(tos & ~INET_ECN_MASK);

	return skb->priority && skb->priority < 8 && skb->priority != derived ? skb->priority : tos >> 5;
}

/* A number for the flow; where acknowledgements are heard, the same in both directions, whatever IPv6's flow labels. */
static u32 suimon_flow(struct sk_buff *skb, u32 looks)
{
	return looks & SUIMON_ARRIVALS ? __skb_get_hash_symmetric(skb) : skb_get_hash(skb);
}

void suimon_read(struct sk_buff *skb, const struct suimon_sched *q, u8 *headers,
		 struct suimon_offer *offer)
{
	__be16 protocol = skb_protocol(skb, true);
	int offset = skb_network_offset(skb);
	u32 looks = READ_ONCE(q->looks), length;

	*offer = (struct suimon_offer){
		.length = suimon_frame_length(skb),
		.flow = looks & SUIMON_FLOWS ? suimon_flow(skb, looks) : 0,
		.frames = min_t(u32, max_t(u32, skb_shinfo(skb)->gso_segs, 1), U8_MAX),
		.vlan_priority = SUIMON_NO_VLAN,
		.priority = suimon_priority(skb, 0),
	};
	if (skb_vlan_tag_present(skb))
		offer->vlan_priority = skb_vlan_tag_get_prio(skb);
	if (protocol != htons(ETH_P_IP) && protocol != htons(ETH_P_IPV6))
		return;
	if (offset < 0 || offset >= skb->len)
		return;
	length = min_t(u32, skb->len - offset, SUIMON_HEADERS);
	offer->datagram = skb_header_pointer(skb, offset, length, headers);
	if (!offer->datagram)
		return;
	offer->datagram_length = length;
	suimon_read_ip(offer->datagram, length, &q->key, looks, offer);
	offer->priority = suimon_priority(skb, offer->tos);
}

struct sk_buff *suimon_longest_gap(struct net_device *dev, enum suimon_gap_frame kind, u32 frame)
{
	static const u8 to_mac[ETH_ALEN] __aligned(2) = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };
	static const u8 to_neighbour[ETH_ALEN] __aligned(2) = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x0e };
	const u16 protocol = kind == SUIMON_GAP_PAUSE ? ETH_P_PAUSE : ETH_P_802_EX1;
	struct sk_buff *skb = __netdev_alloc_skb(dev, frame - SUIMON_FCS, GFP_KERNEL);
	u8 *bytes;

	if (!skb)
		return NULL;
	bytes = skb_put_zero(skb, frame - SUIMON_FCS);
	ether_addr_copy(bytes, kind == SUIMON_GAP_PAUSE ? to_mac : to_neighbour);
	memcpy(bytes + ETH_ALEN, dev->dev_addr, ETH_ALEN);
	bytes[12] = protocol >> 8;
	bytes[13] = protocol & 0xff;
	/* The opcode of PAUSE; its time is 0. */
	bytes[15] = kind == SUIMON_GAP_PAUSE;
	skb->dev = dev;
	skb->protocol = htons(protocol);
	skb->priority = TC_PRIO_CONTROL;
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	return skb;
}

struct sk_buff *suimon_gap(struct sk_buff *longest, u32 frame)
{
	struct sk_buff *skb = skb_clone(longest, GFP_ATOMIC | __GFP_NOWARN);

	if (!skb)
		return NULL;
	skb_trim(skb, frame - SUIMON_FCS);
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	return skb;
}
