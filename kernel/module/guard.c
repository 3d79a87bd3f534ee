// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the library needs of the kernel: memory, and a place to return to when it panics.
 *
 * A broken output cannot free its memory, because its state is unknown. So each output has a list of its blocks
 * (outputs.c), and a block is on the list of the output whose call is running.
 *
 * A panic cannot unwind here, so it jumps back to the guard around the call. A packet's call runs with softirqs off,
 * so its guard is this processor's. A call that configures may sleep and change processors; RTNL is held, so one
 * guard is enough for all of them.
 */
#include <linux/align.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "sch_suimon.h"

/* The five words of __builtin_setjmp. */
struct suimon_guard {
	void *words[5];
};

static DEFINE_PER_CPU(struct suimon_guard *, suimon_guard_of_packets);
static struct suimon_guard *suimon_guard_of_settings;

static struct suimon_guard **suimon_innermost(void)
{
	if (softirq_count())
		return this_cpu_ptr(&suimon_guard_of_packets);
	return &suimon_guard_of_settings;
}

u32 suimon_guarded(void (*body)(void *argument), void *argument)
{
	struct suimon_guard **innermost = suimon_innermost();
	struct suimon_guard *volatile outer = *innermost;
	struct suimon_guard guard;
	volatile u32 escaped = 1;

	*innermost = &guard;
	if (!__builtin_setjmp(guard.words)) {
		body(argument);
		escaped = 0;
	}
	/* Neither changes within a call: softirqs stay off, or RTNL stays held. */
	*suimon_innermost() = outer;
	return escaped;
}

/* KASAN marks the stack of a frame until it returns, and this one never does. */
__no_sanitize_address void suimon_escape(u32 line)
{
	struct suimon_guard *guard = *suimon_innermost();

	pr_err_once("suimon: the discipline broke (line %u); its packets leave in the order of arrival\n",
		    line);
	if (guard)
		__builtin_longjmp(guard->words, 1);
	panic("suimon: a panic outside of a guarded call");
}
/* Its jump leaves the frame as no ordinary function does. */
STACK_FRAME_NON_STANDARD(suimon_escape);

/* Whose calls are running, as above. */
static DEFINE_PER_CPU(struct list_head *, suimon_owner_of_packets);
static struct list_head *suimon_owner_of_settings;

static struct list_head **suimon_owner(void)
{
	if (softirq_count())
		return this_cpu_ptr(&suimon_owner_of_packets);
	return &suimon_owner_of_settings;
}

struct list_head *suimon_set_owner(struct list_head *owner)
{
	struct list_head **place = suimon_owner(), *outer = *place;

	*place = owner;
	return outer;
}

/* Allocations of calls that packets make. The aim is none: see docs/how-to/module.md. */
static ulong packet_allocations;
module_param(packet_allocations, ulong, 0444);

static atomic_t suimon_blocks = ATOMIC_INIT(0);

static int suimon_get_blocks(char *buffer, const struct kernel_param *parameter)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&suimon_blocks));
}

static const struct kernel_param_ops suimon_blocks_ops = { .get = suimon_get_blocks };
module_param_cb(memory_blocks, &suimon_blocks_ops, NULL, 0444);
MODULE_PARM_DESC(memory_blocks, "blocks of memory that the disciplines have now");

/* In front of each block. */
struct suimon_block {
	struct list_head list;
	void *start; /* of the allocation, which is before the block if the block's alignment needs it */
};

/* kvmalloc's blocks are aligned for every C type, its large ones to pages. Some types of the library want more. */
void *suimon_alloc(size_t size, size_t align)
{
	size_t before = sizeof(struct suimon_block) + (align > ARCH_KMALLOC_MINALIGN ? align : 0);
	struct list_head *owner = *suimon_owner();
	struct suimon_block *block;
	void *start, *memory;

	if (check_add_overflow(size, before, &size))
		return NULL;
	if (softirq_count() || irqs_disabled()) {
		packet_allocations++;
		start = kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	} else {
		start = kvmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	}
	if (!start)
		return NULL;
	memory = PTR_ALIGN(start + sizeof(*block), align);
	block = memory - sizeof(*block);
	block->start = start;
	atomic_inc(&suimon_blocks);
	if (owner)
		list_add(&block->list, owner);
	else
		INIT_LIST_HEAD(&block->list);
	return memory;
}

void suimon_free(void *memory)
{
	struct suimon_block *block = memory - sizeof(*block);

	if (!memory)
		return;
	list_del(&block->list);
	atomic_dec(&suimon_blocks);
	kvfree(block->start);
}

u32 suimon_free_all(struct list_head *owner)
{
	struct suimon_block *block, *next;
	u32 freed = 0;

	list_for_each_entry_safe(block, next, owner, list) {
		suimon_free(block + 1);
		freed++;
	}
	return freed;
}
