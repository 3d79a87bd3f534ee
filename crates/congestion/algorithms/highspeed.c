/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HighSpeed TCP: RFC 3649; the algorithm of paper 0's figures 1 and 2.
 *
 * Above 38 packets, the window grows by a(w) packets per round trip and shrinks by the share b(w) at a loss. Both
 * are functions of the window, chosen so that it reaches 83000 packets at a loss rate of 1e-7, where standard TCP
 * needs 2e-10. Up to 38 packets it is standard TCP (section 5).
 *
 * Parameters (section 5): Low_Window 38, High_Window 83000, High_P 1e-7, High_Decrease 0.1. The rows {window, a, b}
 * are computed from them at build time (build/highspeed.rs), as section 6.1 proposes; appendix B prints the same rows.
 * Beyond the last row, at 94717 packets, its values hold.
 *
 * Departure: b(w) is that of the row, not that of the window itself. The two differ by up to 0.06 between 38 and 118
 * packets, and by less than 0.04 above.
 *
 * A restart may be paced (restart.h).
 */
#include "cc.h"
#include "restart.h"

RESTART_ALONE(highspeed)

#define DECREASE_ONE 65536 /* b is in 1/65536 */

struct highspeed_row {
	u32 window;   /* minimum window of the row, packets */
	u32 increase; /* a, packets a round trip */
	u32 decrease; /* b, in 1/DECREASE_ONE */
};

#include "highspeed_table.h"

/*
 * The row of a window, by bisection: the table is padded to a power of two with rows that start at
 * the largest window. The mask proves to the kernel's verifier what the padding already ensures.
 */
static CC_INLINE const struct highspeed_row *row_of(u32 window)
{
	u32 row = 0;
	u32 step;

	for (step = HIGHSPEED_ROWS / 2; step > 0; step /= 2) {
		if (window >= highspeed_table[(row + step) & (HIGHSPEED_ROWS - 1)].window)
			row += step;
	}
	return &highspeed_table[row & (HIGHSPEED_ROWS - 1)];
}

CC_SSTHRESH(highspeed, struct cc *c)
{
	u32 kept = DECREASE_ONE - row_of(c->cwnd)->decrease;

	return RESTART_REDUCED(CC_PRIVATE(c, struct highspeed), c, cc_reduced(c, kept, DECREASE_ONE));
}

CC_CONG_AVOID(highspeed, struct cc *c, u32 ack, u32 acked)
{
	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c))
		acked = cc_slow_start(c, acked);
	if (acked)
		cc_increase(c, row_of(c->cwnd)->increase, cc_max(c->cwnd, 1), acked);
}

CC_UNDO_CWND(highspeed, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM(highspeed, RESTART_HAS(highspeed), CC_FLAGS(highspeed, CC_WINDOW_ONLY | CC_ACKS_PACED));
