/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * phases.h for Linux, and the other settings of an MPI library's sockets: two socket options of level SOL_TCP that the
 * kernel does not have, implemented by a BPF program of a cgroup. Once it is loaded, any program may set them on its own
 * sockets.
 *
 * - TCP_SUIMON_PHASE: { u32 phase, u32 age_max_ms } enters a phase.
 * - TCP_SUIMON_ADOPT: u32, the sum of the loaded settings to adopt: 1 the congestion control, 2 the minimum RTO.
 *
 * Only the congestion control of a connection may write its window and its threshold. So the program switches the
 * connection to `sui_phase` for a moment, whose init writes both. Then it switches back: an algorithm of Suimon continues
 * with its state (cc_returns in cc_kernel.h), one of the kernel's own restarts at the current window.
 */
#include "phases.h"

/* From include/uapi/linux/bpf.h, tcp.h, in.h and errno-base.h. */
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_SK_STORAGE_GET_F_CREATE 1
#define IPPROTO_TCP 6
#define TCP_CONGESTION 13
#define TCP_BPF_RTO_MIN 1004
#define EINVAL 22
#define ENOTCONN 107
#define SS_ESTABLISHED 1
#define SS_CLOSE_WAIT 8

#define TCP_SUIMON_PHASE 0x5100
#define TCP_SUIMON_ADOPT 0x5101

#define ADOPT_CONGESTION 1
#define ADOPT_RTO_MIN 2

/* Linux's TCP_CA_NAME_MAX, with the terminating zero. */
#define NAME_BYTES 16
/* Linux's TCP_INIT_CWND. */
#define INITIAL_WINDOW 10

struct bpf_sock {
	u32 bound_dev_if;
	u32 family;
	u32 type;
	u32 protocol;
	u32 mark;
	u32 priority;
	u32 src_ip4;
	u32 src_ip6[4];
	u32 src_port;
	u32 dst_port;
	u32 dst_ip4;
	u32 dst_ip6[4];
	u32 state;
};

struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval;
	void *optval_end;
	s32 level;
	s32 optname;
	s32 optlen;
	s32 retval;
};

/* A connection's phases, and its last request. */
struct phase_socket {
	u32 asked;
	u32 age_max_ms;
	u32 entered; /* whether it was another phase */
	struct phases phases;
};

struct {
	int (*type)[BPF_MAP_TYPE_SK_STORAGE];
	int (*map_flags)[BPF_F_NO_PREALLOC];
	int *key;
	struct phase_socket *value;
} phase_sockets SEC(".maps");

/* Counters since this was loaded. */
enum count { COUNT_ENTERED, COUNT_ADOPTED, COUNT_REFUSED, COUNTS };

struct {
	int (*type)[BPF_MAP_TYPE_ARRAY];
	int (*max_entries)[COUNTS];
	u32 *key;
	u64 *value;
} counts SEC(".maps");

/* The settings to adopt; written by the loader. */
static const volatile struct {
	char congestion[NAME_BYTES];
	u32 rto_min_us; /* 0: the kernel's own */
} adopted SEC(".rodata.adopted");

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_setsockopt)(void *sk, int level, int option, void *value, int length) = (void *)49;
static long (*const bpf_getsockopt)(void *sk, int level, int option, void *value, int length) = (void *)57;
static int (*const bpf_set_retval)(int retval) = (void *)187;

static CC_INLINE void count(u32 what)
{
	u64 *number = bpf_map_lookup_elem(&counts, &what);

	if (number)
		__sync_fetch_and_add(number, 1);
}

/* Sets the return value of a program's setsockopt. */
static CC_INLINE int answer(struct bpf_sockopt *ctx, long error)
{
	if (!error) {
		ctx->optlen = -1; /* the kernel, which does not know the option, does not see it */
		return 1;
	}
	count(COUNT_REFUSED);
	bpf_set_retval((int)error);
	return 0;
}

/* Standard TCP's, in case a connection keeps `sui_phase`. */
CC_SSTHRESH(phase, struct cc *c)
{
	return cc_reduced(c, 1, 2);
}

