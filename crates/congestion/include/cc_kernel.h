/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The BPF binding of cc.h: each hook becomes a struct_ops program that loads the view from
 * `struct tcp_sock`, calls the algorithm's function and stores the fields that a congestion control may write.
 *
 * Only the fields of the kernel's structures that are read are declared here. The loader matches the names
 * and fills in the offsets (CO-RE), so one object works with every kernel that has these fields. The
 * objects contain no kernel code.
 *
 * With CC_LOG defined every hook also reports its view before and after; see cc_log.h.
 */
#ifndef SUIMON_CC_KERNEL_H
#define SUIMON_CC_KERNEL_H

#define SEC(name) __attribute__((section(name), used))
#define CC_CORE __attribute__((preserve_access_index))

/* The licence string for the kernel; the repository's licence is MIT or Apache-2.0. */
char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct sock {
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	u32 sk_pacing_status;
	u32 sk_gso_max_size;
} CC_CORE;

struct inet_sock {
	struct sock sk;
} CC_CORE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	u8 icsk_ca_state : 5;
	struct {
		u8 pending;
	} icsk_ack;
	u64 icsk_ca_priv[CC_PRIVATE_BYTES / 8];
} CC_CORE;

struct tcp_options_received {
	u16 sack_ok : 3;
} CC_CORE;

struct minmax_sample {
	u32 v;
} CC_CORE;

struct minmax {
	struct minmax_sample s[3];
} CC_CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 snd_cwnd_cnt;
	u32 snd_cwnd_stamp;
	u32 snd_cwnd_clamp;
	u32 prior_cwnd;
	u32 mss_cache;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 max_packets_out;
	u8 is_cwnd_limited : 1;
	u32 srtt_us;
	struct minmax rtt_min;
	struct tcp_options_received rx_opt;
	u32 snd_una;
	u32 snd_nxt;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u32 rcv_nxt;
	u8 ecn_flags;
	u32 lsndtime;
	u64 tcp_mstamp;
} CC_CORE;

struct rate_sample {
	u32 prior_delivered;
	s32 delivered;
	s32 delivered_ce;
	long interval_us;
	long rtt_us;
	int losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u8 is_app_limited;
	u8 is_retrans;
} CC_CORE;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
} CC_CORE;

enum tcp_ca_event { CA_EVENT_TX_START };

/* The registered operations; libbpf matches the members by name. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	u32 flags;
	void (*init)(struct sock *sk);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	void (*release)(struct sock *sk);
};

/* The loader fills it in from /proc/config.gz or /boot/config-*; only objects that use it need such a file. */
extern unsigned long CONFIG_HZ __attribute__((section(".kconfig")));

static void *(*const cc_sk_storage_get)(void *map, void *sk, void *value, u64 flags) = (void *)107;
static u64 (*const cc_jiffies64)(void) = (void *)118;
static long (*const cc_send_ack)(void *tp, u32 rcv_nxt) = (void *)116;

/* A bit field's value: CO-RE gives its byte and its shift (kinds 0, 4 and 5). */
#define CC_BITS(base, field)                                                                       \
	({                                                                                         \
		u64 byte = *((u8 *)(base) + __builtin_preserve_field_info((base)->field, 0));      \
		byte << __builtin_preserve_field_info((base)->field, 4) >>                         \
			__builtin_preserve_field_info((base)->field, 5);                           \
	})

static CC_INLINE u32 cc_jiffies(void)
{
	return (u32)cc_jiffies64();
}

/* The offset of an element is filled in only if its index is a constant. */
#define CC_UNROLL _Pragma("unroll")

/*
 * The values of the parameters: the object has the defaults, and the loader writes the values before it loads the
 * object. A file without parameters has zeros, like the private state before init.
 */
static const volatile u32 cc_values[CC_PARAMETERS_MAX] SEC(".rodata.values");

#define CC_PARAMETERS(each)                                                                        \
	static const volatile u32 cc_values[CC_PARAMETERS_MAX] = { each(CC_PARAMETER_VALUE) }

#include "cc_tcp_sock.h"

/* Of include/uapi/linux/bpf.h. */
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1

/* Whether another algorithm replaces this one for a moment: see phases/kernel.c. */
enum cc_turn { CC_STAYS, CC_LEAVES, CC_RETURNS };

/* The state of the replaced algorithm. */
struct cc_kept {
	u64 turn; /* enum cc_turn */
	u64 priv[CC_PRIVATE_BYTES / 8];
};

