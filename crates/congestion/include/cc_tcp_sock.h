/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Common code of both bindings to Linux: loads the view from `struct tcp_sock` and stores it back, and loads samples
 * and parameters. cc_kernel.h declares Linux's structures; a kernel that the algorithms are compiled into has them. Each
 * binding defines CC_BITS, CC_UNROLL, cc_jiffies and cc_values.
 */
#ifndef SUIMON_CC_TCP_SOCK_H
#define SUIMON_CC_TCP_SOCK_H

/* In slow start, a half-used window still limits: it is about to double. */
static CC_INLINE u32 cc_cwnd_limited(const struct tcp_sock *tp)
{
	if (CC_BITS(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

#define CC_PACING_NEEDED 1 /* Linux's SK_PACING_NEEDED */

/* Linux's TCP_ECN_DEMAND_CWR (every ACK echoes a mark), ICSK_ACK_TIMER and ICSK_ACK_NOW. */
#define CC_DEMAND_CWR 4
#define CC_ACK_TIMER 2
#define CC_ACK_NOW 16

static CC_INLINE void cc_load(struct cc *c, struct tcp_sock *tp)
{
	c->cwnd = tp->snd_cwnd;
	c->ssthresh = tp->snd_ssthresh;
	c->cwnd_cnt = tp->snd_cwnd_cnt;
	c->cwnd_clamp = tp->snd_cwnd_clamp;
	c->prior_cwnd = tp->prior_cwnd;
	c->mss = tp->mss_cache;
	c->in_flight = tp->packets_out - (tp->sacked_out + tp->lost_out) + tp->retrans_out;
	c->cwnd_limited = cc_cwnd_limited(tp);
	c->srtt_us8 = tp->srtt_us;
	c->min_rtt_us = tp->rtt_min.s[0].v;
	c->snd_una = tp->snd_una;
	c->snd_nxt = tp->snd_nxt;
	c->state = (u32)CC_BITS(&tp->inet_conn, icsk_ca_state);
	c->delivered = tp->delivered;
	c->jiffies = cc_jiffies();
	c->last_sent = tp->lsndtime;
	c->gso_max = tp->inet_conn.icsk_inet.sk.sk_gso_max_size;
	c->delivered_ce = tp->delivered_ce;
	c->rcv_nxt = tp->rcv_nxt;
	c->ack_prior = 0;
	c->lost = tp->lost;
	c->sack = CC_BITS(tp, rx_opt.sack_ok) != 0;
	c->echo_ce = (tp->ecn_flags & CC_DEMAND_CWR) != 0;
	c->ack_now = 0;
	c->hz = (u16)CONFIG_HZ;
	c->paced = tp->inet_conn.icsk_inet.sk.sk_pacing_status != 0;
	c->pacing_rate = tp->inet_conn.icsk_inet.sk.sk_pacing_rate;
	c->now_us = tp->tcp_mstamp;
	CC_UNROLL
	for (int i = 0; i < CC_PRIVATE_BYTES / 8; i++)
		c->priv[i] = tp->inet_conn.icsk_ca_priv[i];
}

/*
 * A pacing rate is stored only if the algorithm set one; otherwise the kernel sets it. The program's maximum
 * (SO_MAX_PACING_RATE) bounds it, as in Linux's tcp_bbr.c. The pacing that an algorithm starts and ends is
 * the transport's own (SK_PACING_NEEDED), unless sch_fq paces.
 */
static CC_INLINE void cc_store(struct tcp_sock *tp, const struct cc *c)
{
	u64 most = tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate;

	tp->snd_cwnd = c->cwnd;
	tp->snd_ssthresh = c->ssthresh;
	tp->snd_cwnd_cnt = c->cwnd_cnt;
	if (c->pacing_rate != tp->inet_conn.icsk_inet.sk.sk_pacing_rate)
		tp->inet_conn.icsk_inet.sk.sk_pacing_rate =
			c->pacing_rate < most ? c->pacing_rate : most;
	if (c->paced && !tp->inet_conn.icsk_inet.sk.sk_pacing_status)
		tp->inet_conn.icsk_inet.sk.sk_pacing_status = CC_PACING_NEEDED;
	if (!c->paced && tp->inet_conn.icsk_inet.sk.sk_pacing_status == CC_PACING_NEEDED)
		tp->inet_conn.icsk_inet.sk.sk_pacing_status = 0;
	CC_UNROLL
	for (int i = 0; i < CC_PRIVATE_BYTES / 8; i++)
		tp->inet_conn.icsk_ca_priv[i] = c->priv[i];
}

static CC_INLINE void cc_demand(struct tcp_sock *tp, u32 echo)
{
	if (echo)
		tp->ecn_flags |= CC_DEMAND_CWR;
	else
		tp->ecn_flags &= ~CC_DEMAND_CWR;
}

/* The algorithm's control of ACKs at the two ECN events: Linux's dctcp_ece_ack_update (net/ipv4/tcp_dctcp.h). */
static CC_INLINE void cc_store_echo(struct tcp_sock *tp, const struct cc *c, u32 event)
{
	if (event != CC_ECN_NO_CE && event != CC_ECN_IS_CE)
		return;
	if (c->ack_now) {
		if (tp->inet_conn.icsk_ack.pending & CC_ACK_TIMER) {
			cc_demand(tp, !c->echo_ce);
			cc_send_ack(tp, c->ack_prior);
		}
		tp->inet_conn.icsk_ack.pending |= CC_ACK_NOW;
	}
	cc_demand(tp, c->echo_ce);
}

/* An ACK without a sample has a negative interval, or a negative number of packets. */
static CC_INLINE void cc_load_rate(struct cc_rate *rate, const struct rate_sample *sample)
{
	int sampled = sample->interval_us > 0 && sample->delivered > 0;

	rate->rtt_ns = sample->rtt_us < 0 ? -1 : (s64)sample->rtt_us * 1000;
	rate->interval_ns = sampled ? (u64)sample->interval_us * 1000 : 0;
	rate->delivered = sampled ? (u32)sample->delivered : 0;
	rate->delivered_ce = sampled ? (u32)sample->delivered_ce : 0;
	rate->prior_delivered = sample->prior_delivered;
	rate->acked = sample->acked_sacked;
	rate->lost = sample->losses > 0 ? (u32)sample->losses : 0;
	rate->in_flight = sample->prior_in_flight;
	rate->app_limited = sample->is_app_limited != 0;
	rate->retransmitted = sample->is_retrans != 0;
}

/* Linux gives the packets in flight as bytes: their number times mss_cache (tcp_clean_rtx_queue). */
static CC_INLINE void cc_load_ack(struct cc_ack *ack, const struct tcp_sock *tp,
				  const struct ack_sample *sample)
{
	u32 mss = tp->mss_cache;

	ack->rtt_ns = sample->rtt_us < 0 ? -1 : (s64)sample->rtt_us * 1000;
	ack->acked = sample->pkts_acked;
	ack->in_flight = mss ? sample->in_flight / mss : 0;
}

/* Runs before init. Linux calls cong_control for the ACK of the SYN even earlier; this discards its state. */
static CC_INLINE void cc_preset(struct tcp_sock *tp)
{
	u64 *priv = tp->inet_conn.icsk_ca_priv;

	CC_UNROLL
	for (int i = CC_PARAMETERS_MAX / 2; i < CC_PRIVATE_BYTES / 8; i++)
		priv[i] = 0;

	CC_UNROLL
	for (int i = 0; i < CC_PARAMETERS_MAX / 2; i++)
		priv[i] = cc_values[2 * i] | (u64)cc_values[2 * i + 1] << 32;
}

#define CC_PARAMETER_VALUE(name, initial, least, greatest, doc) initial,

/* Linux ignores the other flags: it calls every hook whatever limits sending. */
#define CC_FLAGS_OF_LINUX 0xffffU
#define CC_FLAGS(alg, asked) .flags = (asked) & CC_FLAGS_OF_LINUX

#endif
