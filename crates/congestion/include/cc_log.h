/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The log record of a hook call in both bindings to Linux: its arguments, the view before, the view as stored in the
 * kernel after, and the result. A test replays the calls through the native build and compares them bit by bit.
 *
 * The binding defines the destination of records: cc_log_ring.h for BPF, cc_log_proc.h for the guest kernel.
 */
#ifndef SUIMON_CC_LOG_H
#define SUIMON_CC_LOG_H

/* The hooks' numbers in a log. */
enum cc_hook {
	CC_HOOK_SSTHRESH,
	CC_HOOK_CONG_AVOID,
	CC_HOOK_UNDO_CWND,
	CC_HOOK_INIT,
	CC_HOOK_PKTS_ACKED,
	CC_HOOK_CWND_EVENT,
	CC_HOOK_SET_STATE,
	CC_HOOK_CONG_CONTROL,
};

struct cc_record {
	u32 hook; /* enum cc_hook */
	u32 args[3];
	u32 ret;
	u32 lost; /* calls lost so far because the log was full */
	struct cc_rate rate; /* of cong_control */
	struct cc before;
	struct cc after;
};

/* Defined by the binding: a record to fill, or null if the call is not logged; and its submission once it is filled. */
static CC_INLINE struct cc_record *cc_log_reserve(void);
static CC_INLINE void cc_log_submit(struct cc_record *record);

static CC_INLINE struct cc_record *cc_log_begin(const struct cc *view, u32 hook)
{
	struct cc_record *record = cc_log_reserve();

	if (record) {
		record->hook = hook;
		record->before = *view;
	}
	return record;
}

#define CC_LOG_BEFORE(hook, a0, a1, a2)                                                            \
	struct cc_record *record = cc_log_begin(&view, hook);                                      \
	if (record) {                                                                              \
		record->args[0] = a0;                                                              \
		record->args[1] = a1;                                                              \
		record->args[2] = a2;                                                              \
	}

#define CC_LOG_RATE(told)                                                                          \
	if (record)                                                                                \
		record->rate = *(told);

#define CC_LOG_AFTER(result)                                                                       \
	if (record) {                                                                              \
		record->ret = result;                                                              \
		cc_load(&record->after, tp);                                                       \
		cc_log_submit(record);                                                             \
	}

#endif
