/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The log of an algorithm in the guest kernel: /proc/sui_NAME_log. Calls are logged while a program has it open, into
 * memory allocated when it is opened; reading starts at the first call. Once it is full, the last record counts the
 * lost calls.
 */
#ifndef SUIMON_CC_LOG_PROC_H
#define SUIMON_CC_LOG_PROC_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/proc_fs.h>
#include <linux/vmalloc.h>

/* 16 MB of 504 bytes each, which fits into the output of a scenario's program. */
#define CC_LOG_RECORDS 32768

/* No locks: hooks do not sleep, so none runs while a program opens, reads or closes the file. */
_Static_assert(!IS_ENABLED(CONFIG_SMP) && !IS_ENABLED(CONFIG_PREEMPTION), "a hook runs to its end");

static struct cc_record *cc_log; /* null while no program has it open */
static atomic_t cc_log_calls;    /* since it was opened */

static CC_INLINE struct cc_record *cc_log_reserve(void)
{
	u32 call;

	if (likely(!cc_log))
		return NULL;
	/* A call that interrupts another takes the next record. */
	call = (u32)atomic_fetch_inc(&cc_log_calls);
	if (call < CC_LOG_RECORDS)
		return &cc_log[call];
	cc_log[CC_LOG_RECORDS - 1].lost = call - CC_LOG_RECORDS + 1;
	return NULL;
}

static CC_INLINE void cc_log_submit(struct cc_record *record)
{
}

static int cc_log_open(struct inode *inode, struct file *file)
{
	struct cc_record *records = vzalloc(CC_LOG_RECORDS * sizeof(*records));

	if (!records)
		return -ENOMEM;
	if (cmpxchg(&cc_log, NULL, records)) {
		vfree(records);
		return -EBUSY;
	}
	return 0;
}

static ssize_t cc_log_read(struct file *file, char __user *to, size_t size, loff_t *at)
{
	u32 records = min_t(u32, atomic_read(&cc_log_calls), CC_LOG_RECORDS);

	return simple_read_from_buffer(to, size, at, cc_log, records * sizeof(*cc_log));
}

static int cc_log_release(struct inode *inode, struct file *file)
{
	struct cc_record *records = xchg(&cc_log, NULL);

	atomic_set(&cc_log_calls, 0);
	vfree(records);
	return 0;
}

static const struct proc_ops cc_log_file = {
	.proc_open = cc_log_open,
	.proc_read = cc_log_read,
	.proc_release = cc_log_release,
};

#endif
