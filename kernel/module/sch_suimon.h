/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What the files of the module share. */
#ifndef SCH_SUIMON_H
#define SCH_SUIMON_H

#include <linux/if_vlan.h>
#include <linux/percpu.h>
#include <linux/siphash.h>
#include <linux/skbuff.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "suimon_netlink.h"

/* An output of the library, and its memory: see outputs.c. */
struct sui_output;

/* As the functions of suimon_traffic.h. Every table ends with a zero. */
u32 sui_output_create(const struct suimon_device *device, const char *table, u64 now,
		      struct sui_output **created, char *message, size_t size);
void sui_output_destroy(struct sui_output *output);
u32 sui_output_change(struct sui_output *output, const char *table, u64 now, struct list_head *spare, char *message,
		      size_t size);
u32 sui_output_change_device(struct sui_output *output, const struct suimon_device *device, const char *table, u64 now,
			     struct list_head *spare, char *message, size_t size);
u32 sui_output_enqueue(struct sui_output *output, const struct suimon_offer *offer, u64 now, u32 *place);
u32 sui_output_dequeue(struct sui_output *output, u64 now, struct suimon_next *next);
u32 sui_output_looks_at(const struct sui_output *output);
u32 sui_output_hear(struct sui_output *output, const struct suimon_offer *packet, u64 now);
bool sui_output_has_dropped(const struct sui_output *output);
u32 sui_output_take_dropped(struct sui_output *output, u32 *place);
u32 sui_output_flush(struct sui_output *output, u64 now);
u32 sui_output_statistics(struct sui_output *output, struct suimon_statistics *statistics);
u32 sui_output_class(struct sui_output *output, u32 position, struct suimon_statistics *statistics, char *name,
		     size_t size);

/* Pools of memory for calls of packets, see memory.c: before the first output, and after the last. */
int suimon_create_pools(void);
void suimon_destroy_pools(void);

/*
 * What a call of the library needs to know. A packet's call runs with softirqs off, so its context is this processor's. A
 * call that configures may sleep and change processors; RTNL is held, so one context is enough for all of them.
 */
struct suimon_context {
	struct list_head *owner; /* the list to which blocks of memory are added, or null */
	struct list_head *spare; /* see suimon_set_aside, or null */
	struct suimon_guard *guard; /* the innermost, see guard.c */
};

DECLARE_PER_CPU(struct suimon_context, suimon_context_of_packets);
extern struct suimon_context suimon_context_of_settings;

static inline struct suimon_context *suimon_context(void)
{
	return softirq_count() ? this_cpu_ptr(&suimon_context_of_packets) : &suimon_context_of_settings;
}

/* Frees every block of the list; returns how many. */
u32 suimon_free_all(struct list_head *owner);

/*
 * Sets memory aside for a change, which cannot wait for any while it has the lock of the queue: all that an output with
 * these settings takes. The caller frees what is left of `spare`. Answers as suimon_create; the change itself says why
 * settings are refused.
 */
u32 suimon_set_aside(const struct suimon_device *device, const char *table, struct list_head *spare);

/* The longest name of a class, with the zero at its end. Longer ones are cut. */
#define SUIMON_NAME 64
/* The greatest number of a class: a packet has the position plus one in 16 bits, and tc the number. */
#define SUIMON_CLASSES_MAX 65534
/* The position of a class which is gone, while filters still lead to it. */
#define SUIMON_NO_POSITION U32_MAX

/* A class of the qdisc, see numbers.c. */
struct sui_class {
	struct Qdisc_class_common common; /* the number, and how many filters lead to it */
	u32 position; /* for suimon_class */
	struct list_head list; /* all, in the order of their positions */
	struct list_head added;
	char name[SUIMON_NAME];
};

/* The private part of a qdisc. */
struct suimon_sched {
	struct sui_output *output;
	struct sk_buff **places; /* packets by place */
	u32 count; /* of places */
	u32 overhead; /* bytes of a frame on the wire besides the frame itself */
	struct sk_buff_head arrived; /* the same packets in the order of arrival */
	bool faulty; /* the discipline broke */
	struct sk_buff *gap; /* the longest */
	enum suimon_gap_frame gap_frame;
	siphash_key_t key;
	struct qdisc_watchdog watchdog;
	u64 gaps_lost;
	u64 rate;
	bool line_given; /* the rate, which does not follow that of the device then */
	char *table;
	struct suimon_device device; /* as the output has it */
	struct list_head follower; /* see device.c */
	struct delayed_work renewal;
	struct packet_type ipv4, ipv6; /* of the packets that the discipline hears */
	u32 looks; /* at SUIMON_FLOWS, SUIMON_ARRIVALS */
	u64 created; /* the output, by the kernel's clock */
	struct suimon_statistics before; /* the counters of earlier outputs */
	struct Qdisc *sch;
	struct Qdisc_class_hash classes; /* by number */
	struct list_head class_list;
	struct tcf_proto __rcu *filters; /* those of tc */
	struct tcf_block *block;
};