/* Shared by all objects that are loaded together. */
struct {
	int (*type)[BPF_MAP_TYPE_SK_STORAGE];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct cc_kept *value;
} cc_kept SEC(".maps");

/* Saves the state of an algorithm that is replaced for a moment. */
static CC_INLINE void cc_leaves(struct tcp_sock *tp)
{
	struct cc_kept *kept = cc_sk_storage_get(&cc_kept, tp, 0, 0);

	if (!kept || kept->turn != CC_LEAVES)
		return;
	kept->turn = CC_RETURNS;
	CC_UNROLL
	for (int i = 0; i < CC_PRIVATE_BYTES / 8; i++)
		kept->priv[i] = tp->inet_conn.icsk_ca_priv[i];
}

/* Whether it was replaced a moment ago; if so, restores its state. */
static CC_INLINE int cc_returns(struct tcp_sock *tp)
{
	struct cc_kept *kept = cc_sk_storage_get(&cc_kept, tp, 0, 0);

	if (!kept || kept->turn != CC_RETURNS)
		return 0;
	kept->turn = CC_STAYS;
	CC_UNROLL
	for (int i = 0; i < CC_PRIVATE_BYTES / 8; i++)
		tp->inet_conn.icsk_ca_priv[i] = kept->priv[i];
	return 1;
}

/*
 * A window or threshold above this is invalid: the kernel's hook call returned without running the program, and
 * took a value on the stack for its result. Linux 6.18 does this sometimes under load (a threshold of
 * 0x81102d10 in 1 to 3 of 25 connections); PRR then opens the window without bound.
 */
#define CC_SANE_MAX (1u << 30)

/* Whether the threshold, or the window, is not the result of a hook. */
static CC_INLINE int cc_lost(const struct tcp_sock *tp)
{
	u32 ssthresh = tp->snd_ssthresh;

	return (ssthresh > CC_SANE_MAX && ssthresh != CC_INFINITE_SSTHRESH) ||
	       tp->snd_cwnd > CC_SANE_MAX;
}

/* Replaces the result of a lost call, based on the window before the reduction; the old threshold is lost, too. */
#define CC_MEND(alg, tp)                                                                           \
	if (cc_lost(tp)) {                                                                         \
		struct cc lost;                                                                    \
		cc_load(&lost, tp);                                                                \
		lost.cwnd = cc_max(tp->prior_cwnd, 1);                                             \
		lost.ssthresh = CC_INFINITE_SSTHRESH;                                              \
		u32 window = cc_min(tp->snd_cwnd, lost.cwnd);                                      \
		lost.ssthresh = alg##_ssthresh(&lost);                                             \
		lost.cwnd = window;                                                                \
		cc_store(tp, &lost);                                                               \
	}

#ifdef CC_LOG
#include "cc_log.h"
#include "cc_log_ring.h"
#else
#define CC_LOG_BEFORE(hook, a0, a1, a2)
#define CC_LOG_RATE(rate)
#define CC_LOG_AFTER(ret)
#endif

/* The program around a hook: `call` works on `view`, and `a0`..`a2` are the hook's arguments. */
#define CC_WRAP(alg, hook, a0, a1, a2, call)                                                       \
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];                                           \
	struct cc view;                                                                            \
	u32 ret = 0;                                                                               \
	CC_MEND(alg, tp)                                                                           \
	cc_load(&view, tp);                                                                        \
	CC_LOG_BEFORE(hook, a0, a1, a2);                                                           \
	call;                                                                                      \
	cc_store(tp, &view);                                                                       \
	CC_LOG_AFTER(ret);                                                                         \
	return ret

/* Every program returns a u32: the kernel ignores it if the hook returns nothing. */
#define CC_PROGRAM(alg, hook) SEC("struct_ops/" #alg "_" #hook) u32 bpf_##alg##_##hook(u64 *ctx)

