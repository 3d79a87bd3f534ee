/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the files of the test module suimon_fuzz share. */
#ifndef SUIMON_FUZZ_H
#define SUIMON_FUZZ_H

#include <linux/prandom.h>
#include <linux/skbuff.h>

/* What is counted of frames; a frame can be of several kinds. */
#define FUZZ_KINDS(kind)                                                                         \
	kind(empty) kind(below_15_bytes) kind(below_60_bytes) kind(to_1518_bytes)                \
	kind(to_9018_bytes) kind(above_9018_bytes)                                               \
	kind(linear) kind(fragments) kind(fragment_list) kind(headers_in_fragments)              \
	kind(ipv4) kind(ipv4_options) kind(ipv6) kind(ipv6_extensions) kind(not_ip)              \
	kind(one_tag_in_frame) kind(two_tags_in_frame) kind(tag_beside_frame)                    \
	kind(cut_short) kind(mutated) kind(wrong_offsets) kind(cloned) kind(shared)              \
	kind(gso_tcp4) kind(gso_tcp6) kind(gso_udp) kind(gso_wrong_size) kind(gso_list)          \
	kind(past_the_stack) kind(no_memory)

#define FUZZ_ENUM(name) FUZZ_##name,
enum fuzz_kind { FUZZ_KINDS(FUZZ_ENUM) FUZZ_KIND_COUNT };

extern unsigned long fuzz_kinds[FUZZ_KIND_COUNT];

static inline void fuzz_count(enum fuzz_kind kind)
{
	fuzz_kinds[kind]++;
}

/* A number below `end`, which is not 0. */
static inline u32 fuzz_below(struct rnd_state *random, u32 end)
{
	return ((u64)prandom_u32_state(random) * end) >> 32;
}

/* True once in `n` times. */
static inline bool fuzz_once_in(struct rnd_state *random, u32 n)
{
	return !fuzz_below(random, n);
}

#define FUZZ_LENGTH_MAX 65535
/* Room for headers: what a drawn chain of them can have. */
#define FUZZ_HEADERS 2048

/* The bytes of a frame, and where its headers are. */
struct fuzz_text {
	u8 *bytes; /* FUZZ_LENGTH_MAX and FUZZ_HEADERS */
	u32 length; /* of the frame, which can be shorter than its headers */
	u32 network, transport, payload; /* offsets of headers and of the data behind them */
	__be16 protocol; /* as the stack has it: that of the first tag in the frame, or of the datagram */
	u8 version; /* 4, 6 or 0 */
	u8 transport_protocol;
	bool exact; /* lengths in the headers are right, and nothing was changed after */
};

/* Draws headers and data. With `exact`, TCP or UDP without fragments, right throughout. */
void fuzz_write(struct rnd_state *random, struct fuzz_text *text, bool exact);

/* The text as a packet of a drawn layout; null without memory. Pages are shared with others. */
struct sk_buff *fuzz_lay_out(struct rnd_state *random, const struct fuzz_text *text, struct page **pages,
			     u32 page_count);

/* The text as TCP or UDP gives it to a card that splits; null without memory. */
struct sk_buff *fuzz_segments(struct rnd_state *random, const struct fuzz_text *text, struct page **pages,
			      u32 page_count);

#endif