/* The library does not know packets any more: they leave in the order of arrival. */
void suimon_fall_back(struct Qdisc *sch);

/* See renewal.c. The caller of the last one has the lock of the qdisc's tree. */
void suimon_init_renewal(struct Qdisc *sch);
void suimon_start_renewal(struct Qdisc *sch);
void suimon_stop_renewal(struct Qdisc *sch);
void suimon_read_counters(struct Qdisc *sch, struct suimon_statistics *counters);

/* See hearing.c. RTNL is held, and the first is called after the discipline was created or changed. */
void suimon_update_looks(struct Qdisc *sch);
void suimon_stop_hearing(struct Qdisc *sch);

/* The longest reason of a refusal, with the zero at its end. */
#define SUIMON_REASON 256

/* See device.c. The rate of the device's line in bits per second; 0 if it has none. */
u64 suimon_line_rate(struct net_device *dev);
/* The longest gap frame for the device's MTU; null without memory. */
struct sk_buff *suimon_longest_gap_of(struct net_device *dev, enum suimon_gap_frame kind);
int suimon_register_follower(void);
void suimon_unregister_follower(void);
/* A qdisc follows its device from here on, and until here. */
void suimon_start_following(struct Qdisc *sch);
void suimon_stop_following(struct Qdisc *sch);

/* See numbers.c. The class of a number, or null. */
struct sui_class *suimon_class_of(const struct suimon_sched *q, u32 number);
/* The lowest number that no class has. */
u32 suimon_next_number(const struct suimon_sched *q);
/*
 * For a new table: enough memory for its classes, then, with the tree locked if the qdisc is in use, the numbers for those
 * that the output has now. What is left in `spare` is freed.
 */
int suimon_alloc_classes(const char *table, struct list_head *spare);
void suimon_number_classes(struct suimon_sched *q, struct list_head *spare);
void suimon_free_classes(struct list_head *list);
/*
 * Sets the position plus one of the class that a packet must enter, or 0 if the discipline chooses. False with the answer of
 * enqueue if a filter took or drops the packet.
 */
bool suimon_classify(struct sk_buff *skb, struct Qdisc *sch, u16 *position, int *answer);
struct tcf_block *suimon_class_block(struct Qdisc *sch, unsigned long class, struct netlink_ext_ack *extack);
unsigned long suimon_bind_filter(struct Qdisc *sch, unsigned long parent, u32 classid);
void suimon_unbind_filter(struct Qdisc *sch, unsigned long class);

/* See classes.c. */
extern const struct Qdisc_class_ops suimon_class_ops;

/* The longest table of settings, without the zero at its end. */
#define SUIMON_TABLE_MAX 16384
/* See qdisc.c. Reads the attributes of a qdisc or a class, which must have a table. */
int suimon_parse(struct nlattr *opt, struct nlattr **tb, struct netlink_ext_ack *extack);
/* Changes the discipline to a table, which is freed, or null without memory. */
int suimon_set_table(struct Qdisc *sch, char *table, struct netlink_ext_ack *extack);

/* The frame check sequence, which the card adds. */
#define SUIMON_FCS 4
/* The shortest and the longest frame of a gap, header and FCS included. */
#define SUIMON_FRAME_MIN 64
#define SUIMON_GAP_MAX 9000

/* The length of a packet's frame on the wire, header and FCS included. */
static inline u32 suimon_frame_length(const struct sk_buff *skb)
{
	u32 tag = skb_vlan_tag_present(skb) ? VLAN_HLEN : 0;

	return max_t(u32, skb->len + tag + SUIMON_FCS, SUIMON_FRAME_MIN);
}

/*
 * Reads what a discipline gets to know about a packet. `headers` is room for SUIMON_HEADERS bytes, for headers that are
 * not in one piece.
 */
#define SUIMON_HEADERS 128
void suimon_read(struct sk_buff *skb, const struct suimon_sched *q, u8 *headers,
		 struct suimon_offer *offer);

/* The longest gap frame of the device, `frame` bytes; gaps are clones of it. Null without memory. */
struct sk_buff *suimon_longest_gap(struct net_device *dev, enum suimon_gap_frame kind, u32 frame);

/* A gap frame of `frame` bytes; null without memory. */
struct sk_buff *suimon_gap(struct sk_buff *longest, u32 frame);

#endif
