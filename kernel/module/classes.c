// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The classes of a discipline, for `tc class`. The qdisc's table has their settings: a class is changed, added or removed by
 * editing that.
 */
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

/* A table with `text` in the place of `length` bytes at `at`; null without memory. */
static char *sui_edit(const char *table, const char *at, size_t length, const char *text)
{
	return kasprintf(GFP_KERNEL, "%.*s%s%s", (int)(at - table), table, text, at + length);
}

/* Changes the discipline to an edited table, which is freed. */
static int sui_set_edited(struct Qdisc *sch, char *table, struct netlink_ext_ack *extack)
{
	if (table && strlen(table) > SUIMON_TABLE_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "the table of settings is too long");
		kfree(table);
		return -E2BIG;
	}
	return suimon_set_table(sch, table, extack);
}

/* The text of a class up to its `end`; null without memory. */
static char *sui_write_class(const char *name, const char *parent, const char *settings)
{
	size_t length = strlen(settings);
	const char *last = length && settings[length - 1] != '\n' ? "\n" : "";

	if (!parent)
		return kasprintf(GFP_KERNEL, "class %s\n%s%s", name, settings, last);
	return kasprintf(GFP_KERNEL, "class %s\nparent %s\n%s%s", name, parent, settings, last);
}

/*
 * The last line of the table that begins a class, or the table's end. A new class is put before it: in some disciplines the
 * last class is the one for what no filter matches.
 */
static const char *sui_last_class(const char *table)
{
	const char *line, *last = NULL;

	for (line = table; *line; line = strchrnul(line, '\n'), line += !!*line)
		if (sui_begins(line, "class "))
			last = line;
	return last ?: line;
}

/* Adds a class of the number, or of the next one if that is 0, and sets it. */
static int sui_add_class(struct Qdisc *sch, u32 number, u32 parent, const char *settings, unsigned long *added,
			 struct netlink_ext_ack *extack)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct sui_class *above = suimon_class_of(q, TC_H_MIN(parent));
	struct Qdisc_class_common *gone;
	char name[SUIMON_NAME], *own, *text;
	int err;

	if (parent != TC_H_ROOT && TC_H_MIN(parent) && !above) {
		NL_SET_ERR_MSG_MOD(extack, "there is no class of the parent's number");
		return -ENOENT;
	}
	if (!number)
		number = suimon_next_number(q);
	if (number > SUIMON_CLASSES_MAX) {
		NL_SET_ERR_MSG_MOD(extack, "the number of a class must be 1 to fffe");
		return -ERANGE;
	}
	/* If filters lead to a class that had the number, it is back. */
	gone = qdisc_class_find(&q->classes, number);
	if (gone)
		strscpy(name, container_of(gone, struct sui_class, common)->name, sizeof(name));
	else
		snprintf(name, sizeof(name), "%x", number);
	own = sui_write_class(name, above ? above->name : NULL, settings);
	text = own ? kasprintf(GFP_KERNEL, "%send\n", own) : NULL;
	kfree(own);
	if (!text)
		return -ENOMEM;
	err = sui_set_edited(sch, sui_edit(q->table, sui_last_class(q->table), 0, text), extack);
	kfree(text);
	*added = (unsigned long)suimon_class_of(q, number);
	return err ?: *added ? 0 : -ENOENT;
}

/* The text of a class that has one. */
static const char *sui_own_text(struct Qdisc *sch, const struct sui_class *class, size_t *length,
				struct netlink_ext_ack *extack)
{
	const struct suimon_sched *q = qdisc_priv(sch);
	const char *text = sui_class_text(q->table, class->name, length);

	if (!text)
		NL_SET_ERR_MSG_MOD(extack, "the class has no settings of its own: change the qdisc");
	return text;
}

/* Settings that are not given have their defaults; the parent stays. */
static int sui_change_class(struct Qdisc *sch, u32 classid, u32 parent, struct nlattr **tca, unsigned long *class,
			    struct netlink_ext_ack *extack)
{
	struct suimon_sched *q = qdisc_priv(sch);
	struct nlattr *tb[TCA_SUIMON_MAX + 1];
	const char *text, *line;
	char *above = NULL, *own;
	size_t length;
	int err;

	err = suimon_parse(tca[TCA_OPTIONS], tb, extack);
	if (err)
		return err;
	if (tb[TCA_SUIMON_RATE] || tb[TCA_SUIMON_PLACES] || tb[TCA_SUIMON_GAP] || tb[TCA_SUIMON_OVERHEAD]) {
		NL_SET_ERR_MSG_MOD(extack, "places, line, overhead and gap are of the qdisc, not of a class");
		return -EINVAL;
	}
	if (!*class)
		return sui_add_class(sch, TC_H_MIN(classid), parent, nla_data(tb[TCA_SUIMON_TABLE]), class, extack);
	text = sui_own_text(sch, (struct sui_class *)*class, &length, extack);
	if (!text)
		return -EINVAL;
	line = strchrnul(text, '\n') + 1;
	if (sui_begins(line, "parent ")) {
		line += strlen("parent ");
		above = kmemdup_nul(line, strchrnul(line, '\n') - line, GFP_KERNEL);
		if (!above)
			return -ENOMEM;
	}
	own = sui_write_class(((struct sui_class *)*class)->name, above, nla_data(tb[TCA_SUIMON_TABLE]));
	err = own ? sui_set_edited(sch, sui_edit(q->table, text, length, own), extack) : -ENOMEM;
	kfree(own);
	kfree(above);
	return err;
}

/* Packets that the class has stay queued, as after a change of the qdisc without it. */
static int sui_delete_class(struct Qdisc *sch, unsigned long handle, struct netlink_ext_ack *extack)
{
	const struct sui_class *class = (const struct sui_class *)handle;
	struct suimon_sched *q = qdisc_priv(sch);
	const char *text;
	size_t length;

	if (class->common.filter_cnt) {
		NL_SET_ERR_MSG_MOD(extack, "filters of tc lead to the class: delete them first");
		return -EBUSY;
	}
	text = sui_own_text(sch, class, &length, extack);
	if (!text)
		return -EINVAL;
	length += strlen("end");
	length += text[length] == '\n';
	return sui_set_edited(sch, sui_edit(q->table, text, length, ""), extack);
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
	.change = sui_change_class,
	.delete = sui_delete_class,
	.walk = sui_walk_classes,
	.tcf_block = suimon_class_block,
	.bind_tcf = suimon_bind_filter,
	.unbind_tcf = suimon_unbind_filter,
	.dump = sui_dump_class,
	.dump_stats = sui_dump_class_stats,
};
