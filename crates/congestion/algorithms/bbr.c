/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * BBR, version 1 (Cardwell, Cheng, Gunn, Yeganeh, Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue
 * 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00), with the order of calls and the constants of Linux.
 *
 * Two numbers model the path: the bandwidth, which is the maximum delivery rate of the last ten round trips, and the
 * minimum RTT of the last ten seconds. Segments leave at this bandwidth, and at most twice the product of the two is
 * in flight. Startup doubles the rate each round trip until three of them increased it by less than a quarter; Drain
 * empties the queue that this built. Then the rate is 5/4 of the bandwidth for one round trip, 3/4 for the next, and
 * the bandwidth for six. If the minimum RTT was not measured again for ten seconds, four packets are in flight for 200
 * ms. A loss is not a signal: for one round trip, a recovery sends what is delivered, and then the window returns to
 * its earlier value.
 *
 * The window includes what bunched ACKs deliver beyond the bandwidth (Linux 5.1).
 *
 * Two consecutive sampling intervals of 4 to 16 round trips with a loss rate of a fifth or more, and with equal
 * throughput (within an eighth, or 4 kbit/s), show a policer: the rate is their average for 48 round trips, without the
 * gain cycle (lt_bw of Linux; Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016). An interval
 * starts and ends with a loss, when the policer has no tokens left.
 *
 * Departures: the gain cycle starts at a phase that is derived from the time and the sequence number; bursts and send
 * buffer are the transport's.
 */
#include "cc.h"

#define BW_SHIFT 24 /* bandwidths are packets a microsecond, in units of 2^-24 */
#define BW_UNIT (1ULL << BW_SHIFT)
#define GAIN_SHIFT 8
#define GAIN_UNIT (1U << GAIN_SHIFT)
#define GAIN_HIGH (GAIN_UNIT * 2885 / 1000 + 1) /* 2 / ln 2 */
#define GAIN_DRAIN (GAIN_UNIT * 1000 / 2885)
#define GAIN_CWND (GAIN_UNIT * 2)
#define BW_ROUNDS 10
#define MIN_RTT_S 10U
#define PROBE_RTT_MS 200U
#define CWND_MIN 4
#define CWND_INIT 10
#define CYCLE 8
#define FULL_ROUNDS 3
#define EXTRA_ROUNDS 5
#define EXTRA_US 100000
#define EPOCH_ACKED_MAX 0xfffff
#define EXTRA_MAX 0xffff
#define INTERVAL_ROUNDS 4
#define LOSSY 50            /* lost of 256 delivered */
#define EQUAL_PART 8        /* rates are equal within this part, */
#define EQUAL_RATE (4000 / 8) /* or within these bytes a second */
#define POLICED_ROUNDS 48
#define BURST_MAX (65536 - 1 - 320) /* bytes: Linux' GSO_LEGACY_MAX_SIZE without headers */
#define SLOW_RATE (1200000 / 8)     /* bytes a second: below that a burst is one segment */

enum mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

struct best {
	u32 round;
	u32 bw;
};

struct bbr {
	u32 min_rtt_us;
	u32 min_rtt_at;      /* jiffies */
	u32 probe_rtt_end;   /* jiffies; 0 until few enough are in flight */
	struct best best[3]; /* the maximum bandwidth of the last rounds, second, third: decreasing */
	u32 rounds;
	u32 round_end; /* packets delivered when the round ends */
	u32 prior_cwnd;
	u32 full_bw;
	u32 phase_us; /* start of the phase of the cycle */
	u32 epoch_us; /* the last time at which ACKs came no faster than the bandwidth */
	u32 epoch_acked;
	u32 limited_to; /* packets delivered by the end of ProbeRTT; 0 once others are sampled */
	u32 policed_bw;         /* bandwidth of the last interval, or mean of two; 0 if none is known */
	u32 interval_delivered; /* packets delivered and lost, and the milliseconds, when the interval began */
	u32 interval_lost;
	u32 interval_ms;
	u16 extra_acked[2]; /* the maximum in excess of it, in this and in the last few rounds */
	u8 extra_slot;
	u8 extra_rounds;
	u8 mode;
	u8 prior_state;
	u8 round_start;
	u8 conserves; /* the first round of a recovery: packet conservation */
	u8 restarts;  /* from idle */
	u8 full_rounds;
	u8 full;
	u8 probed_round;
	u8 phase;
	u8 knows_rtt;
	u8 interval_rounds; /* of the interval, or for which a policer's rate has been used */
	u8 has_interval;
	u8 policed; /* policed_bw is a policer's rate */
};

