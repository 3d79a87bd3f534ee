/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the files of the module share, and the netlink attributes of the qdisc. */
#ifndef SCH_SUIMON_H
#define SCH_SUIMON_H

#include <linux/if_vlan.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/sch_generic.h>

#include "suimon_traffic.h"

/* The frame check sequence, which the card adds. */
#define SUIMON_FCS 4
/* The shortest and the longest frame of a gap, header and FCS included. */
#define SUIMON_FRAME_MIN 64
#define SUIMON_GAP_MAX 9000

/* TCA_OPTIONS of the qdisc. */
enum {
	TCA_SUIMON_UNSPEC,
	TCA_SUIMON_TABLE, /* text: the discipline and its settings */
	TCA_SUIMON_RATE, /* u64: the line's rate in bits per second; that of the device unless given */
	TCA_SUIMON_PLACES, /* u32: packets queued, at most; only when the qdisc is created */
	TCA_SUIMON_PAD,
	__TCA_SUIMON_MAX,
};
#define TCA_SUIMON_MAX (__TCA_SUIMON_MAX - 1)

/* TCA_STATS_APP of the qdisc. */
struct tc_suimon_xstats {
	struct suimon_statistics counters;
	u64 gaps_lost; /* gap frames that found no memory */
	u32 faulty; /* 1 once the discipline broke and packets leave in the order of arrival */
	u32 pad;
};

/* The length of a packet's frame on the wire, header and FCS included. */
static inline u32 suimon_frame_length(const struct sk_buff *skb)
{
	u32 tag = skb_vlan_tag_present(skb) ? VLAN_HLEN : 0;

	return max_t(u32, skb->len + tag + SUIMON_FCS, SUIMON_FRAME_MIN);
}

/*
 * Reads what a discipline gets to know about a packet. `headers` is room for SUIMON_HEADERS bytes, for headers that are
 * not in one piece; `key` is that of the flows' hash.
 */
#define SUIMON_HEADERS 128
void suimon_read(struct sk_buff *skb, const siphash_key_t *key, u8 *headers,
		 struct suimon_offer *offer);

/* A PAUSE frame with pause time 0, the longest gap frame of the device; gaps are clones of it. */
struct sk_buff *suimon_pause_frame(struct net_device *dev, u32 frame);

/* A gap frame of `frame` bytes; null without memory. */
struct sk_buff *suimon_gap(struct sk_buff *pause, u32 frame);

#endif