CC_CONG_AVOID(phase, struct cc *c, u32 ack, u32 acked)
{
	cc_avoid_reno(c, acked);
}

CC_UNDO_CWND(phase, struct cc *c)
{
	return cc_undo(c);
}

CC_PROGRAM(phase, init)
{
	struct tcp_sock *tp = (struct tcp_sock *)ctx[0];
	struct phase_socket *kept = cc_sk_storage_get(&phase_sockets, tp, 0, 0);
	struct cc view;

	if (!kept || !kept->asked)
		return 0;
	cc_load(&view, tp);
	u32 before = view.cwnd;
	kept->entered = phases_enter(&kept->phases, &view, kept->asked, INITIAL_WINDOW, kept->age_max_ms);
	kept->asked = 0;
	tp->snd_ssthresh = view.ssthresh;
	if (view.cwnd != before) {
		tp->snd_cwnd = view.cwnd;
		tp->snd_cwnd_stamp = view.jiffies;
	}
	return 0;
}

CC_ALGORITHM(phase, CC_HAS(phase, init));

/* Switches the connection to `sui_phase`, and back. */
static CC_INLINE long switch_twice(struct bpf_sock *sk, struct cc_kept *kept)
{
	char phase[NAME_BYTES] = "sui_phase", own[NAME_BYTES] = { 0 };
	long error = bpf_getsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, own, NAME_BYTES);

	if (error)
		return error;
	kept->turn = CC_LEAVES;
	error = bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, phase, NAME_BYTES);
	if (!error)
		error = bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, own, NAME_BYTES);
	kept->turn = CC_STAYS;
	return error;
}

static CC_INLINE long enter(struct bpf_sock *sk, u32 phase, u32 age_max_ms)
{
	struct phase_socket *of;
	struct cc_kept *kept;
	long error;

	if (!phase)
		return -EINVAL;
	if (sk->state != SS_ESTABLISHED && sk->state != SS_CLOSE_WAIT)
		return -ENOTCONN;
	of = cc_sk_storage_get(&phase_sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	kept = cc_sk_storage_get(&cc_kept, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!of || !kept)
		return -EINVAL;
	if (of->phases.present == phase)
		return 0;
	of->asked = phase;
	of->age_max_ms = age_max_ms;
	of->entered = 0;
	error = switch_twice(sk, kept);
	of->asked = 0;
	if (!error && of->entered)
		count(COUNT_ENTERED);
	return error;
}

static CC_INLINE long adopt(struct bpf_sock *sk, u32 what)
{
	char name[NAME_BYTES];
	u32 rto_min_us = adopted.rto_min_us;
	long error = 0;

	for (int i = 0; i < NAME_BYTES; i++)
		name[i] = adopted.congestion[i];
	if (what & ADOPT_CONGESTION)
		error = bpf_setsockopt(sk, IPPROTO_TCP, TCP_CONGESTION, name, NAME_BYTES);
	if (!error && what & ADOPT_RTO_MIN && rto_min_us)
		error = bpf_setsockopt(sk, IPPROTO_TCP, TCP_BPF_RTO_MIN, &rto_min_us, sizeof(rto_min_us));
	/* 0 only tests whether the options exist. */
	if (!error && what)
		count(COUNT_ADOPTED);
	return error;
}

SEC("cgroup/setsockopt") int options(struct bpf_sockopt *ctx)
{
	u32 *value = ctx->optval;
	struct bpf_sock *sk = ctx->sk;

	if (ctx->level != IPPROTO_TCP || !sk || sk->protocol != IPPROTO_TCP)
		return 1;
	if (ctx->optname == TCP_SUIMON_PHASE) {
		if ((void *)(value + 2) > ctx->optval_end)
			return answer(ctx, -EINVAL);
		return answer(ctx, enter(sk, value[0], value[1]));
	}
	if (ctx->optname == TCP_SUIMON_ADOPT) {
		if ((void *)(value + 1) > ctx->optval_end)
			return answer(ctx, -EINVAL);
		return answer(ctx, adopt(sk, value[0]));
	}
	return 1;
}
