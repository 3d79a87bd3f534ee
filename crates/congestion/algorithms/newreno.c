/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * NewReno: the standard TCP window, RFC 5681.
 *
 * Slow start doubles the window every round trip up to ssthresh; beyond, it gains one packet a
 * round trip; a loss halves it. What RFC 6582 adds to RFC 5681, the handling of partial ACKs, is
 * recovery and so the transport's part; the window's law is the same.
 *
 * Departure: RFC 5681 (equation 4) halves FlightSize, this halves cwnd as Linux does. The two
 * differ only while the application limits sending, when cwnd does not grow here; and a halved
 * flight would punish a sender for the moment at which it was caught.
 *
 * A restart may be paced (restart.h).
 */
#include "cc.h"
#include "restart.h"

RESTART_ALONE(newreno)

CC_SSTHRESH(newreno, struct cc *c)
{
	return RESTART_REDUCED(CC_PRIVATE(c, struct newreno), c, cc_reduced(c, 1, 2));
}

CC_CONG_AVOID(newreno, struct cc *c, u32 ack, u32 acked)
{
	cc_avoid_reno(c, acked);
}

CC_UNDO_CWND(newreno, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM(newreno, RESTART_HAS(newreno), CC_FLAGS(newreno, CC_WINDOW_ONLY | CC_ACKS_PACED));
