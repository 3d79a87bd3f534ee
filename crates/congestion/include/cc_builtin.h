/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The binding of cc.h to the kernel that an algorithm is compiled into, as net/ipv4/sui_NAME.c: each hook becomes
 * a function that loads the view from `struct tcp_sock`, calls the algorithm's function and stores the fields that a
 * congestion control may write. The kernel registers it at boot.
 *
 * The name is that of the BPF object, and the kernel command line sets the parameters: `sui_vegas.alpha=3`.
 * Every call is logged while a program has /proc/sui_vegas_log open; see cc_log_proc.h.
 */
#ifndef SUIMON_CC_BUILTIN_H
#define SUIMON_CC_BUILTIN_H

#include <linux/module.h>
#include <net/tcp.h>

_Static_assert(CC_PRIVATE_BYTES == ICSK_CA_PRIV_SIZE, "Linux keeps the private state");

#define CC_BITS(base, field) ((base)->field)
#define CC_UNROLL

static CC_INLINE u32 cc_jiffies(void)
{
	return tcp_jiffies32;
}

static CC_INLINE void cc_send_ack(struct tcp_sock *tp, u32 rcv_nxt)
{
	__tcp_send_ack((struct sock *)tp, rcv_nxt, 0);
}

/*
 * The values of the parameters: the command line sets them before the first connection. A file without parameters has
 * zeros, like the private state before init.
 */
static u32 cc_values[CC_PARAMETERS_MAX];

