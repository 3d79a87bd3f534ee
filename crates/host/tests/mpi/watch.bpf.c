/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Operations of the test on a connection that a program cannot do: option 0x51f0 sets its threshold (by the option that
 * also sets the maximum window), 0x51f1 writes its algorithm's state into `state`.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define WORDS 13
#define SOL_TCP 6
#define TCP_BPF_SNDCWND_CLAMP 1002

struct bpf_sock;

struct bpf_sockopt {
	struct bpf_sock *sk;
	void *optval;
	void *optval_end;
	int level;
	int optname;
	int optlen;
	int retval;
};

struct inet_connection_sock {
	u64 icsk_ca_priv[WORDS];
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
} CORE;

struct state {
	u64 words[WORDS];
};

struct {
	int (*type)[2];
	int (*max_entries)[1];
	u32 *key;
	struct state *value;
} state SEC(".maps");

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_setsockopt)(void *sk, int level, int option, void *value, int length) = (void *)49;
extern void *bpf_rdonly_cast(const void *object, u32 type) __attribute__((section(".ksyms")));

SEC("cgroup/setsockopt") int watch(struct bpf_sockopt *ctx)
{
	u32 *value = ctx->optval;
	struct bpf_sock *sk = ctx->sk;
	u32 threshold, first = 0;

	if (ctx->level != SOL_TCP || (ctx->optname != 0x51f0 && ctx->optname != 0x51f1) || !sk)
		return 1;
	if ((void *)(value + 1) > ctx->optval_end)
		return 0;
	threshold = *value;
	ctx->optlen = -1;
	if (ctx->optname == 0x51f0)
		return !bpf_setsockopt(sk, SOL_TCP, TCP_BPF_SNDCWND_CLAMP, &threshold, sizeof(threshold));

	struct tcp_sock *tp = bpf_rdonly_cast(sk, __builtin_btf_type_id(*(struct tcp_sock *)0, 1));
	struct state *to = bpf_map_lookup_elem(&state, &first);

	if (!to)
		return 0;
	for (int i = 0; i < WORDS; i++)
		to->words[i] = tp->inet_conn.icsk_ca_priv[i];
	return 1;
}
