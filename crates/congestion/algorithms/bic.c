/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * BIC: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control for Fast Long-Distance
 * Networks", INFOCOM 2004; the algorithm of paper 2's Linux 2.6.9.
 *
 * The window at the last loss is a target that the network did not carry. Below it, the window searches: each
 * round trip it covers a part of the remaining distance, at most S_max packets. Near the target it grows very
 * slowly; beyond it, first slowly, then faster (max probing), up to S_max.
 *
 * Parameters: S_max 32 packets and low_window 14 as in the paper. As in Linux, a loss leaves 819/1024 of the
 * window (beta 0.2), the search covers a quarter of the distance (B = 4), and near the target it needs
 * smooth_part = 20 round trips for B packets. Up to low_window it is standard TCP.
 *
 * Linux 2.6.6 to 2.6.10 left 7/8, as in the paper. By a mistake, its fast convergence used 15/4 of the window as the
 * maximum, where it should use less than the window (Y. Li, D. Leith, "BicTCP implementation in Linux kernels",
 * Hamilton Institute, 2005): from the second loss on, the target is far away, and the window doubles in two or three
 * round trips. That is `{ beta = 896, smooth_part = 11, convergence = 3840 }`, as in the profile linux-2.6.9.
 *
 * Departures: increments are exact fractions of a packet per ACK, where Linux rounds the number of ACKs per packet,
 * so the rule holds at every window. Linux' estimate of delayed ACKs is not needed: the transport reports how many
 * packets an ACK covers (one, if it behaves as 2.6.9).
 *
 * A restart may be paced (restart.h).
 */
#include "cc.h"
#include "restart.h"

#define PARAMETERS(number)                                                                         \
	number(beta, 819, 1, 1023, "Of 1024: what a loss leaves of the window.")                       \
	number(smooth_part, 20, 4, 255, "Round trips in which creeping gains four packets.")           \
	number(convergence, 0, 0, 8192,                                                                \
	       "Of 1024: what fast convergence takes of the window for its maximum; 0: half of 1024 + beta.") \
	RESTART_PARAMETERS(number)
CC_PARAMETERS(PARAMETERS);

#define LOW_WINDOW 14 /* packets */
#define ONE 1024 /* of beta and convergence */
#define S_MAX 32 /* packets a round trip */
#define B 4 /* the search goes 1/B of the way */

struct bic {
	CC_FIELDS(PARAMETERS)
	struct restart resumed;
	u32 last_max; /* window at the last loss, packets; 0 before the first */
};

/*
 * Below the target (paper, section 3: binary search increase, bounded by S_max).
 * Returns, like the next two functions, packets a round trip times smooth_part.
 */
static CC_INLINE u32 search(const struct bic *s, u32 distance)
{
	u32 step = distance / B;

	return step <= 1 ? B : cc_min(step, S_MAX) * s->smooth_part;
}

/* Above the target (paper, section 3: max probing, a slow start of the increments). */
static CC_INLINE u32 probe(const struct bic *s, u32 distance)
{
	if (distance < B)
		return B;
	return cc_min(distance / (B - 1), S_MAX) * s->smooth_part;
}

/* The window's growth in a round trip, in 1/smooth_part packets. */
static CC_INLINE u32 increment(const struct bic *s, u32 cwnd)
{
	u32 gain;

	if (cwnd <= LOW_WINDOW)
		return s->smooth_part;
	gain = cwnd < s->last_max ? search(s, s->last_max - cwnd) : probe(s, cwnd - s->last_max);
	/* Without a target, at least 5 % a round trip, because there was no loss yet. */
	return s->last_max ? gain : cc_max(gain, (u32)((u64)cwnd * s->smooth_part / 20));
}

CC_INIT(bic, struct cc *c)
{
	CC_PRIVATE(c, struct bic)->last_max = 0;
}

CC_SSTHRESH(bic, struct cc *c)
{
	struct bic *s = CC_PRIVATE(c, struct bic);
	u32 taken = s->convergence ? 2 * s->convergence : ONE + s->beta; /* of 2 * ONE */

	/* Fast convergence: a flow that lost below its last maximum makes room for newer ones. */
	if (c->cwnd < s->last_max)
		s->last_max = (u32)((u64)c->cwnd * taken / (2 * ONE));
	else
		s->last_max = c->cwnd;
	if (c->cwnd <= LOW_WINDOW)
		return RESTART_REDUCED(s, c, cc_reduced(c, 1, 2));
	return RESTART_REDUCED(s, c, cc_reduced(c, s->beta, ONE));
}

CC_CONG_AVOID(bic, struct cc *c, u32 ack, u32 acked)
{
	const struct bic *s = CC_PRIVATE(c, struct bic);

	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c))
		acked = cc_slow_start(c, acked);
	if (acked)
		cc_increase(c, increment(s, c->cwnd), (u64)c->cwnd * s->smooth_part, acked);
}

/* After a timeout the path may have changed: the old target does not apply to it. */
CC_SET_STATE(bic, struct cc *c, u32 state)
{
	if (state == CC_LOSS)
		CC_PRIVATE(c, struct bic)->last_max = 0;
}

CC_UNDO_CWND(bic, struct cc *c)
{
	return cc_undo(c);
}

RESTART_HOOKS(bic)

CC_ALGORITHM_OF_STATES(bic, RESTART_HAS(bic), CC_FLAGS(bic, CC_WINDOW_ONLY | CC_ACKS_PACED));
