/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * sluice: delay control of the logarithm of a pacing rate, for many senders that share one port of a switch which
 * loses nothing (data acquisition over Ethernet with priority flow control).
 *
 * The signal is the queueing delay q = RTT - B, smoothed over about one base round trip B. Each sender controls it to
 * a target T that falls as its own rate r rises, so that senders with the same q get the same r:
 *
 *     T(r) = T0 * (C / r)^(1/4)    if the number of senders is not known: T0 alone, 4 T0 for 256
 *            T0 * C / (N * r)      if it is known: T0, for any number
 *
 * where C is the sender's line rate. The controller is proportional and integral in ln r, for each ACK that arrives dt
 * after the last:
 *
 *     ln r += -(q - q') / (2 L) + dt * (T(r) - q) / (6 L^2),    L = B + q + min(max(dt, 1/r) + b/r, 256 s)
 *
 * where s is the transmission time of a segment, b the number of segments that leave at once if it is more than one,
 * and L the delay of the loop, including the sender's own spacing. The gain of all senders together is sum(r) / (2 L)
 * = C / (2 L), whatever their number: one set of constants is stable for 1 and for 256, and segments less than a round
 * trip apart do not make it a sampled loop. A step is at most -0.7 and +0.4. A sender starts at C / N, or C / 256, and
 * doubles its rate each round trip until q > T(r). So a sender that starts when a queue exists already comes near the
 * rate of the others immediately.
 *
 * The pacing rate varies by 10 % at random, so that senders do not synchronise. The window is only a limit that keeps
 * bursts short: Linux sends at most half a window at once. In a burst, the first ACK gives the delay, minus the time
 * that its segments wait for each other.
 *
 * Configure B (`base`) if possible: a sender that starts when a queue exists already takes this queue for a part of the
 * path, and gets more than its share. The rate of a sender whose application has no more data does not rise, and does
 * not fall below 17/16 of its average: sources of events meet at each trigger, whatever their rates. It does not change
 * during silence. If a loss occurs nevertheless, the rate is halved once per recovery. If the connection uses ECN,
 * congestion marks reduce it as in DCTCP: by half their share, averaged over rounds.
 *
 * Logarithms are in units of 2^-32; e^x is 2^(x / ln 2) by a polynomial of degree 4, accurate to 4 in 10^5 (tested). No
 * product exceeds 64 bits for a delay below 1 s.
 */
#include "cc.h"

#define PARAMETERS(number)                                                                         \
	number(rate, 10000, 1, 1000000, "Mbit/s: the sender's line rate.")                         \
	number(senders, 0, 0, 65535,                                                               \
	       "How many share the bottleneck; 0 if that is not known.")                           \
	number(target, 0, 0, 1000000,                                                              \
	       "ns: the queueing delay of one sender alone, or of all where `senders` is known; 0 for 10 and 26 segments' time on the line, at least 8000 and 20000.") \
	number(base, 0, 0, 100000000,                                                              \
	       "ns: the round trip of the idle path; 0 for the least one seen.")
CC_PARAMETERS(PARAMETERS);

#define LOG_ONE (1LL << 32)
#define LOG_2 2977044472LL
#define LOG_3 4718503834LL
#define STEP_DOWN (7 * (LOG_ONE / 10))
#define STEP_UP (4 * (LOG_ONE / 10))
#define RATE_MOST (LOG_ONE / 20)   /* 1.05 C */
#define RATE_LEAST (-12 * LOG_2)   /* C / 4096 */
#define SENDERS_MOST 256U
/* T0 in segment times on the link: 12.3 and 32 us at 10 Gbit/s and 1500 bytes. The minima, ns, cover the noise of hosts. */
#define TARGET_AUTO 10U
#define TARGET_AUTO_LEAST 8000U
#define TARGET_HINT 26U
#define TARGET_HINT_LEAST 20000U
#define TARGET_MOST 1000000U
#define DELAY_MOST 1000000000ULL   /* ns */
#define WIRE_OVERHEAD 90U          /* bytes a segment: headers, FCS, preamble and gap */
/* A receiver waits for a second segment. Linux sends at most half a window at once: one of 3. */
#define CWND_LEAST 3U
#define CWND_MORE 2U               /* packets more than the BDP */
#define USED_SHIFT 16              /* us: 66 ms, of many events */
#define USED_MARGIN 16             /* a sixteenth more than is used */
#define HEARD 16                   /* segments: a receiver that merges them gets a burst at once */
#define MARK_SHIFT 4               /* DCTCP's g */

struct sluice {
	CC_FIELDS(PARAMETERS)
	s64 log_rate;  /* ln(r / C) */
	u32 queue_ns;  /* smoothed */
	u32 least_ns;  /* RTT */
	u32 last_us;   /* time of the last update */
	u32 used_us;   /* time of the last ACK */
	u32 random;
	u32 round_end; /* packets delivered when the round ends */
	u32 marked;    /* delivered_ce when it began */
	u32 alpha;     /* share of marks, 2^-16 */
	u32 used;      /* delivered bytes a second, silence included, averaged over 66 ms */
	u32 burst;     /* packets delivered when the last sampled burst was sent */
	u8 starting;
	u8 known;      /* an RTT was seen */
};

/* |value| * num / den with its sign, because BPF has no signed division. */
static CC_INLINE s64 scaled(s64 value, u64 num, u64 den)
{
	u64 size = value < 0 ? -(u64)value : (u64)value;
	u64 result = size * num / (den ? den : 1);

	return value < 0 ? -(s64)result : (s64)result;
}

/* unit * e^(log / 2^32), for logarithms from -16 to 11 and units below 2^40. */
static CC_INLINE u64 times_exp(u64 unit, s64 log)
{
	/* log2 of it in 2^-24 */
	s64 power = ((log >> 8) * 24204406LL) >> 24;
	s64 whole = power >> 24;
	u64 f = (u64)(power - whole * (1LL << 24)); /* 0 to 1 in 2^-24 */
	/* 2^f = 1 + f (0.69314718 + f (0.2402265 + f (0.0555041 + f 0.0111))) in 2^-24: Taylor; the last term covers the rest */
	u64 sum = 186227;

	sum = 931204 + (sum * f >> 24);
	sum = 4030332 + (sum * f >> 24);
	sum = 11629080 + (sum * f >> 24);
	sum = (1ULL << 24) + (sum * f >> 24);
	/* unit < 2^40, sum < 2^25 */
	u64 value = (unit >> 1) * sum >> 23;

	if (whole >= 0)
		return value << (whole < 16 ? whole : 16);
	return value >> (whole > -40 ? -whole : 40);
}

static CC_INLINE u64 line_rate(const struct sluice *s)
{
	return (u64)s->rate * 125000;
}

/* s: a segment's time on the link, ns. */
static CC_INLINE u32 segment_time(const struct sluice *s, const struct cc *c)
{
	return (u32)((c->mss + WIRE_OVERHEAD) * 1000000000ULL / line_rate(s));
}

/* r, bytes a second. */
static CC_INLINE u64 rate_now(const struct sluice *s)
{
	u64 rate = times_exp(line_rate(s), s->log_rate);

	return rate ? rate : 1;
}

/* T0, ns. */
static CC_INLINE u32 target_one(const struct sluice *s, const struct cc *c)
{
	u64 segment = segment_time(s, c);
	u64 own = segment * (s->senders ? TARGET_HINT : TARGET_AUTO);

	if (s->target)
		return s->target;
	own = own < TARGET_MOST ? own : TARGET_MOST;
	return cc_max((u32)own, s->senders ? TARGET_HINT_LEAST : TARGET_AUTO_LEAST);
}

/* T(r), ns. */
static CC_INLINE u64 target_now(const struct sluice *s, const struct cc *c)
{
	u64 one = target_one(s, c);

	if (!s->senders)
		return times_exp(one, -(s->log_rate >> 2));
	return times_exp(one << 8, -s->log_rate) / s->senders >> 8;
}

static CC_INLINE u32 base_rtt(const struct sluice *s)
{
	return s->base ? s->base : s->least_ns;
}

/* -ln n in 2^-32, the start of a rate: n is rounded down to 2^i or 3 * 2^i. */
static CC_INLINE s64 minus_log(u32 n)
{
	s64 log = 0;

	for (int i = 0; i < 16 && n > 3; i++) {
		n >>= 1;
		log += LOG_2;
	}
	if (n == 3)
		log += LOG_3;
	else if (n == 2)
		log += LOG_2;
	return -log;
}

/* The time in which a sender that does not fall silent gets an ACK, ns. */
static CC_INLINE u64 heard_within(const struct sluice *s, const struct cc *c)
{
	u64 sent = (c->mss + WIRE_OVERHEAD) * 1000000000ULL * HEARD / rate_now(s);
	u64 heard = (u64)base_rtt(s) + s->queue_ns + sent;

	return heard < DELAY_MOST ? heard : DELAY_MOST;
}

static CC_INLINE void write_rate(struct sluice *s, struct cc *c)
{
	u64 rate = rate_now(s);
	u64 held_ns = (u64)base_rtt(s) + s->queue_ns + target_one(s, c);
	u64 window = rate / 1000 * (held_ns * 5 / 4) / 1000000 / (c->mss ? c->mss : 1);

	/* Linux does not pace the first ten segments: those of many senders would collide. */
	window = s->known ? window + CWND_MORE : CWND_LEAST;
	/* 0.9 to 1.1 of it */
	s->random = s->random * 1664525U + 1013904223U;
	c->pacing_rate = rate * 9 / 10 + rate / 5 * (s->random >> 16) / 65536;
	c->cwnd = cc_min(cc_max((u32)(window < CC_CWND_MAX ? window : CC_CWND_MAX), CWND_LEAST),
			 cc_ceiling(c));
}

static CC_INLINE void step(struct sluice *s, s64 by)
{
	if (by < -STEP_DOWN)
		by = -STEP_DOWN;
	if (by > STEP_UP)
		by = STEP_UP;
	s->log_rate += by;
	if (s->log_rate > RATE_MOST)
		s->log_rate = RATE_MOST;
	if (s->log_rate < RATE_LEAST)
		s->log_rate = RATE_LEAST;
}

/* The share of marks, once a round. */
static CC_INLINE void note_marks(struct sluice *s, const struct cc *c, const struct cc_rate *rate)
{
	u32 before = s->round_end;

	if (!cc_round_start(c, rate, &s->round_end))
		return;

	u32 delivered = c->delivered - before;
	u32 marked = c->delivered_ce - s->marked;

	s->marked = c->delivered_ce;
	s->alpha -= s->alpha >> MARK_SHIFT;
	if (!marked)
		return;
	s->alpha += (u32)(((u64)marked << (16 - MARK_SHIFT)) / cc_max(cc_max(delivered, marked), 1));
	step(s, -((s64)s->alpha << 15));
}

/* Updates the average delivered rate, at most 34 Gbit/s. */
static CC_INLINE void note_use(struct sluice *s, const struct cc *c, const struct cc_rate *rate)
{
	u32 now = (u32)c->now_us;
	u64 passed = cc_min(now - s->used_us, 1U << USED_SHIFT);
	u64 delivered = (u64)cc_min(rate->acked, 1U << 16) * c->mss * 1000000 >> USED_SHIFT;
	u64 used = s->used - (s->used * passed >> USED_SHIFT) + delivered;

	s->used = used < CC_U32_MAX ? (u32)used : CC_U32_MAX;
	s->used_us = now;
}

/* Applies the law to a sample that arrives dt_ns after the last one. */
static CC_INLINE void follow(struct sluice *s, const struct cc *c, u64 dt_ns, u32 before)
{
	u64 spacing = (c->mss + WIRE_OVERHEAD) * 1000000000ULL / rate_now(s);
	u64 most = (u64)segment_time(s, c) * SENDERS_MOST;
	u64 loop = (u64)base_rtt(s) + s->queue_ns;
	s64 change = (s64)s->queue_ns - (s64)before;
	s64 bound = 20 * (s64)target_one(s, c);
	s64 error = (s64)target_now(s, c) - (s64)s->queue_ns;
	/* A burst goes out at once, and the time of the next burst is fixed by then, too. */
	u64 burst = cc_min(c->cwnd / 2, c->gso_max / cc_max(c->mss, 1));
	u64 own = dt_ns > spacing ? dt_ns : spacing;

	if (burst > 1)
		own += burst * spacing;
	loop += own < most ? own : most;
	if (error > bound)
		error = bound;
	if (error < -bound)
		error = -bound;
	/* dt / 6 L in 2^-16, at most 64 */
	u64 weight = (dt_ns << 16) / (6 * loop);

	if (weight > (64 << 16))
		weight = 64 << 16;
	step(s, -scaled(change, LOG_ONE, 2 * loop) + scaled(error, weight << 16, loop));
}

CC_STAGE(sluice, update)
{
	u32 now = (u32)c->now_us;
	u64 dt_ns = (u64)(now - s->last_us) * 1000;
	u64 rtt = (u64)rate->rtt_ns;

	note_marks(s, c, rate);
	note_use(s, c, rate);
	if (rate->rtt_ns <= 0 || rate->retransmitted)
		return;
	if (rtt > DELAY_MOST)
		rtt = DELAY_MOST;
	/* After a silence the last sample is outdated. */
	if (dt_ns > heard_within(s, c))
		dt_ns = heard_within(s, c);
	if (rate->acked > 1) {
		u64 own = (u64)(rate->acked - 1) * segment_time(s, c);

		rtt -= own < rtt ? own : rtt;
	}
	if (!s->known || rtt < s->least_ns)
		s->least_ns = (u32)rtt;
	/* Only the first segments of a burst are samples: the later ones wait for the earlier ones. */
	if (s->known && rate->prior_delivered == s->burst)
		return;
	s->burst = rate->prior_delivered;
	if (!s->known)
		dt_ns = 0;
	s->known = 1;
	s->last_us = now;

	u64 base = base_rtt(s);
	u64 queue = rtt > base ? rtt - base : 0;
	u32 before = s->queue_ns;
	s64 gap = (s64)queue - (s64)before;

	s->queue_ns = (u32)((s64)before + scaled(gap, dt_ns, dt_ns + base));

	s64 former = s->log_rate;
	u32 needed = rate_now(s) < (u64)s->used + s->used / USED_MARGIN;

	if (!s->starting) {
		follow(s, c, dt_ns, before);
	} else if (queue > target_now(s, c)) {
		/* The excess queue drains within a round trip. */
		s->starting = 0;
		step(s, -scaled((s64)(queue - target_now(s, c)), LOG_ONE, base + queue));
		s->queue_ns = (u32)queue;
	} else {
		step(s, scaled(LOG_2, dt_ns, base + queue));
		if (s->log_rate >= 0)
			s->starting = 0;
	}
	/* An unused rate does not grow, and does not fall below the used rate. */
	if (rate->app_limited && (needed || s->log_rate > former))
		s->log_rate = former;
}

CC_INIT(sluice, struct cc *c)
{
	struct sluice *s = CC_PRIVATE(c, struct sluice);

	c->ssthresh = CC_INFINITE_SSTHRESH;
	c->paced = 1;
	s->log_rate = minus_log(s->senders ? s->senders : SENDERS_MOST);
	s->least_ns = 0;
	s->queue_ns = 0;
	s->last_us = (u32)c->now_us;
	s->used_us = (u32)c->now_us;
	s->used = 0;
	s->random = c->snd_nxt ^ (u32)c->now_us;
	s->round_end = c->delivered;
	s->marked = c->delivered_ce;
	s->alpha = 0;
	s->starting = 1;
	s->known = 0;
	write_rate(s, c);
}

CC_CONG_CONTROL(sluice, struct cc *c, u32 ack, const struct cc_rate *rate)
{
	struct sluice *s = CC_PRIVATE(c, struct sluice);

	/* Linux calls it for the ACK that ends a handshake, before init: there are no parameters yet, nor a rate to divide by. */
	if (!s->rate)
		return;
	sluice_update(s, c, rate);
	write_rate(s, c);
}

/* A loss on a path that should be lossless. */
CC_SSTHRESH(sluice, struct cc *c)
{
	struct sluice *s = CC_PRIVATE(c, struct sluice);

	s->starting = 0;
	step(s, -LOG_2);
	return c->ssthresh;
}

CC_UNDO_CWND(sluice, struct cc *c)
{
	return cc_max(c->cwnd, 1);
}

CC_ALGORITHM_OF_RATES(sluice, CC_HAS(sluice, init));
