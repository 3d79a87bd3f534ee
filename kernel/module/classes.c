// SPDX-License-Identifier: MIT OR GPL-2.0
/* The classes of a discipline, for `tc -s class show`. They are read only: the qdisc's table has their settings. */
#include <linux/rtnetlink.h>
#include <net/gen_stats.h>
#include <net/pkt_sched.h>

#include "sch_suimon.h"

/* Longer names are cut. */
#define SUIMON_NAME 64

/* Reads the class of a number, which is its position and one. False if there is none. */
static bool sui_read_class(struct Qdisc *sch, unsigned long number, struct suimon_statistics *counters,
			   char *name)
{
	struct suimon_sched *q = qdisc_priv(sch);
	u32 answer = SUIMON_REFUSED;

	sch_tree_lock(sch);
	if (!q->faulty)
		answer = sui_output_class(q->output, number - 1, counters, name, SUIMON_NAME);
	if (answer == SUIMON_FAULT)
		suimon_fall_back(sch);
	sch_tree_unlock(sch);
	return answer == SUIMON_OK;
}

static unsigned long sui_find_class(struct Qdisc *sch, u32 classid)
{
	struct suimon_statistics counters;
	char name[SUIMON_NAME];
	u32 number = TC_H_MIN(classid);

	return number && sui_read_class(sch, number, &counters, name) ? number : 0;
}

/* No class has a qdisc of the kernel's. */
static struct Qdisc *sui_class_leaf(struct Qdisc *sch, unsigned long number)
{
	return NULL;
}

static void sui_walk_classes(struct Qdisc *sch, struct qdisc_walker *walker)
{
	unsigned long number;

	for (number = 1; !walker->stop && sui_find_class(sch, number); number++) {
		if (walker->count >= walker->skip && walker->fn(sch, number, walker) < 0)
			walker->stop = 1;
		else
			walker->count++;
	}
}

static bool sui_begins(const char *line, const char *word)
{
	return !strncmp(line, word, strlen(word));
}

/* The lines of the table from `class NAME` to its end. Null if it is not there: some classes have no settings. */
static const char *sui_class_text(const char *table, const char *name, size_t *length)
{
	const char *line, *begin = NULL;
	u32 depth = 0;

	for (line = table; *line; line = strchrnul(line, '\n'), line += !!*line) {
		size_t size = strchrnul(line, '\n') - line;

		if (!begin) {
			if (sui_begins(line, "class ") && size == strlen(name) + 6 && sui_begins(line + 6, name))
				begin = line;
			continue;
		}
		if (sui_begins(line, "queue ")) {
			depth++;
		} else if (size == 3 && sui_begins(line, "end")) {
			if (!depth--) {
				*length = line - begin;
				return begin;
			}
		}
	}
	return NULL;
}

/* The class as the table has it, in the attribute that the qdisc has its own in. */
static int sui_put_class(struct sk_buff *skb, const char *table, const char *name)
{
	size_t length;
	const char *text = sui_class_text(table, name, &length);
	char *own = text ? kmemdup_nul(text, length, GFP_KERNEL) : kasprintf(GFP_KERNEL, "class %s\n", name);
	int err = own ? nla_put_string(skb, TCA_SUIMON_TABLE, own) : -ENOMEM;

	kfree(own);
	return err;
}

static int sui_dump_class(struct Qdisc *sch, unsigned long number, struct sk_buff *skb, struct tcmsg *tcm)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct suimon_statistics counters;
	char name[SUIMON_NAME];
	struct nlattr *nest;

	tcm->tcm_handle |= TC_H_MIN(number);
	if (!sui_read_class(sch, number, &counters, name))
		return -ENOENT;
	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest || sui_put_class(skb, q->table, name)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int sui_dump_class_stats(struct Qdisc *sch, unsigned long number, struct gnet_dump *d)
{
	struct tc_suimon_xstats xstats = {};
	struct gnet_stats_basic_sync sent;
	struct gnet_stats_queue queue = {};
	char name[SUIMON_NAME];

	if (!sui_read_class(sch, number, &xstats.counters, name))
		return -ENOENT;
	gnet_stats_basic_sync_init(&sent);
	_bstats_update(&sent, xstats.counters.sent_bytes, xstats.counters.sent_packets);
	queue.backlog = xstats.counters.backlog_bytes;
	queue.drops = xstats.counters.dropped_packets;
	if (gnet_stats_copy_basic(d, NULL, &sent, true) < 0 ||
	    gnet_stats_copy_queue(d, NULL, &queue, xstats.counters.backlog_packets) < 0)
		return -1;
	return gnet_stats_copy_app(d, &xstats, sizeof(xstats));
}

const struct Qdisc_class_ops suimon_class_ops = {
	.leaf = sui_class_leaf,
	.find = sui_find_class,
	.walk = sui_walk_classes,
	.dump = sui_dump_class,
	.dump_stats = sui_dump_class_stats,
};
