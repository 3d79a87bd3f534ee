/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Scalable TCP as in Linux: a packet for every 50 ACKs, not for every 100 packets.
 *
 * J. Heffner's module (net/ipv4/tcp_scalable.c, from 2.6.13 until 2020) uses 50 because a receiver that delays its
 * ACKs sends one for two packets; the result is Kelly's 0.01 per packet. If growth counts ACKs (`window.count_acks`),
 * `scalable` itself grows only half as fast as its rule. Heffner also wrote Web100's kernel, whose Scalable TCP
 * paper 0 used. That patch was not available, so this has a name of its own and does not replace `scalable`.
 *
 * Below 50 packets, the increase is that of standard TCP, one packet per window of ACKs. The decrease is an eighth at
 * any window. The module does not have Kelly's legacy window of 16.
 *
 * A restart may be paced (restart.h).
 */
#include "cc.h"
#include "restart.h"

RESTART_ALONE(scalable50)

#define ACKS_PER_INCREASE 50

CC_SSTHRESH(scalable50, struct cc *c)
{
	return RESTART_REDUCED(CC_PRIVATE(c, struct scalable50), c, cc_reduced(c, 7, 8));
}

CC_CONG_AVOID(scalable50, struct cc *c, u32 ack, u32 acked)
{
	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c))
		acked = cc_slow_start(c, acked);
	if (acked)
		cc_increase(c, 1, cc_max(cc_min(c->cwnd, ACKS_PER_INCREASE), 1), acked);
}

CC_UNDO_CWND(scalable50, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM(scalable50, RESTART_HAS(scalable50), CC_FLAGS(scalable50, CC_WINDOW_ONLY | CC_ACKS_PACED));
