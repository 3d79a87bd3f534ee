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

CC_PARAMETERS(RESTART_PARAMETERS);

struct newreno {
	CC_FIELDS(RESTART_PARAMETERS)
	struct restart resumed;
};

CC_SSTHRESH(newreno, struct cc *c)
{
	return cc_reduced(c, 1, 2);
}

CC_CONG_AVOID(newreno, struct cc *c, u32 ack, u32 acked)
{
	cc_avoid_reno(c, acked);
}

CC_UNDO_CWND(newreno, struct cc *c)
{
	return cc_undo(c);
}

CC_PKTS_ACKED(newreno, struct cc *c, const struct cc_ack *ack)
{
	RESTART_ACKED(CC_PRIVATE(c, struct newreno), c, ack);
}

CC_CWND_EVENT(newreno, struct cc *c, u32 event)
{
	RESTART_EVENT(CC_PRIVATE(c, struct newreno), c, event);
}

/* What may be set is written to the private state before init. */
CC_INIT(newreno, struct cc *c)
{
}

CC_ALGORITHM(newreno, CC_HAS(newreno, init), CC_HAS(newreno, pkts_acked), CC_HAS(newreno, cwnd_event),
	     CC_FLAGS(newreno, CC_WINDOW_ONLY | CC_ACKS_PACED));
