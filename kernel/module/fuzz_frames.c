// SPDX-License-Identifier: MIT OR GPL-2.0
/* Drawn frames: headers that are right, wrong or cut short. */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/unaligned.h>

#include "fuzz.h"

static u32 fuzz_draw_length(struct rnd_state *random)
{
	static const u32 edges[] = { 0, 1, 13, 14, 15, 18, 33, 34, 35, 54, 59, 60, 61, 64, 1514, 1518, 9000, 65535 };

	switch (fuzz_below(random, 16)) {
	case 0 ... 3:
		return edges[fuzz_below(random, ARRAY_SIZE(edges))];
	case 4 ... 7:
		return fuzz_below(random, 128);
	case 8 ... 13:
		return fuzz_below(random, 1519);
	case 14:
		return fuzz_below(random, 9019);
	default:
		return fuzz_below(random, FUZZ_LENGTH_MAX + 1);
	}
}

static u8 fuzz_byte(struct rnd_state *random)
{
	return prandom_u32_state(random);
}

/* MAC addresses, and tags in the frame. Returns where the datagram begins. */
static u32 fuzz_write_ethernet(struct rnd_state *random, struct fuzz_text *text, u16 protocol)
{
	u32 tags = fuzz_once_in(random, 4) ? 1 + fuzz_below(random, 2) : 0, at = 2 * ETH_ALEN, i;

	prandom_bytes_state(random, text->bytes, at);
	for (i = 0; i < tags; i++) {
		u16 type = i || tags == 1 ? ETH_P_8021Q : ETH_P_8021AD;

		if (!i)
			text->protocol = htons(type);
		put_unaligned_be16(type, text->bytes + at);
		put_unaligned_be16(prandom_u32_state(random), text->bytes + at + 2);
		at += VLAN_HLEN;
	}
	if (tags)
		fuzz_count(tags == 1 ? FUZZ_one_tag_in_frame : FUZZ_two_tags_in_frame);
	else
		text->protocol = htons(protocol);
	put_unaligned_be16(protocol, text->bytes + at);
	return at + 2;
}

static u32 fuzz_write_transport(struct rnd_state *random, struct fuzz_text *text, u32 at)
{
	u8 *header = text->bytes + at;

	text->transport = at;
	prandom_bytes_state(random, header, 64);
	switch (text->transport_protocol) {
	case IPPROTO_TCP:
		/* The offset of the data, in words of four bytes. */
		header[12] = (text->exact ? 5 + fuzz_below(random, 11) : fuzz_below(random, 16)) << 4;
		return at + max(20, (header[12] >> 4) * 4);
	case IPPROTO_UDP:
		if (text->exact)
			put_unaligned_be16(text->length - at, header + 4);
		return at + 8;
	default:
		return at + 8;
	}
}

static u32 fuzz_write_ipv4(struct rnd_state *random, struct fuzz_text *text, u32 at)
{
	u32 words = fuzz_once_in(random, 3) ? 5 + fuzz_below(random, 11) : 5;
	struct iphdr *ip = (struct iphdr *)(text->bytes + at);

	prandom_bytes_state(random, ip, 4 * words);
	if (words > 5)
		fuzz_count(FUZZ_ipv4_options);
	put_unaligned_be16(text->length > at ? text->length - at : 0, &ip->tot_len);
	put_unaligned_be16(fuzz_once_in(random, 8) && !text->exact ? prandom_u32_state(random) : 0, &ip->frag_off);
	if (fuzz_once_in(random, 8) && !text->exact) {
		put_unaligned_be16(prandom_u32_state(random), &ip->tot_len);
		words = fuzz_below(random, 16);
	}
	text->bytes[at] = 4 << 4 | words;
	ip->protocol = text->transport_protocol;
	return at + 4 * max(words, 5u);
}

