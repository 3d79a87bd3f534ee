// SPDX-License-Identifier: MIT OR GPL-2.0
/* The classes of a discipline, for `tc -s class show`. They are read only: the qdisc's table has their settings. */
#include <linux/rtnetlink.h>
#include <net/gen_stats.h>
#include <net/pkt_sched.h>

#include "sch_suimon.h"

/* Reads the counters of a class. False if the discipline has it no more. */
static bool sui_read_class(struct Qdisc *sch, const struct sui_class *class, struct suimon_statistics *counters)
{
	struct suimon_sched *q = qdisc_priv(sch);
	u32 answer = SUIMON_REFUSED;
	char name[SUIMON_NAME];

	sch_tree_lock(sch);
	if (!q->faulty && class->position != SUIMON_NO_POSITION)
		answer = sui_output_class(q->output, class->position, counters, name, SUIMON_NAME);
	if (answer == SUIMON_FAULT)
		suimon_fall_back(sch);
	sch_tree_unlock(sch);
	return answer == SUIMON_OK && !strcmp(name, class->name);
}

static unsigned long sui_find_class(struct Qdisc *sch, u32 classid)
{
	return (unsigned long)suimon_class_of(qdisc_priv(sch), TC_H_MIN(classid));
}

/* No class has a qdisc of the kernel's. */
static struct Qdisc *sui_class_leaf(struct Qdisc *sch, unsigned long class)
{
	return NULL;
}

static void sui_walk_classes(struct Qdisc *sch, struct qdisc_walker *walker)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct suimon_statistics counters;
	struct sui_class *class;

	list_for_each_entry(class, &q->class_list, list) {
		if (walker->stop)
			break;
		if (!sui_read_class(sch, class, &counters))
			continue;
		if (walker->count >= walker->skip && walker->fn(sch, (unsigned long)class, walker) < 0)
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

static int sui_dump_class(struct Qdisc *sch, unsigned long handle, struct sk_buff *skb, struct tcmsg *tcm)
{
	struct suimon_sched *q = qdisc_priv(sch);
	const struct sui_class *class = (const struct sui_class *)handle;
	struct nlattr *nest;

	tcm->tcm_handle |= class->common.classid;
	nest = nla_nest_start_noflag(skb, TCA_OPTIONS);
	if (!nest || sui_put_class(skb, q->table, class->name)) {
		nla_nest_cancel(skb, nest);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, nest);
}

static int sui_dump_class_stats(struct Qdisc *sch, unsigned long class, struct gnet_dump *d)
{
	struct tc_suimon_xstats xstats = {};
	struct gnet_stats_basic_sync sent;
	struct gnet_stats_queue queue = {};

	if (!sui_read_class(sch, (const struct sui_class *)class, &xstats.counters))
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
	.tcf_block = suimon_class_block,
	.bind_tcf = suimon_bind_filter,
	.unbind_tcf = suimon_unbind_filter,
	.dump = sui_dump_class,
	.dump_stats = sui_dump_class_stats,
};
