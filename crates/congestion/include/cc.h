/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The view of a connection that every congestion control algorithm is written against.
 *
 * One algorithm is one file in algorithms/, compiled three times. Natively, for the
 * simulator, a hook is a plain function over `struct cc` and the file ends up as one table of
 * function pointers. With `clang -target bpf` (see cc_kernel.h) the same hooks become struct_ops
 * programs: the view is loaded from `struct tcp_sock`, the hook runs, and the fields that a congestion
 * control may write are stored back. In the source of the guest kernel (see cc_builtin.h) they become
 * functions of that kernel, which do the same.
 *
 * Windows count packets and times are microseconds or jiffies, as in Linux; an ACK's round trip is in
 * nanoseconds, which only the bindings to Linux round to its resolution. There is no floating
 * point, no clock (now_us and jiffies are fields), no libc, and no unbounded loop.
 */
#ifndef SUIMON_CC_H
#define SUIMON_CC_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#endif

#define CC_U32_MAX 0xffffffffU
/* No threshold yet: Linux's TCP_INFINITE_SSTHRESH. */
#define CC_INFINITE_SSTHRESH 0x7fffffffU
/* Minimum threshold, in packets: RFC 5681 section 3.1, equation 4. */
#define CC_MIN_SSTHRESH 2U
/* Bytes of private state, as in Linux (ICSK_CA_PRIV_SIZE). */
#define CC_PRIVATE_BYTES 104
/* Growth stops here (2^26 packets, 97 GB of 1448 bytes), so that products fit in 64 bits. */
#define CC_CWND_MAX (1U << 26)

/* The state of a connection, numbered like Linux's enum tcp_ca_state. */
enum cc_state { CC_OPEN, CC_DISORDER, CC_CWR, CC_RECOVERY, CC_LOSS };

/*
 * Events for the window, numbered like Linux's enum tcp_ca_event. The two ECN events are raised for each arriving
 * data segment, and only for an algorithm that needs ECN (CC_NEEDS_ECN).
 */
enum cc_event {
	CC_TX_START,
	CC_CWND_RESTART,
	CC_COMPLETE_CWR,
	CC_EVENT_LOSS,
	CC_ECN_NO_CE,
	CC_ECN_IS_CE,
};

/*
 * Requirements of an algorithm on its caller, in its `CC_FLAGS`; the low 16 bits are Linux's own. Linux calls
 * cong_avoid also while the application limits sending; the simulator skips the call if the algorithm does nothing
 * then.
 */
enum cc_flag {
	CC_NEEDS_ECN = 1U << 1,    /* ECN is negotiated whatever the stack's setting: Linux's TCP_CONG_NEEDS_ECN */
	CC_TOLD_UNUSED = 1U << 16, /* cong_avoid is needed also if cwnd_limited is 0 */
	CC_WINDOW_ONLY = 1U << 17, /* cong_avoid reads no more than cwnd* and ssthresh of the view */
	CC_ACKS_PACED = 1U << 18,  /* pkts_acked does nothing if `paced` is 0 */
};

/* An unlimited pacing rate: Linux's ~0UL. */
#define CC_UNPACED (~0ULL)

/*
 * The parameters of an algorithm that a user can set. Its file lists them once, as a macro of a macro:
 *
 *     #define PARAMETERS(number) number(alpha, 2, 1, 65535, "Packets in queues, at least.")
 *     CC_PARAMETERS(PARAMETERS);
 *
 * with name, default, minimum, maximum, and a sentence for the user. Its private state begins with them,
 * `struct vegas { CC_FIELDS(PARAMETERS) ... }`. They are set before init: in the simulator per connection, in the
 * kernel by the loader of the object or by the kernel command line.
 */
#define CC_PARAMETERS_MAX 8
#define CC_PARAMETER_FIELD(name, initial, least, greatest, doc) u32 name;
#define CC_FIELDS(list) list(CC_PARAMETER_FIELD)