/* Writes a chain of extension headers behind the datagram's header. Returns where the rest begins. */
static u32 fuzz_write_extensions(struct rnd_state *random, struct fuzz_text *text, u8 *next, u32 at)
{
	static const u8 kinds[] = { 0, 43, 44, 51, 60, 60, 135, 139, 140, 253, 50 };
	u32 count = 1 + fuzz_below(random, fuzz_once_in(random, 8) ? 12 : 4);

	fuzz_count(FUZZ_ipv6_extensions);
	while (count--) {
		u8 kind = text->exact ? 60 : kinds[fuzz_below(random, ARRAY_SIZE(kinds))];
		u8 length = fuzz_once_in(random, 8) && !text->exact ? fuzz_byte(random) : fuzz_below(random, 4);

		*next = kind;
		next = text->bytes + at;
		prandom_bytes_state(random, next, 8 * (1 + (length & 3)));
		if (text->exact) /* Padding: one option of six bytes and a multiple of eight. */
			put_unaligned_be16(1 << 8 | (8 * length + 4), next + 2);
		next[1] = length;
		at += 8 * (1 + (length & 3));
	}
	/* None, or as without a chain. */
	*next = fuzz_once_in(random, 8) && !text->exact ? 59 : text->transport_protocol;
	return at;
}

static u32 fuzz_write_ipv6(struct rnd_state *random, struct fuzz_text *text, u32 at)
{
	u8 *ip = text->bytes + at;

	prandom_bytes_state(random, ip, sizeof(struct ipv6hdr));
	ip[0] = 6 << 4 | (ip[0] & 0xf);
	put_unaligned_be16(text->length > at + 40 ? text->length - at - 40 : 0, ip + 4);
	if (fuzz_once_in(random, 16) && !text->exact)
		put_unaligned_be16(prandom_u32_state(random), ip + 4);
	ip[6] = text->transport_protocol;
	at += sizeof(struct ipv6hdr);
	return fuzz_once_in(random, 2) ? fuzz_write_extensions(random, text, ip + 6, at) : at;
}

static void fuzz_count_text(const struct fuzz_text *text)
{
	u32 length = text->length;

	fuzz_count(!length ? FUZZ_empty :
		   length < 15 ? FUZZ_below_15_bytes :
		   length < 60 ? FUZZ_below_60_bytes :
		   length <= 1518 ? FUZZ_to_1518_bytes :
		   length <= 9018 ? FUZZ_to_9018_bytes : FUZZ_above_9018_bytes);
	fuzz_count(text->version == 4 ? FUZZ_ipv4 : text->version == 6 ? FUZZ_ipv6 : FUZZ_not_ip);
	if (length < text->payload)
		fuzz_count(FUZZ_cut_short);
}

/* Changes bytes of the headers, and lets the stack's fields say something else than the frame. */
static void fuzz_mutate(struct rnd_state *random, struct fuzz_text *text)
{
	u32 changes = 1 + fuzz_below(random, 8);

	if (!fuzz_once_in(random, 4))
		return;
	fuzz_count(FUZZ_mutated);
	while (changes--)
		text->bytes[fuzz_below(random, 128)] = fuzz_byte(random);
	if (fuzz_once_in(random, 4))
		text->protocol = prandom_u32_state(random);
}

void fuzz_write(struct rnd_state *random, struct fuzz_text *text, bool exact)
{
	static const u8 transports[] = { IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP, IPPROTO_ICMP, IPPROTO_SCTP, 255 };
	static const u16 others[] = { ETH_P_ARP, ETH_P_PAUSE, ETH_P_802_EX1, ETH_P_MPLS_UC, ETH_P_PPP_SES, ETH_P_LLDP, 100, 0 };
	u32 of = fuzz_below(random, 8), at;
	u16 protocol;

	text->exact = exact;
	text->length = fuzz_draw_length(random);
	text->version = of < 4 ? 4 : of < 7 || exact ? 6 : 0;
	if (exact)
		text->length = max(text->length, 1200u);
	text->transport_protocol = transports[fuzz_below(random, exact ? 4 : ARRAY_SIZE(transports))];
	protocol = text->version == 4 ? ETH_P_IP : text->version == 6 ? ETH_P_IPV6 :
		   others[fuzz_below(random, ARRAY_SIZE(others))];
	at = fuzz_write_ethernet(random, text, protocol);
	text->network = at;
	if (text->version == 4)
		at = fuzz_write_ipv4(random, text, at);
	else if (text->version == 6)
		at = fuzz_write_ipv6(random, text, at);
	text->payload = fuzz_write_transport(random, text, at);
	WARN_ON_ONCE(text->payload > FUZZ_HEADERS);
	if (!exact)
		fuzz_mutate(random, text);
	fuzz_count_text(text);
}
