// SPDX-License-Identifier: MIT
#include "profiler/model/place_names.h"

#include <stdlib.h>
#include "profiler/model/places.h"
#include "symbolize/util/array.h"

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
	if (quota_take(n->memory, PLACE_NAME_BYTES) &&
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
	if (quota_take(n->memory, PLACE_NAME_BYTES) &&
	    array_make_room(&n->threads, n->thread_count, &n->thread_capacity, sizeof(*info)) &&
	    hash_index_add(&n->thread_index, hash_pair(info->process, info->tid),
			   n->thread_count) == 0)
		n->threads[n->thread_count++] = *info;
}

bool place_names_rename_process(struct place_names *n, uint32_t id, const char *name)
{
	const struct process_info *info = place_names_process(n, id);

	if (!info)
		return false;
	n->renames += info->name != name;
	n->processes[info - n->processes].name = name;
	return true;
}

bool place_names_rename_thread(struct place_names *n, uint32_t process, uint32_t tid,
			       const char *name)
{
	const struct thread_info *info = place_names_thread(n, process, tid);

	if (!info)
		return false;
	n->renames += info->name != name;
	n->threads[info - n->threads].name = name;
	return true;
}

static void forget_threads(struct place_names *n, const bool *stays)
{
	uint32_t left = 0;

	hash_index_clear(&n->thread_index);
	for (uint32_t i = 0; i < n->thread_count; i++) {
		const struct thread_info *info = &n->threads[i];

		if (!stays[i])
			continue;
		/* cannot fail: the index had more entries */
		hash_index_add(&n->thread_index, hash_pair(info->process, info->tid), left);
		n->threads[left++] = *info;
	}
	quota_return(n->memory, (size_t)(n->thread_count - left) * PLACE_NAME_BYTES);
	n->thread_count = left;
}

bool place_names_forget(struct place_names *n, const struct places *places,
			bool (*is_in_use)(const void *context, uint32_t process),
			const void *context)
{
	bool *stays = calloc(n->thread_count + 1, sizeof(*stays));
	uint32_t left = 0;

	if (!stays)
		return false;
	for (uint32_t i = 0; i < places->count; i++) {
		const struct place *place = &places->list[i];
		const struct thread_info *info = place_names_thread(n, place->part[PLACE_PROCESS],
								    place->part[PLACE_THREAD]);

		if (info)
			stays[info - n->threads] = true;
	}
	forget_threads(n, stays);
	free(stays);
	hash_index_clear(&n->process_index);
	for (uint32_t i = 0; i < n->process_count; i++) {
		if (!is_in_use(context, n->processes[i].id))
			continue;
		hash_index_add(&n->process_index, hash_number(n->processes[i].id), left);
		n->processes[left++] = n->processes[i];
	}
	quota_return(n->memory, (size_t)(n->process_count - left) * PLACE_NAME_BYTES);
	n->process_count = left;
	return true;
}
