/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Drives the static library of sch_suimon as the module does, for benches/module to count: prints the memory that an output
 * takes, then sends packets with a queue of sixteen, each frame at its time on a line of 1 Gbit/s.
 *
 *   module TABLE PACKETS
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suimon_traffic.h"

#define FRAME 1518
#define OVERHEAD 20
#define BACKLOG 16
#define PLACES 4096

/* Bytes that the library has. */
static size_t held;

void *suimon_alloc(size_t size, size_t align)
{
	void *memory;

	if (posix_memalign(&memory, align < 16 ? 16 : align, size))
		return NULL;
	held += malloc_usable_size(memory);
	return memory;
}

void suimon_free(void *memory)
{
	held -= malloc_usable_size(memory);
	free(memory);
}

u32 suimon_guarded(u32 (*body)(void *argument), void *argument)
{
	return body(argument);
}

void suimon_escape(u32 line)
{
	fprintf(stderr, "the discipline broke (line %u)\n", line);
	exit(3);
}

void suimon_no_memory(size_t size, size_t align)
{
	fprintf(stderr, "no memory for %zu bytes\n", size);
	exit(3);
}

static void check(u32 answer, const char *what)
{
	if (answer == SUIMON_OK)
		return;
	fprintf(stderr, "%s\n", what);
	exit(3);
}

/* The time after the next packet that leaves, from `now`. */
static u64 send_one(struct suimon_output *output, u64 now)
{
	for (;;) {
		struct suimon_next next;

		check(suimon_dequeue(output, now, &next), "no frame can be taken");
		switch (next.kind) {
		case SUIMON_PACKET:
			return now + 8 * (FRAME + OVERHEAD);
		case SUIMON_GAP:
			now += 8 * (next.value + OVERHEAD);
			break;
		case SUIMON_NOT_BEFORE:
			now = next.value;
			break;
		default:
			check(SUIMON_FAULT, "the packets are gone");
		}
	}
}

int main(int argc, char **argv)
{
	struct suimon_device device = {
		.rate = 1000000000, .seed = 1, .overhead = OVERHEAD, .mtu = 1500, .places = PLACES,
	};
	/* The headers of UDP over IPv4. */
	u8 datagram[28] = { 0x45, 0, 5, 220, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 4, 0, 0, 9 };
	struct suimon_offer offer = {
		.datagram = datagram, .datagram_length = sizeof(datagram), .length = FRAME, .frames = 1,
		.vlan_priority = SUIMON_NO_VLAN,
	};
	struct suimon_output *output;
	char message[256] = "there is no memory";
	u64 now = 0;
	long packets, number;
	u32 place;

	if (argc != 3)
		return 2;
	packets = atol(argv[2]);
	check(suimon_create(&device, (const u8 *)argv[1], strlen(argv[1]), now, &output, message,
			    sizeof(message)), message);
	printf("%zu\n", held);
	for (number = 0; number < packets; number++) {
		offer.flow = number % 8;
		check(suimon_enqueue(output, &offer, now, &place), "a packet is dropped");
		if (number >= BACKLOG)
			now = send_one(output, now);
	}
	suimon_destroy(output);
	return 0;
}
