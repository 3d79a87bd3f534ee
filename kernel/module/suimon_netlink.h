/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The netlink attributes of the qdisc, for the module and for programs. */
#ifndef SUIMON_NETLINK_H
#define SUIMON_NETLINK_H

#include "suimon_traffic.h"

/* TCA_OPTIONS of the qdisc. */
enum {
	TCA_SUIMON_UNSPEC,
	TCA_SUIMON_TABLE, /* text: the discipline and its settings */
	TCA_SUIMON_RATE, /* u64: the line's rate in bits per second; that of the device unless given */
	TCA_SUIMON_PLACES, /* u32: packets queued, at most; only when the qdisc is created */
	TCA_SUIMON_PAD,
	TCA_SUIMON_GAP, /* u32: enum suimon_gap_frame; only when the qdisc is created */
	TCA_SUIMON_OVERHEAD, /* u32: bytes of a frame on the wire besides the frame; 20, Ethernet's, unless given */
	__TCA_SUIMON_MAX,
};
#define TCA_SUIMON_MAX (__TCA_SUIMON_MAX - 1)

/* The frame that fills a gap. No bridge forwards either: IEEE 802.1Q, 8.6.3. */
enum suimon_gap_frame {
	SUIMON_GAP_PAUSE, /* IEEE 802.3, annex 31B, with pause time 0 */
	SUIMON_GAP_LOCAL, /* local experimental EtherType 88-B5, for cards that drop PAUSE frames of software */
};

/* TCA_STATS_APP of the qdisc. */
struct tc_suimon_xstats {
	struct suimon_statistics counters;
	u64 gaps_lost; /* gap frames that found no memory */
	u32 faulty; /* 1 once the discipline broke and packets leave in the order of arrival */
	u32 pad;
};

#endif
