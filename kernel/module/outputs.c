// SPDX-License-Identifier: MIT OR GPL-2.0
/* The library's calls, each with the list of its output's memory: what a broken output leaves is freed with it. */
#include <linux/module.h>
#include <linux/slab.h>

#include "sch_suimon.h"

/* Blocks that a discipline did not free itself: of those that broke, and of those that found no memory at the start. */
static uint broken_blocks;
module_param(broken_blocks, uint, 0444);
MODULE_PARM_DESC(broken_blocks, "blocks of memory that broken disciplines left, and the module freed");

struct sui_output {
	struct suimon_output *library;
	struct list_head memory;
};

#define SUI_CALL(output, call)                                      \
	({                                                          \
		struct suimon_context *context = suimon_context();  \
		struct list_head *outer = context->owner;           \
		u32 answer;                                         \
                                                                    \
		context->owner = &(output)->memory;                 \
		answer = (call);                                    \
		context->owner = outer;                             \
		answer;                                             \
	})

u32 sui_output_create(const struct suimon_device *device, const char *table, u64 now,
		      struct sui_output **created, char *message, size_t size)
{
	struct sui_output *output = kzalloc(sizeof(*output), GFP_KERNEL);
	u32 answer;

	if (!output)
		return SUIMON_FAULT;
	INIT_LIST_HEAD(&output->memory);
	answer = SUI_CALL(output, suimon_create(device, table, strlen(table), now, &output->library,
						message, size));
	if (answer == SUIMON_OK) {
		*created = output;
	} else {
		broken_blocks += suimon_free_all(&output->memory);
		kfree(output);
	}
	return answer;
}

void sui_output_destroy(struct sui_output *output)
{
	if (!output)
		return;
	suimon_destroy(output->library);
	broken_blocks += suimon_free_all(&output->memory);
	kfree(output);
}

u32 suimon_set_aside(const struct suimon_device *device, const char *table, struct list_head *spare)
{
	struct suimon_context *context = suimon_context();
	struct sui_output *alike = NULL;
	char message[2];
	u32 answer;

	context->spare = spare;
	answer = sui_output_create(device, table, 0, &alike, message, sizeof(message));
	sui_output_destroy(alike);
	context->spare = NULL;
	return answer;
}

/* A call with memory that was set aside for it. */
#define SUI_CALL_WITH(spare_, output, call)                          \
	({                                                           \
		u32 answer_with;                                     \
                                                                     \
		suimon_context()->spare = (spare_);                  \
		answer_with = SUI_CALL(output, call);                \
		suimon_context()->spare = NULL;                      \
		answer_with;                                         \
	})

u32 sui_output_change(struct sui_output *output, const char *table, u64 now, struct list_head *spare, char *message,
		      size_t size)
{
	return SUI_CALL_WITH(spare, output,
			     suimon_change(output->library, table, strlen(table), now, message, size));
}

u32 sui_output_change_device(struct sui_output *output, const struct suimon_device *device, const char *table, u64 now,
			     struct list_head *spare, char *message, size_t size)
{
	return SUI_CALL_WITH(spare, output,
			     suimon_change_device(output->library, device, table, strlen(table), now, message, size));
}

u32 sui_output_enqueue(struct sui_output *output, const struct suimon_offer *offer, u64 now, u32 *place)
{
	return SUI_CALL(output, suimon_enqueue(output->library, offer, now, place));
}

u32 sui_output_dequeue(struct sui_output *output, u64 now, struct suimon_next *next)
{
	return SUI_CALL(output, suimon_dequeue(output->library, now, next));
}

u32 sui_output_looks_at(const struct sui_output *output)
{
	return suimon_looks_at(output->library);
}

u32 sui_output_hear(struct sui_output *output, const struct suimon_offer *packet, u64 now)
{
	return SUI_CALL(output, suimon_hear(output->library, packet, now));
}

u32 sui_output_take_dropped(struct sui_output *output, u32 *place)
{
	return SUI_CALL(output, suimon_take_dropped(output->library, place));
}

bool sui_output_has_dropped(const struct sui_output *output)
{
	return suimon_has_dropped(output->library);
}

u32 sui_output_flush(struct sui_output *output, u64 now)
{
	return SUI_CALL(output, suimon_flush(output->library, now));
}

u32 sui_output_statistics(struct sui_output *output, struct suimon_statistics *statistics)
{
	return SUI_CALL(output, suimon_statistics(output->library, statistics));
}

u32 sui_output_class(struct sui_output *output, u32 position, struct suimon_statistics *statistics, char *name,
		     size_t size)
{
	return SUI_CALL(output, suimon_class(output->library, position, statistics, name, size));
}
