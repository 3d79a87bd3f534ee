// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * What the library needs of the kernel: memory, and a place to return to when it panics.
 *
 * A panic cannot unwind here, so it jumps back to the guard around the call. A packet's call runs with softirqs off,
 * so its guard is this processor's. A call that configures may sleep and change processors; RTNL is held, so one
 * guard is enough for all of them.
 */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>

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

void suimon_escape(u32 line)
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

/* Allocations of calls that packets make. The aim is none: see docs/how-to/module.md. */
static ulong packet_allocations;
module_param(packet_allocations, ulong, 0444);

/* The alignment of Rust's types is at most that of kmalloc; kvmalloc's large blocks are pages. */
void *suimon_alloc(size_t size, size_t align)
{
	if (align > ARCH_KMALLOC_MINALIGN)
		size = roundup_pow_of_two(max(size, align));
	if (softirq_count() || irqs_disabled()) {
		packet_allocations++;
		return kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
	}
	return kvmalloc(size, GFP_KERNEL | __GFP_NOWARN);
}

void suimon_free(void *memory)
{
	kvfree(memory);
}
