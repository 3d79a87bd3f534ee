// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * A test: makes the calls of transcripts in this kernel and compares the answers. The example `transcripts` of
 * crates/traffic-kernel writes them, and crates/traffic-kernel/tests/it/transcript.rs describes them.
 *
 *   insmod suimon_replay.ko transcript=FILE
 *
 * It stays loaded if every answer is equal; /sys/module/suimon_replay/parameters has the counts.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/sched/task_stack.h>

#include "suimon_traffic.h"

#define TABLE_MAX 16384

enum call {
	CREATE = 1,
	DESTROY,
	CHANGE,
	ENQUEUE,
	DEQUEUE,
	PEEK,
	TAKE_DROPPED,
	FLUSH,
	STATISTICS,
	CHANGE_DEVICE,
};

struct call_header {
	u64 now;
	u32 call; /* enum call */
	u32 answer;
	u32 place; /* U32_MAX unless the call sets one */
	u32 length; /* of the bytes behind it, which go in or come out */
};

static char *transcript;
module_param(transcript, charp, 0444);
MODULE_PARM_DESC(transcript, "file of calls and answers");
static ulong calls, sequences;
module_param(calls, ulong, 0444);
module_param(sequences, ulong, 0444);
static bool broken;
module_param(broken, bool, 0444);
MODULE_PARM_DESC(broken, "the first answer expected is changed: the replay must fail");

static ulong stack;
module_param(stack, ulong, 0444);
MODULE_PARM_DESC(stack, "bytes of the kernel's stack that the deepest call took, with interrupts on the same stack");

/* No call writes this to its stack. */
#define UNTOUCHED 0x5afe57ac5afe57acUL

/* The part of the stack below the caller, without the mark at its end. */
static __always_inline unsigned long *stack_begin(void)
{
	return end_of_stack(current) + 1;
}

static __always_inline unsigned long *stack_end(void)
{
	return (unsigned long *)__builtin_frame_address(0) - 64;
}

static noinline void mark_stack(void)
{
	unsigned long *word;

	for (word = stack_begin(); word < stack_end(); word++)
		WRITE_ONCE(*word, UNTOUCHED);
}

static noinline void measure_stack(void)
{
	unsigned long *word = stack_begin();

	while (word < stack_end() && READ_ONCE(*word) == UNTOUCHED)
		word++;
	stack = (unsigned long)(stack_end() - word) * sizeof(*word);
}

/* A panic within a guarded call comes back, and the calls after it work. */
static u32 escapes(void *argument)
{
	*(u32 *)argument += 1;
	suimon_escape(__LINE__);
}

static int check_guard(void)
{
	u32 entered = 0, escaped;

	escaped = suimon_guarded(escapes, &entered) == SUIMON_FAULT;
	local_bh_disable();
	escaped += suimon_guarded(escapes, &entered) == SUIMON_FAULT;
	escaped += suimon_guarded(escapes, &entered) == SUIMON_FAULT;
	local_bh_enable();
	if (escaped == 3 && entered == 3)
		return 0;
	pr_err("suimon_replay: %u of %u calls escaped\n", escaped, entered);
	return -EINVAL;
}

static int fill(struct file *file, loff_t *at, void *to, size_t length)
{
	ssize_t got = kernel_read(file, to, length, at);

	return got == length ? 0 : got < 0 ? got : got ? -EINVAL : -ENODATA;
}

/* The calls that a packet makes run with softirqs off, as in the kernel's output path. */
static u32 call_of_packet(struct suimon_output *output, const struct call_header *header, void *bytes,
			  u32 *place, void *out)
{
	u32 answer;

	local_bh_disable();
	switch (header->call) {
	case ENQUEUE:
		answer = suimon_enqueue(output, bytes, header->now, place);
		break;
	case DEQUEUE:
		answer = suimon_dequeue(output, header->now, out);
		break;
	case PEEK:
		answer = suimon_peek(output, header->now, out);
		break;
	case TAKE_DROPPED:
		answer = suimon_take_dropped(output, place);
		break;
	case FLUSH:
		answer = suimon_flush(output, header->now);
		break;
	default:
		answer = suimon_statistics(output, out);
		break;
	}
	local_bh_enable();
	return answer;
}

static u32 make_call(struct suimon_output **output, const struct call_header *header, u8 *bytes,
		     u32 *place, void *out)
{
	struct suimon_device device;
	char message[256];

	switch (header->call) {
	case CREATE:
		memcpy(&device, bytes, sizeof(device));
		sequences++;
		return suimon_create(&device, bytes + sizeof(device), header->length - sizeof(device),
				     header->now, output, message, sizeof(message));
	case DESTROY:
		suimon_destroy(*output);
		*output = NULL;
		return SUIMON_OK;
	case CHANGE:
		return suimon_change(*output, bytes, header->length, header->now, message,
				     sizeof(message));
	case CHANGE_DEVICE:
		memcpy(&device, bytes, sizeof(device));
		return suimon_change_device(*output, &device, bytes + sizeof(device),
					    header->length - sizeof(device), header->now, message, sizeof(message));
	default:
		return call_of_packet(*output, header, bytes, place, out);
	}
}

/* The bytes that a call's answer has. */
static size_t answered(u32 call)
{
	switch (call) {
	case DEQUEUE:
	case PEEK:
		return sizeof(struct suimon_next);
	case STATISTICS:
		return sizeof(struct suimon_statistics);
	default:
		return 0;
	}
}

static int replay(struct file *file, u8 *bytes)
{
	struct suimon_output *output = NULL;
	struct call_header header;
	loff_t at = 0;
	int err;

	while (!(err = fill(file, &at, &header, sizeof(header)))) {
		u32 place = U32_MAX, answer;
		u64 out[sizeof(struct suimon_statistics) / sizeof(u64)] = {};
		bool equal;

		err = -EINVAL;
		if (header.length > TABLE_MAX || !header.call || header.call > CHANGE_DEVICE)
			break;
		if ((header.call == CREATE) != !output ||
		    ((header.call == CREATE || header.call == CHANGE_DEVICE) &&
		     header.length < sizeof(struct suimon_device)))
			break;
		if (header.length && fill(file, &at, bytes, header.length))
			break;
		answer = make_call(&output, &header, bytes, &place, out);
		calls++;
		equal = answer == header.answer && place == header.place &&
			!memcmp(out, bytes, answered(header.call));
		if (!equal || (broken && header.call == ENQUEUE)) {
			pr_err("suimon_replay: call %lu of sequence %lu (%u): answer %u and place %u, expected %u and %u\n",
			       calls, sequences, header.call, answer, place, header.answer, header.place);
			break;
		}
		cond_resched();
	}
	suimon_destroy(output);
	return err == -ENODATA ? 0 : err;
}

static int __init replay_init(void)
{
	u8 *bytes = kvmalloc(TABLE_MAX, GFP_KERNEL);
	struct file *file;
	int err = check_guard();

	file = filp_open(transcript ?: "", O_RDONLY, 0);
	if (!bytes || IS_ERR(file)) {
		kvfree(bytes);
		return IS_ERR(file) ? PTR_ERR(file) : -ENOMEM;
	}
	rtnl_lock();
	mark_stack();
	if (!err)
		err = replay(file, bytes);
	measure_stack();
	rtnl_unlock();
	fput(file);
	kvfree(bytes);
	if (!err)
		pr_info("suimon_replay: %lu calls of %lu sequences are equal\n", calls, sequences);
	return err;
}

static void __exit replay_exit(void)
{
}

module_init(replay_init);
module_exit(replay_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A test of sch_suimon: calls of its library, and the answers expected");
