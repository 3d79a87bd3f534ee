/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HighSpeed TCP: RFC 3649; the algorithm of paper 0's figures 1 and 2.
 *
 * Above 38 packets the window gains a(w) packets a round trip and loses b(w) of itself at a loss,
 * both functions of the window, so that 83000 packets are reached at a loss rate of 1e-7 where
 * standard TCP needs 2e-10. Up to 38 packets it is standard TCP (section 5).
 *
 * Parameters (section 5): Low_Window 38, High_Window 83000, High_P 1e-7, High_Decrease 0.1. The
 * rows {window, a, b} are computed from them at build time (build/highspeed.rs), as section 6.1
 * proposes; appendix B prints the same rows. Past the last one, at 94717 packets, it holds.
 *
 * Departure: b(w) is that of the row, not of the window itself. The rows lie close enough for the
 * two to differ by 0.06 between 38 and 118 packets, by less than 0.03 above.
 */
#include "cc.h"

#define DECREASE_ONE 65536 /* b is in 1/65536 */

struct highspeed_row {
	u32 window;   /* least window of the row, packets */
	u32 increase; /* a, packets a round trip */
	u32 decrease; /* b, in 1/DECREASE_ONE */
};

#include "highspeed_table.h"

#define ROWS (sizeof(highspeed_table) / sizeof(highspeed_table[0]))

struct highspeed {
	u32 row; /* where the window stood last; it rarely leaves its row */
};

/* The row of the present window, found from the last one. */
static CC_INLINE const struct highspeed_row *row_of(struct cc *c)
{
	struct highspeed *s = CC_PRIVATE(c, struct highspeed);
	u32 row = s->row < ROWS ? s->row : 0;
	u32 i;

	for (i = 0; i < ROWS && row < ROWS - 1; i++) {
		if (c->cwnd < highspeed_table[row + 1].window)
			break;
		row++;
	}
	for (i = 0; i < ROWS && row > 0 && row < ROWS; i++) {
		if (c->cwnd >= highspeed_table[row].window)
			break;
		row--;
	}
	if (row >= ROWS)
		row = ROWS - 1;
	s->row = row;
	return &highspeed_table[row];
}

CC_INIT(highspeed, struct cc *c)
{
	CC_PRIVATE(c, struct highspeed)->row = 0;
}

CC_SSTHRESH(highspeed, struct cc *c)
{
	return cc_reduced(c, DECREASE_ONE - row_of(c)->decrease, DECREASE_ONE);
}

CC_CONG_AVOID(highspeed, struct cc *c, u32 ack, u32 acked)
{
	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c))
		acked = cc_slow_start(c, acked);
	if (acked)
		cc_increase(c, row_of(c)->increase, cc_max(c->cwnd, 1), acked);
}

CC_UNDO_CWND(highspeed, struct cc *c)
{
	return cc_undo(c);
}

CC_ALGORITHM(highspeed, CC_HAS(highspeed, init));
