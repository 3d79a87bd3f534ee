// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The place that the library returns to when it panics.
 *
 * A panic cannot unwind here, so it jumps back to the guard around the call.
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

DEFINE_PER_CPU(struct suimon_context, suimon_context_of_packets);
struct suimon_context suimon_context_of_settings;

u32 suimon_guarded(u32 (*body)(void *argument), void *argument)
{
	/* It does not change within a call: softirqs stay off, or RTNL stays held. */
	struct suimon_context *volatile context = suimon_context();
	struct suimon_guard *volatile outer = context->guard;
	struct suimon_guard guard;
	volatile u32 answer = SUIMON_FAULT;

	context->guard = &guard;
	if (!__builtin_setjmp(guard.words))
		answer = body(argument);
	context->guard = outer;
	return answer;
}
/* objtool takes the place that the jump comes back to for unreachable. */
STACK_FRAME_NON_STANDARD(suimon_guarded);

/* KASAN marks the stack of a frame until it returns, and these frames never do. */
static __no_sanitize_address void sui_jump_back(struct suimon_guard *guard)
{
	__builtin_longjmp(guard->words, 1);
}
/* Its jump leaves the frame as no ordinary function does. */
STACK_FRAME_NON_STANDARD(sui_jump_back);

static __no_sanitize_address __noreturn void sui_leave(void)
{
	struct suimon_guard *guard = suimon_context()->guard;
	void (*leave)(struct suimon_guard *guard) = sui_jump_back;

	/* objtool would not see that a function ends with a call which never returns, if the compiler did. */
	OPTIMIZER_HIDE_VAR(leave);
	if (guard)
		leave(guard);
	panic("suimon: a panic outside of a guarded call");
}

__no_sanitize_address void suimon_escape(u32 line)
{
	pr_err_once("suimon: the library failed at line %u\n", line);
	sui_leave();
}

__no_sanitize_address void suimon_no_memory(size_t size, size_t align)
{
	pr_err_ratelimited("suimon: no memory for %zu bytes\n", size);
	sui_leave();
}
