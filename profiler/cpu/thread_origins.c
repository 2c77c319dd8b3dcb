// SPDX-License-Identifier: MIT
#include "profiler/cpu/thread_origins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/model/marks.h"
#include "symbolize/util/array.h"

struct thread_key {
	uint32_t process, tid;
};

struct origin_thread {
	struct thread_key key;
	uint32_t origin; /* the stack that its own are below; STACK_EMPTY: none is known */
	uint32_t depth;  /* threads in it */
};

struct memo_key {
	uint32_t origin, stack;
};

struct origin_memo {
	struct memo_key key;
	uint32_t result;
};

#define THREAD_BYTES (sizeof(struct origin_thread) + HASH_INDEX_ENTRY_BYTES)

void thread_origins_release(struct thread_origins *o)
{
	free(o->threads);
	free(o->memo);
	hash_index_release(&o->index);
	hash_index_release(&o->memo_index);
	*o = (struct thread_origins){0};
}

static bool is_thread(const void *records, uint32_t position, const void *key)
{
	return memcmp(&((const struct origin_thread *)records + position)->key, key,
		      sizeof(struct thread_key)) == 0;
}

static struct origin_thread *find(const struct thread_origins *o, uint32_t process, uint32_t tid)
{
	const struct thread_key key = {process, tid};
	uint32_t at =
		hash_index_find(&o->index, hash_pair(process, tid), is_thread, o->threads, &key);

	return at == HASH_INDEX_NONE ? NULL : &o->threads[at];
}

/* ---- composing ---- */

static bool is_memo(const void *records, uint32_t position, const void *key)
{
	return memcmp(&((const struct origin_memo *)records + position)->key, key,
		      sizeof(struct memo_key)) == 0;
}

/* Appends a stack. The same few come again and again, and it takes a look-up for each frame. */
static uint32_t append(struct thread_origins *o, uint32_t origin, uint32_t stack)
{
	const struct memo_key key = {origin, stack};
	uint32_t hash = hash_pair(origin, stack), result;
	uint32_t at = hash_index_find(&o->memo_index, hash, is_memo, o->memo, &key);

	if (at != HASH_INDEX_NONE)
		return o->memo[at].result;
	result = stack_table_append(o->stacks, origin, stack);
	if (o->memo_count == THREAD_ORIGINS_MEMO_MAX) {
		hash_index_release(&o->memo_index);
		o->memo_count = 0;
	}
	if (array_make_room(&o->memo, o->memo_count, &o->memo_capacity, sizeof(*o->memo)) &&
	    hash_index_add(&o->memo_index, hash, o->memo_count) == 0)
		o->memo[o->memo_count++] = (struct origin_memo){key, result};
	return result;
}

uint32_t thread_origins_below(struct thread_origins *o, uint32_t process, uint32_t tid,
			      uint32_t stack)
{
	const struct origin_thread *thread = o->count > 0 ? find(o, process, tid) : NULL;

	return thread && thread->origin != STACK_EMPTY ? append(o, thread->origin, stack) : stack;
}

/* ---- threads ---- */

static int set(struct thread_origins *o, const struct origin_thread *thread)
{
	struct origin_thread *old = find(o, thread->key.process, thread->key.tid);
	uint32_t hash = hash_pair(thread->key.process, thread->key.tid);

	if (old) {
		*old = *thread;
		return 0;
	}
	if (o->count == THREAD_ORIGINS_MAX || !allowance_take(o->allowance, THREAD_BYTES))
		return -ENOSPC;
	if (array_make_room(&o->threads, o->count, &o->capacity, sizeof(*thread)) &&
	    hash_index_add(&o->index, hash, o->count) == 0) {
		o->threads[o->count++] = *thread;
		return 0;
	}
	allowance_return(o->allowance, THREAD_BYTES);
	return -ENOMEM;
}

int thread_origins_add(struct thread_origins *o, uint32_t process, uint32_t creator, uint32_t tid,
		       uint32_t stack)
{
	const struct origin_thread *outer = find(o, process, creator);
	struct origin_thread thread = {.key = {process, tid}, .origin = stack, .depth = 1};

	if (outer && outer->depth > 0 && outer->depth < THREAD_ORIGINS_DEPTH) {
		thread.origin = append(o, outer->origin, stack);
		thread.depth += outer->depth;
	}
	thread.origin =
		stack_table_push_text(o->stacks, thread.origin, FRAME_MARK, MARK_THREAD_STARTED);
	return set(o, &thread);
}

bool thread_origins_ask(struct thread_origins *o, uint32_t process, uint32_t tid)
{
	const struct origin_thread thread = {.key = {process, tid}};

	return !find(o, process, tid) && set(o, &thread) == 0;
}

void thread_origins_visit(struct thread_origins *o, const struct number_visitor *v)
{
	/* composed stacks are composed again */
	hash_index_clear(&o->memo_index);
	o->memo_count = 0;
	for (uint32_t i = 0; i < o->count; i++)
		visit_stack(v, &o->threads[i].origin);
}

void thread_origins_forget(struct thread_origins *o, uint32_t process)
{
	for (uint32_t i = o->count; i-- > 0;) {
		struct thread_key key = o->threads[i].key, last;

		if (key.process != process)
			continue;
		hash_index_remove(&o->index, hash_pair(key.process, key.tid), i);
		last = o->threads[--o->count].key;
		if (i < o->count)
			hash_index_move(&o->index, hash_pair(last.process, last.tid), o->count, i);
		o->threads[i] = o->threads[o->count];
		allowance_return(o->allowance, THREAD_BYTES);
	}
}
