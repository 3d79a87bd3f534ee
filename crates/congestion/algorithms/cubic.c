/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUBIC as in Linux 6: S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant",
 * SIGOPS Operating Systems Review 42(5), 2008, with HyStart in slow start (hystart.h). The rules are those of
 * net/ipv4/tcp_cubic.c; the CUBIC of RFC 9438 is in cubic-rfc9438.c.
 *
 * In congestion avoidance the window follows a cubic function of the time since its start,
 *
 *     W(t) = C * (t - K)^3 + W_max,   K = cbrt((W_max - cwnd_epoch) / C),   C = 410/1024
 *
 * and an estimate of standard TCP's window where that is larger. A loss leaves 717/1024 of the window; fast
 * convergence is on. The rules of Linux that differ from RFC 9438:
 *
 * - The state is `per`, the number of acknowledged packets that increase the window by one. It is computed at
 *   most once per jiffy, and once per HZ/32 jiffies while the window stays the same.
 * - The target is W(t + min RTT), not W(t + smoothed RTT). Growth is limited to one packet for every two. At or
 *   above the target, the window still grows by one packet in 100 windows.
 * - Before the first loss (also after a timeout) it grows by at least one packet for every 20.
 * - The estimate of standard TCP grows by one packet for every 15/8 windows (alpha = 8/15), permanently.
 * - A timeout resets everything: W_max, the epoch, the minimum RTT; HyStart starts again.
 * - An undone reduction restores the window but not the curve.
 * - When sending resumes with nothing in flight, the epoch moves by the time since the last packet.
 *
 * A restart may be paced (restart.h). Time is in jiffies and, in the curve, in 1/1024 s.
 *
 * Departures: the cube root is exact, where that of Linux is within 0.2 % on average. Offsets end at 2^18/1024 s
 * (256 s), where the arithmetic of Linux overflows somewhat later.
 */
#include "cc.h"
#include "hystart.h"
#include "restart.h"

CC_PARAMETERS(RESTART_PARAMETERS);

#define BETA 717 /* of BETA_ONE: the window after a loss */
#define BETA_ONE 1024
#define C_SCALE 410 /* C, of 1024 */
#define C_BITS 40 /* of C_SCALE * (1/1024 s)^3 in a packet */
#define TICK_BITS 10 /* a tick of the curve is 2^-10 s */
#define OFFSET_TICKS_MAX (1U << 18) /* ticks */
#define PER_MIN 2
#define PER_MAX_NO_LOSS 20
#define WINDOWS_AT_TARGET 100
/* Windows acknowledged for each packet of the estimate: 8 (1 + beta) / 3 (1 - beta), in eighths. */
#define EST_EIGHTHS 15

struct cubic {
	CC_FIELDS(RESTART_PARAMETERS)
	struct restart resumed;
	u32 per;       /* acknowledged packets for each packet of growth */
	u32 w_max;     /* packets; 0 before the first loss and after a timeout */
	u32 cwnd_seen; /* the window at the last calculation, packets */
	u32 seen_at;   /* time of that calculation, jiffies */
	u32 origin;    /* the window at which the curve is flat, packets */
	u32 k;         /* K, ticks */
	u32 epoch;     /* start of this congestion avoidance, jiffies */
	u32 est;       /* standard TCP's window, packets */
	u32 est_acked; /* acknowledged packets that the estimate has not used yet */
	u32 in_epoch;  /* whether there is an epoch */
	struct hystart hystart;
};

/*
 * The integer cube root, a bit at a time from the top; x < 2^63. The comparison is the sign of a
 * difference instead of a branch, which would double the kernel verifier's paths at each bit.
 */
static CC_INLINE u32 cube_root(u64 x)
{
	u64 root = 0;
	int bit;

	for (bit = 20; bit >= 0; bit--) {
		u64 next = root | 1ULL << bit;
		u64 too_large = (x - next * next * next) >> 63;

		root |= (1 - too_large) << bit;
	}
	return (u32)root;
}

static CC_INLINE u32 saturated(u64 packets)
{
	return packets < CC_U32_MAX ? (u32)packets : CC_U32_MAX;
}

/* K for a window `packets` below the origin, in ticks. */
static CC_INLINE u32 time_to_origin(u32 packets)
{
	return cube_root((1ULL << C_BITS) / C_SCALE * cc_min(packets, 1U << 24));
}

static CC_INLINE void start_epoch(struct cubic *s, const struct cc *c, u32 acked)
{
	s->in_epoch = 1;
	s->epoch = c->jiffies;
	s->est = c->cwnd;
	s->est_acked = acked;
	s->k = c->cwnd < s->w_max ? time_to_origin(s->w_max - c->cwnd) : 0;
	s->origin = cc_max(c->cwnd, s->w_max);
}

