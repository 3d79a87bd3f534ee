/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Phases of a program, each with a slow start threshold of its own: M. Matsuda et al., "TCP Layer Adapted to MPI
 * Library", section 3.1, for any number of them in turn and not only for two.
 *
 * What an all-to-all leaves of the threshold tells nothing of messages between two ranks, and the other way round. So the
 * threshold that there is is kept for the phase that ends, and the one which the phase that begins ended with is
 * taken up, if it is not too old. Of a phase that was not there yet nothing is known: the threshold stays. Where
 * nothing is in flight the window falls to a new connection's, so that sending begins by the threshold (restart.h paces
 * it, slow start takes its time); what is in flight keeps its window.
 *
 * The rest of the algorithm's state stays, too. The calls are a program's own and few: nothing here is done per packet.
 */
#ifndef SUIMON_PHASES_H
#define SUIMON_PHASES_H

#include "cc.h"

/* Of more than these the one that ended first is forgotten. */
#define PHASES_MAX 16

/* The Rust side's `Ended` and `Phases` are these, field for field. */
struct phase_ended {
	u32 phase; /* 0: none */
	u32 ssthresh;
	u32 since; /* jiffies; ages are told apart as long as these do not wrap */
};

struct phases {
	u32 present; /* 0: none yet */
	struct phase_ended ended[PHASES_MAX];
};

/* The place of a phase; if it has none, one that is free, or else that of the one which ended first. */
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
 * The program enters a phase, whose number is not 0; `window` is a new connection's. Returns 0 if it is the one that there
 * is, in which nothing changes.
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
