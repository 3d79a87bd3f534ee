/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * BBR version 3's path model of a connection (draft-ietf-ccwg-bbr-06, sections 2 and 5.5), values derived from it, and
 * the start of each state. algorithms/bbr3.c describes the algorithm and its departures from the draft.
 */
#ifndef SUIMON_BBR3_H
#define SUIMON_BBR3_H

#define BW_SHIFT 24 /* bandwidths are packets a microsecond, in units of 2^-24 */
#define BW_UNIT (1ULL << BW_SHIFT)
#define GAIN_SHIFT 8
#define GAIN_UNIT (1U << GAIN_SHIFT)
#define GAIN_STARTUP (GAIN_UNIT * 277 / 100 + 1) /* 4 ln 2 */
#define GAIN_DRAIN (GAIN_UNIT / 2)
#define GAIN_DOWN (GAIN_UNIT * 9 / 10)
#define GAIN_UP (GAIN_UNIT * 5 / 4)
#define CWND_GAIN (GAIN_UNIT * 2)
#define CWND_GAIN_UP (GAIN_UNIT * 9 / 4)
#define CWND_GAIN_PROBE_RTT (GAIN_UNIT / 2)
#define LOSS_ONE_IN 50U /* LossThresh: 2 % */
#define BETA(value) ((u32)((u64)(value) * 7 / 10))
#define HEADROOM(value) ((u32)((u64)(value) * 15 / 100))
#define CWND_MIN 4U
#define CWND_INIT 10U
#define MIN_RTT_S 10U
#define PROBE_RTT_S 5U
#define PROBE_RTT_MS 200U
#define FULL_ROUNDS 3U
#define FULL_LOSSES 6U
#define DRAIN_ROUNDS 3U
#define RENO_ROUNDS 63U
#define EXTRA_ROUNDS 5U /* of each of two slots */
#define BURST_MAX (65536U - 1 - 320) /* bytes: Linux' GSO_LEGACY_MAX_SIZE without headers */
#define INFINITE CC_U32_MAX

enum mode {
	STARTUP,
	DRAIN,
	PROBE_DOWN,
	PROBE_CRUISE,
	PROBE_REFILL,
	PROBE_UP,
	PROBE_RTT,
};

/* The phase of the ACKs that arrive (section 2.14). */
enum ack_phase { ACKS_INIT, ACKS_REFILLING, ACKS_STARTING, ACKS_FEEDBACK, ACKS_STOPPING };

enum undo { UNDO_NONE, UNDO_STARTUP, UNDO_UP };

struct bbr3 {
	u32 min_rtt_us; /* of the last 10 s */
	u32 min_rtt_at; /* jiffies */
	u32 probe_rtt_us; /* the minimum of the last 5 s */
	u32 probe_rtt_at; /* jiffies */
	union {
		u32 stamp;    /* jiffies: start of the cycle; end of ProbeRTT, 0 until few enough are in flight */
		u32 up_acked; /* REFILL and UP: packets towards the next increase of inflight_long */
	};
	u32 max_bw[2]; /* of the previous cycle, and of this one */
	u32 bw_latest; /* the maximum of this round trip */
	u32 bw_short;
	u32 full_bw;
	u32 inflight_latest;
	u32 inflight_short;
	u32 inflight_long; /* 0 before init */
	u32 undo_inflight_long;
	u32 prior_cwnd;
	u32 round_end;      /* packets delivered when the round trip ends */
	u32 loss_round_end; /* the end of another round trip, which a first loss restarts */
	u32 loss_round;     /* packets delivered when the previous round trip began */
	u32 lost[2];        /* packets lost by loss_round, and by loss_round_end without first_lost */
	u32 epoch_us;       /* the last time at which ACKs came no faster than the bandwidth */
	u32 epoch_acked;
	u32 extra_acked[2];   /* the maximum in excess of it, in this slot and the previous one */
	u32 wait : 12;        /* jiffies from DOWN to REFILL */
	u32 rounds : 6;       /* in Drain; since the last probe of the bandwidth */
	u32 up_rounds : 5;    /* inflight_long grows by 2^(up_rounds - 1) a round trip */
	u32 mode : 3;         /* enum mode */
	u32 ack_phase : 3;    /* enum ack_phase */
	u32 prior_state : 3;  /* enum cc_state at the last ACK */
	u32 round_start : 1;  /* of this ACK, like the next two */
	u32 loss_round_start : 1;
	u32 rtt_expired : 1;  /* the minimum was not seen for 5 s */
	u32 loss_in_round : 1;
	u32 first_lost : 5;   /* packets of the loss that began the round trip, at most 31 */
	u32 loss_events : 3;  /* ACKs of this round trip that showed losses, at most 7 */
	u32 full_rounds : 2;
	u32 full_now : 1;     /* the path was found full, in this probe */
	u32 full : 1;         /* or at any time */
	u32 probes : 1;       /* ACKs are of packets sent in UP, and losses are not too many yet */
	u32 too_high : 1;     /* the last probe lost too many */
	u32 cautious : 1;     /* the last probe ended as soon as inflight_long was reached */
	u32 unjudged : 1;     /* a recovery began, maybe by a timer: losses that no ACK showed */
	u32 undo : 2;         /* enum undo: what a loss ended */
	u32 undo_short : 1;   /* there was no short-term model before it */
	u32 limited : 2;      /* rounds whose packets were sent while ProbeRTT limited them */
	u32 probed_round : 1; /* ProbeRTT lasts for a round trip */
	u32 restarts : 1;     /* from idle */
	u32 knows_rtt : 1;
	u32 extra_slot : 1;
	u32 extra_rounds : 3;
};

