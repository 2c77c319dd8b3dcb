// SPDX-License-Identifier: MIT
#include "profiler/model/gpu_stack.h"

#include <string.h>
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/pseudo_frames.h"
#include "profiler/model/work_names.h"

/* The memo is cleared when it is full, or the quota is exhausted. */
#define MEMO_MAX (1u << 18)

#define CAPTURES UINT32_MAX /* a pair of stacks; no work has this kind */
#define NO_WAITER ((struct stack_id){UINT32_MAX})

struct gpu_stack_key {
	const struct gpu_work_origin *origin; /* the caller's */
	struct stack_id waiter;               /* NO_WAITER for the work itself */
	uint32_t spins;
};

struct gpu_stack_entry {
	struct gpu_work_origin origin;
	struct stack_id waiter;
	uint32_t spins;
	struct stack_id stack;
};

void gpu_stack_init(struct gpu_stacks *c, struct stack_table *stacks)
{
	*c = (struct gpu_stacks){.stacks = stacks};
}

void gpu_stack_release(struct gpu_stacks *c)
{
	record_set_release(&c->memo.set);
	*c = (struct gpu_stacks){0};
}

/* ---- memo ---- */

/* Reads each member as it was written, just before: every operation calls this. */
static uint32_t hash_key(const struct gpu_stack_key *key)
{
	const struct gpu_work_origin *o = key->origin;
	uint64_t hash =
		hash_step(hash_seed.first, (uint64_t)o->launch.number << 32 | o->capture.number,
			  (uint64_t)o->work << 32 | key->waiter.number);

	return hash_finish(
		hash_step(hash, (uintptr_t)o->name, (uint64_t)key->spins << 32 | o->memory));
}

static bool entry_equal(const void *records, uint32_t position, const void *key)
{
	const struct gpu_stack_entry *entry = (const struct gpu_stack_entry *)records + position;
	const struct gpu_stack_key *k = key;
	const struct gpu_work_origin *a = &entry->origin, *b = k->origin;

	return same_id(a->launch, b->launch) && same_id(a->capture, b->capture) &&
	       a->work == b->work && a->memory == b->memory && a->name == b->name &&
	       same_id(entry->waiter, k->waiter) && entry->spins == k->spins;
}

static void remember(struct gpu_stacks *c, const struct gpu_stack_key *key, struct stack_id stack)
{
	const struct gpu_stack_entry entry = {*key->origin, key->waiter, key->spins, stack};

	if (c->memo.count == MEMO_MAX || !quota_extend(c->memory, c->memo.count, &c->paid,
						       sizeof(entry) + HASH_INDEX_ENTRY_BYTES)) {
		hash_index_release(&c->memo.set.index);
		c->memo.count = 0;
	}
	record_add_hashed(&c->memo, hash_key(key), &entry);
}

void gpu_stack_forget(struct gpu_stacks *c)
{
	record_set_clear(&c->memo.set);
}

/* ---- composing ---- */

static struct stack_id mark(struct gpu_stacks *c, struct stack_id outer, const char *text)
{
	return stack_table_push_text(c->stacks, outer, FRAME_MARK, text);
}

/* Appends a stack to another. An empty stack shows as not captured. */
static struct stack_id append(struct gpu_stacks *c, struct stack_id outer, struct stack_id stack)
{
	if (same_id(stack, STACK_EMPTY))
		return mark(c, outer, PSEUDO_NO_STACK);
	return same_id(outer, STACK_EMPTY) ? stack : stack_table_append(c->stacks, outer, stack);
}

/* Appends the launch stack of the work below `outer`. */
static struct stack_id append_launch(struct gpu_stacks *c, struct stack_id outer,
				     const struct gpu_work_origin *o)
{
	static const char *const marks[] = {PSEUDO_NO_LAUNCH, NULL, PSEUDO_KERNEL_LAUNCH,
					    PSEUDO_EARLIER, PSEUDO_SKIPPED};
	uint32_t number = UINT32_MAX - o->launch.number; /* LAUNCH_MARK() */

	if (number >= sizeof(marks) / sizeof(marks[0]))
		outer = append(c, outer, (struct stack_id){o->launch.number});
	else if (marks[number])
		outer = mark(c, outer, marks[number]);
	if (same_id(o->capture, CAPTURE_NONE))
		return outer;
	if (same_id(o->capture, CAPTURE_UNSEEN))
		return mark(c, outer, PSEUDO_CAPTURE_UNSEEN);
	return append(c, mark(c, outer, PSEUDO_CAPTURED), (struct stack_id){o->capture.number});
}

