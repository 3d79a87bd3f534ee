/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Phases of a program, each with its own slow start threshold: M. Matsuda et al., "TCP Layer Adapted to MPI
 * Library", section 3.1, for any number of phases instead of two.
 *
 * The threshold after an all-to-all is not useful for messages between two ranks, and vice versa. So the current
 * threshold is saved for the phase that ends, and the threshold that the beginning phase last ended with is restored, if
 * it is not too old. A new phase keeps the current threshold. If nothing is in flight, the window falls to that of a new
 * connection, so that sending starts by the threshold (restart.h paces it, slow start takes its time); packets in flight
 * keep the window.
 *
 * The rest of the algorithm's state is kept, too. Programs make these calls rarely: nothing here runs per packet.
 */
#ifndef SUIMON_PHASES_H
#define SUIMON_PHASES_H

#include "cc.h"

/* With more phases than this, the one that ended first is forgotten. */
#define PHASES_MAX 16

/* The Rust side's `Ended` and `Phases` are these, field for field. */
struct phase_ended {
	u32 phase; /* 0: none */
	u32 ssthresh;
	u32 since; /* jiffies; ages can be compared as long as these do not wrap */
};

struct phases {
	u32 present; /* 0: none yet */
	struct phase_ended ended[PHASES_MAX];
};

/* The slot of a phase; if it has none, a free one, or else that of the phase that ended first. */
static CC_INLINE u32 phases_place(const struct phases *p, u32 phase, u32 now)
{
	u32 place = 0, oldest = 0;

	for (u32 i = 0; i < PHASES_MAX; i++) {
		u32 age = now - p->ended[i].since;

		if (p->ended[i].phase == phase)
			return i;
		if (!p->ended[i].phase)
			age = CC_U32_MAX;
		if (age > oldest) {
			oldest = age;
			place = i;
		}
	}
	return place;
}

/*
 * Enters a phase, whose number is not 0; `window` is that of a new connection. Returns 0 if the connection is in this
 * phase already; then nothing changes.
 */
static CC_INLINE int phases_enter(struct phases *p, struct cc *c, u32 phase, u32 window, u32 age_max_ms)
{
	u64 age_max = (u64)age_max_ms * c->hz / 1000;
	u32 place;

	if (p->present == phase)
		return 0;
	if (p->present) {
		place = phases_place(p, p->present, c->jiffies) % PHASES_MAX;
		p->ended[place] = (struct phase_ended){ p->present, c->ssthresh, c->jiffies };
	}
	p->present = phase;
	place = phases_place(p, phase, c->jiffies) % PHASES_MAX;
	if (p->ended[place].phase == phase && c->jiffies - p->ended[place].since <= age_max)
		c->ssthresh = p->ended[place].ssthresh;
	if (c->state <= CC_DISORDER && c->snd_una == c->snd_nxt)
		c->cwnd = cc_min(c->cwnd, window);
	return 1;
}

#endif