/* The most that was delivered. */
static CC_INLINE u32 most(const struct bbr *s)
{
	return s->best[0].bw;
}

static CC_INLINE u32 bandwidth(const struct bbr *s)
{
	return s->policed ? s->policed_bw : most(s);
}

/*
 * The maximum of the last BW_ROUNDS rounds (Nichols' filter): besides the best, its successors are kept, to
 * replace it when it is too old.
 */
static CC_INLINE void note_bandwidth(struct bbr *s, u32 bw)
{
	struct best now = { s->rounds, bw };

	if (bw >= s->best[0].bw || s->rounds - s->best[2].round > BW_ROUNDS) {
		s->best[0] = s->best[1] = s->best[2] = now;
		return;
	}
	if (bw >= s->best[1].bw)
		s->best[1] = s->best[2] = now;
	else if (bw >= s->best[2].bw)
		s->best[2] = now;

	u32 age = s->rounds - s->best[0].round;

	if (age > BW_ROUNDS) {
		s->best[0] = s->best[1];
		s->best[1] = s->best[2];
		s->best[2] = now;
		if (s->rounds - s->best[0].round > BW_ROUNDS) {
			s->best[0] = s->best[1];
			s->best[1] = s->best[2];
		}
	} else if (s->best[1].round == s->best[0].round && age > BW_ROUNDS / 4) {
		s->best[1] = s->best[2] = now;
	} else if (s->best[2].round == s->best[1].round && age > BW_ROUNDS / 2) {
		s->best[2] = now;
	}
}

static CC_INLINE u32 pacing_gain(const struct bbr *s)
{
	if (s->mode == STARTUP)
		return GAIN_HIGH;
	if (s->mode == DRAIN)
		return GAIN_DRAIN;
	if (s->policed)
		return GAIN_UNIT;
	if (s->mode == PROBE_BW && s->phase == 0)
		return GAIN_UNIT * 5 / 4;
	if (s->mode == PROBE_BW && s->phase == 1)
		return GAIN_UNIT * 3 / 4;
	return GAIN_UNIT;
}

static CC_INLINE u32 cwnd_gain(const struct bbr *s)
{
	if (s->mode == PROBE_BW)
		return GAIN_CWND;
	return s->mode == PROBE_RTT ? GAIN_UNIT : GAIN_HIGH;
}

/* Bytes a second, 1 % below the bandwidth so that no queue remains. */
static CC_INLINE u64 rate_of(const struct cc *c, u64 bw, u32 gain)
{
	u64 rate = (bw * c->mss * gain) >> GAIN_SHIFT;

	return (rate * (1000000 / 100 * 99)) >> BW_SHIFT;
}

/* Before the first delivery: the initial window in a round trip, or in a millisecond. */
static CC_INLINE void set_first_rate(struct bbr *s, struct cc *c)
{
	u32 rtt_us = 1000;

	if (c->srtt_us8) {
		rtt_us = cc_max(c->srtt_us8 >> 3, 1);
		s->knows_rtt = 1;
	}
	c->pacing_rate = rate_of(c, c->cwnd * BW_UNIT / rtt_us, GAIN_HIGH);
}

static CC_INLINE void set_rate(struct bbr *s, struct cc *c, u32 gain)
{
	u64 rate = rate_of(c, bandwidth(s), gain);

	if (!s->knows_rtt && c->srtt_us8)
		set_first_rate(s, c);
	if (s->full || rate > c->pacing_rate)
		c->pacing_rate = rate;
}