/* The Rust side's `Sock` is this, field for field; both assert the offsets. */
struct cc {
	u32 cwnd;         /* congestion window, packets; written */
	u32 ssthresh;     /* slow start threshold, packets; written */
	u32 cwnd_cnt;     /* credit towards the next increase; written */
	u32 cwnd_clamp;   /* largest window allowed, packets */
	u32 prior_cwnd;   /* window before the last reduction, packets */
	u32 mss;          /* bytes */
	u32 in_flight;    /* packets */
	u32 cwnd_limited; /* 1 if the window, not the application, limits sending */
	u32 srtt_us8;     /* smoothed RTT, eighths of a microsecond */
	u32 min_rtt_us;   /* minimum RTT, CC_U32_MAX before the first sample */
	u32 snd_una;      /* first unacknowledged sequence number */
	u32 snd_nxt;      /* next sequence number to send */
	u32 state;        /* enum cc_state */
	u32 delivered;    /* packets delivered so far, wrapping */
	u32 jiffies;      /* the time in ticks of the stack's clock, wrapping: Linux's tcp_jiffies32 */
	u32 last_sent;    /* when data was last sent, in the same ticks */
	u32 gso_max;      /* largest segment passed to the device for segmentation, bytes */
	u32 delivered_ce; /* of `delivered`, packets whose ACKs echoed a congestion mark, wrapping */
	u32 rcv_nxt;      /* next sequence number expected from the peer; valid at the two ECN events */
	u32 ack_prior;    /* acknowledged first, see ack_now; written at the two ECN events */
	u32 lost;         /* packets marked as lost so far, retransmissions included, wrapping */
	u32 sack;         /* 1 if the peer acknowledges selectively */
	u16 hz;           /* ticks a second */
	u16 paced;        /* 1 if segments are paced over the round trip; written: 1 starts pacing and 0 ends it */
	u16 echo_ce;      /* 1 if ACKs echo a congestion mark; written at the two ECN events */
	u16 ack_now;      /* 0; 1, written at the two ECN events, sends an ACK at once, see below */
	u64 pacing_rate;  /* bytes per second, computed also without pacing; written by cong_control, see below */
	u64 now_us;       /* the time */
	u64 priv[CC_PRIVATE_BYTES / 8]; /* the algorithm's private state; zero before init */
};

/*
 * How an algorithm that needs ECN controls the echo of marks. By default the receiver follows RFC 3168 section 6.1.3:
 * every ACK echoes a mark until the peer signals that it reduced its window. An algorithm that echoes each mark only
 * once (RFC 8257 section 3.2) writes echo_ce at each of the two events, and ack_now if the mark differs from the last
 * one. Then a delayed ACK is sent first, up to ack_prior and with the other echo, so that no ACK covers both marked and
 * unmarked segments; the current segment is acknowledged at once.
 */

/*
 * The stack sets the pacing rate unless the algorithm has cong_control: a rate written by another hook lasts until the
 * next ACK. An algorithm may write 0 to `paced` only if it wrote 1 before.
 */

/*
 * A window that a program saves is cwnd and ssthresh, without priv: that is valid at its time only, such as epochs,
 * rounds, sequence numbers, and the minimum RTT of a path that may have changed. When a window is restored, the
 * algorithm restarts with it, by init with priv zero, as if it were selected for an established connection
 * (TCP_CONGESTION). So save and restore need no hook in any build.
 */

/*
 * The packets that an ACK acknowledges: Linux's struct ack_sample, in nanoseconds and
 * packets. The Rust side's `AckSample` is this, field for field.
 */
struct cc_ack {
	s64 rtt_ns;    /* round trip of the last of them, negative if unknown */
	u32 acked;     /* packets acknowledged cumulatively */
	u32 in_flight; /* packets delivered since the newest of them was sent, itself included */
};

/*
 * The delivery rate at an ACK: Linux's struct rate_sample, in nanoseconds and packets
 * (draft-cheng-iccrg-delivery-rate-estimation). The sampled packet is the most recently sent packet that the ACK
 * delivers. It is separate from cc_ack because it is known only later: pkts_acked is called before the losses that the
 * ACK reveals are known. The Rust side's `RateSample` is this, field for field.
 */
struct cc_rate {
	s64 rtt_ns;          /* round trip of the last packet delivered, negative if unknown */
	u64 interval_ns;     /* the time in which `delivered` packets were delivered; 0 if the ACK gives no sample */
	u32 delivered;       /* packets delivered since the sampled one was sent, itself included */
	u32 delivered_ce;    /* of these, those whose ACKs echoed a congestion mark */
	u32 prior_delivered; /* packets delivered in all when the sampled one was sent */
	u32 acked;           /* packets that this ACK delivers, cumulatively or selectively */
	u32 lost;            /* packets lost according to this ACK */
	u32 in_flight;       /* packets in flight before this ACK */
	u32 app_limited;     /* 1 if the application limited sending when the sampled one was sent */
	u32 retransmitted;   /* 1 if the sampled one was retransmitted */
};

_Static_assert(__builtin_offsetof(struct cc_ack, acked) == 8, "packs as AckSample");
_Static_assert(sizeof(struct cc_ack) == 16, "packs as AckSample");
_Static_assert(__builtin_offsetof(struct cc_rate, delivered) == 16, "packs as RateSample");
_Static_assert(sizeof(struct cc_rate) == 48, "packs as RateSample");
_Static_assert(__builtin_offsetof(struct cc, delivered) == 52, "packs as Sock");
_Static_assert(__builtin_offsetof(struct cc, paced) == 90, "packs as Sock");
_Static_assert(__builtin_offsetof(struct cc, pacing_rate) == 96, "packs as Sock");
_Static_assert(__builtin_offsetof(struct cc, now_us) == 104, "packs as Sock");
_Static_assert(__builtin_offsetof(struct cc, priv) == 112, "packs as Sock");
_Static_assert(sizeof(struct cc) == 112 + CC_PRIVATE_BYTES, "packs as Sock");

