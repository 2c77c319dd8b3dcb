// SPDX-License-Identifier: MIT
#include "profiler/model/compose.h"

#include <string.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/marks.h"
#include "profiler/model/work_names.h"

/* The memo is cleared when it is full, or the allowance used up. */
#define MEMO_MAX (1u << 18)

#define NO_WAITER UINT32_MAX

struct composed_key {
	struct gpu_work_origin origin;
	uint32_t waiter; /* NO_WAITER: the work itself */
	uint32_t spins;
};

struct composed {
	struct composed_key key;
	uint32_t stack;
};

void compose_init(struct compose *c, struct stack_table *stacks)
{
	*c = (struct compose){.stacks = stacks};
}

void compose_release(struct compose *c)
{
	record_set_release(&c->memo.set);
	*c = (struct compose){0};
}

/* ---- memo ---- */

/* Called for each operation: from the fields at hand, without a way through memory. */
static uint32_t hash_key(const struct composed_key *key)
{
	const struct gpu_work_origin *o = &key->origin;
	uint64_t hash = hash_step(hash_seed.first, (uint64_t)o->launch << 32 | o->capture,
				  (uint64_t)o->work << 32 | key->waiter);

	return hash_finish(
		hash_step(hash, (uintptr_t)o->name, (uint64_t)key->spins << 32 | o->memory));
}

static struct composed_key key_of(const struct gpu_work_origin *origin, uint32_t waiter)
{
	struct composed_key key;

	memset(&key, 0, sizeof(key));
	key.origin = *origin;
	key.waiter = waiter;
	return key;
}

static uint32_t find(const struct compose *c, const struct composed_key *key)
{
	return record_find_hashed(&c->memo, hash_key(key), key);
}

static void remember(struct compose *c, const struct composed_key *key, uint32_t stack)
{
	const struct composed composed = {*key, stack};

	if (c->memo.count == MEMO_MAX ||
	    !allowance_extend(c->memory, c->memo.count, &c->paid,
			      sizeof(composed) + HASH_INDEX_ENTRY_BYTES)) {
		hash_index_release(&c->memo.set.index);
		c->memo.count = 0;
	}
	record_add_hashed(&c->memo, hash_key(key), &composed);
}

void compose_forget(struct compose *c)
{
	record_set_clear(&c->memo.set);
}

/* ---- composing ---- */

static uint32_t mark(struct compose *c, uint32_t outer, const char *text)
{
	return stack_table_push_text(c->stacks, outer, FRAME_MARK, text);
}

/* Appends a stack to another; an empty one shows as not captured. */
static uint32_t append(struct compose *c, uint32_t outer, uint32_t stack)
{
	if (stack == STACK_EMPTY)
		return mark(c, outer, MARK_NO_STACK);
	return outer == STACK_EMPTY ? stack : stack_table_append(c->stacks, outer, stack);
}

/* Appends the launch stack of the work below `outer`. */
static uint32_t append_launch(struct compose *c, uint32_t outer, const struct gpu_work_origin *o)
{
	if (o->launch == LAUNCH_UNKNOWN)
		outer = mark(c, outer, MARK_NO_LAUNCH);
	else if (o->launch == LAUNCH_BY_KERNEL)
		outer = mark(c, outer, MARK_KERNEL_LAUNCH);
	else if (o->launch == LAUNCH_EARLIER)
		outer = mark(c, outer, MARK_EARLIER);
	else if (o->launch == LAUNCH_SKIPPED)
		outer = mark(c, outer, MARK_SKIPPED);
	else if (o->launch != LAUNCH_NONE_NEEDED)
		outer = append(c, outer, o->launch);
	if (o->capture == CAPTURE_NONE)
		return outer;
	if (o->capture == CAPTURE_UNSEEN)
		return mark(c, outer, MARK_CAPTURE_UNSEEN);
	return append(c, mark(c, outer, MARK_CAPTURED), o->capture);
}

static uint32_t append_work(struct compose *c, uint32_t outer, const struct gpu_work_origin *o)
{
	if (o->work == GPU_WORK_KERNEL)
		return stack_table_push_text(c->stacks, outer, FRAME_GPU_KERNEL, o->name);
	if (o->work == GPU_WORK_ALLOC)
		return stack_table_push_text(c->stacks, outer, FRAME_GPU_WORK,
					     work_allocation_frame(o->memory));
	return stack_table_push_text(c->stacks, outer, FRAME_GPU_WORK, work_frame(o->work));
}

uint32_t compose_work(struct compose *c, const struct gpu_work_origin *origin)
{
	const struct composed_key key = key_of(origin, NO_WAITER);
	uint32_t at = find(c, &key), stack;

	if (at != RECORD_NONE)
		return c->memo.list[at].stack;
	stack = append_work(c, append_launch(c, STACK_EMPTY, origin), origin);
	remember(c, &key, stack);
	return stack;
}

uint32_t compose_captures(struct compose *c, uint32_t outer, uint32_t inner)
{
	/* no work has this kind */
	const struct gpu_work_origin pair = {.launch = outer, .capture = inner, .work = UINT32_MAX};
	const struct composed_key key = key_of(&pair, NO_WAITER);
	uint32_t at = find(c, &key), stack;

	if (at != RECORD_NONE)
		return c->memo.list[at].stack;
	stack = append(c, mark(c, append(c, STACK_EMPTY, outer), MARK_CAPTURED), inner);
	remember(c, &key, stack);
	return stack;
}

uint32_t compose_wait(struct compose *c, uint32_t waiter, bool spins,
		      const struct gpu_work_origin *origin)
{
	const char *how = spins ? MARK_SPINNING : MARK_WAITING;
	struct composed_key key;
	uint32_t at, stack;

	if (!origin)
		return mark(c, append(c, STACK_EMPTY, waiter), how);
	key = key_of(origin, waiter);
	key.spins = spins;
	at = find(c, &key);
	if (at != RECORD_NONE)
		return c->memo.list[at].stack;
	stack = mark(c, append(c, STACK_EMPTY, waiter), how);
	stack = append_work(c, stack, origin);
	if (origin->launch != LAUNCH_NONE_NEEDED)
		stack = append_launch(c, mark(c, stack, MARK_LAUNCHED), origin);
	remember(c, &key, stack);
	return stack;
}

uint32_t compose_stall(struct compose *c, const struct gpu_work_origin *origin)
{
	return mark(c, origin ? compose_work(c, origin) : STACK_EMPTY, MARK_WAITING_FOR_PAGES);
}

uint32_t compose_launch(struct compose *c, uint32_t launch)
{
	return append_launch(c, STACK_EMPTY,
			     &(struct gpu_work_origin){.launch = launch, .capture = CAPTURE_NONE});
}

uint32_t compose_call(struct compose *c, uint32_t call, const struct code_ref *kernel)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = FRAME_CALL;
	if (kernel)
		frame.code = *kernel; /* else module 0: unknown */
	return stack_table_push(c->stacks, append(c, STACK_EMPTY, call), &frame);
}
