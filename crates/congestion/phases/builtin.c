/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * phases.h compiled into the guest kernel, as net/ipv4/sui_phases.c: option-of-phases.patch calls it when a program sets
 * TCP_SUIMON_PHASE. Unlike BPF (kernel.c), the kernel's own code may write a connection's threshold and window directly,
 * and the congestion control does not notice.
 */
#include "phases.h"

#include <linux/slab.h>

static int sui_phases_enter(struct tcp_sock *tp, u32 phase, u32 age_max_ms)
{
	struct cc view;

	if (!phase)
		return -EINVAL;
	if (!((1 << tp->inet_conn.icsk_inet.sk.sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)))
		return -ENOTCONN;
	if (!tp->sui_phases)
		tp->sui_phases = kzalloc(sizeof(*tp->sui_phases), GFP_KERNEL);
	if (!tp->sui_phases)
		return -ENOMEM;
	cc_load(&view, tp);
	phases_enter(tp->sui_phases, &view, phase, TCP_INIT_CWND, age_max_ms);
	tp->snd_ssthresh = view.ssthresh;
	if (view.cwnd != tp->snd_cwnd) {
		tp->snd_cwnd = view.cwnd;
		tp->snd_cwnd_stamp = view.jiffies;
	}
	return 0;
}

int sui_phases_setsockopt(struct sock *sk, sockptr_t optval, unsigned int optlen);

int sui_phases_setsockopt(struct sock *sk, sockptr_t optval, unsigned int optlen)
{
	u32 value[2];
	int error;

	if (optlen < sizeof(value))
		return -EINVAL;
	if (copy_from_sockptr(value, optval, sizeof(value)))
		return -EFAULT;
	lock_sock(sk);
	error = sui_phases_enter(tcp_sk(sk), value[0], value[1]);
	release_sock(sk);
	return error;
}