/* Segments of a burst at the pacing rate: about a millisecond. */
static CC_INLINE u32 burst(const struct cc *c)
{
	u64 bytes = c->pacing_rate >> 10;
	u32 least = c->pacing_rate < SLOW_RATE ? 1 : 2;

	if (bytes > BURST_MAX)
		bytes = BURST_MAX;
	return cc_min(cc_max(c->mss ? (u32)bytes / c->mss : 0, least), 0x7f);
}

static CC_INLINE u32 bdp(const struct bbr *s, u32 bw, u32 gain)
{
	u64 packets;

	if (s->min_rtt_us == CC_U32_MAX)
		return CWND_INIT;
	packets = (((u64)bw * s->min_rtt_us * gain >> GAIN_SHIFT) + BW_UNIT - 1) >> BW_SHIFT;
	return packets < CC_CWND_MAX ? (u32)packets : CC_CWND_MAX;
}

/* Room for bursts on their way through both ends, an even number for delayed ACKs. */
static CC_INLINE u32 with_bursts(const struct bbr *s, const struct cc *c, u32 packets)
{
	packets = (packets + 3 * burst(c) + 1) & ~1U;
	return s->mode == PROBE_BW && s->phase == 0 ? packets + 2 : packets;
}

static CC_INLINE u32 inflight(const struct bbr *s, const struct cc *c, u32 gain)
{
	return with_bursts(s, c, bdp(s, most(s), gain));
}

static CC_INLINE void save_cwnd(struct bbr *s, const struct cc *c)
{
	if (s->prior_state < CC_RECOVERY && s->mode != PROBE_RTT)
		s->prior_cwnd = c->cwnd;
	else
		s->prior_cwnd = cc_max(s->prior_cwnd, c->cwnd);
}

static CC_INLINE void next_phase(struct bbr *s, const struct cc *c)
{
	s->phase = (u8)((s->phase + 1U) % CYCLE);
	s->phase_us = (u32)c->now_us;
}

/* Any phase except the draining one, which only follows the probing one. */
static CC_INLINE void enter_probe_bw(struct bbr *s, const struct cc *c)
{
	u32 mixed = ((u32)c->now_us ^ c->snd_una) * 2654435761U;

	s->mode = PROBE_BW;
	s->phase = (u8)(CYCLE - 1 - (mixed >> 16) % (CYCLE - 1));
	next_phase(s, c);
}

/*
 * Whether the sampled packet was sent while ProbeRTT, or the application, kept the pipe from being full: its
 * rate is then not a bandwidth sample.
 */
static CC_INLINE int is_limited(struct bbr *s, const struct cc_rate *rate)
{
	if (s->limited_to && cc_before(s->limited_to, rate->prior_delivered))
		s->limited_to = 0;
	return s->limited_to || rate->app_limited;
}

static CC_INLINE void leave_probe_rtt(struct bbr *s, struct cc *c)
{
	if (!s->probe_rtt_end || !cc_before(s->probe_rtt_end, c->jiffies))
		return;
	s->min_rtt_at = c->jiffies;
	c->cwnd = cc_max(c->cwnd, s->prior_cwnd);
	if (s->full)
		enter_probe_bw(s, c);
	else
		s->mode = STARTUP;
}

static CC_INLINE void begin_interval(struct bbr *s, const struct cc *c)
{
	s->interval_ms = (u32)(c->now_us / 1000);
	s->interval_delivered = c->delivered;
	s->interval_lost = c->lost;
	s->interval_rounds = 0;
}

static CC_INLINE void forget_intervals(struct bbr *s, const struct cc *c)
{
	s->policed_bw = 0;
	s->policed = 0;
	s->has_interval = 0;
	begin_interval(s, c);
}

