/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Loss for the replay test: an XDP program that drops every 1999th data packet, and every 4096
 * packets a run of 12 that leaves a hole of its own. Small packets always pass.
 */
typedef unsigned int u32;

#define SEC(name) __attribute__((section(name), used))
#define XDP_DROP 1
#define XDP_PASS 2
#define SMALL 1000 /* bytes */

struct xdp_md {
	u32 data;
	u32 data_end;
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static u32 seen;

SEC("xdp") int drop_some(struct xdp_md *ctx)
{
	if (ctx->data_end - ctx->data < SMALL)
		return XDP_PASS;
	seen++;
	return seen % 1999 == 0 || seen % 4096 >= 4084 ? XDP_DROP : XDP_PASS;
}
