/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Illinois: S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion Control Algorithm
 * for High-Speed Networks", VALUETOOLS 2006 (Performance Evaluation 65, 2008), with the hooks, rules and
 * constants of Linux (net/ipv4/tcp_illinois.c).
 *
 * Loss determines when the window shrinks; delay determines the size of each step. The window grows by alpha packets
 * per round trip and shrinks by the share beta at a loss. Once per round trip, both are computed from its average
 * queueing delay, da = average RTT - min RTT, and the largest one seen, dm = max RTT - min RTT (section 3.2):
 *
 *     alpha = 10                                       up to da = d1 = dm / 100
 *             10 * m / (m + (da - d1) * (10 - 0.3) / 0.3)   above, with m = dm - d1
 *     beta  = 1/8                                      up to da = d2 = dm / 10
 *             1/8 + (1/2 - 1/8) * (da - d2) / (d3 - d2)     above
 *             1/2                                      from da = d3 = 8 dm / 10
 *
 * So alpha is 10 on an empty path and 0.3 at the longest queue, and the window is concave between two losses. After
 * the delay was above d1, alpha returns to 10 only after theta round trips below d1, so that one short RTT causes no
 * burst. A window below win_thresh packets follows standard TCP (alpha 1, beta 1/2). So does every window from a
 * retransmission timeout until the next round trip is measured.
 *
 * Delay never reduces the window. On a path that never drops packets, such as Ethernet with priority flow control, it
 * therefore grows to the limit of the socket buffers. Max RTT and min RTT are kept forever.
 *
 * Rules of Linux that differ from the paper: alpha is in 1/128 packet and beta in 1/64, so the minimum of alpha is
 * 38/128 = 0.297; the credit of an increase is in packets, and its remainder is dropped when the window opens; the
 * packets that count are those that an ACK acknowledges cumulatively.
 *
 * Departures: the samples of a round trip are counted in 32 bits, where Linux' counter of 16 bits wraps at 65536 (a
 * division by zero there). The window stops at 2^26 packets.
 *
 * A restart may be paced (restart.h).
 */
#include "cc.h"
#include "restart.h"

#define PARAMETERS(number)                                                                         \
	number(win_thresh, 15, 1, 65535,                                                           \
	       "Packets: a smaller window follows standard TCP, whatever the delay.")              \
	number(theta, 5, 1, 255,                                                                   \
	       "Round trips of low delay in a row before the increase returns to its maximum.")    \
	RESTART_PARAMETERS(number)
CC_PARAMETERS(PARAMETERS);

/* alpha, in 1/128 packet a round trip */
#define ALPHA_SCALE 128
#define ALPHA_LEAST (3 * ALPHA_SCALE / 10)
#define ALPHA_MOST (10 * ALPHA_SCALE)
/* beta, in 1/64 of the window */
#define BETA_SCALE 64
#define BETA_LEAST (BETA_SCALE / 8)
#define BETA_MOST (BETA_SCALE / 2)
/* A longer RTT than this, 3.36 s, counts as this one, as in Linux, where products would overflow. */
#define RTT_MOST_US (CC_U32_MAX / ALPHA_MOST)

struct illinois {
	CC_FIELDS(PARAMETERS)
	struct restart resumed;
	u64 rtt_sum_us; /* of the samples of this round */
	u32 samples;    /* of this round */
	u32 least_us;   /* of all round trips; CC_U32_MAX before the first sample */
	u32 most_us;    /* of all round trips */
	u32 round_end;  /* the round ends after this sequence number */
	u32 alpha;      /* increase a round trip, 1/ALPHA_SCALE packet */
	u32 beta;       /* decrease, 1/BETA_SCALE of the window */
	u32 acked;      /* packets that the ACK acknowledges, 1 once they are counted */
	u32 above;      /* 1 if the delay has left the low zone since alpha was at its maximum */
	u32 low;        /* round trips within the low zone since then */
};

static CC_INLINE void start_round(struct illinois *s, const struct cc *c)
{
	s->round_end = c->snd_nxt;
	s->samples = 0;
	s->rtt_sum_us = 0;
}

static CC_INLINE void follow_standard(struct illinois *s)
{
	s->alpha = ALPHA_SCALE;
	s->beta = BETA_MOST;
}