/* An interval lost much and delivered at this bandwidth. Two in a row that agree show a policer. */
static CC_INLINE void end_interval(struct bbr *s, const struct cc *c, u32 bw)
{
	u32 apart = bw > s->policed_bw ? bw - s->policed_bw : s->policed_bw - bw;

	if (s->policed_bw && (apart <= s->policed_bw / EQUAL_PART ||
			      rate_of(c, apart, GAIN_UNIT) <= EQUAL_RATE)) {
		s->policed_bw = (u32)(((u64)bw + s->policed_bw) / 2);
		s->policed = 1;
		s->interval_rounds = 0;
		return;
	}
	s->policed_bw = bw;
	begin_interval(s, c);
}

CC_STAGE(bbr, look_for_policer)
{
	u32 delivered = c->delivered - s->interval_delivered;
	u32 lost = c->lost - s->interval_lost;
	u32 ms = (u32)(c->now_us / 1000) - s->interval_ms;
	u64 bw;

	if (s->policed) {
		if (s->mode == PROBE_BW && s->round_start && ++s->interval_rounds >= POLICED_ROUNDS) {
			forget_intervals(s, c);
			enter_probe_bw(s, c);
		}
		return;
	}
	if (!s->has_interval) {
		if (!rate->lost)
			return;
		begin_interval(s, c);
		s->has_interval = 1;
		delivered = lost = ms = 0;
	}
	if (is_limited(s, rate)) {
		forget_intervals(s, c);
		return;
	}
	s->interval_rounds = (u8)(s->interval_rounds + s->round_start);
	if (s->interval_rounds < INTERVAL_ROUNDS)
		return;
	if (s->interval_rounds > 4 * INTERVAL_ROUNDS || ms >= CC_U32_MAX / 1000) {
		forget_intervals(s, c);
		return;
	}
	if (!rate->lost || !delivered || (u64)lost * 256 < (u64)delivered * LOSSY || !ms)
		return;
	bw = delivered * BW_UNIT / (ms * 1000);
	end_interval(s, c, bw < CC_U32_MAX ? (u32)bw : CC_U32_MAX);
}

CC_STAGE(bbr, update_bandwidth)
{
	u64 interval_us = rate->interval_ns / 1000;
	u64 bw;

	s->round_start = 0;
	if (!interval_us)
		return;
	if (cc_round_start(c, rate, &s->round_end)) {
		s->rounds++;
		s->round_start = 1;
		s->conserves = 0;
	}
	bbr_look_for_policer(s, c, rate);
	bw = rate->delivered * BW_UNIT / interval_us;
	bw = bw < CC_U32_MAX ? bw : CC_U32_MAX;
	if (!is_limited(s, rate) || bw >= most(s))
		note_bandwidth(s, (u32)bw);
}

/* The packets acknowledged since the epoch began, in excess of the bandwidth in that time. */
CC_STAGE(bbr, update_extra)
{
	u64 expected = (u64)bandwidth(s) * ((u32)c->now_us - s->epoch_us) >> BW_SHIFT;
	u32 extra;

	if (!rate->acked || !rate->interval_ns)
		return;
	if (s->round_start && ++s->extra_rounds >= EXTRA_ROUNDS) {
		s->extra_rounds = 0;
		s->extra_slot ^= 1;
		s->extra_acked[s->extra_slot & 1] = 0;
	}
	if (s->epoch_acked <= expected || s->epoch_acked + (u64)rate->acked >= EPOCH_ACKED_MAX) {
		s->epoch_acked = 0;
		s->epoch_us = (u32)c->now_us;
		expected = 0;
	}
	s->epoch_acked = cc_min(s->epoch_acked + cc_min(rate->acked, EPOCH_ACKED_MAX), EPOCH_ACKED_MAX);
	extra = cc_min(cc_min(s->epoch_acked - (u32)expected, c->cwnd), EXTRA_MAX);
	s->extra_acked[s->extra_slot & 1] = (u16)cc_max(s->extra_acked[s->extra_slot & 1], extra);
}

