// SPDX-License-Identifier: MIT OR GPL-2.0
/* Frames as packets: in one piece, in pages, in lists of packets, and as one that a card splits. */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include "fuzz.h"

#define FUZZ_GFP (GFP_KERNEL | __GFP_NOWARN)

/* A packet of the first `length` bytes, with the stack's offsets. */
static struct sk_buff *fuzz_head(struct rnd_state *random, const struct fuzz_text *text, u32 length)
{
	u32 room = fuzz_once_in(random, 8) ? 0 : 2 + fuzz_below(random, 130);
	struct sk_buff *skb = alloc_skb(room + length + fuzz_below(random, 64), FUZZ_GFP);

	if (!skb)
		return NULL;
	skb_reserve(skb, room);
	skb_put_data(skb, text->bytes, length);
	skb->protocol = text->protocol;
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, text->network);
	skb_reset_mac_len(skb);
	return skb;
}

/* Adds a page of the packet's own, with the next bytes of the text. */
static int fuzz_add_own_page(struct sk_buff *skb, const struct fuzz_text *text)
{
	u32 length = min_t(u32, text->length - skb->len, PAGE_SIZE);
	struct page *page = alloc_page(FUZZ_GFP);

	if (!page)
		return -ENOMEM;
	memcpy(page_address(page), text->bytes + skb->len, length);
	skb_add_rx_frag(skb, skb_shinfo(skb)->nr_frags, page, 0, length, PAGE_SIZE);
	return 0;
}

/* Adds shared pages until the packet is as long as the text. */
static void fuzz_add_pages(struct rnd_state *random, struct sk_buff *skb, u32 length, struct page **pages,
			   u32 page_count)
{
	while (skb->len < length) {
		u32 number = skb_shinfo(skb)->nr_frags, left = length - skb->len, size = min_t(u32, left, PAGE_SIZE);
		struct page *page = pages[fuzz_below(random, page_count)];

		if (number == MAX_SKB_FRAGS)
			break;
		/* Short pieces while enough of them are left. */
		if (left + PAGE_SIZE < (MAX_SKB_FRAGS - number) * PAGE_SIZE)
			size = 1 + fuzz_below(random, size);
		get_page(page);
		skb_add_rx_frag(skb, number, page, fuzz_below(random, PAGE_SIZE - size + 1), size, PAGE_SIZE);
	}
}

/* Adds a list of packets of at most `size` bytes each. */
static int fuzz_add_list(struct sk_buff *skb, const struct fuzz_text *text, u32 size)
{
	struct sk_buff **end = &skb_shinfo(skb)->frag_list;

	while (skb->len < text->length) {
		u32 length = min(text->length - skb->len, size);
		struct sk_buff *part = alloc_skb(length, FUZZ_GFP);

		if (!part)
			return -ENOMEM;
		skb_put_data(part, text->bytes + skb->len, length);
		*end = part;
		end = &part->next;
		skb->len += length;
		skb->data_len += length;
		skb->truesize += part->truesize;
	}
	return 0;
}

/* Offsets that are not those of the headers, but within the packet's memory or behind the frame. */
static void fuzz_set_offsets(struct rnd_state *random, const struct fuzz_text *text, struct sk_buff *skb)
{
	if (fuzz_once_in(random, 2) && text->transport < skb_headlen(skb))
		skb_set_transport_header(skb, text->transport);
	if (!fuzz_once_in(random, 8))
		return;
	fuzz_count(FUZZ_wrong_offsets);
	if (fuzz_once_in(random, 2))
		skb_set_network_header(skb, ETH_HLEN);
	else
		skb->network_header = fuzz_below(random, skb_headroom(skb) + skb->len + 64);
}

