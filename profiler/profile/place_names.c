// SPDX-License-Identifier: MIT
#include "profiler/profile/place_names.h"

#include <stdlib.h>
#include "symbolize/array.h"

void place_names_release(struct place_names *n)
{
	free(n->processes);
	hash_index_release(&n->process_index);
	free(n->threads);
	hash_index_release(&n->thread_index);
	*n = (struct place_names){0};
}

static bool is_process(const void *records, uint32_t position, const void *key)
{
	return ((const struct process_info *)records)[position].id == *(const uint32_t *)key;
}

const struct process_info *place_names_process(const struct place_names *n, uint32_t id)
{
	uint32_t at =
		hash_index_find(&n->process_index, hash_number(id), is_process, n->processes, &id);

	return at == HASH_INDEX_NONE ? NULL : &n->processes[at];
}

bool place_names_rank(const struct place_names *n, uint32_t process, uint32_t *rank)
{
	const struct process_info *info = place_names_process(n, process);
	bool has_own = info && info->has_rank;

	*rank = has_own ? info->rank : n->job.rank;
	return has_own || n->job.is_known;
}

void place_names_add_process(struct place_names *n, const struct process_info *info)
{
	if (allowance_take(n->memory, PLACE_NAME_BYTES) &&
	    array_make_room(&n->processes, n->process_count, &n->process_capacity, sizeof(*info)) &&
	    hash_index_add(&n->process_index, hash_number(info->id), n->process_count) == 0)
		n->processes[n->process_count++] = *info;
}

static bool is_thread(const void *records, uint32_t position, const void *key)
{
	const struct thread_info *a = (const struct thread_info *)records + position, *b = key;

	return a->process == b->process && a->tid == b->tid;
}

const struct thread_info *place_names_thread(const struct place_names *n, uint32_t process,
					     uint32_t tid)
{
	const struct thread_info key = {.process = process, .tid = tid};
	uint32_t at = hash_index_find(&n->thread_index, hash_pair(process, tid), is_thread,
				      n->threads, &key);

	return at == HASH_INDEX_NONE ? NULL : &n->threads[at];
}

void place_names_add_thread(struct place_names *n, const struct thread_info *info)
{
	if (allowance_take(n->memory, PLACE_NAME_BYTES) &&
	    array_make_room(&n->threads, n->thread_count, &n->thread_capacity, sizeof(*info)) &&
	    hash_index_add(&n->thread_index, hash_pair(info->process, info->tid),
			   n->thread_count) == 0)
		n->threads[n->thread_count++] = *info;
}