/* The packets in the network when the next segment leaves; a probe's first burst counts, too. */
static CC_INLINE u32 in_network(const struct bbr *s, const struct cc *c, u32 in_flight)
{
	return pacing_gain(s) > GAIN_UNIT ? in_flight + burst(c) : in_flight;
}

CC_STAGE(bbr, update_phase)
{
	u32 gain = pacing_gain(s);
	u32 there = in_network(s, c, rate->in_flight);
	int over = (u32)c->now_us - s->phase_us > s->min_rtt_us;

	if (s->mode != PROBE_BW)
		return;
	if (gain > GAIN_UNIT)
		over = over && (rate->lost || there >= inflight(s, c, gain));
	else if (gain < GAIN_UNIT)
		over = over || there <= inflight(s, c, GAIN_UNIT);
	if (over)
		next_phase(s, c);
}

/* The pipe is full if three rounds brought less than a quarter more. */
CC_STAGE(bbr, update_full)
{
	if (s->full || !s->round_start || is_limited(s, rate))
		return;
	if (most(s) >= (u64)s->full_bw * 5 / 4) {
		s->full_bw = most(s);
		s->full_rounds = 0;
		return;
	}
	s->full = ++s->full_rounds >= FULL_ROUNDS;
}

CC_STAGE(bbr, update_drain)
{
	if (s->mode == STARTUP && s->full) {
		s->mode = DRAIN;
		c->ssthresh = inflight(s, c, GAIN_UNIT);
	}
	if (s->mode == DRAIN && in_network(s, c, c->in_flight) <= inflight(s, c, GAIN_UNIT))
		enter_probe_bw(s, c);
}

CC_STAGE(bbr, update_min_rtt)
{
	int expired = cc_before(s->min_rtt_at + MIN_RTT_S * c->hz, c->jiffies);
	u64 rtt_us = (u64)rate->rtt_ns / 1000;

	if (rate->rtt_ns >= 0 && (rtt_us < s->min_rtt_us || expired)) {
		s->min_rtt_us = rtt_us < CC_U32_MAX ? (u32)rtt_us : CC_U32_MAX - 1;
		s->min_rtt_at = c->jiffies;
	}
	if (expired && !s->restarts && s->mode != PROBE_RTT) {
		save_cwnd(s, c);
		s->mode = PROBE_RTT;
		s->probe_rtt_end = 0;
	}
	if (s->mode == PROBE_RTT)
		s->limited_to = cc_max(c->delivered + c->in_flight, 1);
	if (s->mode == PROBE_RTT && !s->probe_rtt_end && c->in_flight <= CWND_MIN) {
		s->probe_rtt_end = cc_max(c->jiffies + PROBE_RTT_MS * c->hz / 1000, 1);
		s->probed_round = 0;
		s->round_end = c->delivered;
	} else if (s->mode == PROBE_RTT && s->probe_rtt_end) {
		s->probed_round |= s->round_start;
		if (s->probed_round)
			leave_probe_rtt(s, c);
	}
	if (rate->interval_ns)
		s->restarts = 0;
}

/* Sets the window of a recovery, and after it. Returns whether to leave it unchanged. */
static CC_INLINE int recover(struct bbr *s, struct cc *c, const struct cc_rate *rate)
{
	u32 cwnd = c->cwnd > rate->lost ? c->cwnd - rate->lost : 1;
	u32 conserved = c->in_flight + rate->acked;

	if (c->state == CC_RECOVERY && s->prior_state != CC_RECOVERY) {
		s->conserves = 1;
		s->round_end = c->delivered;
		cwnd = conserved;
	} else if (s->prior_state >= CC_RECOVERY && c->state < CC_RECOVERY) {
		s->conserves = 0;
		cwnd = cc_max(cwnd, s->prior_cwnd);
	}
	s->prior_state = (u8)c->state;
	c->cwnd = s->conserves ? cc_max(cwnd, conserved) : cwnd;
	return s->conserves;
}

