// SPDX-License-Identifier: MIT
#include "profiler/join/open_calls.h"

#include <errno.h>
#include <stdlib.h>
#include "symbolize/util/array.h"

static bool is_thread(const void *records, uint32_t position, const void *key)
{
	return ((const struct open_call *)records)[position].tid == *(const uint32_t *)key;
}

static struct open_call *find(const struct open_calls *o, uint32_t tid)
{
	uint32_t at = hash_index_find(&o->index, hash_number(tid), is_thread, o->calls, &tid);

	return at == HASH_INDEX_NONE ? NULL : &o->calls[at];
}

static struct open_call *add(struct open_calls *o, uint32_t tid)
{
	if (!array_make_room(&o->calls, o->count, &o->capacity, sizeof(*o->calls)) ||
	    hash_index_add(&o->index, hash_number(tid), o->count) != 0)
		return NULL;
	return &o->calls[o->count++];
}

/* Removes a call, moving the last one into the hole. */
static void remove_call(struct open_calls *o, struct open_call *call)
{
	uint32_t at = (uint32_t)(call - o->calls), last = --o->count;

	hash_index_remove(&o->index, hash_number(call->tid), at);
	hash_index_move(&o->index, hash_number(o->calls[last].tid), last, at);
	*call = o->calls[last];
}

int open_calls_enter(struct open_calls *o, const struct open_call *call)
{
	struct open_call *thread = find(o, call->tid);

	if (!thread)
		thread = add(o, call->tid);
	if (!thread)
		return -ENOMEM;
	*thread = *call;
	return 0;
}

bool open_calls_leave(struct open_calls *o, uint32_t tid, uint64_t start_ns, struct open_call *call)
{
	struct open_call *thread = find(o, tid);

	if (!thread || thread->start_ns != start_ns)
		return false;
	*call = *thread;
	remove_call(o, thread);
	if (call->taken_ns)
		call->start_ns = call->taken_ns;
	return true;
}

bool open_calls_take(struct open_calls *o, uint32_t process, uint64_t now_ns, uint32_t *position,
		     struct open_call *call)
{
	while (*position < o->count) {
		struct open_call *thread = &o->calls[(*position)++];

		if (thread->taken_ns || (process && thread->process != process))
			continue;
		*call = *thread;
		thread->taken_ns = now_ns ? now_ns : 1;
		return true;
	}
	return false;
}

void open_calls_visit(struct open_calls *o, const struct id_visitor *v)
{
	for (uint32_t i = 0; i < o->count; i++) {
		visit_stack(v, &o->calls[i].stack);
		visit_place(v, &o->calls[i].place);
	}
}

void open_calls_release(struct open_calls *o)
{
	free(o->calls);
	hash_index_release(&o->index);
	*o = (struct open_calls){0};
}

void open_calls_forget(struct open_calls *o, uint32_t process)
{
	for (uint32_t i = o->count; i-- > 0;)
		if (o->calls[i].process == process)
			remove_call(o, &o->calls[i]);
}