/* Section 3.2: kappa1 / (kappa2 + da), multiplied out. */
static CC_INLINE u32 increase_by(struct illinois *s, u32 da, u32 dm)
{
	u32 d1 = dm / 100;
	u64 m = dm - d1;

	if (da > d1) {
		u64 slope = (u64)(da - d1) * (ALPHA_MOST - ALPHA_LEAST) / ALPHA_LEAST;

		s->above = 1;
		return (u32)(m * ALPHA_MOST / (m + slope));
	}
	if (s->above) {
		s->low++;
		if (s->low < s->theta)
			return s->alpha;
		s->low = 0;
		s->above = 0;
	}
	return ALPHA_MOST;
}

/* Section 3.2: kappa3 + kappa4 * da. */
static CC_INLINE u32 decrease_by(u32 da, u32 dm)
{
	u32 d2 = dm / 10;
	u32 d3 = 8 * dm / 10;

	if (da <= d2)
		return BETA_LEAST;
	if (da >= d3 || d3 <= d2)
		return BETA_MOST;
	return (BETA_LEAST * (d3 - d2) + (BETA_MOST - BETA_LEAST) * (da - d2)) / (d3 - d2);
}

/* Handles the end of a round trip. */
static CC_INLINE void decide(struct illinois *s, const struct cc *c)
{
	if (c->cwnd < s->win_thresh) {
		follow_standard(s);
	} else if (s->samples) {
		u32 da = (u32)(s->rtt_sum_us / s->samples) - s->least_us;
		u32 dm = s->most_us - s->least_us;

		s->alpha = increase_by(s, da, dm);
		s->beta = decrease_by(da, dm);
	}
	start_round(s, c);
}

CC_INIT(illinois, struct cc *c)
{
	struct illinois *s = CC_PRIVATE(c, struct illinois);

	s->alpha = ALPHA_MOST;
	s->beta = BETA_MOST;
	s->least_us = CC_U32_MAX;
	s->most_us = 0;
	s->acked = 0;
	s->above = 0;
	s->low = 0;
	start_round(s, c);
}

CC_SSTHRESH(illinois, struct cc *c)
{
	struct illinois *s = CC_PRIVATE(c, struct illinois);
	u32 lost = (u32)((u64)c->cwnd * s->beta / BETA_SCALE);

	return RESTART_REDUCED(s, c, cc_max(c->cwnd - lost, CC_MIN_SSTHRESH));
}

CC_CONG_AVOID(illinois, struct cc *c, u32 ack, u32 acked)
{
	struct illinois *s = CC_PRIVATE(c, struct illinois);
	u64 gained;

	if (cc_before(s->round_end, ack))
		decide(s, c);
	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c)) {
		cc_slow_start(c, acked);
		return;
	}
	/* cwnd_cnt is in packets here: each adds alpha / cwnd with the current alpha. */
	c->cwnd_cnt = cc_min(c->cwnd_cnt, CC_CWND_MAX) + cc_min(s->acked, CC_CWND_MAX);
	s->acked = 1;
	gained = (u64)c->cwnd_cnt * s->alpha / ALPHA_SCALE / cc_max(c->cwnd, 1);
	if (gained) {
		cc_grow(c, gained);
		c->cwnd_cnt = 0;
	}
}

CC_PKTS_ACKED(illinois, struct cc *c, const struct cc_ack *ack)
{
	struct illinois *s = CC_PRIVATE(c, struct illinois);
	s32 rtt_us = cc_rtt_us(ack);
	u32 sample = cc_min((u32)rtt_us, RTT_MOST_US);

	RESTART_ACKED(s, c, ack);
	s->acked = ack->acked;
	if (rtt_us < 0)
		return;
	s->least_us = cc_min(s->least_us, sample);
	s->most_us = cc_max(s->most_us, sample);
	s->rtt_sum_us += sample;
	s->samples++;
}

CC_CWND_EVENT(illinois, struct cc *c, u32 event)
{
	RESTART_EVENT(CC_PRIVATE(c, struct illinois), c, event);
}

/* After a timeout, the state of the path is reset except its RTTs. */
CC_SET_STATE(illinois, struct cc *c, u32 state)
{
	struct illinois *s = CC_PRIVATE(c, struct illinois);

	if (state != CC_LOSS)
		return;
	follow_standard(s);
	s->above = 0;
	s->low = 0;
	start_round(s, c);
}

CC_UNDO_CWND(illinois, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM_OF_STATES(illinois, CC_HAS(illinois, init), CC_HAS(illinois, pkts_acked),
		       CC_HAS(illinois, cwnd_event), CC_FLAGS(illinois, CC_TOLD_UNUSED));
