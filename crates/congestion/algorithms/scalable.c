/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Scalable TCP: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks",
 * ACM Computer Communication Review 33(2), 2003; the algorithm of paper 0's tables 3 and 4.
 *
 * The window grows by a = 0.01 packet for each acknowledged packet (a factor of 1.01 per round trip) and shrinks by
 * b = 1/8 at a loss. Recovery takes ln(8/7) / ln(1.01) = 13.4 round trips at any window, where standard TCP takes
 * cwnd / 2 of them.
 *
 * Up to the legacy window of 16 packets it is standard TCP, including the decrease: there both have the same share
 * at the same loss rate (Kelly, section 3).
 *
 * Between 16 and 100 packets, 0.01 per packet is less than standard TCP's 1 / cwnd; the smaller decrease compensates
 * for that. Linux' tcp_scalable uses the larger increase there (`scalable50`); this algorithm keeps Kelly's rule.
 *
 * A restart may be paced (restart.h).
 */
#include "cc.h"
#include "restart.h"

RESTART_ALONE(scalable)

#define LEGACY_WINDOW 16 /* packets */
#define PACKETS_PER_INCREASE 100 /* 1 / a */

CC_SSTHRESH(scalable, struct cc *c)
{
	struct scalable *s = CC_PRIVATE(c, struct scalable);

	if (c->cwnd <= LEGACY_WINDOW)
		return RESTART_REDUCED(s, c, cc_reduced(c, 1, 2));
	return RESTART_REDUCED(s, c, cc_reduced(c, 7, 8));
}

CC_CONG_AVOID(scalable, struct cc *c, u32 ack, u32 acked)
{
	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c))
		acked = cc_slow_start(c, acked);
	if (!acked)
		return;
	if (c->cwnd <= LEGACY_WINDOW)
		cc_increase_reno(c, acked);
	else
		cc_increase(c, 1, PACKETS_PER_INCREASE, acked);
}

CC_UNDO_CWND(scalable, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM(scalable, RESTART_HAS(scalable), CC_FLAGS(scalable, CC_WINDOW_ONLY | CC_ACKS_PACED));