#define CC_INLINE inline __attribute__((always_inline))

/* The private state as the algorithm's own type; a compile-time error if it is too large. */
#define CC_PRIVATE(c, type)                                                                        \
	({                                                                                         \
		_Static_assert(sizeof(type) <= CC_PRIVATE_BYTES, "private state too large");       \
		(type *)(void *)(c)->priv;                                                         \
	})

#if defined(__bpf__)
#include "cc_kernel.h"
#elif defined(__KERNEL__)
#include "cc_builtin.h"
#else
#include "cc_native.h"
#endif

static CC_INLINE u32 cc_min(u32 a, u32 b)
{
	return a < b ? a : b;
}

static CC_INLINE u32 cc_max(u32 a, u32 b)
{
	return a > b ? a : b;
}

/* The round trip in whole microseconds; negative if unknown. */
static CC_INLINE s32 cc_rtt_us(const struct cc_ack *ack)
{
	u64 us = (u64)ack->rtt_ns / 1000;

	if (ack->rtt_ns < 0)
		return -1;
	return us < 0x7fffffffU ? (s32)us : 0x7fffffff;
}

/* Whether count `a` is below `b`, wrapping; whether sequence number `a` comes before `b`, wrapping: RFC 9293 section 3.4. */
static CC_INLINE int cc_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/*
 * Whether a round trip starts with this ACK: the sampled packet was sent after the last one started, when
 * `round_end` packets were delivered.
 */
static CC_INLINE int cc_round_start(const struct cc *c, const struct cc_rate *rate, u32 *round_end)
{
	if (!rate->interval_ns || cc_before(rate->prior_delivered, *round_end))
		return 0;
	*round_end = c->delivered;
	return 1;
}

static CC_INLINE int cc_in_slow_start(const struct cc *c)
{
	return c->cwnd < c->ssthresh;
}

/* Largest window this connection may grow to, in packets. */
static CC_INLINE u32 cc_ceiling(const struct cc *c)
{
	return cc_max(cc_min(c->cwnd_clamp, CC_CWND_MAX), 1);
}

/* Opens the window by `packets`. A window above the ceiling is not reduced. */
static CC_INLINE void cc_grow(struct cc *c, u64 packets)
{
	u64 grown = c->cwnd + packets;
	u32 ceiling = cc_ceiling(c);

	c->cwnd = cc_max(c->cwnd, grown < ceiling ? (u32)grown : ceiling);
}

/*
 * Slow start (RFC 5681 section 3.1 with the counting of RFC 3465: a packet per acknowledged packet),
 * up to the threshold. Returns the packets that remain for congestion avoidance.
 */
static CC_INLINE u32 cc_slow_start(struct cc *c, u32 acked)
{
	u32 room = c->ssthresh - c->cwnd;
	u32 taken = cc_min(acked, room);

	cc_grow(c, taken);
	return acked - taken;
}

/*
 * Additive increase: `gain` / `per` packets for each packet acknowledged, the remainder carried in
 * cwnd_cnt in units of 1 / `per` packet. A carry from before `per` shrank is worth one packet at
 * most, so that a change of the rule never causes a burst.
 */
static CC_INLINE void cc_increase(struct cc *c, u64 gain, u64 per, u32 acked)
{
	u64 carry = c->cwnd_cnt < per ? c->cwnd_cnt : per;
	u64 credit = carry + gain * cc_min(acked, CC_CWND_MAX);

	if (c->cwnd >= cc_ceiling(c))
		return;
	if (per && credit >= per) {
		cc_grow(c, credit / per);
		credit %= per;
	}
	c->cwnd_cnt = credit < CC_U32_MAX ? (u32)credit : CC_U32_MAX;
}

/* Standard TCP's increase, one packet a round trip: RFC 5681 section 3.1, equation 3. */
static CC_INLINE void cc_increase_reno(struct cc *c, u32 acked)
{
	cc_increase(c, 1, cc_max(c->cwnd, 1), acked);
}

/* Standard TCP's complete reaction to an ACK: slow start and increase (RFC 5681 section 3.1), if the window limits. */
static CC_INLINE void cc_avoid_reno(struct cc *c, u32 acked)
{
	if (!c->cwnd_limited)
		return;
	if (cc_in_slow_start(c))
		acked = cc_slow_start(c, acked);
	if (acked)
		cc_increase_reno(c, acked);
}

/* cwnd * `num` / `den`, and at least RFC 5681's two packets. */
static CC_INLINE u32 cc_reduced(const struct cc *c, u32 num, u32 den)
{
	return cc_max((u32)((u64)c->cwnd * num / den), CC_MIN_SSTHRESH);
}

/* After a spurious reduction: the window before it, or the current one if larger. */
static CC_INLINE u32 cc_undo(const struct cc *c)
{
	return cc_max(cc_max(c->cwnd, c->prior_cwnd), 1);
}

#endif