/* The time of the target, in ticks since the start of the epoch: a minimum RTT from now, in whole jiffies. */
static CC_INLINE u64 target_time(const struct cubic *s, const struct cc *c)
{
	s32 elapsed = (s32)(c->jiffies - s->epoch);
	u64 jiffies = elapsed > 0 ? (u32)elapsed : 0;

	jiffies += ((u64)s->hystart.delay_min_us * c->hz + 999999) / 1000000;
	return (jiffies << TICK_BITS) / cc_max(c->hz, 1);
}

/* W(t), packets. */
static CC_INLINE u64 w_cubic(const struct cubic *s, u64 t)
{
	u64 offset = t < s->k ? s->k - t : t - s->k;
	u64 change;

	offset = offset < OFFSET_TICKS_MAX ? offset : OFFSET_TICKS_MAX;
	change = C_SCALE * offset * offset * offset >> C_BITS;
	if (t >= s->k)
		return s->origin + change;
	return change < s->origin ? s->origin - change : 0;
}

/* `per` by the curve. */
static CC_INLINE void follow_curve(struct cubic *s, const struct cc *c)
{
	u64 target = w_cubic(s, target_time(s, c));

	if (target > c->cwnd)
		s->per = (u32)(c->cwnd / (target - c->cwnd));
	else
		s->per = saturated((u64)c->cwnd * WINDOWS_AT_TARGET);
	if (!s->w_max)
		s->per = cc_min(s->per, PER_MAX_NO_LOSS);
}

/* `per` by standard TCP with CUBIC's beta, if that is faster. */
static CC_INLINE void follow_reno(struct cubic *s, const struct cc *c)
{
	u32 each = saturated((u64)c->cwnd * EST_EIGHTHS / 8);

	if (s->est_acked > each && each) {
		u32 gained = (s->est_acked - 1) / each;

		s->est_acked -= gained * each;
		s->est += gained;
	}
	if (s->est > c->cwnd)
		s->per = cc_min(s->per, c->cwnd / (s->est - c->cwnd));
}

/* Handles an ACK in congestion avoidance: computes `per` again, unless hardly anything can have changed. */
static CC_INLINE void update(struct cubic *s, const struct cc *c, u32 acked)
{
	s->est_acked += acked;
	if (s->cwnd_seen == c->cwnd && (s32)(c->jiffies - s->seen_at) <= (s32)(c->hz / 32))
		return;
	if (!s->in_epoch || c->jiffies != s->seen_at) {
		s->cwnd_seen = c->cwnd;
		s->seen_at = c->jiffies;
		if (!s->in_epoch)
			start_epoch(s, c, acked);
		follow_curve(s, c);
	}
	follow_reno(s, c);
	s->per = cc_max(s->per, PER_MIN);
}

CC_INIT(cubic, struct cc *c)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	*s = (struct cubic){ RESTART_KEPT(s) };
	hystart_reset(&s->hystart, c);
}

CC_SSTHRESH(cubic, struct cc *c)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	s->in_epoch = 0;
	/* Fast convergence: a flow that lost below its last maximum makes room for newer ones. */
	if (c->cwnd < s->w_max)
		s->w_max = (u32)((u64)c->cwnd * (BETA_ONE + BETA) / (2 * BETA_ONE));
	else
		s->w_max = c->cwnd;
	return RESTART_REDUCED(s, c, cc_reduced(c, BETA, BETA_ONE));
}

CC_CONG_AVOID(cubic, struct cc *c, u32 ack, u32 acked)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c)) {
		acked = cc_slow_start(c, acked);
		if (!acked)
			return;
	}
	update(s, c, acked);
	cc_increase(c, 1, s->per, acked);
}

/* Samples in the first second of an epoch are not taken: recovery still shows in them. */
CC_PKTS_ACKED(cubic, struct cc *c, const struct cc_ack *ack)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);
	s32 rtt_us = cc_rtt_us(ack);

	RESTART_ACKED(s, c, ack);
	if (rtt_us < 0 || (s->in_epoch && (s32)(c->jiffies - s->epoch) < (s32)c->hz))
		return;
	hystart_acked(&s->hystart, c, cc_max((u32)rtt_us, 1));
}

CC_CWND_EVENT(cubic, struct cc *c, u32 event)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);
	s32 idle = (s32)(c->jiffies - c->last_sent);

	if (RESTART_EVENT(s, c, event) && c->ssthresh < CC_INFINITE_SSTHRESH)
		s->hystart.spread = 1;
	if (event != CC_TX_START || !s->in_epoch || idle <= 0)
		return;
	s->epoch += (u32)idle;
	if (cc_before(c->jiffies, s->epoch))
		s->epoch = c->jiffies;
}

CC_SET_STATE(cubic, struct cc *c, u32 state)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	if (state != CC_LOSS)
		return;
	*s = (struct cubic){ RESTART_KEPT(s) };
	hystart_reset(&s->hystart, c);
}

CC_UNDO_CWND(cubic, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM_OF_STATES(cubic, CC_HAS(cubic, init), CC_HAS(cubic, pkts_acked), CC_HAS(cubic, cwnd_event));
