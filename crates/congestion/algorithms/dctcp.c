/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * DCTCP: S. Bensley, D. Thaler, P. Balasubramanian, L. Eggert, G. Judd, "Data Center TCP (DCTCP): TCP Congestion
 * Control for Data Centers", RFC 8257; M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, with the
 * hooks, rules and constants of Linux (net/ipv4/tcp_dctcp.c).
 *
 * Switches mark packets with CE while their queue is above a small threshold: set the discipline
 * [`mark`](../catalogue/mark.md) at the ports that may be congested. The window shrinks in proportion to the marks:
 * once per window of data (section 3.3), the share F of marked packets is averaged,
 *
 *     alpha = (1 - g) * alpha + g * F              g = 1/16
 *
 * and a round trip with a mark reduces the window by cwnd * alpha / 2 (section 3.4). Without any marks, or with every
 * packet marked, the flow is standard TCP. A loss is stronger congestion than any mark and halves the window
 * (section 3.5). Slow start and increase are those of standard TCP.
 *
 * The receiver echoes the mark of each segment; it does not repeat the echo until the peer has reduced its window, as
 * RFC 3168 does. An ACK that covers several segments covers only marked or only unmarked ones: when the mark changes,
 * the segments that wait for an ACK are acknowledged immediately (section 3.2). So both ends must run DCTCP, and the
 * switches between them must mark at a threshold (`mark`, or `codel` with mark_above). ECN is negotiated for it
 * (section 3.1 does not say how; this follows Linux, where the listener's algorithm needs ECN too). Pure ACKs and
 * retransmissions are ECN-capable, as in Linux.
 *
 * As in Linux, alpha is in 1/1024. It starts at 1, where marks halve the window (section 4.2), and can reach 0: once a
 * sixteenth of it is less than 1, a window subtracts all of it before it adds F / 16. So a falling alpha stays up to
 * 15/1024 too high, and after it has reached 0, less than a quarter of marks makes it no more than the last F / 16.
 * F counts packets, not bytes.
 *
 * Departures: the ACK that ends a window of data counts in that window; Linux counts it in the next, because it checks
 * before it counts. If ECN was not negotiated, Linux replaces DCTCP by Reno. This algorithm stays, which is the same
 * without marks, but in Linux its packets are then sent as ECN-capable if it was chosen after the connection was
 * established.
 */
#include "cc.h"

#define ALPHA_ONE 1024

#define PARAMETERS(number)                                                                         \
	number(shift_g, 4, 0, 10,                                                                  \
	       "The share of marks of each window of data goes into the average with 1/2 to this power.") \
	number(alpha_on_init, 1024, 0, 1024,                                                       \
	       "The average share of marks that a connection starts with, in 1/1024.")
CC_PARAMETERS(PARAMETERS);

struct dctcp {
	CC_FIELDS(PARAMETERS)
	u32 alpha;     /* average share of packets marked, 1/ALPHA_ONE */
	u32 round_end; /* the window of data ends when all data before this sequence number is acknowledged */
	u32 delivered; /* packets, and marked ones among them, when it began */
	u32 delivered_ce;
	u32 expected; /* next sequence number expected from the peer, after the previous segment */
	u32 marked;   /* 1 if that segment was */
};

static CC_INLINE void start_round(struct dctcp *s, const struct cc *c)
{
	s->round_end = c->snd_nxt;
	s->delivered = c->delivered;
	s->delivered_ce = c->delivered_ce;
}

CC_INIT(dctcp, struct cc *c)
{
	struct dctcp *s = CC_PRIVATE(c, struct dctcp);

	s->alpha = cc_min(s->alpha_on_init, ALPHA_ONE);
	s->expected = c->rcv_nxt;
	s->marked = 0;
	start_round(s, c);
}

/* Section 3.4; after a loss, set_state and cwnd_event override it. */
CC_SSTHRESH(dctcp, struct cc *c)
{
	const struct dctcp *s = CC_PRIVATE(c, struct dctcp);
	u32 taken = (u32)((u64)c->cwnd * s->alpha / (2 * ALPHA_ONE));

	return cc_max(c->cwnd - taken, CC_MIN_SSTHRESH);
}

CC_CONG_AVOID(dctcp, struct cc *c, u32 ack, u32 acked)
{
	cc_avoid_reno(c, acked);
}

/* Section 3.3, steps 4 to 8. */
CC_PKTS_ACKED(dctcp, struct cc *c, const struct cc_ack *ack)
{
	struct dctcp *s = CC_PRIVATE(c, struct dctcp);
	u32 g = cc_min(s->shift_g, 10);
	u64 delivered = c->delivered - s->delivered;
	u64 marked = c->delivered_ce - s->delivered_ce;
	u32 faded = s->alpha >> g;

	if (cc_before(c->snd_una, s->round_end))
		return;
	s->alpha -= faded ? faded : s->alpha;
	if (marked) {
		u64 share = (marked << (10 - g)) / (delivered ? delivered : 1);

		s->alpha = cc_min(s->alpha + cc_min((u32)share, ALPHA_ONE), ALPHA_ONE);
	}
	start_round(s, c);
}

/* Section 3.5: like standard TCP. */
static CC_INLINE void halve(struct cc *c)
{
	c->ssthresh = cc_reduced(c, 1, 2);
}

CC_CWND_EVENT(dctcp, struct cc *c, u32 event)
{
	struct dctcp *s = CC_PRIVATE(c, struct dctcp);
	u32 marked = event == CC_ECN_IS_CE;

	if (event == CC_EVENT_LOSS)
		halve(c);
	if (event != CC_ECN_NO_CE && !marked)
		return;
	/* Section 3.2, figure 1. */
	if (marked != s->marked) {
		c->ack_prior = s->expected;
		c->ack_now = 1;
	}
	s->expected = c->rcv_nxt;
	s->marked = marked;
	c->echo_ce = (u16)marked;
}

CC_SET_STATE(dctcp, struct cc *c, u32 state)
{
	if (state == CC_RECOVERY && c->state != CC_RECOVERY)
		halve(c);
}

CC_UNDO_CWND(dctcp, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM_OF_STATES(dctcp, CC_HAS(dctcp, init), CC_HAS(dctcp, pkts_acked),
		       CC_HAS(dctcp, cwnd_event), CC_FLAGS(dctcp, CC_NEEDS_ECN | CC_WINDOW_ONLY));