/* The allowance for ACKs in bunches, up to 100 ms of the bandwidth. */
static CC_INLINE u32 extra(const struct bbr *s)
{
	u64 room = (u64)bandwidth(s) * EXTRA_US >> BW_SHIFT;
	u32 seen = cc_max(s->extra_acked[0], s->extra_acked[1]);

	if (!s->full)
		return 0;
	return seen < room ? seen : (u32)room;
}

CC_STAGE(bbr, update_rate)
{
	set_rate(s, c, pacing_gain(s));
}

CC_STAGE(bbr, update_cwnd)
{
	if (rate->acked && !recover(s, c, rate)) {
		u32 target = with_bursts(s, c, cc_min(bdp(s, bandwidth(s), cwnd_gain(s)) + extra(s), CC_CWND_MAX));
		u32 grown = cc_min(c->cwnd, CC_CWND_MAX) + cc_min(rate->acked, CC_CWND_MAX);

		if (s->full)
			c->cwnd = cc_min(grown, target);
		else if (c->cwnd < target || c->delivered < CWND_INIT)
			c->cwnd = grown;
		c->cwnd = cc_max(c->cwnd, CWND_MIN);
	}
	c->cwnd = cc_max(cc_min(c->cwnd, cc_ceiling(c)), 1);
	if (s->mode == PROBE_RTT)
		c->cwnd = cc_min(c->cwnd, CWND_MIN);
}

CC_INIT(bbr, struct cc *c)
{
	struct bbr *s = CC_PRIVATE(c, struct bbr);

	c->ssthresh = CC_INFINITE_SSTHRESH;
	c->paced = 1;
	s->round_end = c->delivered;
	s->min_rtt_us = c->min_rtt_us;
	s->min_rtt_at = c->jiffies;
	s->epoch_us = (u32)c->now_us;
	forget_intervals(s, c);
	set_first_rate(s, c);
}

CC_CONG_CONTROL(bbr, struct cc *c, u32 ack, const struct cc_rate *rate)
{
	struct bbr *s = CC_PRIVATE(c, struct bbr);

	bbr_update_bandwidth(s, c, rate);
	bbr_update_extra(s, c, rate);
	bbr_update_phase(s, c, rate);
	bbr_update_full(s, c, rate);
	bbr_update_drain(s, c, rate);
	bbr_update_min_rtt(s, c, rate);
	bbr_update_rate(s, c, rate);
	bbr_update_cwnd(s, c, rate);
}

/* A loss is not a signal: the window is saved for the time after the recovery. */
CC_SSTHRESH(bbr, struct cc *c)
{
	save_cwnd(CC_PRIVATE(c, struct bbr), c);
	return c->ssthresh;
}

CC_UNDO_CWND(bbr, struct cc *c)
{
	struct bbr *s = CC_PRIVATE(c, struct bbr);

	s->full_bw = 0;
	s->full_rounds = 0;
	forget_intervals(s, c);
	return cc_max(c->cwnd, 1);
}

/* Sending resumes with nothing in flight: at the bandwidth, because there is no queue. */
CC_CWND_EVENT(bbr, struct cc *c, u32 event)
{
	struct bbr *s = CC_PRIVATE(c, struct bbr);

	if (event != CC_TX_START || c->state >= CC_RECOVERY)
		return;
	s->restarts = 1;
	s->epoch_us = (u32)c->now_us;
	s->epoch_acked = 0;
	if (s->mode == PROBE_BW)
		set_rate(s, c, GAIN_UNIT);
	else if (s->mode == PROBE_RTT)
		leave_probe_rtt(s, c);
}

CC_SET_STATE(bbr, struct cc *c, u32 state)
{
	struct bbr *s = CC_PRIVATE(c, struct bbr);
	struct cc_rate rate = { .lost = 1 };

	if (state != CC_LOSS)
		return;
	s->prior_state = CC_LOSS;
	s->full_bw = 0;
	s->round_start = 1;
	bbr_look_for_policer(s, c, &rate);
}

CC_ALGORITHM_OF_RATES(bbr, CC_HAS(bbr, init), CC_HAS(bbr, cwnd_event), CC_HAS(bbr, set_state));
