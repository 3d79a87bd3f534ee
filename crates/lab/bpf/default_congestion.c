/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sets the congestion control of connections whose program chose none, in the network namespaces
 * of `names`.
 *
 * The hooks are those of a connection that is about to be established (tcp_init_transfer in
 * net/ipv4/tcp_input.c), just before the kernel would initialise its congestion control: the
 * algorithm starts there as if it were the namespace's default. A BPF program may also set algorithms
 * that net.ipv4.tcp_allowed_congestion_control does not list.
 *
 * Only the fields of the kernel's structures that are read are declared; CO-RE relocates them by name.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Linux's TCP_CA_NAME_MAX, with the terminating zero. */
#define NAME_BYTES 16

/* From include/uapi/linux/bpf.h, tcp.h and in.h. */
#define BPF_MAP_TYPE_HASH 1
#define BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB 4
#define BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB 5
#define IPPROTO_TCP 6
#define TCP_CONGESTION 13

struct bpf_sock;

struct bpf_sock_ops {
	u32 op;
	struct bpf_sock *sk;
} CORE;

struct inet_connection_sock {
	u8 icsk_ca_setsockopt : 1;
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
} CORE;

/* Keyed by a namespace's cookie (SO_NETNS_COOKIE); the loader sets the number of entries. */
struct {
	int (*type)[BPF_MAP_TYPE_HASH];
	u64 *key;
	u8 (*value)[NAME_BYTES];
} names SEC(".maps");

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_setsockopt)(void *ops, int level, int option, void *value,
				    int length) = (void *)49;
static u64 (*const bpf_get_netns_cookie)(void *ops) = (void *)122;
static struct tcp_sock *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

/* Whether the program set TCP_CONGESTION itself: a bit field, located by CO-RE's kinds 0, 4 and 5. */
static inline int is_chosen(struct tcp_sock *tp)
{
	struct inet_connection_sock *icsk = &tp->inet_conn;
	u64 byte = *((u8 *)icsk + __builtin_preserve_field_info(icsk->icsk_ca_setsockopt, 0));

	return byte << __builtin_preserve_field_info(icsk->icsk_ca_setsockopt, 4) >>
		       __builtin_preserve_field_info(icsk->icsk_ca_setsockopt, 5) != 0;
}

/* The result, `reply`, is not set: the kernel ignores it for these hooks. */
SEC("sockops") int set_default(struct bpf_sock_ops *ops)
{
	u32 op = ops->op;

	if (op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return 1;
	u64 cookie = bpf_get_netns_cookie(ops);
	void *name = bpf_map_lookup_elem(&names, &cookie);
	struct bpf_sock *sk = ops->sk;
	if (!name || !sk)
		return 1;
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	if (tp && !is_chosen(tp))
		bpf_setsockopt(ops, IPPROTO_TCP, TCP_CONGESTION, name, NAME_BYTES);
	return 1;
}
