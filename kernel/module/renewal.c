// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * An output counts picoseconds from its creation, which 64 bits hold for 213 days. So it is replaced before, when nothing
 * is queued: its counters are kept, and what it had learnt of rates is learnt again.
 */
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/workqueue.h>

#include "sch_suimon.h"

static uint renewal = 100 * 24 * 3600;
module_param(renewal, uint, 0644);
MODULE_PARM_DESC(renewal, "seconds after which a qdisc's clock begins again");

static uint renewals;
module_param(renewals, uint, 0444);
MODULE_PARM_DESC(renewals, "how often a clock has begun again");

/* Until it has been empty at a renewal, it is asked each second. After that many seconds it is emptied. */
#define SUIMON_RENEWAL_LAST (200 * 24 * 3600)

/* Adds the counters of an output that ends. The longest backlog is not a sum. */
static void sui_keep_counters(struct suimon_sched *q)
{
	struct suimon_statistics now = {};

	if (sui_output_statistics(q->output, &now) != SUIMON_OK)
		return;
	q->before.backlog_bytes_max = max(q->before.backlog_bytes_max, now.backlog_bytes_max);
	q->before.enqueued_packets += now.enqueued_packets;
	q->before.enqueued_bytes += now.enqueued_bytes;
	q->before.sent_packets += now.sent_packets;
	q->before.sent_bytes += now.sent_bytes;
	q->before.dropped_packets += now.dropped_packets;
	q->before.dropped_bytes += now.dropped_bytes;
	q->before.marked_packets += now.marked_packets;
	q->before.gap_frames += now.gap_frames;
	q->before.gap_bytes += now.gap_bytes;
}

void suimon_read_counters(struct Qdisc *sch, struct suimon_statistics *counters)
{
	struct suimon_sched *q = qdisc_priv(sch);
	const struct suimon_statistics *before = &q->before;

	if (q->faulty || sui_output_statistics(q->output, counters) == SUIMON_FAULT) {
		suimon_fall_back(sch);
		*counters = *before;
		return;
	}
	counters->backlog_bytes_max = max(counters->backlog_bytes_max, before->backlog_bytes_max);
	counters->enqueued_packets += before->enqueued_packets;
	counters->enqueued_bytes += before->enqueued_bytes;
	counters->sent_packets += before->sent_packets;
	counters->sent_bytes += before->sent_bytes;
	counters->dropped_packets += before->dropped_packets;
	counters->dropped_bytes += before->dropped_bytes;
	counters->marked_packets += before->marked_packets;
	counters->gap_frames += before->gap_frames;
	counters->gap_bytes += before->gap_bytes;
}

/* Puts the new output in the place of the old one. False if packets are queued, which only the old one knows. */
static bool sui_replace(struct Qdisc *sch, struct sui_output **output, u64 now)
{
	struct suimon_sched *q = qdisc_priv(sch);
	bool old = (now - q->created) / NSEC_PER_SEC > SUIMON_RENEWAL_LAST;

	sch_tree_lock(sch);
	if (old && !skb_queue_empty(&q->arrived)) {
		unsigned int packets = q->arrived.qlen, bytes = sch->qstats.backlog;

		sch->ops->reset(sch);
		qdisc_tree_reduce_backlog(sch, packets, bytes);
	}
	if (!skb_queue_empty(&q->arrived) || q->faulty) {
		sch_tree_unlock(sch);
		return false;
	}
	sui_keep_counters(q);
	swap(q->output, *output);
	q->created = now;
	renewals++;
	sch_tree_unlock(sch);
	return true;
}

static void sui_renew(struct work_struct *work)
{
	struct suimon_sched *q = container_of(work, struct suimon_sched, renewal.work);
	struct sui_output *output = NULL;
	u64 now = ktime_get_ns();
	char message[80];
	bool done = false;

	/* Settings change under RTNL. suimon_stop_renewal has it and waits for this: so do not. */
	if (rtnl_trylock()) {
		if (sui_output_create(&q->device, q->table, now, &output, message,
				      sizeof(message)) == SUIMON_OK)
			done = sui_replace(q->sch, &output, now);
		sui_output_destroy(output);
		rtnl_unlock();
	}
	if (!q->faulty)
		schedule_delayed_work(&q->renewal, HZ * (unsigned long)(done ? max(renewal, 1) : 1));
}

void suimon_init_renewal(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	q->sch = sch;
	INIT_DELAYED_WORK(&q->renewal, sui_renew);
}

void suimon_start_renewal(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	q->created = ktime_get_ns();
	schedule_delayed_work(&q->renewal, HZ * (unsigned long)max(renewal, 1));
}

void suimon_stop_renewal(struct Qdisc *sch)
{
	struct suimon_sched *q = qdisc_priv(sch);

	cancel_delayed_work_sync(&q->renewal);
}
