/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Paced restart: M. Matsuda et al., "TCP Layer Adapted to MPI Library", section 3.2, for use in any algorithm.
 *
 * A sender that resumes with nothing in flight has no ACK clock, and slow start takes many round trips to the known rate
 * of the path: ssthresh packets a round trip. Instead, while cwnd < ssthresh, a packet leaves every SRTT / ssthresh until
 * the first ACK; from there on ACKs clock, and nothing else changes. A connection without a threshold is paced at a
 * configured rate.
 *
 * The paper's timer adds a packet to the window each time one is due. Here the window is the threshold at once and the
 * transport's pacer spaces the packets; the first ACK sets the window to the packets sent by then, as with the timer.
 * This begins at TX_START: the event comes after Linux lowered cwnd for the idle time (CWND_RESTART comes before it, so a
 * window written there is lost), and each packet after the first is checked against the new window.
 *
 * Both stacks: a written pacing rate lasts until the next ACK, because the stack then computes it again (Linux'
 * tcp_update_pacing_rate, and the modelled TCP's). The algorithm ends pacing, unless a program requested it
 * (SO_MAX_PACING_RATE) or sch_fq paces; these continue. Neither stack paces the first ten segments of a connection. With
 * segmentation offload, a burst is about a millisecond at the rate, as usual. tcp_slow_start_after_idle = 0 keeps the
 * window across idle time: then there is nothing to restart.
 *
 * A loss before the first ACK reduces from the target window: the target was too high.
 *
 * `restart = 2` and 3 extend the paper, and 4 is RFC 7661 instead.
 *
 * - 2: A path that has carried more than the threshold can carry it again: the window before the silence is the target
 *   if it is larger, for the five minutes that RFC 7661 (section 4.4.3) keeps an unused window. It is saved at
 *   CWND_RESTART, before Linux lowers it.
 * - 2: The round trip is the minimum RTT if that is below SRTT, which includes the queue that the last burst met.
 *   The window still bounds the packets in flight.
 * - 3: After a timeout, slow start makes a short timeout cost more than it saves (section 5 of the paper). The timer
 *   sends one segment; from its ACK on, the rest goes out in a round trip, and the threshold is halved as usual.
 *   No rate can be written then: it is the stack's, 1.2 * cwnd * MSS / SRTT.
 * - 4: RFC 7661: the window before the silence is kept, and halved for each five minutes of it. Nothing is paced. Until
 *   half of it was in flight it is not validated (section 4.3), and a loss leaves half of what was (section 4.4.1). If
 *   the threshold is above the window, slow start continues from there as without the silence. sch_fq keeps bursts short,
 *   as section 4.4.2 requires.
 */
#ifndef SUIMON_RESTART_H
#define SUIMON_RESTART_H

#include "cc.h"

/* First in an algorithm's list of parameters, and `struct restart resumed;` in its state. */
#define RESTART_PARAMETERS(number)                                                                 \
	number(restart, 0, 0, 4,                                                                   \
	       "Sent with nothing in flight: 0 slow start; paced to the first ACK 1 at ssthresh * MSS / SRTT, 2 by the window before the silence, 3 after timeouts too; 4 RFC 7661, unpaced.") \
	number(restart_rate, 0, 0, 1000000,                                                        \
	       "Mbit/s: `restart` paces a connection that has no ssthresh yet at this rate; 0: not.")

#define RESTART_BY_WINDOW 2 /* least choices */
#define RESTART_AFTER_LOSS 3
#define RESTART_RFC7661 4
#define RESTART_KEEPS_S 300 /* RFC 7661, section 4.4.3 */
#define RESTART_BEFORE_BITS 29

struct restart {
	u32 before : RESTART_BEFORE_BITS; /* initial window, packets; 0 while no restart is active */
	u32 asked : 1;                    /* it turned pacing on */
	u32 lost : 1;                     /* it follows a timeout */
	u32 kept : 1;                     /* the window is the one before the silence, and not validated: RFC 7661 */
	union {
		u32 reached;  /* while no restart is active: the window before the silence, packets; 0 if that has expired */
		u32 until_us; /* after a timeout: the first ACK from this time on ends the restart; 0 before any */
		u32 used;     /* for a kept window: the maximum of packets in flight since */
	};
};

/* The part that an algorithm keeps when it resets the rest of its state. */
#define RESTART_KEPT(s)                                                                            \
	.restart = (s)->restart, .restart_rate = (s)->restart_rate, .resumed = (s)->resumed

static CC_INLINE void restart_end(struct restart *r, struct cc *c)
{
	if (r->asked)
		c->paced = 0;
	*r = (struct restart){ 0 };
}

/* The window to reach in a round trip, packets; `rate` in Mbit/s times eighths of a microsecond is 64 for a byte. */
static CC_INLINE u32 restart_target(const struct restart *r, const struct cc *c, u32 rate)
{
	u64 packets = c->ssthresh;

	if (c->ssthresh >= CC_INFINITE_SSTHRESH)
		packets = (u64)rate * c->srtt_us8 / 64 / cc_max(c->mss, 1);
	packets = packets < cc_ceiling(c) ? packets : cc_ceiling(c);
	return cc_max((u32)packets, cc_min(r->reached, cc_ceiling(c)));
}

static CC_INLINE void restart_pace(struct restart *r, struct cc *c)
{
	*r = (struct restart){ .before = c->cwnd & ((1U << RESTART_BEFORE_BITS) - 1), .asked = !c->paced };
	c->paced = 1;
}

/* The round trip in which to send the window, us. */
static CC_INLINE u32 restart_round(const struct cc *c, u32 chosen)
{
	u32 srtt_us = cc_max(c->srtt_us8 >> 3, 1);

	return chosen >= RESTART_BY_WINDOW ? cc_max(cc_min(srtt_us, c->min_rtt_us), 1) : srtt_us;
}

static CC_INLINE void restart_begin(struct restart *r, struct cc *c, u32 target, u32 round_us)
{
	restart_pace(r, c);
	c->pacing_rate = (u64)target * c->mss * 1000000 / round_us;
	c->cwnd = target;
}

/* Several writes may come before the first packet, and each lowers the window. */
static CC_INLINE void restart_keep(struct restart *r, const struct cc *c)
{
	if (c->jiffies - c->last_sent <= RESTART_KEEPS_S * c->hz)
		r->reached = cc_max(r->reached, c->cwnd);
}

/* RFC 7661, section 4.3 and 4.4.3: the window of a sender that resumes is the one before the silence. */
static CC_INLINE void restart_unvalidated(struct restart *r, struct cc *c, u32 event)
{
	u32 periods, reached;

	if (event == CC_CWND_RESTART) {
		periods = (c->jiffies - c->last_sent) / (RESTART_KEEPS_S * c->hz);
		reached = r->kept ? 0 : r->reached;
		*r = (struct restart){ .reached = cc_max(reached, c->cwnd >> cc_min(periods, 31)) };
	} else if (event == CC_TX_START && c->state != CC_RECOVERY && c->state != CC_LOSS && !r->kept) {
		reached = cc_min(r->reached, cc_ceiling(c));
		*r = (struct restart){ .kept = reached > c->cwnd };
		c->cwnd = cc_max(c->cwnd, reached);
	}
}

/*
 * For cwnd_event. Returns 1 if a restart begins. A timeout ends one; the next packet is the first in flight, because all
 * others are lost.
 */
static CC_INLINE int restart_event(struct restart *r, struct cc *c, u32 event, u32 chosen, u32 rate)
{
	u32 target;

	if (event == CC_EVENT_LOSS)
		restart_end(r, c);
	if (r->before || !chosen)
		return 0;
	if (chosen == RESTART_RFC7661) {
		restart_unvalidated(r, c, event);
		return 0;
	}
	if (event == CC_CWND_RESTART && chosen >= RESTART_BY_WINDOW)
		restart_keep(r, c);
	if (event != CC_TX_START || !c->srtt_us8 || c->state == CC_RECOVERY)
		return 0;
	if (c->state == CC_LOSS) {
		if (chosen >= RESTART_AFTER_LOSS) {
			restart_pace(r, c);
			r->lost = 1;
		}
		return 0;
	}
	target = restart_target(r, c, rate);
	r->reached = 0;
	if (target <= c->cwnd)
		return 0;
	restart_begin(r, c, target, restart_round(c, chosen));
	return 1;
}

/* After a timeout: the first ACK opens the window, and a round trip later the restart ends. Returns 1 if it continues. */
static CC_INLINE int restart_repairs(struct restart *r, struct cc *c)
{
	if (r->until_us)
		return cc_before((u32)c->now_us, r->until_us);
	/* The timeout was spurious, and has been detected as such. */
	if (c->state != CC_LOSS)
		return 0;
	r->until_us = ((u32)c->now_us + (c->srtt_us8 >> 3)) | 1;
	c->cwnd = cc_max(c->cwnd, cc_min(c->ssthresh, cc_ceiling(c)));
	return 1;
}

/* For pkts_acked: the first ACK of new data. An ACK of nothing new is piggybacked on the peer's own data. */
static CC_INLINE void restart_acked(struct restart *r, struct cc *c, const struct cc_ack *ack)
{
	u32 sent = c->in_flight + ack->acked;

	if (r->kept) {
		r->used = cc_max(r->used, sent);
		if (r->used >= c->cwnd / 2)
			*r = (struct restart){ 0 };
		return;
	}
	if (!r->before || (!ack->acked && ack->rtt_ns < 0))
		return;
	if (r->lost && restart_repairs(r, c))
		return;
	if (c->state != CC_RECOVERY && sent < c->cwnd)
		c->cwnd = cc_max(sent, cc_min(r->before, c->cwnd));
	restart_end(r, c);
}

/*
 * For ssthresh: the threshold after a loss; `threshold` is that of an ordinary loss. For a window that was not validated,
 * it is at most half of the packets in flight (RFC 7661, section 4.4.1).
 */
static CC_INLINE u32 restart_reduced(struct restart *r, const struct cc *c, u32 threshold)
{
	u32 flight = cc_max(r->used, c->in_flight);

	if (!r->kept)
		return threshold;
	*r = (struct restart){ 0 };
	return cc_max(cc_min(threshold, flight / 2), CC_MIN_SSTHRESH);
}

/* restart_event for an algorithm's state `s`. */
#define RESTART_EVENT(s, c, event)                                                                 \
	restart_event(&(s)->resumed, c, event, (s)->restart, (s)->restart_rate)
#define RESTART_ACKED(s, c, ack) restart_acked(&(s)->resumed, c, ack)
#define RESTART_REDUCED(s, c, threshold) restart_reduced(&(s)->resumed, c, threshold)

/* The two hooks of an algorithm that does nothing else in them, and their entries in its table. */
#define RESTART_HOOKS(alg)                                                                         \
	CC_PKTS_ACKED(alg, struct cc *c, const struct cc_ack *ack)                                 \
	{                                                                                          \
		RESTART_ACKED(CC_PRIVATE(c, struct alg), c, ack);                                  \
	}                                                                                          \
	CC_CWND_EVENT(alg, struct cc *c, u32 event)                                                \
	{                                                                                          \
		RESTART_EVENT(CC_PRIVATE(c, struct alg), c, event);                                \
	}
#define RESTART_HAS(alg) CC_HAS(alg, init), CC_HAS(alg, pkts_acked), CC_HAS(alg, cwnd_event)

/* Everything for an algorithm without its own state; parameters are written to the state before init. */
#define RESTART_ALONE(alg)                                                                         \
	CC_PARAMETERS(RESTART_PARAMETERS);                                                         \
	struct alg {                                                                               \
		CC_FIELDS(RESTART_PARAMETERS)                                                      \
		struct restart resumed;                                                            \
	};                                                                                         \
	CC_INIT(alg, struct cc *c)                                                                 \
	{                                                                                          \
	}                                                                                          \
	RESTART_HOOKS(alg)

#endif