struct sk_buff *fuzz_lay_out(struct rnd_state *random, const struct fuzz_text *text, struct page **pages,
			     u32 page_count)
{
	u32 layout = fuzz_below(random, 8), head = text->length;
	struct sk_buff *skb;

	if (layout >= 4 && fuzz_once_in(random, 4))
		head = fuzz_below(random, min(text->length, text->payload) + 1);
	else if (layout >= 4)
		head = min(text->length, text->payload + fuzz_below(random, 256));
	skb = fuzz_head(random, text, head);
	if (!skb)
		return NULL;
	if (head < text->length && layout >= 6) {
		if (fuzz_add_list(skb, text, 64 + fuzz_below(random, 8192)))
			goto no_memory;
	} else if (head < text->length) {
		if (head < text->payload && fuzz_add_own_page(skb, text))
			goto no_memory;
		fuzz_add_pages(random, skb, text->length, pages, page_count);
	}
	fuzz_count(skb_has_frag_list(skb) ? FUZZ_fragment_list :
		   skb_is_nonlinear(skb) ? FUZZ_fragments : FUZZ_linear);
	if (head < min(text->length, text->payload))
		fuzz_count(FUZZ_headers_in_fragments);
	fuzz_set_offsets(random, text, skb);
	return skb;
no_memory:
	kfree_skb(skb);
	return NULL;
}

/* What a card needs to know: kind, size and number of the segments, and where the checksum goes. */
static void fuzz_set_gso(struct rnd_state *random, const struct fuzz_text *text, struct sk_buff *skb, u32 size)
{
	struct skb_shared_info *info = skb_shinfo(skb);
	bool tcp = text->transport_protocol == IPPROTO_TCP;
	u32 data = text->length - text->payload;

	skb_set_transport_header(skb, text->transport);
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = skb_headroom(skb) + text->transport;
	skb->csum_offset = tcp ? offsetof(struct tcphdr, check) : offsetof(struct udphdr, check);
	info->gso_size = size;
	info->gso_segs = DIV_ROUND_UP(data, size);
	info->gso_type = !tcp ? SKB_GSO_UDP_L4 : text->version == 4 ? SKB_GSO_TCPV4 : SKB_GSO_TCPV6;
	if (fuzz_once_in(random, 4))
		info->gso_type |= SKB_GSO_DODGY;
	if (tcp && fuzz_once_in(random, 4))
		info->gso_type |= SKB_GSO_TCP_ECN;
	if (fuzz_once_in(random, 8))
		info->gso_segs = prandom_u32_state(random);
	fuzz_count(!tcp ? FUZZ_gso_udp : text->version == 4 ? FUZZ_gso_tcp4 : FUZZ_gso_tcp6);
}

struct sk_buff *fuzz_segments(struct rnd_state *random, const struct fuzz_text *text, struct page **pages,
			      u32 page_count)
{
	u32 data = text->length - text->payload, size = 536 + fuzz_below(random, 913), head;
	bool list = text->transport_protocol == IPPROTO_TCP && data > size && fuzz_once_in(random, 8);
	struct sk_buff *skb;
	int err = 0;

	if (list)
		head = text->payload + size;
	else if (fuzz_once_in(random, 8))
		head = ETH_HLEN + fuzz_below(random, text->payload - ETH_HLEN);
	else
		head = min(text->length, text->payload + fuzz_below(random, 1500));
	skb = fuzz_head(random, text, head);
	if (!skb)
		return NULL;
	if (list)
		err = fuzz_add_list(skb, text, size);
	else if (head < text->payload)
		err = fuzz_add_own_page(skb, text);
	if (err) {
		kfree_skb(skb);
		return NULL;
	}
	fuzz_add_pages(random, skb, text->length, pages, page_count);
	if (list) {
		fuzz_count(FUZZ_gso_list);
	} else if (fuzz_once_in(random, 8)) {
		/* At most 400 segments. */
		size = fuzz_once_in(random, 2) ? data / 400 + 1 : data / 400 + 1 + fuzz_below(random, 60000);
		fuzz_count(FUZZ_gso_wrong_size);
	}
	fuzz_set_gso(random, text, skb, size);
	return skb;
}
