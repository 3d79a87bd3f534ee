/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Congestion marks for the replay test: an XDP program that sets CE (RFC 3168 section 5) in 9 of 64 large ECN-capable
 * packets in sequence, so that the mark often changes while an ACK is delayed.
 */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SEC(name) __attribute__((section(name), used))
#define XDP_PASS 2
#define SMALL 1000 /* bytes */
#define TOS 15 /* offsets in the frame */
#define CHECKSUM 24
#define ECT0 2
#define CE 3

struct xdp_md {
	u32 data;
	u32 data_end;
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Not static, so that they stay together. */
struct {
	u32 marked; /* read by the test */
	u32 seen;
} counts;

SEC("xdp") int mark_some(struct xdp_md *ctx)
{
	u8 *frame = (u8 *)(u64)ctx->data;
	u8 *end = (u8 *)(u64)ctx->data_end;
	u32 checksum;

	if (frame + SMALL > end || (frame[TOS] & CE) != ECT0)
		return XDP_PASS;
	counts.seen++;
	if (counts.seen % 64 >= 9)
		return XDP_PASS;
	counts.marked++;
	/* One more in the header is one less in the checksum (RFC 1624). */
	checksum = frame[CHECKSUM] << 8 | frame[CHECKSUM + 1];
	checksum = checksum ? checksum - 1 : 0xfffe;
	frame[CHECKSUM] = checksum >> 8;
	frame[CHECKSUM + 1] = checksum;
	frame[TOS] |= CE;
	return XDP_PASS;
}
