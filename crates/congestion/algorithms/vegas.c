/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Vegas: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
 * Internet", IEEE JSAC 13(8), 1995, with the hooks, rules and parameters of Linux
 * (net/ipv4/tcp_vegas.c).
 *
 * Once per round trip, the window is compared with the window that the minimum RTT would need. The difference
 *
 *     diff = cwnd * (RTT - BaseRTT) / BaseRTT
 *
 * estimates how many packets of this flow are in queues. Below alpha, the window grows by a packet; above beta, it
 * shrinks by one; in between it stays. Slow start ends when diff exceeds gamma. Their defaults are those of Linux. RTT
 * is the minimum of the round, so that a delayed ACK does not count as a queue. A round with fewer than three samples,
 * and any state but Open, follow standard TCP. So does a loss, which halves the window.
 *
 * Rules of Linux that differ from the paper: diff is divided by BaseRTT, not by RTT (section 3.2's
 * (Expected - Actual) * BaseRTT), so it reacts more strongly to long queues. Slow start doubles the window every round
 * trip, not every other one. At its end, the window falls to what BaseRTT needs, plus one. BaseRTT is reset whenever
 * sending resumes with nothing in flight. The paper's earlier retransmission (section 3.1) is the transport's.
 *
 * Departures: a window that the application does not use stays the same, where Linux lets it grow without limit;
 * ssthresh does not fall below the two packets of RFC 5681, equation 4.
 */
#include "cc.h"

#define PARAMETERS(number)                                                                         \
	number(alpha, 2, 1, 65535,                                                                 \
	       "Packets in queues: with fewer, the window gains one a round trip.")                \
	number(beta, 4, 1, 65535,                                                                  \
	       "Packets in queues: with more, the window loses one a round trip.")                 \
	number(gamma, 1, 1, 65535, "Packets in queues: with more, slow start ends.")
CC_PARAMETERS(PARAMETERS);

#define SAMPLES_MIN 3 /* samples of a round needed for a decision by its RTT */
#define CWND_MIN 2

struct vegas {
	CC_FIELDS(PARAMETERS)
	u32 round_end;    /* the round ends after this sequence number */
	u32 samples;      /* RTT samples of this round */
	u32 round_min_us; /* minimum RTT of this round; CC_U32_MAX before the first sample */
	u32 base_us;      /* BaseRTT; CC_U32_MAX before the first sample */
	u32 enabled;      /* whether delay decides: in Open only */
};

static CC_INLINE void start_round(struct vegas *s, const struct cc *c)
{
	s->round_end = c->snd_nxt;
	s->samples = 0;
	s->round_min_us = CC_U32_MAX;
}

static CC_INLINE void restart(struct vegas *s, const struct cc *c)
{
	s->enabled = 1;
	s->base_us = CC_U32_MAX;
	start_round(s, c);
}

/* The threshold follows the window down, so that slow start is not entered again. */
static CC_INLINE void lower(struct cc *c, u32 cwnd)
{
	c->cwnd = cwnd;
	c->ssthresh = cc_max(cc_min(c->ssthresh, cwnd), CC_MIN_SSTHRESH);
}

/* The round's decision (paper, sections 3.2 and 3.3). */
static CC_INLINE void decide(const struct vegas *s, struct cc *c, u32 acked)
{
	u64 extra_us = s->round_min_us - s->base_us;
	u64 diff = c->cwnd * extra_us / s->base_us;
	u32 needed = (u32)((u64)c->cwnd * s->base_us / s->round_min_us) + 1;

	if (cc_in_slow_start(c)) {
		if (diff > s->gamma)
			lower(c, cc_min(c->cwnd, cc_max(needed, CWND_MIN)));
		else if (c->cwnd_limited)
			cc_slow_start(c, acked);
	} else if (diff > s->beta) {
		if (c->cwnd > CWND_MIN)
			lower(c, c->cwnd - 1);
	} else if (diff < s->alpha && c->cwnd_limited) {
		cc_grow(c, 1);
	}
	/* Linux' tcp_current_ssthresh: three quarters of the window at least. */
	c->ssthresh = cc_max(c->ssthresh, (c->cwnd >> 1) + (c->cwnd >> 2));
}

CC_INIT(vegas, struct cc *c)
{
	restart(CC_PRIVATE(c, struct vegas), c);
}

CC_SSTHRESH(vegas, struct cc *c)
{
	return cc_reduced(c, 1, 2);
}

CC_CONG_AVOID(vegas, struct cc *c, u32 ack, u32 acked)
{
	struct vegas *s = CC_PRIVATE(c, struct vegas);

	if (!s->enabled) {
		cc_avoid_reno(c, acked);
	} else if (cc_before(s->round_end, ack)) {
		if (s->samples < SAMPLES_MIN)
			cc_avoid_reno(c, acked);
		else
			decide(s, c, acked);
		start_round(s, c);
	} else if (cc_in_slow_start(c) && c->cwnd_limited) {
		cc_slow_start(c, acked);
	}
}

CC_PKTS_ACKED(vegas, struct cc *c, const struct cc_ack *ack)
{
	struct vegas *s = CC_PRIVATE(c, struct vegas);
	s32 rtt_us = cc_rtt_us(ack);

	if (rtt_us < 0)
		return;
	/* Plus one, so that it is never zero. */
	s->round_min_us = cc_min(s->round_min_us, (u32)rtt_us + 1);
	s->base_us = cc_min(s->base_us, (u32)rtt_us + 1);
	s->samples++;
}

CC_CWND_EVENT(vegas, struct cc *c, u32 event)
{
	if (event == CC_CWND_RESTART || event == CC_TX_START)
		restart(CC_PRIVATE(c, struct vegas), c);
}

CC_SET_STATE(vegas, struct cc *c, u32 state)
{
	struct vegas *s = CC_PRIVATE(c, struct vegas);

	s->enabled = state == CC_OPEN;
	if (s->enabled)
		start_round(s, c);
}

CC_UNDO_CWND(vegas, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM_OF_STATES(vegas, CC_HAS(vegas, init), CC_HAS(vegas, pkts_acked),
		       CC_HAS(vegas, cwnd_event), CC_FLAGS(vegas, CC_TOLD_UNUSED));
