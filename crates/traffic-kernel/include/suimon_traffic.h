/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The queueing disciplines of Suimon behind a C interface: the static library of crates/traffic-kernel, whose
 * src/abi.rs implements what is declared here.
 *
 * Calls for one output must not overlap. Times are nanoseconds of one clock that never goes back. A call that
 * returns SUIMON_FAULT has broken its output, and every later call returns the same: send the packets in the order
 * of their arrival, and say so.
 */
#ifndef SUIMON_TRAFFIC_H
#define SUIMON_TRAFFIC_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/* The call did what it should; no packet was dropped. */
#define SUIMON_OK 0
/* The table or its settings are refused; the message has the reason. */
#define SUIMON_REFUSED 0xfffffffe
/* The output is broken; of suimon_create: memory ran out. */
#define SUIMON_FAULT 0xffffffff

/* Why a packet was dropped. */
enum suimon_reason {
	SUIMON_DROP_QUEUE_BYTES = 1,
	SUIMON_DROP_QUEUE_PACKETS,
	SUIMON_DROP_FLUSHED,
	SUIMON_DROP_TOO_LONG,
	SUIMON_DROP_NO_ROUTE,
	SUIMON_DROP_BACKLOG,
	SUIMON_DROP_LINK_LOSS,
	SUIMON_DROP_EARLY,
	SUIMON_DROP_UNRESPONSIVE,
	SUIMON_DROP_POLICED,
	SUIMON_DROP_FAULT,
	SUIMON_DROP_CHECKSUM,
	SUIMON_DROP_SHARED_BUFFER,
};

/* A discipline with its packets, and the clock of its link. */
struct suimon_output;

/* The device that a discipline sends by. */
struct suimon_device {
	u64 rate; /* of the line, bits per second */
	u64 seed; /* of the random stream */
	u64 overhead; /* bytes of a frame on the wire besides the frame itself: 20 on Ethernet */
	u32 mtu; /* the longest IP datagram, bytes */
	u32 places; /* the greatest number of packets queued */
};

#define SUIMON_NO_VLAN 255

/* What a discipline gets to know about a packet. */
struct suimon_offer {
	const u8 *datagram; /* the headers, from that of IP on; null if the packet is not IP */
	u64 datagram_length; /* the bytes of it that can be read */
	u32 length; /* of the Ethernet frame, header and FCS included */
	u32 flow; /* a hash of addresses, protocol and ports */
	u16 source; /* a number for the source address */
	u16 destination; /* a number for the destination address */
	u8 tos; /* DSCP and ECN */
	u8 priority; /* 0 to 7 */
	u8 frames; /* on the wire; 0 means one */
	u8 vlan_priority; /* of its 802.1Q tag, or SUIMON_NO_VLAN */
	u16 class; /* that it must enter: the position for suimon_class plus one; 0 if the discipline chooses */
};

enum suimon_kind {
	SUIMON_NOTHING = 0, /* nothing is queued */
	SUIMON_PACKET = 1, /* send the packet of the place `value`, which is free from now on */
	SUIMON_GAP = 2, /* send a gap frame of `value` bytes, header and FCS included */
	SUIMON_NOT_BEFORE = 3, /* nothing before the time `value` */
};

/* The next frame for the link. */
struct suimon_next {
	u64 value;
	u32 kind; /* enum suimon_kind */
	u32 tos; /* the packet's, with the mark of congestion if the discipline marked it */
};

struct suimon_statistics {
	u64 backlog_packets;
	u64 backlog_bytes;
	u64 backlog_bytes_max;
	u64 enqueued_packets;
	u64 enqueued_bytes;
	u64 sent_packets;
	u64 sent_bytes;
	u64 dropped_packets;
	u64 dropped_bytes;
	u64 marked_packets;
	u64 gap_frames;
	u64 gap_bytes;
	u64 delay; /* how long the packet sent last was queued, nanoseconds */
};

/*
 * Creates an output from a table of settings (src/table.rs describes it) at the time `now`. Returns SUIMON_OK,
 * SUIMON_REFUSED and a message with a zero at its end, or SUIMON_FAULT.
 */
u32 suimon_create(const struct suimon_device *device, const u8 *table, size_t length, u64 now,
		  struct suimon_output **output, char *message, size_t size);

/* Frees an output, or null. The memory of a broken one is lost. */
void suimon_destroy(struct suimon_output *output);

/* Gives an output another table; queued packets stay queued. Returns as suimon_create does. */
u32 suimon_change(struct suimon_output *output, const u8 *table, size_t length, u64 now,
		  char *message, size_t size);

/*
 * Gives an output the rate, the MTU and the overhead of a device that has changed, with the table that is in force; queued
 * packets stay queued. Returns as suimon_create does.
 */
u32 suimon_change_device(struct suimon_output *output, const struct suimon_device *device, const u8 *table,
			 size_t length, u64 now, char *message, size_t size);

/* Offers a packet. Returns SUIMON_OK and the place of the packet, or an enum suimon_reason, or SUIMON_FAULT. */
u32 suimon_enqueue(struct suimon_output *output, const struct suimon_offer *offer, u64 now,
		   u32 *place);

/* Takes the next frame for the link. */
u32 suimon_dequeue(struct suimon_output *output, u64 now, struct suimon_next *next);

/* Returns what suimon_dequeue would at the same time. */
u32 suimon_peek(struct suimon_output *output, u64 now, struct suimon_next *next);

/* What the discipline looks at: the numbers of flow, source and destination, and what arrives at its device. */
#define SUIMON_FLOWS 1
#define SUIMON_ARRIVALS 2
u32 suimon_looks_at(const struct suimon_output *output);

/*
 * Passes a packet that arrived at the device to a discipline that listens: only its flow, which is that of the packets
 * which it acknowledges, and its datagram count.
 */
u32 suimon_hear(struct suimon_output *output, const struct suimon_offer *packet, u64 now);

/* Whether suimon_take_dropped has a packet to return: 1, also of a broken output, or 0. */
u32 suimon_has_dropped(const struct suimon_output *output);

/*
 * Takes the oldest queued packet that was dropped since: call it after each other call until it returns SUIMON_OK.
 * Returns an enum suimon_reason and the packet's place, which is free from now on; or SUIMON_FAULT.
 */
u32 suimon_take_dropped(struct suimon_output *output, u32 *place);

/* Discards everything queued: suimon_take_dropped returns it. */
u32 suimon_flush(struct suimon_output *output, u64 now);

/* Reads the counters. */
u32 suimon_statistics(struct suimon_output *output, struct suimon_statistics *statistics);

/*
 * Reads the counters of the class at a position, from 0, and its name with a zero at its end. Returns SUIMON_OK,
 * SUIMON_REFUSED if there are fewer classes, or SUIMON_FAULT.
 */
u32 suimon_class(struct suimon_output *output, u32 position, struct suimon_statistics *statistics,
		 char *name, size_t size);

#ifdef __KERNEL__
/*
 * What the library needs of the kernel. A panic of the library calls suimon_escape, which leaves the innermost
 * suimon_guarded. So does suimon_no_memory, which Rust's own crate calls in place of its handler (kernel/module/build).
 */
void *suimon_alloc(size_t size, size_t align);
void suimon_free(void *memory);
u32 suimon_guarded(u32 (*body)(void *argument), void *argument);
void suimon_escape(u32 line) __attribute__((noreturn));
void suimon_no_memory(size_t size, size_t align) __attribute__((noreturn));
#endif

#endif
