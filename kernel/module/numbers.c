// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The numbers of classes. A class keeps its number as long as it exists: filters of tc lead to it by that. A name that is a
 * hexadecimal number, as tc writes it, is the number; other classes have the lowest ones that are left.
 */
#include <linux/rtnetlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>

#include "sch_suimon.h"

struct sui_class *suimon_class_of(const struct suimon_sched *q, u32 number)
{
	struct Qdisc_class_common *common = qdisc_class_find(&q->classes, number);
	struct sui_class *class = common ? container_of(common, struct sui_class, common) : NULL;

	return class && class->position != SUIMON_NO_POSITION ? class : NULL;
}

/* The number that a name is; 0 if it is none. */
static u32 sui_number_in(const char *name)
{
	char written[8];
	u16 number;

	if (kstrtou16(name, 16, &number) || number > SUIMON_CLASSES_MAX)
		return 0;
	snprintf(written, sizeof(written), "%x", number);
	return strcmp(written, name) ? 0 : number;
}

static bool sui_is_taken(const struct suimon_sched *q, u32 number)
{
	return qdisc_class_find(&q->classes, number);
}

u32 suimon_next_number(const struct suimon_sched *q)
{
	u32 number = 1;

	while (sui_is_taken(q, number))
		number++;
	return number;
}

static struct sui_class *sui_find_gone(struct suimon_sched *q, struct list_head *gone, const char *name)
{
	struct sui_class *class;

	list_for_each_entry(class, gone, list)
		if (!strcmp(class->name, name))
			return class;
	return NULL;
}

/* Gives positions to the classes that were there, and those that are new to `added`, without a number. */
static void sui_read_positions(struct suimon_sched *q, struct list_head *gone, struct list_head *spare,
			       struct list_head *added)
{
	struct suimon_statistics counters;
	char name[SUIMON_NAME];
	struct sui_class *class;
	u32 position;

	for (position = 0; position < SUIMON_CLASSES_MAX; position++) {
		if (sui_output_class(q->output, position, &counters, name, sizeof(name)) != SUIMON_OK)
			return;
		class = sui_find_gone(q, gone, name);
		if (class) {
			list_move_tail(&class->list, &q->class_list);
		} else {
			/* A class that was removed may be listed until its packets have left: there is none for it. */
			class = list_first_entry_or_null(spare, struct sui_class, list);
			if (!class)
				continue;
			strscpy(class->name, name, sizeof(class->name));
			list_move_tail(&class->list, &q->class_list);
			list_add_tail(&class->added, added);
		}
		class->position = position;
	}
}

static void sui_give_numbers(struct suimon_sched *q, struct list_head *added)
{
	struct sui_class *class, *next;
	u32 number;

	list_for_each_entry_safe(class, next, added, added) {
		number = sui_number_in(class->name);
		if (!number || sui_is_taken(q, number))
			continue;
		class->common.classid = number;
		qdisc_class_hash_insert(&q->classes, &class->common);
		list_del(&class->added);
	}
	list_for_each_entry(class, added, added) {
		class->common.classid = suimon_next_number(q);
		qdisc_class_hash_insert(&q->classes, &class->common);
	}
}

void suimon_free_classes(struct list_head *list)
{
	struct sui_class *class, *next;

	list_for_each_entry_safe(class, next, list, list)
		kfree(class);
	INIT_LIST_HEAD(list);
}

/* How many classes a table has, at most: `psp` has two that are not in it. */
static u32 sui_classes_in(const char *table)
{
	u32 count = 2;

	for (; table; table = strchr(table, '\n'), table += !!table)
		count += !strncmp(table, "class ", 6);
	return count;
}

int suimon_alloc_classes(const char *table, struct list_head *spare)
{
	u32 count = sui_classes_in(table);

	while (count--) {
		struct sui_class *class = kzalloc(sizeof(*class), GFP_KERNEL);

		if (!class) {
			suimon_free_classes(spare);
			return -ENOMEM;
		}
		list_add(&class->list, spare);
	}
	return 0;
}

void suimon_number_classes(struct suimon_sched *q, struct list_head *spare)
{
	struct sui_class *class, *next;
	LIST_HEAD(gone);
	LIST_HEAD(added);

	list_splice_init(&q->class_list, &gone);
	list_for_each_entry(class, &gone, list)
		class->position = SUIMON_NO_POSITION;
	sui_read_positions(q, &gone, spare, &added);
	/* Filters may still have those that are gone: they keep their number. */
	list_for_each_entry_safe(class, next, &gone, list) {
		if (class->common.filter_cnt) {
			list_move_tail(&class->list, &q->class_list);
			continue;
		}
		qdisc_class_hash_remove(&q->classes, &class->common);
		list_move(&class->list, spare);
	}
	sui_give_numbers(q, &added);
}

struct tcf_block *suimon_class_block(struct Qdisc *sch, unsigned long class, struct netlink_ext_ack *extack)
{
	struct suimon_sched *q = qdisc_priv(sch);

	return class ? NULL : q->block;
}

unsigned long suimon_bind_filter(struct Qdisc *sch, unsigned long parent, u32 classid)
{
	struct sui_class *class = suimon_class_of(qdisc_priv(sch), TC_H_MIN(classid));

	if (class)
		class->common.filter_cnt++;
	return (unsigned long)class;
}

void suimon_unbind_filter(struct Qdisc *sch, unsigned long class)
{
	((struct sui_class *)class)->common.filter_cnt--;
}

/* What a packet has of a class: its position plus one. */
static u16 sui_position(const struct sui_class *class)
{
	return class && class->position != SUIMON_NO_POSITION ? class->position + 1 : 0;
}

bool suimon_classify(struct sk_buff *skb, struct Qdisc *sch, u16 *position, int *answer)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct tcf_proto *filters = rcu_dereference_bh(q->filters);
	struct tcf_result result = {};
	struct sui_class *class;

	*position = 0;
	if (sch->handle && !TC_H_MAJ(skb->priority ^ sch->handle))
		*position = sui_position(suimon_class_of(q, TC_H_MIN(skb->priority)));
	if (*position || !filters)
		return true;
	*answer = NET_XMIT_SUCCESS | __NET_XMIT_BYPASS;
	switch (tcf_classify(skb, NULL, filters, &result, false)) {
	case TC_ACT_UNSPEC:
		return true;
	case TC_ACT_QUEUED:
	case TC_ACT_STOLEN:
	case TC_ACT_TRAP:
		*answer = NET_XMIT_SUCCESS | __NET_XMIT_STOLEN;
		return false;
	case TC_ACT_SHOT:
	case TC_ACT_REDIRECT: /* of cls_bpf: no qdisc follows it */
		return false;
	}
	class = (struct sui_class *)result.class;
	*position = sui_position(class ?: suimon_class_of(q, TC_H_MIN(result.classid)));
	return true;
}
