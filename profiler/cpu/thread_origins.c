// SPDX-License-Identifier: MIT
#include "profiler/cpu/thread_origins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/pseudo_frames.h"

struct thread_key {
	uint32_t process, tid;
};

struct origin_thread {
	struct thread_key key;
	struct stack_id
		origin; /* stack below which its own stacks are put; STACK_EMPTY if unknown */
	uint32_t depth; /* number of threads in `origin` */
};

struct memo_key {
	struct stack_id origin, stack;
};

struct origin_memo {
	struct memo_key key;
	struct stack_id result;
};

#define THREAD_BYTES (sizeof(struct origin_thread) + HASH_INDEX_ENTRY_BYTES)

void thread_origins_release(struct thread_origins *o)
{
	record_set_release(&o->threads.set);
	record_set_release(&o->memo.set);
	*o = (struct thread_origins){0};
}

static struct origin_thread *find(const struct thread_origins *o, uint32_t process, uint32_t tid)
{
	const struct thread_key key = {process, tid};
	uint32_t at = record_find(&o->threads, &key);

	return at == RECORD_NONE ? NULL : &o->threads.list[at];
}

/* ---- composing ---- */

/*
 * Appends a stack, remembering the result: few stacks recur often, and appending takes a lookup per
 * frame.
 */
static struct stack_id append(struct thread_origins *o, struct stack_id origin,
			      struct stack_id stack)
{
	struct origin_memo memo = {.key = {origin, stack}};
	uint32_t at = record_find(&o->memo, &memo.key);

	if (at != RECORD_NONE)
		return o->memo.list[at].result;
	memo.result = stack_table_append(o->stacks, origin, stack);
	if (o->memo.count == THREAD_ORIGINS_MEMO_MAX) {
		hash_index_release(&o->memo.set.index);
		o->memo.count = 0;
	}
	record_add(&o->memo, &memo.key, &memo);
	return memo.result;
}

struct stack_id thread_origins_below(struct thread_origins *o, uint32_t process, uint32_t tid,
				     struct stack_id stack)
{
	const struct origin_thread *thread = o->threads.count > 0 ? find(o, process, tid) : NULL;

	return thread && !same_id(thread->origin, STACK_EMPTY) ? append(o, thread->origin, stack)
							       : stack;
}

/* ---- threads ---- */

static int set(struct thread_origins *o, const struct origin_thread *thread)
{
	struct origin_thread *old = find(o, thread->key.process, thread->key.tid);

	if (old) {
		*old = *thread;
		return 0;
	}
	if (o->threads.count == THREAD_ORIGINS_MAX || !quota_take(o->quota, THREAD_BYTES))
		return -ENOSPC;
	if (record_add(&o->threads, &thread->key, thread) != RECORD_NONE)
		return 0;
	quota_return(o->quota, THREAD_BYTES);
	return -ENOMEM;
}

int thread_origins_add(struct thread_origins *o, uint32_t process, uint32_t creator, uint32_t tid,
		       struct stack_id stack)
{
	const struct origin_thread *outer = find(o, process, creator);
	struct origin_thread thread = {.key = {process, tid}, .origin = stack, .depth = 1};

	if (outer && outer->depth > 0 && outer->depth < THREAD_ORIGINS_DEPTH) {
		thread.origin = append(o, outer->origin, stack);
		thread.depth += outer->depth;
	}
	thread.origin =
		stack_table_push_text(o->stacks, thread.origin, FRAME_MARK, PSEUDO_THREAD_STARTED);
	return set(o, &thread);
}

bool thread_origins_ask(struct thread_origins *o, uint32_t process, uint32_t tid)
{
	const struct origin_thread thread = {.key = {process, tid}};

	return !find(o, process, tid) && set(o, &thread) == 0;
}

void thread_origins_visit(struct thread_origins *o, const struct id_visitor *v)
{
	/* composed stacks are composed anew */
	record_set_clear(&o->memo.set);
	for (uint32_t i = 0; i < o->threads.count; i++)
		visit_stack(v, &o->threads.list[i].origin);
}

void thread_origins_forget(struct thread_origins *o, uint32_t process)
{
	for (uint32_t i = o->threads.count; i-- > 0;) {
		if (o->threads.list[i].key.process != process)
			continue;
		record_remove(&o->threads, struct thread_key, i);
		quota_return(o->quota, THREAD_BYTES);
	}
}
