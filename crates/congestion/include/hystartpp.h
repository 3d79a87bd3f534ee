/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HyStart++: RFC 9406. Leaves the first slow start before it overruns the path.
 *
 * A round whose minimum RTT is an eighth (bounded to 4..16 ms) above the last round's means that a
 * queue is building. Then Conservative Slow Start (CSS) grows at a quarter of the pace for five
 * rounds. If the RTT falls back meanwhile, the rise was jitter and slow start resumes; otherwise
 * congestion avoidance begins at the current window.
 *
 * An algorithm embeds `struct hystart` in its private state, calls hystart_reset from init,
 * hystart_acked from pkts_acked, and passes its packets through hystart_pace in slow start.
 *
 * Departure: L, the bound on what one ACK may add (8 packets without pacing, none with it, section
 * 4.3), is not used: real stacks merge ACKs for up to 64 KB, a bound of 8 packets would slow
 * such a start by half, and the transport keeps bursts short.
 */
#ifndef SUIMON_HYSTARTPP_H
#define SUIMON_HYSTARTPP_H

#include "cc.h"

/* Section 4.3's constants. */
#define HYSTART_MIN_RISE_US 4000
#define HYSTART_MAX_RISE_US 16000
#define HYSTART_RISE_DIVISOR 8
#define HYSTART_SAMPLES 8
#define HYSTART_CSS_DIVISOR 4
#define HYSTART_CSS_ROUNDS 5

enum hystart_phase { HYSTART_NEW, HYSTART_SLOW_START, HYSTART_CSS };

struct hystart {
	u32 round_end;   /* windowEnd: the round is over when this is acknowledged */
	u32 last_us;     /* lastRoundMinRTT; CC_U32_MAX for infinity, as below */
	u32 current_us;  /* currentRoundMinRTT */
	u32 baseline_us; /* cssBaselineMinRtt */
	u16 samples;     /* rttSampleCount, up to HYSTART_SAMPLES */
	u8 phase;        /* enum hystart_phase */
	u8 css_rounds;   /* rounds of CSS completed */
	u32 carry;       /* CSS: acknowledged packets carried towards the next packet of growth */
};

/* Call before the first ACK. */
static CC_INLINE void hystart_reset(struct hystart *h)
{
	*h = (struct hystart){ .last_us = CC_U32_MAX, .current_us = CC_U32_MAX };
}

/* Only the first slow start has no threshold, and only there it applies (section 4.3). */
static CC_INLINE int hystart_applies(const struct cc *c)
{
	return c->ssthresh >= CC_INFINITE_SSTHRESH;
}

/* Section 4.2, "at the start of each round". */
static CC_INLINE void hystart_start_round(struct hystart *h, const struct cc *c)
{
	h->round_end = c->snd_nxt;
	h->last_us = h->current_us;
	h->current_us = CC_U32_MAX;
	h->samples = 0;
}

/* RttThresh: the minimum rise over the last round. */
static CC_INLINE u32 hystart_rise(const struct hystart *h)
{
	u32 rise = h->last_us / HYSTART_RISE_DIVISOR;

	return cc_max(HYSTART_MIN_RISE_US, cc_min(rise, HYSTART_MAX_RISE_US));
}

/* Section 4.2, in standard slow start: a rise of the round's minimum RTT begins CSS. */
static CC_INLINE void hystart_watch(struct hystart *h)
{
	if (h->last_us == CC_U32_MAX || h->current_us < h->last_us)
		return;
	if (h->current_us - h->last_us < hystart_rise(h))
		return;
	h->baseline_us = h->current_us;
	h->phase = HYSTART_CSS;
	h->css_rounds = 0;
	h->carry = 0;
}

/* Section 4.2, in CSS: an RTT below the one that began CSS means jitter; slow start resumes. */
static CC_INLINE void hystart_reconsider(struct hystart *h)
{
	if (h->current_us < h->baseline_us) {
		h->baseline_us = CC_U32_MAX;
		h->phase = HYSTART_SLOW_START;
	}
}

/* Ends the round. Returns 1 if CSS has completed its rounds and congestion avoidance is due. */
static CC_INLINE int hystart_end_round(struct hystart *h, const struct cc *c)
{
	hystart_start_round(h, c);
	if (h->phase != HYSTART_CSS)
		return 0;
	h->css_rounds++;
	return h->css_rounds >= HYSTART_CSS_ROUNDS;
}

/*
 * Handles an RTT sample of an ACK (negative: none). Ends slow start, by setting the threshold to the
 * window, when CSS is complete; the round in which CSS began counts as one (section 4.2).
 */
static CC_INLINE void hystart_acked(struct hystart *h, struct cc *c, s32 rtt_us)
{
	if (!hystart_applies(c))
		return;
	if (h->phase == HYSTART_NEW) {
		h->round_end = c->snd_nxt;
		h->phase = HYSTART_SLOW_START;
	}
	if (rtt_us >= 0) {
		h->current_us = cc_min(h->current_us, (u32)rtt_us);
		if (h->samples < HYSTART_SAMPLES)
			h->samples++;
	}
	if (h->samples >= HYSTART_SAMPLES) {
		if (h->phase == HYSTART_CSS)
			hystart_reconsider(h);
		else
			hystart_watch(h);
	}
	if (!cc_before(c->snd_una, h->round_end) && hystart_end_round(h, c))
		c->ssthresh = cc_max(c->cwnd, CC_MIN_SSTHRESH);
}

/* The number of `acked` packets that slow start may add: in CSS a quarter, the rest is carried over. */
static CC_INLINE u32 hystart_pace(struct hystart *h, const struct cc *c, u32 acked)
{
	u64 credit;

	if (h->phase != HYSTART_CSS || !hystart_applies(c))
		return acked;
	credit = (u64)h->carry + acked;
	h->carry = (u32)(credit % HYSTART_CSS_DIVISOR);
	return (u32)(credit / HYSTART_CSS_DIVISOR);
}

#endif