static struct stack_id append_work(struct gpu_stacks *c, struct stack_id outer,
				   const struct gpu_work_origin *o)
{
	if (o->work == GPU_WORK_KERNEL)
		return stack_table_push_text(c->stacks, outer, FRAME_GPU_KERNEL, o->name);
	if (o->work == GPU_WORK_ALLOC)
		return stack_table_push_text(c->stacks, outer, FRAME_GPU_WORK,
					     work_allocation_frame(o->memory));
	return stack_table_push_text(c->stacks, outer, FRAME_GPU_WORK, work_frame(o->work));
}

static struct stack_id push_wait(struct gpu_stacks *c, struct stack_id outer, bool spins)
{
	return stack_table_push_text(c->stacks, outer, spins ? FRAME_SPIN : FRAME_WAIT,
				     spins ? PSEUDO_SPINNING : PSEUDO_WAITING);
}

static struct stack_id compose(struct gpu_stacks *c, const struct gpu_stack_key *key)
{
	const struct gpu_work_origin *o = key->origin;
	struct stack_id stack;

	if (o->work == CAPTURES) {
		stack = append(c, STACK_EMPTY, (struct stack_id){o->launch.number});
		return append(c, mark(c, stack, PSEUDO_CAPTURED),
			      (struct stack_id){o->capture.number});
	}
	if (same_id(key->waiter, NO_WAITER))
		return append_work(c, append_launch(c, STACK_EMPTY, o), o);
	stack = push_wait(c, append(c, STACK_EMPTY, key->waiter), key->spins);
	stack = append_work(c, stack, o);
	return same_id(o->launch, LAUNCH_NONE_NEEDED)
		       ? stack
		       : append_launch(c, mark(c, stack, PSEUDO_LAUNCHED), o);
}

/* Returns the stack for a key, from the memo if possible. */
static struct stack_id stack_of(struct gpu_stacks *c, const struct gpu_stack_key *key)
{
	uint32_t at = record_find_equal(&c->memo, hash_key(key), entry_equal, key);
	struct stack_id stack;

	if (at != RECORD_NONE)
		return c->memo.list[at].stack;
	stack = compose(c, key);
	remember(c, key, stack);
	return stack;
}

struct stack_id gpu_stack_work(struct gpu_stacks *c, const struct gpu_work_origin *origin)
{
	return stack_of(c, &(struct gpu_stack_key){origin, NO_WAITER, 0});
}

struct stack_id gpu_stack_captures(struct gpu_stacks *c, struct stack_id outer,
				   struct stack_id inner)
{
	const struct gpu_work_origin pair = {
		.launch = launched_at(outer), .capture = captured_at(inner), .work = CAPTURES};

	return stack_of(c, &(struct gpu_stack_key){&pair, NO_WAITER, 0});
}

struct stack_id gpu_stack_wait(struct gpu_stacks *c, struct stack_id waiter, bool spins,
			       const struct gpu_work_origin *origin)
{
	if (!origin)
		return push_wait(c, append(c, STACK_EMPTY, waiter), spins);
	return stack_of(c, &(struct gpu_stack_key){origin, waiter, spins});
}

struct stack_id gpu_stack_stall(struct gpu_stacks *c, const struct gpu_work_origin *origin)
{
	return stack_table_push_text(c->stacks, origin ? gpu_stack_work(c, origin) : STACK_EMPTY,
				     FRAME_WAIT, PSEUDO_WAITING_FOR_PAGES);
}

struct stack_id gpu_stack_launch(struct gpu_stacks *c, struct launch_stack launch)
{
	return append_launch(c, STACK_EMPTY,
			     &(struct gpu_work_origin){.launch = launch, .capture = CAPTURE_NONE});
}

struct stack_id gpu_stack_call(struct gpu_stacks *c, struct stack_id call,
			       const struct code_ref *kernel)
{
	struct frame frame;

	memset(&frame, 0, sizeof(frame));
	frame.kind = FRAME_CALL;
	if (kernel)
		frame.code = *kernel; /* else module 0 for unknown */
	return stack_table_push(c->stacks, append(c, STACK_EMPTY, call), &frame);
}