#define CC_SSTHRESH(alg, ...)                                                                      \
	static CC_INLINE u32 alg##_ssthresh(__VA_ARGS__);                                          \
	CC_PROGRAM(alg, ssthresh)                                                                  \
	{                                                                                          \
		CC_WRAP(alg, CC_HOOK_SSTHRESH, 0, 0, 0, ret = alg##_ssthresh(&view));                   \
	}                                                                                          \
	static CC_INLINE u32 alg##_ssthresh(__VA_ARGS__)

#define CC_CONG_AVOID(alg, ...)                                                                    \
	static CC_INLINE u32 alg##_ssthresh(struct cc *c);                                         \
	static CC_INLINE void alg##_cong_avoid(__VA_ARGS__);                                       \
	CC_PROGRAM(alg, cong_avoid)                                                                \
	{                                                                                          \
		u32 ack = (u32)ctx[1];                                                             \
		u32 acked = (u32)ctx[2];                                                           \
		CC_WRAP(alg, CC_HOOK_CONG_AVOID, ack, acked, 0,                                         \
			alg##_cong_avoid(&view, ack, acked));                                      \
	}                                                                                          \
	static CC_INLINE void alg##_cong_avoid(__VA_ARGS__)

#define CC_UNDO_CWND(alg, ...)                                                                     \
	static CC_INLINE u32 alg##_ssthresh(struct cc *c);                                         \
	static CC_INLINE u32 alg##_undo_cwnd(__VA_ARGS__);                                         \
	CC_PROGRAM(alg, undo_cwnd)                                                                 \
	{                                                                                          \
		CC_WRAP(alg, CC_HOOK_UNDO_CWND, 0, 0, 0, ret = alg##_undo_cwnd(&view));                 \
	}                                                                                          \
	static CC_INLINE u32 alg##_undo_cwnd(__VA_ARGS__)

#define CC_INIT(alg, ...)                                                                          \
	static CC_INLINE u32 alg##_ssthresh(struct cc *c);                                         \
	static CC_INLINE void alg##_init(__VA_ARGS__);                                             \
	CC_PROGRAM(alg, init)                                                                      \
	{                                                                                          \
		if (cc_returns((struct tcp_sock *)ctx[0]))                                         \
			return 0;                                                                  \
		cc_preset((struct tcp_sock *)ctx[0]);                                              \
		CC_WRAP(alg, CC_HOOK_INIT, 0, 0, 0, alg##_init(&view));                                 \
	}                                                                                          \
	static CC_INLINE void alg##_init(__VA_ARGS__)

#define CC_PKTS_ACKED(alg, ...)                                                                    \
	static CC_INLINE u32 alg##_ssthresh(struct cc *c);                                         \
	static CC_INLINE void alg##_pkts_acked(__VA_ARGS__);                                       \
	CC_PROGRAM(alg, pkts_acked)                                                                \
	{                                                                                          \
		const struct ack_sample *sample = (const struct ack_sample *)ctx[1];               \
		struct cc_ack ack;                                                                 \
		cc_load_ack(&ack, (struct tcp_sock *)ctx[0], sample);                              \
		CC_WRAP(alg, CC_HOOK_PKTS_ACKED, ack.acked, (u32)sample->rtt_us, ack.in_flight,    \
			alg##_pkts_acked(&view, &ack));                                            \
	}                                                                                          \
	static CC_INLINE void alg##_pkts_acked(__VA_ARGS__)

/* The sample is the fourth argument since Linux 6.10, and the second before. */
#define CC_CONG_CONTROL(alg, ...)                                                                  \
	static CC_INLINE u32 alg##_ssthresh(struct cc *c);                                         \
	static CC_INLINE void alg##_cong_control(__VA_ARGS__);                                     \
	CC_PROGRAM(alg, cong_control)                                                              \
	{                                                                                          \
		struct tcp_sock *tp = (struct tcp_sock *)ctx[0];                                   \
		const struct rate_sample *sample = (const struct rate_sample *)ctx[3];             \
		u32 ack = (u32)ctx[1];                                                             \
		u32 ret = 0;                                                                       \
		struct cc_rate rate;                                                               \
		struct cc view;                                                                    \
		CC_MEND(alg, tp)                                                                   \
		cc_load_rate(&rate, sample);                                                       \
		cc_load(&view, tp);                                                                \
		CC_LOG_BEFORE(CC_HOOK_CONG_CONTROL, ack, 0, 0);                                    \
		CC_LOG_RATE(&rate);                                                                \
		alg##_cong_control(&view, ack, &rate);                                             \
		cc_store(tp, &view);                                                               \
		CC_LOG_AFTER(ret);                                                                 \
		return ret;                                                                        \
	}                                                                                          \
	static CC_INLINE void alg##_cong_control(__VA_ARGS__)

/*
 * The verifier follows every path through a program and its static functions, at most a million instructions.
 * It checks a global function once, for any arguments.
 */
#define CC_STAGE(alg, stage)                                                                       \
	static CC_INLINE void alg##_##stage##_body(struct alg *s, struct cc *c,                    \
						   const struct cc_rate *rate);                    \
	__attribute__((noinline)) int alg##_##stage(struct alg *s, struct cc *c,                   \
						    const struct cc_rate *rate)                    \
	{                                                                                          \
		if (s && c && rate)                                                                \
			alg##_##stage##_body(s, c, rate);                                          \
		return 0;                                                                          \
	}                                                                                          \
	static CC_INLINE void alg##_##stage##_body(struct alg *s, struct cc *c,                    \
						   const struct cc_rate *rate)

#define CC_CWND_EVENT(alg, ...)                                                                    \
	static CC_INLINE u32 alg##_ssthresh(struct cc *c);                                         \
	static CC_INLINE void alg##_cwnd_event(__VA_ARGS__);                                       \
	CC_PROGRAM(alg, cwnd_event)                                                                \
	{                                                                                          \
		u32 event = (u32)ctx[1];                                                           \
		CC_WRAP(alg, CC_HOOK_CWND_EVENT, event, 0, 0, alg##_cwnd_event(&view, event);      \
			cc_store_echo(tp, &view, event));                                          \
	}                                                                                          \
	static CC_INLINE void alg##_cwnd_event(__VA_ARGS__)

#define CC_SET_STATE(alg, ...)                                                                     \
	static CC_INLINE u32 alg##_ssthresh(struct cc *c);                                         \
	static CC_INLINE void alg##_set_state(__VA_ARGS__);                                        \
	CC_PROGRAM(alg, set_state)                                                                 \
	{                                                                                          \
		u32 state = (u8)ctx[1];                                                            \
		CC_WRAP(alg, CC_HOOK_SET_STATE, state, 0, 0, alg##_set_state(&view, state));            \
	}                                                                                          \
	static CC_INLINE void alg##_set_state(__VA_ARGS__)

#define CC_HAS(alg, hook) .hook = (void *)bpf_##alg##_##hook

#define CC_RELEASE(alg)                                                                            \
	CC_PROGRAM(alg, release)                                                                   \
	{                                                                                          \
		cc_leaves((struct tcp_sock *)ctx[0]);                                              \
		return 0;                                                                          \
	}

/* The kernel allows 15 characters and has its own cubic, so the prefix is short. */
#define CC_REGISTER(alg, ...)                                                                      \
	CC_RELEASE(alg)                                                                            \
	SEC(".struct_ops.link") struct tcp_congestion_ops sui_##alg = {                            \
		.ssthresh = (void *)bpf_##alg##_ssthresh,                                          \
		.cong_avoid = (void *)bpf_##alg##_cong_avoid,                                      \
		.undo_cwnd = (void *)bpf_##alg##_undo_cwnd,                                        \
		.name = "sui_" #alg,                                                               \
		CC_HAS(alg, release),                                                              \
		__VA_ARGS__                                                                        \
	}

/* An algorithm with cong_control instead of cong_avoid. */
#define CC_ALGORITHM_OF_RATES(alg, ...)                                                            \
	CC_RELEASE(alg)                                                                            \
	SEC(".struct_ops.link") struct tcp_congestion_ops sui_##alg = {                            \
		.ssthresh = (void *)bpf_##alg##_ssthresh,                                          \
		.undo_cwnd = (void *)bpf_##alg##_undo_cwnd,                                        \
		.cong_control = (void *)bpf_##alg##_cong_control,                                  \
		.name = "sui_" #alg,                                                               \
		CC_HAS(alg, release),                                                              \
		__VA_ARGS__                                                                        \
	}

/* set_state follows every call of ssthresh directly: lost results are replaced there. */
#define CC_ALGORITHM(alg, ...)                                                                     \
	CC_PROGRAM(alg, mend)                                                                      \
	{                                                                                          \
		struct tcp_sock *tp = (struct tcp_sock *)ctx[0];                                   \
		CC_MEND(alg, tp)                                                                   \
		return 0;                                                                          \
	}                                                                                          \
	CC_REGISTER(alg, .set_state = (void *)bpf_##alg##_mend, __VA_ARGS__)

/* An algorithm whose own set_state does this. */
#define CC_ALGORITHM_OF_STATES(alg, ...) CC_REGISTER(alg, CC_HAS(alg, set_state), __VA_ARGS__)

#endif
