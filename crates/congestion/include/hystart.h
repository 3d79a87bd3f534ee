/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * HyStart: S. Ha, I. Rhee, "Taming the Elephants: New TCP Slow Start", Computer Networks 55(9), 2011;
 * with the parameters of Linux 6. Ends slow start before it overruns the path.
 *
 * A round is a window of data. Two signs end slow start at the current window:
 *
 * - ACK train: a window's ACKs arrive back to back for longer than half the minimum RTT. Then the packets of
 *   about a one-way delay are in flight, which is what the path holds without a queue.
 * - Delay: the minimum RTT of the round's first samples exceeds the minimum RTT by an eighth (4 to 16 ms).
 *
 * With pacing, packets are spread over up to half a round trip in slow start, so a train has to last a
 * whole minimum RTT. A train is allowed the time of four of the largest segments that the stack passes to
 * its device at the pacing rate, 1 ms at most, because merging (TSO, GRO) delays ACKs.
 *
 * The algorithm calls hystart_reset from init and after a timeout, and hystart_acked with each RTT
 * sample in slow start. HyStart is on in every slow start, also after a timeout.
 */
#ifndef SUIMON_HYSTART_H
#define SUIMON_HYSTART_H

#include "cc.h"

#define HYSTART_CWND_MIN 16 /* packets; smaller windows are left alone */
#define HYSTART_GAP_MAX_US 2000 /* ACKs further apart end the train */
#define HYSTART_MERGE_MAX_US 1000
#define HYSTART_SAMPLES 8
#define HYSTART_RISE_MIN_US 4000
#define HYSTART_RISE_MAX_US 16000
#define HYSTART_RISE_DIVISOR 8

struct hystart {
	u32 round_start_us; /* low half of the time, like the next */
	u32 train_us;       /* the last ACK of the train */
	u32 round_end;      /* the round ends after this sequence number */
	u32 round_min_us;   /* minimum RTT of the round's samples */
	u32 delay_min_us;   /* minimum RTT since the last reset; 0 before the first sample */
	u16 samples;        /* of this round, up to HYSTART_SAMPLES */
	u8 found;           /* slow start was ended; stays until the next reset */
	u8 spread;          /* packets were paced over the round trip (restart.h): their ACKs are a train on any path */
};

static CC_INLINE void hystart_start_round(struct hystart *h, const struct cc *c)
{
	h->round_start_us = (u32)c->now_us;
	h->train_us = (u32)c->now_us;
	h->round_end = c->snd_nxt;
	h->round_min_us = CC_U32_MAX;
	h->samples = 0;
}

static CC_INLINE void hystart_reset(struct hystart *h, const struct cc *c)
{
	h->delay_min_us = 0;
	h->found = 0;
	h->spread = 0;
	hystart_start_round(h, c);
}

/* The delay of ACKs by merging. */
static CC_INLINE u32 hystart_merge_us(const struct cc *c)
{
	u64 us = c->pacing_rate ? (u64)c->gso_max * 4 * 1000000 / c->pacing_rate : 0;

	return us < HYSTART_MERGE_MAX_US ? (u32)us : HYSTART_MERGE_MAX_US;
}

/* Whether the train that this ACK continues is long enough. */
static CC_INLINE int hystart_train(struct hystart *h, const struct cc *c)
{
	u32 now = (u32)c->now_us;
	u32 enough = h->delay_min_us + hystart_merge_us(c);

	if ((s32)(now - h->train_us) > HYSTART_GAP_MAX_US)
		return 0;
	h->train_us = now;
	return now - h->round_start_us > (c->paced ? enough : enough / 2);
}

/* Whether the round's RTT has risen, after HYSTART_SAMPLES samples besides this one. */
static CC_INLINE int hystart_delay(struct hystart *h, u32 rtt_us)
{
	u32 rise = h->delay_min_us / HYSTART_RISE_DIVISOR;

	h->round_min_us = cc_min(h->round_min_us, rtt_us);
	if (h->samples < HYSTART_SAMPLES) {
		h->samples++;
		return 0;
	}
	rise = cc_max(HYSTART_RISE_MIN_US, cc_min(rise, HYSTART_RISE_MAX_US));
	return h->round_min_us > h->delay_min_us + rise;
}

/* An RTT sample, above zero. Ends slow start by setting the threshold to the window. */
static CC_INLINE void hystart_acked(struct hystart *h, struct cc *c, u32 rtt_us)
{
	int train, delay;

	if (!h->delay_min_us || h->delay_min_us > rtt_us)
		h->delay_min_us = rtt_us;
	if (h->found || !cc_in_slow_start(c))
		return;
	if (cc_before(h->round_end, c->snd_una))
		hystart_start_round(h, c);
	if (c->cwnd < HYSTART_CWND_MIN)
		return;
	train = hystart_train(h, c) && !h->spread;
	delay = hystart_delay(h, rtt_us);
	if (train || delay) {
		h->found = 1;
		c->ssthresh = c->cwnd;
	}
}

#endif
