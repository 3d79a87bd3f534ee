/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CUBIC as specified in RFC 9438, with HyStart++ (RFC 9406) in the first slow start. The CUBIC of Linux is in
 * cubic.c.
 *
 * In congestion avoidance the window follows a cubic function of the time since its start,
 *
 *     W(t) = C * (t - K)^3 + W_max,   K = cbrt((W_max - cwnd_epoch) / C)       (figures 1, 2)
 *
 * so neither the RTT nor the ACK rate affects how fast it returns to W_max, the window at the last loss. Where
 * standard TCP would have a larger window, its estimate W_est is used (section 4.3).
 *
 * Parameters: C = 0.4 packets/s^3, beta = 0.7, fast convergence on; alpha = 3 (1 - beta) / (1 + beta) = 9/17
 * until W_est reaches cwnd_prior, the window before the last reduction (also that of a timeout), then 1.
 *
 * Time is in ticks of 1/1024 s, and offsets end at 2^20 ticks (17 minutes), so that 4 * offset^3 fits in 63 bits.
 * W is computed to 1/1024 packet.
 *
 * Departures: ssthresh is beta * cwnd, not beta * flight size (section 4.6 allows this if the window does not
 * grow beyond what is used, as here). The time during which the application limits sending is excluded from t by
 * moving the epoch, as section 5.8 requires. A window above W in the concave part waits until W reaches it:
 * growth never reduces cwnd.
 *
 * A restart may be paced (restart.h).
 */
#include "cc.h"
#include "hystartpp.h"
#include "restart.h"

CC_PARAMETERS(RESTART_PARAMETERS);

#define BETA 7 /* of BETA_ONE: the window after a loss */
#define BETA_ONE 10
#define ALPHA 9 /* of ALPHA_ONE: W_est's increase a round trip */
#define ALPHA_ONE 17
#define TICKS_PER_S 1024
#define OFFSET_TICKS_MAX (1U << 20) /* ticks */
#define W_BITS 10 /* fractional bits of W(t) */

enum cubic_epoch { NO_EPOCH, IN_EPOCH };

/* The curve, which is restored after a spurious reduction (section 4.9). */
struct curve {
	u64 epoch_us; /* t_epoch: start of this congestion avoidance */
	u32 k;        /* K, ticks */
	u32 w_max;    /* W_max, packets; 0 before the first loss and after a timeout */
	u32 w_est;    /* W_est, packets */
	u32 prior;    /* cwnd_prior: the window before the last reduction, packets; 0 before the first */
};

struct cubic {
	CC_FIELDS(RESTART_PARAMETERS)
	struct curve curve;
	struct curve undone; /* the curve before the last reduction */
	struct hystart hystart;
	u64 growing_us; /* the last time at which the window could grow */
	u32 est_credit; /* towards W_est's next packet, in 1 / (ALPHA_ONE * cwnd) */
	u16 epoch;      /* enum cubic_epoch: whether the window follows the curve */
	u16 undo_epoch; /* the same, before the last reduction */
	struct restart resumed;
};

static CC_INLINE u32 ticks(u64 us)
{
	if (us >= OFFSET_TICKS_MAX / TICKS_PER_S * 1000000ULL)
		return OFFSET_TICKS_MAX;
	return (u32)(us * TICKS_PER_S / 1000000);
}

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

/* C * offset^3 in packets with W_BITS fractional bits: C is 4/10, a tick 2^-10 s. */
static CC_INLINE u64 cubic_rise(u32 offset)
{
	u64 cube = (u64)offset * offset * offset;

	return cube * 4 / 10 >> (30 - W_BITS);
}

/* W(t) of figure 1, in packets with W_BITS fractional bits. */
static CC_INLINE u64 w_cubic(const struct curve *curve, u32 t)
{
	u64 w_max = (u64)curve->w_max << W_BITS;
	u64 fall;

	if (t >= curve->k)
		return w_max + cubic_rise(t - curve->k);
	fall = cubic_rise(curve->k - t);
	return fall < w_max ? w_max - fall : 0;
}

/* K of figure 2, in ticks: cbrt(packets / 0.4) seconds. */
static CC_INLINE u32 time_to_regain(u32 packets)
{
	u64 seconds_cubed = (u64)cc_min(packets, CC_CWND_MAX) * 10 / 4;

	return cc_min(cube_root(seconds_cubed << 30), OFFSET_TICKS_MAX);
}

/*
 * Congestion avoidance begins (section 4.2). With no W_max, after a timeout (section 4.8) or a slow
 * start that ended without loss (section 4.10), or with the window above it, K is 0 from here.
 */
static CC_INLINE void start_epoch(struct cubic *s, const struct cc *c)
{
	struct curve *curve = &s->curve;

	s->epoch = IN_EPOCH;
	s->est_credit = 0;
	s->growing_us = c->now_us;
	curve->epoch_us = c->now_us;
	curve->w_est = c->cwnd;
	if (c->cwnd < curve->w_max) {
		curve->k = time_to_regain(curve->w_max - c->cwnd);
		return;
	}
	curve->k = 0;
	curve->w_max = c->cwnd;
}

