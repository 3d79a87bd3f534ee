/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The log of the BPF build with logging: a ring buffer that user space reads during the calls. */
#ifndef SUIMON_CC_LOG_RING_H
#define SUIMON_CC_LOG_RING_H

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[1 << 24];
} records SEC(".maps");

static u32 lost;

static void *(*const cc_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const cc_ringbuf_submit)(void *data, u64 flags) = (void *)132;

static CC_INLINE struct cc_record *cc_log_reserve(void)
{
	struct cc_record *record = cc_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	record->lost = lost;
	return record;
}

static CC_INLINE void cc_log_submit(struct cc_record *record)
{
	cc_ringbuf_submit(record, 0);
}

#endif
