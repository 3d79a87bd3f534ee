/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * NewReno: the standard TCP window, RFC 5681.
 *
 * Slow start doubles the window every round trip up to ssthresh. Beyond it, the window grows by one packet per
 * round trip, and a loss halves it. RFC 6582 adds the handling of partial ACKs to RFC 5681; this is recovery,
 * which the transport does. The window follows the same rules.
 *
 * Departure: RFC 5681 (equation 4) halves FlightSize; this halves cwnd, as Linux does. The two differ only while
 * the application limits sending, when cwnd does not grow here. Halving the flight size would reduce the rate by
 * an accidental amount, that of the moment of the loss.
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