#define CC_PARAMETER_PLACE(name, ...) CC_PLACE_OF_##name,
#define CC_PARAMETER_WORD(name, initial, least, greatest, doc)                                     \
	module_param_named(name, cc_values[CC_PLACE_OF_##name], uint, 0444);                       \
	MODULE_PARM_DESC(name, doc);
#define CC_PARAMETERS(each)                                                                        \
	enum { each(CC_PARAMETER_PLACE) };                                                         \
	each(CC_PARAMETER_WORD)                                                                    \
	static u32 cc_values[CC_PARAMETERS_MAX] = { each(CC_PARAMETER_VALUE) }

#include "cc_tcp_sock.h"
#include "cc_log.h"
#include "cc_log_proc.h"

/* The body around a hook: `call` works on `view`, and `a0`..`a2` are the hook's arguments, for the log. */
#define CC_CALL(sk, hook, a0, a1, a2, call)                                                        \
	struct tcp_sock *tp = tcp_sk(sk);                                                          \
	struct cc view;                                                                            \
	u32 ret = 0;                                                                               \
	cc_load(&view, tp);                                                                        \
	CC_LOG_BEFORE(hook, a0, a1, a2);                                                           \
	call;                                                                                      \
	cc_store(tp, &view);                                                                       \
	CC_LOG_AFTER(ret)

#define CC_SSTHRESH(alg, ...)                                                                      \
	static u32 alg##_ssthresh(__VA_ARGS__);                                                    \
	static u32 sui_##alg##_ssthresh(struct sock *sk)                                           \
	{                                                                                          \
		CC_CALL(sk, CC_HOOK_SSTHRESH, 0, 0, 0, ret = alg##_ssthresh(&view));               \
		return ret;                                                                        \
	}                                                                                          \
	static u32 alg##_ssthresh(__VA_ARGS__)

#define CC_CONG_AVOID(alg, ...)                                                                    \
	static void alg##_cong_avoid(__VA_ARGS__);                                                 \
	static void sui_##alg##_cong_avoid(struct sock *sk, u32 ack, u32 acked)                    \
	{                                                                                          \
		CC_CALL(sk, CC_HOOK_CONG_AVOID, ack, acked, 0,                                     \
			alg##_cong_avoid(&view, ack, acked));                                      \
	}                                                                                          \
	static void alg##_cong_avoid(__VA_ARGS__)

#define CC_UNDO_CWND(alg, ...)                                                                     \
	static u32 alg##_undo_cwnd(__VA_ARGS__);                                                   \
	static u32 sui_##alg##_undo_cwnd(struct sock *sk)                                          \
	{                                                                                          \
		CC_CALL(sk, CC_HOOK_UNDO_CWND, 0, 0, 0, ret = alg##_undo_cwnd(&view));             \
		return ret;                                                                        \
	}                                                                                          \
	static u32 alg##_undo_cwnd(__VA_ARGS__)

#define CC_INIT(alg, ...)                                                                          \
	static void alg##_init(__VA_ARGS__);                                                       \
	static void sui_##alg##_init(struct sock *sk)                                              \
	{                                                                                          \
		cc_preset(tcp_sk(sk));                                                             \
		CC_CALL(sk, CC_HOOK_INIT, 0, 0, 0, alg##_init(&view));                             \
	}                                                                                          \
	static void alg##_init(__VA_ARGS__)

#define CC_PKTS_ACKED(alg, ...)                                                                    \
	static void alg##_pkts_acked(__VA_ARGS__);                                                 \
	static void sui_##alg##_pkts_acked(struct sock *sk, const struct ack_sample *sample)       \
	{                                                                                          \
		struct cc_ack ack;                                                                 \
		cc_load_ack(&ack, tcp_sk(sk), sample);                                             \
		CC_CALL(sk, CC_HOOK_PKTS_ACKED, ack.acked, (u32)sample->rtt_us, ack.in_flight,     \
			alg##_pkts_acked(&view, &ack));                                            \
	}                                                                                          \
	static void alg##_pkts_acked(__VA_ARGS__)

#define CC_CWND_EVENT(alg, ...)                                                                    \
	static void alg##_cwnd_event(__VA_ARGS__);                                                 \
	static void sui_##alg##_cwnd_event(struct sock *sk, enum tcp_ca_event event)               \
	{                                                                                          \
		CC_CALL(sk, CC_HOOK_CWND_EVENT, event, 0, 0, alg##_cwnd_event(&view, event);       \
			cc_store_echo(tp, &view, event));                                          \
	}                                                                                          \
	static void alg##_cwnd_event(__VA_ARGS__)

#define CC_SET_STATE(alg, ...)                                                                     \
	static void alg##_set_state(__VA_ARGS__);                                                  \
	static void sui_##alg##_set_state(struct sock *sk, u8 state)                               \
	{                                                                                          \
		CC_CALL(sk, CC_HOOK_SET_STATE, state, 0, 0, alg##_set_state(&view, state));        \
	}                                                                                          \
	static void alg##_set_state(__VA_ARGS__)

#define CC_CONG_CONTROL(alg, ...)                                                                  \
	static void alg##_cong_control(__VA_ARGS__);                                               \
	static void sui_##alg##_cong_control(struct sock *sk, u32 ack, int flag,                   \
					     const struct rate_sample *sample)                     \
	{                                                                                          \
		struct cc_rate rate;                                                               \
		cc_load_rate(&rate, sample);                                                       \
		CC_CALL(sk, CC_HOOK_CONG_CONTROL, ack, 0, 0, CC_LOG_RATE(&rate);                   \
			alg##_cong_control(&view, ack, &rate));                                    \
	}                                                                                          \
	static void alg##_cong_control(__VA_ARGS__)

#define CC_STAGE(alg, stage)                                                                       \
	static void alg##_##stage(struct alg *s, struct cc *c, const struct cc_rate *rate)

#define CC_HAS(alg, hook) .hook = sui_##alg##_##hook

#define CC_REGISTER(alg, ...)                                                                      \
	static struct tcp_congestion_ops sui_##alg __read_mostly = {                               \
		CC_HAS(alg, ssthresh),                                                             \
		CC_HAS(alg, undo_cwnd),                                                            \
		.name = "sui_" #alg,                                                               \
		.owner = THIS_MODULE,                                                              \
		__VA_ARGS__                                                                        \
	};                                                                                         \
	static int __init sui_##alg##_register(void)                                               \
	{                                                                                          \
		if (!proc_create("sui_" #alg "_log", 0400, NULL, &cc_log_file))                    \
			return -ENOMEM;                                                            \
		return tcp_register_congestion_control(&sui_##alg);                                \
	}                                                                                          \
	module_init(sui_##alg##_register);                                                         \
	MODULE_LICENSE("Dual MIT/GPL")

#define CC_ALGORITHM(alg, ...) CC_REGISTER(alg, CC_HAS(alg, cong_avoid), __VA_ARGS__)
#define CC_ALGORITHM_OF_STATES(alg, ...) CC_ALGORITHM(alg, CC_HAS(alg, set_state), __VA_ARGS__)
#define CC_ALGORITHM_OF_RATES(alg, ...) CC_REGISTER(alg, CC_HAS(alg, cong_control), __VA_ARGS__)

#endif
