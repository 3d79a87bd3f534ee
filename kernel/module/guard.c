// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The place that the library returns to when it panics.
 *
 * A panic cannot unwind here, so it jumps back to the guard around the call. A packet's call runs with softirqs off,
 * so its guard is this processor's. A call that configures may sleep and change processors; RTNL is held, so one
 * guard is enough for all of them.
 */
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/rtnetlink.h>

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

u32 suimon_guarded(u32 (*body)(void *argument), void *argument)
{
	struct suimon_guard **innermost = suimon_innermost();
	struct suimon_guard *volatile outer = *innermost;
	struct suimon_guard guard;
	volatile u32 answer = SUIMON_FAULT;

	*innermost = &guard;
	if (!__builtin_setjmp(guard.words))
		answer = body(argument);
	/* Neither changes within a call: softirqs stay off, or RTNL stays held. */
	*suimon_innermost() = outer;
	return answer;
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
