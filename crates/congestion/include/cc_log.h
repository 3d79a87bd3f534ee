/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The logging flavour of cc_kernel.h: every hook call, with its arguments, the view before, the
 * view as the kernel holds it after, and the result, goes to user space through a ring buffer. A
 * test replays the calls through the native build and compares them to the bit.
 */
#ifndef SUIMON_CC_LOG_H
#define SUIMON_CC_LOG_H

struct cc_record {
	u32 hook; /* enum cc_hook */
	u32 args[3];
	u32 ret;
	u32 lost; /* records that found the ring buffer full so far */
	struct cc_rate rate; /* of cong_control */
	struct cc before;
	struct cc after;
};

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[1 << 24];
} records SEC(".maps");

static u32 lost;

static void *(*const cc_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const cc_ringbuf_submit)(void *data, u64 flags) = (void *)132;

static CC_INLINE struct cc_record *cc_log_begin(const struct cc *view, u32 hook)
{
	struct cc_record *record = cc_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	record->hook = hook;
	record->lost = lost;
	record->before = *view;
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
		cc_ringbuf_submit(record, 0);                                                      \
	}

#endif
