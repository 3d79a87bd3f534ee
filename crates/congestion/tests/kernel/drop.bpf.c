/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loss for the replay test: an XDP program that drops every 1999th data packet, and every 4096
 * packets a run of 12. A run ends after 20 ms at the latest: otherwise a window of two packets
 * would lose each retransmission to the run, and its timeout would double each time.
 * Small packets always pass.
 */
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define XDP_DROP 1
#define XDP_PASS 2
#define SMALL 1000 /* bytes */
#define PERIOD 4096 /* packets from run to run */
#define RUN 12 /* packets */
#define RUN_TIME 20000000ull /* ns */

struct xdp_md {
	u32 data;
	u32 data_end;
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;

static u32 seen;
static u64 run_start;

/* Whether the last counted packet belongs to a run; a run that lasts too long is skipped. */
static __attribute__((always_inline)) int in_run(void)
{
	u32 place = seen % PERIOD;
	u64 now;

	if (place < PERIOD - RUN)
		return 0;
	now = bpf_ktime_get_ns();
	if (place == PERIOD - RUN)
		run_start = now;
	if (now - run_start < RUN_TIME)
		return 1;
	seen += PERIOD - place;
	return 0;
}

SEC("xdp") int drop_some(struct xdp_md *ctx)
{
	if (ctx->data_end - ctx->data < SMALL)
		return XDP_PASS;
	seen++;
	return seen % 1999 == 0 || in_run() ? XDP_DROP : XDP_PASS;
}
