// SPDX-License-Identifier: MIT
#include "profiler/collect/open_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_thread(const void *records, uint32_t position, const void *key)
{
	return ((const struct open_call *)records + position)->tid == *(const uint32_t *)key;
}

static struct open_call *find(const struct open_calls *calls, uint32_t tid)
{
	uint32_t at = hash_index_find(&calls->index, hash_bytes(&tid, sizeof(tid)), is_thread,
				      calls->threads, &tid);

	return at == HASH_INDEX_NONE ? NULL : &calls->threads[at];
}

static struct open_call *add(struct open_calls *calls, uint32_t tid)
{
	if (calls->count == calls->capacity) {
		uint32_t capacity = calls->capacity ? calls->capacity * 2 : 64;
		struct open_call *threads = realloc(calls->threads, capacity * sizeof(*threads));

		if (!threads)
			return NULL;
		calls->threads = threads;
		calls->capacity = capacity;
	}
	if (hash_index_add(&calls->index, hash_bytes(&tid, sizeof(tid)), calls->count) != 0)
		return NULL;
	return &calls->threads[calls->count++];
}

int open_calls_enter(struct open_calls *calls, const struct open_call *call, bool *lost)
{
	struct open_call *thread = find(calls, call->tid);

	*lost = thread && thread->start_ns && !thread->taken_ns;
	if (!thread)
		thread = add(calls, call->tid);
	if (!thread)
		return -ENOMEM;
	*thread = *call;
	return 0;
}

bool open_calls_leave(struct open_calls *calls, uint32_t tid, uint64_t start_ns,
		      struct open_call *call)
{
	struct open_call *thread = find(calls, tid);

	if (!thread || !thread->start_ns || thread->start_ns != start_ns)
		return false;
	*call = *thread;
	thread->start_ns = 0;
	if (call->taken_ns)
		call->start_ns = call->taken_ns;
	return true;
}

bool open_calls_take(struct open_calls *calls, uint32_t pid, uint64_t now_ns, uint32_t *position,
		     struct open_call *call)
{
	while (*position < calls->count) {
		struct open_call *thread = &calls->threads[(*position)++];

		if (!thread->start_ns || thread->taken_ns || (pid && thread->pid != pid))
			continue;
		*call = *thread;
		thread->taken_ns = now_ns ? now_ns : 1;
		return true;
	}
	return false;
}

void open_calls_release(struct open_calls *calls)
{
	free(calls->threads);
	hash_index_release(&calls->index);
	memset(calls, 0, sizeof(*calls));
}
