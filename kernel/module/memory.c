// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * The library's memory.
 *
 * A broken output cannot free its memory, because its state is unknown. So each output has a list of its blocks
 * (outputs.c), and a block is on the list of the output whose call is running.
 *
 * A packet's call takes no memory, with the exception of docs/how-to/module.md. A call that changes settings has the lock of
 * the queue and cannot wait for memory, so blocks are set aside for it (outputs.c). An output whose call finds none breaks:
 * pools keep memory for what remains.
 */
#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/mempool.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "sch_suimon.h"

/* Allocations by calls of packets: see docs/how-to/module.md. */
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

/* Pools for calls of packets: of blocks of 128 bytes, of twice as much and so on, to 64 KiB. Null before they are made. */
#define SUIMON_POOL_MIN 7
#define SUIMON_POOLS 10
static mempool_t *suimon_pools[SUIMON_POOLS];

int suimon_create_pools(void)
{
	int number;

	for (number = 0; number < SUIMON_POOLS; number++) {
		size_t size = (size_t)1 << (SUIMON_POOL_MIN + number);

		suimon_pools[number] = mempool_create_kmalloc_pool(size <= PAGE_SIZE ? 16 : 4, size);
		if (!suimon_pools[number]) {
			suimon_destroy_pools();
			return -ENOMEM;
		}
	}
	return 0;
}

void suimon_destroy_pools(void)
{
	int number;

	for (number = 0; number < SUIMON_POOLS; number++) {
		mempool_destroy(suimon_pools[number]);
		suimon_pools[number] = NULL;
	}
}

/* The pool of the smallest blocks of at least that size; null if there is none. */
static mempool_t *suimon_pool(size_t size)
{
	int number = max_t(int, fls_long(size - 1) - SUIMON_POOL_MIN, 0);

	return number < SUIMON_POOLS ? suimon_pools[number] : NULL;
}

/* In front of each block. */
struct suimon_block {
	struct list_head list;
	void *start; /* of the allocation, which is before the block if the block's alignment needs it */
	size_t size; /* of the allocation */
	mempool_t *pool; /* to which it goes back; null if it is the kernel's */
};

/* The block within an allocation. */
static struct suimon_block *sui_block_at(void *start, size_t align)
{
	return PTR_ALIGN(start + sizeof(struct suimon_block), align) - sizeof(struct suimon_block);
}

static void sui_give_back(struct suimon_block *block)
{
	atomic_dec(&suimon_blocks);
	if (block->pool)
		mempool_free(block->start, block->pool);
	else
		kvfree(block->start);
}

/* A block that was set aside, for the call that runs; null if none is large enough. */
static struct suimon_block *sui_take_spare(struct list_head *spare, size_t size, size_t align)
{
	struct suimon_block *block;

	list_for_each_entry(block, spare, list) {
		struct suimon_block was = *block;

		if (was.size < size)
			continue;
		list_del(&block->list);
		block = sui_block_at(was.start, align);
		block->start = was.start;
		block->size = was.size;
		block->pool = was.pool;
		return block;
	}
	return NULL;
}

/* kvmalloc's blocks are aligned for every C type, its large ones to pages. Some types of the library want more. */
void *suimon_alloc(size_t size, size_t align)
{
	size_t before = sizeof(struct suimon_block) + (align > ARCH_KMALLOC_MINALIGN ? align : 0);
	struct suimon_context *context = suimon_context();
	gfp_t atomic = GFP_ATOMIC | __GFP_NOWARN;
	struct suimon_block *block = NULL;
	mempool_t *pool = NULL;
	void *start;

	if (check_add_overflow(size, before, &size))
		return NULL;
	if (softirq_count() && context->spare)
		block = sui_take_spare(context->spare, size, align);
	if (block)
		goto found;
	if (softirq_count() || irqs_disabled()) {
		packet_allocations++;
		pool = suimon_pool(size);
		start = pool ? mempool_alloc(pool, atomic) : kmalloc(size, atomic);
	} else {
		start = kvmalloc(size, GFP_KERNEL | __GFP_NOWARN);
	}
	if (!start)
		return NULL;
	block = sui_block_at(start, align);
	block->start = start;
	block->size = size;
	block->pool = pool;
	atomic_inc(&suimon_blocks);
found:
	if (context->owner)
		list_add(&block->list, context->owner);
	else
		INIT_LIST_HEAD(&block->list);
	return block + 1;
}

void suimon_free(void *memory)
{
	struct list_head *spare = suimon_context()->spare;
	struct suimon_block *block = memory - sizeof(*block);

	if (!memory)
		return;
	list_del(&block->list);
	if (spare)
		list_add_tail(&block->list, spare);
	else
		sui_give_back(block);
}

u32 suimon_free_all(struct list_head *owner)
{
	struct suimon_block *block, *next;
	u32 freed = 0;

	list_for_each_entry_safe(block, next, owner, list) {
		list_del(&block->list);
		sui_give_back(block);
		freed++;
	}
	return freed;
}
