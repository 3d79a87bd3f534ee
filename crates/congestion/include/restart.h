/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Paced restart: M. Matsuda et al., "TCP Layer Adapted to MPI Library", section 3.2, a part that any algorithm takes.
 *
 * Sending that resumes with nothing in flight has no ACKs to clock it, and slow start takes many round trips to the
 * rate that the path is known to bear: ssthresh packets a round trip. While cwnd < ssthresh packets leave every
 * SRTT / ssthresh instead, until the first ACK; from there on ACKs clock, and nothing else is changed. A connection
 * that has no threshold yet is paced at a rate that is configured.
 *
 * The paper's timer adds a packet to the window each time that one is due. Here the window is the threshold at once and
 * the transport's pacer spaces the packets; the first ACK leaves the window that was sent by then, as the timer would
 * have. TX_START is where that begins: the event comes after Linux lowered cwnd for the idle time (CWND_RESTART comes
 * before it, so a window written there is lost), and each packet after the first is held against the new window.
 *
 * What differs between stacks: a pacing rate that is written lasts until the next ACK, for the stack works it out
 * anew then (Linux' tcp_update_pacing_rate, and modelled TCP's). Pacing itself is the algorithm's to end, unless a
 * program asked for it (SO_MAX_PACING_RATE) or sch_fq paces: these go on. Neither paces the first ten segments
 * of a connection. With segmentation offload what leaves together is about a millisecond at the rate, as ever.
 * tcp_slow_start_after_idle = 0 keeps the window across idle time: then there is nothing to restart.
 *
 * A loss before the first ACK reduces from the window that was aimed at: the target was too high.
 */
#ifndef SUIMON_RESTART_H
#define SUIMON_RESTART_H

#include "cc.h"

/* First in an algorithm's list of parameters, and `struct restart resumed;` in its state. */
#define RESTART_PARAMETERS(number)                                                                 \
	number(restart, 0, 0, 1,                                                                   \
	       "1: what is sent with nothing in flight is paced at ssthresh * MSS / SRTT until the first ACK, in place of slow start.") \
	number(restart_rate, 0, 0, 1000000,                                                        \
	       "Mbit/s: `restart` paces a connection that has no ssthresh yet at this rate; 0: not.")

struct restart {
	u32 before : 30; /* window that it began with, packets; 0 while none is under way */
	u32 asked : 1;   /* pacing is on for its sake */
};

/* What an algorithm keeps where it forgets the rest of its state. */
#define RESTART_KEPT(s)                                                                            \
	.restart = (s)->restart, .restart_rate = (s)->restart_rate, .resumed = (s)->resumed

static CC_INLINE void restart_end(struct restart *r, struct cc *c)
{
	if (r->asked)
		c->paced = 0;
	*r = (struct restart){ 0 };
}

/* The window to reach in a round trip, packets; `rate` in Mbit/s, so that 64 Mbit us8 are a byte. */
static CC_INLINE u32 restart_target(const struct cc *c, u32 rate)
{
	u64 packets = c->ssthresh;

	if (c->ssthresh >= CC_INFINITE_SSTHRESH)
		packets = (u64)rate * c->srtt_us8 / 64 / cc_max(c->mss, 1);
	return packets < cc_ceiling(c) ? (u32)packets : cc_ceiling(c);
}

static CC_INLINE void restart_begin(struct restart *r, struct cc *c, u32 target)
{
	r->before = c->cwnd & 0x3fffffff;
	r->asked = !c->paced;
	c->paced = 1;
	c->pacing_rate = (u64)target * c->mss * 1000000 / cc_max(c->srtt_us8 >> 3, 1);
	c->cwnd = target;
}

/*
 * For cwnd_event. Returns 1 if a restart begins. A timeout ends one; what is sent after it begins none, for it is
 * the first in flight only as all else is lost.
 */
static CC_INLINE int restart_event(struct restart *r, struct cc *c, u32 event, u32 chosen, u32 rate)
{
	u32 target;

	if (event == CC_EVENT_LOSS)
		restart_end(r, c);
	if (event != CC_TX_START || !chosen || c->state >= CC_RECOVERY || !c->srtt_us8)
		return 0;
	target = restart_target(c, rate);
	if (r->before || target <= c->cwnd)
		return 0;
	restart_begin(r, c, target);
	return 1;
}

/* For pkts_acked: the first ACK of what was sent. One that says nothing new rides on the peer's own data. */
static CC_INLINE void restart_acked(struct restart *r, struct cc *c, const struct cc_ack *ack)
{
	u32 sent = c->in_flight + ack->acked;

	if (!r->before || (!ack->acked && ack->rtt_ns < 0))
		return;
	if (c->state < CC_RECOVERY && sent < c->cwnd)
		c->cwnd = cc_max(sent, cc_min(r->before, c->cwnd));
	restart_end(r, c);
}

/* The same, of an algorithm's state `s`. */
#define RESTART_EVENT(s, c, event)                                                                 \
	restart_event(&(s)->resumed, c, event, (s)->restart, (s)->restart_rate)
#define RESTART_ACKED(s, c, ack) restart_acked(&(s)->resumed, c, ack)

#endif