/* Excludes the time in which the window could not grow from t (section 5.8). */
static CC_INLINE void skip_idle(struct cubic *s, u64 now_us)
{
	if (s->epoch == IN_EPOCH && now_us > s->growing_us)
		s->curve.epoch_us += now_us - s->growing_us;
	s->growing_us = now_us;
}

/* W_est of section 4.3, figure 4: standard TCP's window with CUBIC's beta. */
static CC_INLINE void follow_reno(struct cubic *s, const struct cc *c, u32 acked)
{
	u32 alpha = s->curve.w_est < s->curve.prior ? ALPHA : ALPHA_ONE;
	u64 per = (u64)c->cwnd * ALPHA_ONE;
	u64 credit = s->est_credit + (u64)alpha * acked;

	if (per && credit >= per) {
		u64 w_est = s->curve.w_est + credit / per;

		s->curve.w_est = w_est < CC_CWND_MAX ? (u32)w_est : CC_CWND_MAX;
		credit %= per;
	}
	s->est_credit = credit < CC_U32_MAX ? (u32)credit : CC_U32_MAX;
}

/*
 * Sections 4.4 and 4.5: the target of the window is W(t + RTT), bounded to cwnd .. 1.5 cwnd, a round
 * trip from now; each acknowledged packet adds its share (target - cwnd) / cwnd.
 */
static CC_INLINE void follow_curve(struct cubic *s, struct cc *c, u32 acked)
{
	u64 elapsed_us = c->now_us > s->curve.epoch_us ? c->now_us - s->curve.epoch_us : 0;
	u64 target = w_cubic(&s->curve, ticks(elapsed_us + (c->srtt_us8 >> 3)));
	u64 cwnd = (u64)c->cwnd << W_BITS;
	u64 most = cwnd + cwnd / 2;

	target = target < most ? target : most;
	if (target > cwnd)
		cc_increase(c, target - cwnd, cwnd, acked);
}

CC_INIT(cubic9438, struct cc *c)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	*s = (struct cubic){ RESTART_KEPT(s), .growing_us = c->now_us };
	hystart_reset(&s->hystart);
}

/* Sections 4.6 and 4.7: beta, and fast convergence, which yields to newer flows. */
CC_SSTHRESH(cubic9438, struct cc *c)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	s->undone = s->curve;
	s->undo_epoch = s->epoch;
	s->epoch = NO_EPOCH;
	s->curve.prior = c->cwnd;
	if (c->cwnd < s->curve.w_max)
		s->curve.w_max = (u32)((u64)c->cwnd * (BETA_ONE + BETA) / (2 * BETA_ONE));
	else
		s->curve.w_max = c->cwnd;
	return RESTART_REDUCED(s, c, cc_reduced(c, BETA, BETA_ONE));
}

CC_CONG_AVOID(cubic9438, struct cc *c, u32 ack, u32 acked)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	if (!c->cwnd_limited) {
		skip_idle(s, c->now_us);
		return;
	}
	if (cc_in_slow_start(c))
		acked = cc_slow_start(c, hystart_pace(&s->hystart, c, acked));
	if (!acked)
		return;
	if (s->epoch == NO_EPOCH)
		start_epoch(s, c);
	s->growing_us = c->now_us;
	follow_reno(s, c, acked);
	follow_curve(s, c, acked);
	if (s->curve.w_est > c->cwnd)
		cc_grow(c, s->curve.w_est - c->cwnd);
}

CC_PKTS_ACKED(cubic9438, struct cc *c, const struct cc_ack *ack)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	RESTART_ACKED(s, c, ack);
	hystart_acked(&s->hystart, c, cc_rtt_us(ack));
}

CC_CWND_EVENT(cubic9438, struct cc *c, u32 event)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	if (event == CC_TX_START)
		skip_idle(s, c->now_us);
	RESTART_EVENT(s, c, event);
}

/* Section 4.8: after a timeout W_max is the window at which congestion avoidance begins. */
CC_SET_STATE(cubic9438, struct cc *c, u32 state)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	if (state != CC_LOSS)
		return;
	s->curve.w_max = 0;
	s->epoch = NO_EPOCH;
}

/* Section 4.9: the reduction was spurious; the curve continues without it. */
CC_UNDO_CWND(cubic9438, struct cc *c)
{
	struct cubic *s = CC_PRIVATE(c, struct cubic);

	s->curve = s->undone;
	s->epoch = s->undo_epoch;
	return cc_undo(c);
}

CC_ALGORITHM_OF_STATES(cubic9438, CC_HAS(cubic9438, init), CC_HAS(cubic9438, pkts_acked),
		       CC_HAS(cubic9438, cwnd_event), CC_FLAGS(cubic9438, CC_TOLD_UNUSED));