static CC_INLINE u32 max_bandwidth(const struct bbr3 *s)
{
	return cc_max(s->max_bw[0], s->max_bw[1]);
}

/* BBR.bw */
static CC_INLINE u32 bandwidth(const struct bbr3 *s)
{
	return cc_min(max_bandwidth(s), s->bw_short);
}

/* RS.delivery_rate */
static CC_INLINE u32 rate_sample(const struct cc_rate *rate)
{
	u64 interval_us = rate->interval_ns / 1000;
	u64 bw = interval_us ? rate->delivered * BW_UNIT / interval_us : 0;

	return bw < CC_U32_MAX ? (u32)bw : CC_U32_MAX;
}

static CC_INLINE int probes_bandwidth(const struct bbr3 *s)
{
	return s->mode >= PROBE_DOWN && s->mode <= PROBE_UP;
}

static CC_INLINE u32 pacing_gain(const struct bbr3 *s)
{
	switch (s->mode) {
	case STARTUP:
		return GAIN_STARTUP;
	case DRAIN:
		return GAIN_DRAIN;
	case PROBE_DOWN:
		return GAIN_DOWN;
	case PROBE_UP:
		return GAIN_UP;
	}
	return GAIN_UNIT;
}

static CC_INLINE u32 cwnd_gain(const struct bbr3 *s)
{
	if (s->mode == PROBE_UP)
		return CWND_GAIN_UP;
	return s->mode == PROBE_RTT ? CWND_GAIN_PROBE_RTT : CWND_GAIN;
}

/* Bytes a second, 1 % below the bandwidth so that no queue remains (section 5.6.2). */
static CC_INLINE u64 rate_of(const struct cc *c, u64 bw, u32 gain)
{
	u64 rate = (bw * c->mss * gain) >> GAIN_SHIFT;

	return (rate * (1000000 / 100 * 99)) >> BW_SHIFT;
}

/* Before the first delivery: the initial window in a round trip, or in a millisecond. */
static CC_INLINE void set_first_rate(struct bbr3 *s, struct cc *c)
{
	u32 rtt_us = 1000;

	if (c->srtt_us8) {
		rtt_us = cc_max(c->srtt_us8 >> 3, 1);
		s->knows_rtt = 1;
	}
	c->pacing_rate = rate_of(c, c->cwnd * BW_UNIT / rtt_us, GAIN_STARTUP);
}

static CC_INLINE void set_rate(struct bbr3 *s, struct cc *c, u32 gain)
{
	u64 rate = rate_of(c, bandwidth(s), gain);

	if (!s->knows_rtt && c->srtt_us8)
		set_first_rate(s, c);
	if (s->full || rate > c->pacing_rate)
		c->pacing_rate = rate;
}

/* BDPMultiple, packets. */
static CC_INLINE u32 bdp(const struct bbr3 *s, u32 gain)
{
	u64 packets;

	if (s->min_rtt_us == CC_U32_MAX)
		return CWND_INIT;
	packets = (((u64)bandwidth(s) * s->min_rtt_us * gain >> GAIN_SHIFT) + BW_UNIT - 1) >> BW_SHIFT;
	return packets < CC_CWND_MAX ? (u32)packets : CC_CWND_MAX;
}

/* QuantizationBudget: three bursts of a millisecond at the pacing rate (sections 5.5.8, 5.6.3, 5.6.4.2). */
static CC_INLINE u32 with_bursts(const struct bbr3 *s, const struct cc *c, u32 packets)
{
	u64 bytes = c->pacing_rate >> 10;
	u32 burst = (u32)(bytes < BURST_MAX ? bytes : BURST_MAX) / cc_max(c->mss, 1);

	packets = cc_max(cc_max(packets, 3 * cc_max(burst, 2)), CWND_MIN);
	return s->mode == PROBE_UP ? packets + 2 : packets;
}

/* Inflight(gain) */
static CC_INLINE u32 inflight(const struct bbr3 *s, const struct cc *c, u32 gain)
{
	return with_bursts(s, c, bdp(s, gain));
}

