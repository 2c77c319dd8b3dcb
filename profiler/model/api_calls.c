// SPDX-License-Identifier: MIT
#include "profiler/model/api_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_errors.h"
#include "symbolize/util/array.h"
#include "symbolize/util/saturate.h"

void api_calls_release(struct api_calls *calls)
{
	for (uint32_t i = 0; i < calls->count; i++)
		free(calls->list[i]);
	free(calls->list);
	hash_index_release(&calls->index);
	memset(calls, 0, sizeof(*calls));
}

static bool call_equal(const void *records, uint32_t position, const void *key)
{
	const struct api_call *call = ((struct api_call *const *)records)[position];
	const struct gpu_event_calls *e = key;

	return call->family == e->family && call->kind == e->kind &&
	       strcmp(call->name, e->function) == 0;
}

struct api_call *api_calls_get(struct api_calls *calls, const struct gpu_event_calls *e,
			       struct allowance *memory,
			       const char *(*keep)(void *context, const char *name), void *context)
{
	uint32_t hash =
		hash_bytes(e->function, strlen(e->function)) ^ hash_pair(e->family, e->kind);
	uint32_t at = hash_index_find(&calls->index, hash, call_equal, calls->list, e);
	struct api_call *call;

	if (at != HASH_INDEX_NONE)
		return calls->list[at];
	if (calls->count == API_CALLS_MAX ||
	    (memory && !allowance_take(memory, sizeof(*call) + HASH_INDEX_ENTRY_BYTES)) ||
	    !array_make_room(&calls->list, calls->count, &calls->capacity, sizeof(*calls->list)))
		return NULL;
	call = calloc(1, sizeof(*call));
	if (!call)
		return NULL;
	*call = (struct api_call){.name = keep(context, e->function),
				  .family = e->family,
				  .kind = e->kind,
				  .shortest_ns = UINT64_MAX};
	if (!call->name || hash_index_add(&calls->index, hash, calls->count) != 0) {
		free(call);
		return NULL;
	}
	calls->list[calls->count++] = call;
	return call;
}

static void add_error(struct api_call *call, const struct gpu_call_error *error)
{
	uint32_t at = 0, last = API_CALL_ERRORS - 1;

	while (at < last && call->errors[at].count && call->errors[at].code != error->code)
		at++;
	if (error->code == GPU_CALL_OTHER_ERROR)
		at = last;
	if (at < last)
		call->errors[at].code = error->code;
	saturated_add(&call->errors[at].count, error->count);
	saturated_add(&call->failed, error->count);
}

void api_call_add(struct api_call *call, const struct gpu_event_calls *e)
{
	saturated_add(&call->calls, e->calls);
	saturated_add(&call->ns, e->ns);
	saturated_add(&call->bytes, e->bytes);
	saturated_add(&call->nested, e->nested);
	saturated_add(&call->nested_ns, e->nested_ns);
	for (uint32_t i = 0; i < e->error_count; i++)
		add_error(call, &e->errors[i]);
	for (uint32_t i = 0; i < e->bucket_count; i++) {
		saturated_add(&call->buckets[e->buckets[i].bucket], e->buckets[i].count);
		saturated_add(&call->returned, e->buckets[i].count);
	}
	/* further lines of a function have buckets alone */
	if (e->bucket_count == 0 || e->longest_ns < e->shortest_ns || e->longest_ns == 0)
		return;
	if (e->shortest_ns < call->shortest_ns)
		call->shortest_ns = e->shortest_ns;
	if (e->longest_ns > call->longest_ns)
		call->longest_ns = e->longest_ns;
}

uint64_t api_call_quantile(const struct api_call *call, uint32_t thousandths)
{
	/* the rank, rounded up; 2^64 calls do not happen, but may be claimed */
	unsigned __int128 rank = ((unsigned __int128)call->returned * thousandths + 999) / 1000;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++) {
		uint64_t longest = gpu_call_bucket_longest(i);

		saturated_add(&seen, call->buckets[i]);
		if (seen == 0 || seen < rank)
			continue;
		return longest < call->longest_ns ? longest : call->longest_ns;
	}
	return call->longest_ns;
}

const char *api_call_text(const struct api_call *call, char text[API_CALL_TEXT_BYTES])
{
	static const char *const kinds[GPU_CALL_KINDS] = {
		NULL,
		"host to host",
		"host to device",
		"device to host",
		"device to device",
		"by the pointers",
	};

	if (call->kind == 0 || call->kind >= GPU_CALL_KINDS)
		return call->name;
	snprintf(text, API_CALL_TEXT_BYTES, "%.*s, %s", (int)GPU_CALL_NAME_BYTES, call->name,
		 kinds[call->kind]);
	return text;
}

const char *api_call_error_text(const struct api_call *call, uint32_t number,
				char text[API_CALL_ERROR_BYTES])
{
	uint32_t code = call->errors[number].code;
	const char *name = cuda_error_name(code, call->family == GPU_LAUNCH_DRIVER);

	if (number == API_CALL_ERRORS - 1)
		snprintf(text, API_CALL_ERROR_BYTES, "others");
	else if (name)
		snprintf(text, API_CALL_ERROR_BYTES, "%s", name);
	else
		snprintf(text, API_CALL_ERROR_BYTES, "error %" PRIu32, code);
	return text;
}