static CC_INLINE u32 inflight_with_headroom(const struct bbr3 *s)
{
	if (s->inflight_long == INFINITE)
		return INFINITE;
	return cc_max(s->inflight_long - cc_max(HEADROOM(s->inflight_long), 1), CWND_MIN);
}

/* The target in flight: the product, unless congestion reduced the window. */
static CC_INLINE u32 target_inflight(const struct bbr3 *s, const struct cc *c)
{
	return cc_min(bdp(s, GAIN_UNIT), c->cwnd);
}

static CC_INLINE u32 probe_rtt_cwnd(const struct bbr3 *s)
{
	return cc_max(bdp(s, CWND_GAIN_PROBE_RTT), CWND_MIN);
}

/* Saves the window at the start of a loss recovery or ProbeRTT. */
static CC_INLINE void save_cwnd(struct bbr3 *s, const struct cc *c)
{
	if (s->prior_state < CC_RECOVERY && s->mode != PROBE_RTT)
		s->prior_cwnd = c->cwnd;
	else
		s->prior_cwnd = cc_max(s->prior_cwnd, c->cwnd);
}

static CC_INLINE void reset_short_term(struct bbr3 *s)
{
	s->bw_short = INFINITE;
	s->inflight_short = INFINITE;
}

static CC_INLINE void reset_full(struct bbr3 *s, u32 bw)
{
	s->full_bw = bw;
	s->full_rounds = 0;
	s->full_now = 0;
}

/* Restarts the round trips of losses. */
static CC_INLINE void reset_losses(struct bbr3 *s, const struct cc *c)
{
	s->loss_in_round = 0;
	s->bw_latest = 0;
	s->inflight_latest = 0;
	s->loss_round_end = c->delivered;
	s->lost[1] = c->lost;
	s->first_lost = 0;
}

/* PickProbeWait: 2 to 3 s, and a round trip more or less of Reno's time (section 5.3.3.5.3). */
static CC_INLINE void start_down(struct bbr3 *s, const struct cc *c)
{
	u32 mixed = ((u32)c->now_us ^ c->snd_una) * 2654435761U;
	u32 wait = 2U * c->hz + ((mixed >> 12 & 0xffff) * c->hz >> 16);

	reset_losses(s, c);
	s->rounds = (mixed & 1U << 31) != 0;
	s->wait = cc_min(wait, 0xfff) & 0xfff;
	s->stamp = c->jiffies;
	s->ack_phase = ACKS_STOPPING;
	s->round_end = c->delivered;
	s->mode = PROBE_DOWN;
}

static CC_INLINE void start_refill(struct bbr3 *s, const struct cc *c)
{
	reset_short_term(s);
	s->up_rounds = 0;
	s->up_acked = 0;
	s->cautious = 0;
	s->ack_phase = ACKS_REFILLING;
	s->round_end = c->delivered;
	s->mode = PROBE_REFILL;
}

static CC_INLINE void raise_slope(struct bbr3 *s)
{
	s->up_rounds = cc_min(s->up_rounds + 1U, 31) & 31;
}

static CC_INLINE void start_up(struct bbr3 *s, const struct cc *c, const struct cc_rate *rate)
{
	s->ack_phase = ACKS_STARTING;
	s->round_end = c->delivered;
	reset_full(s, rate_sample(rate));
	s->mode = PROBE_UP;
	raise_slope(s);
}

/* Below the threshold, Linux treats a half-used window as limiting. From here on, no window is below the threshold. */
static CC_INLINE void start_drain(struct bbr3 *s, struct cc *c)
{
	s->mode = DRAIN;
	s->rounds = 0;
	c->ssthresh = CC_MIN_SSTHRESH;
}

/*
 * RS.lost: the packets marked as lost since the sampled packet was sent. The number lost by then lies between the numbers
 * at the starts of the round trips.
 */
static CC_INLINE u32 lost_since(const struct bbr3 *s, const struct cc *c, const struct cc_rate *rate)
{
	u32 before = s->lost[1] - s->lost[0];
	u32 length = s->loss_round_end - s->loss_round;
	u32 sent = rate->prior_delivered - s->loss_round;

	if (cc_before(rate->prior_delivered, s->loss_round))
		sent = 0;
	if (sent < length)
		before = (u32)((u64)before * sent / length);
	else
		before += s->first_lost;
	return c->lost - s->lost[0] - before;
}

/* RS.tx_in_flight */
static CC_INLINE u32 sent_in_flight(const struct cc_rate *rate, u32 lost)
{
	return cc_max(cc_min(rate->delivered + lost, CC_CWND_MAX), 1);
}

/* IsInflightTooHigh (section 5.5.10.2) */
static CC_INLINE int too_many(const struct cc *c, u32 lost, u32 in_flight)
{
	return (u64)lost * LOSS_ONE_IN > in_flight || (lost && !c->sack);
}

#endif
