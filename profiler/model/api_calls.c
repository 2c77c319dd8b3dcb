// SPDX-License-Identifier: MIT
#include "profiler/model/api_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_errors.h"
#include "profiler/model/profile_sink.h"
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

static uint32_t hash_of(const char *name, uint32_t family, uint32_t kind)
{
	return hash_bytes(name, strlen(name)) ^ hash_pair(family, kind);
}

struct api_call *api_calls_get(struct api_calls *calls, const struct gpu_event_calls *e,
			       struct quota *memory,
			       const char *(*keep)(void *context, const char *name), void *context)
{
	uint32_t hash = hash_of(e->function, e->family, e->kind);
	uint32_t at = hash_index_find(&calls->index, hash, call_equal, calls->list, e);
	struct api_call *call;

	if (at != HASH_INDEX_NONE)
		return calls->list[at];
	if (calls->count == API_CALLS_MAX ||
	    (memory && !quota_take(memory, sizeof(*call) + HASH_INDEX_ENTRY_BYTES)) ||
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

static void note_extremes(struct api_call *call, const struct gpu_event_calls *e)
{
	/* continuation lines of a function carry buckets only */
	if (e->bucket_count == 0 || e->longest_ns < e->shortest_ns || e->longest_ns == 0)
		return;
	if (e->shortest_ns < call->shortest_ns)
		call->shortest_ns = e->shortest_ns;
	if (e->longest_ns > call->longest_ns)
		call->longest_ns = e->longest_ns;
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
	note_extremes(call, e);
}

/* ---- notes, for --last ---- */

/* Content of a note. */
enum part {
	PART_SHORTEST, /* ns, in `bytes` */
	PART_LONGEST,  /* ns, in `bytes` */
	PART_ERROR,    /* code in `device`, number of calls in `bytes` */
};

static void keep(struct api_call *call, struct profile_sink *sink, enum part part, uint32_t code,
		 uint64_t amount)
{
	const struct profile_item note = {.record = {.kind = NOTE_CALLS,
						     .graph_node = (uint64_t)(uintptr_t)call,
						     .work = part,
						     .bytes = amount},
					  .flags = ITEM_BAD_TIME,
					  .device = code};

	if (amount || part == PART_SHORTEST)
		profile_sink_add(sink, &note);
}

static uint64_t min_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Notes bounds of the durations in the buckets. The extremes since the program's start and the sum
 * of the durations tighten them; continuation lines lack both.
 */
static void keep_extremes(struct api_call *call, struct profile_sink *sink,
			  const struct gpu_event_calls *e)
{
	bool is_first = e->longest_ns && e->longest_ns >= e->shortest_ns;
	uint64_t shortest_ns = is_first ? e->shortest_ns : call->shortest_ns;
	uint64_t longest_ns = is_first ? e->longest_ns : call->longest_ns;
	uint32_t least = GPU_CALL_BUCKETS, most = 0;
	uint64_t shortest, longest;

	for (uint32_t i = 0; i < e->bucket_count; i++) {
		uint32_t bucket = e->buckets[i].bucket;

		least = bucket < least ? bucket : least;
		most = bucket > most ? bucket : most;
	}
	if (least == GPU_CALL_BUCKETS)
		return;
	shortest = least ? gpu_call_bucket_longest(least - 1) + 1 : 0;
	longest = gpu_call_bucket_longest(most);
	if (longest_ns) {
		shortest = shortest > shortest_ns ? shortest : shortest_ns;
		longest = min_of(longest, longest_ns);
	}
	if (e->ns)
		longest = min_of(longest, e->ns);
	keep(call, sink, PART_SHORTEST, 0, shortest);
	keep(call, sink, PART_LONGEST, 0, longest);
}

void api_call_keep(struct api_call *call, const struct gpu_event_calls *e,
		   struct profile_sink *sink)
{
	profile_sink_count(sink, &call->calls, e->calls);
	profile_sink_count(sink, &call->ns, e->ns);
	profile_sink_count(sink, &call->bytes, e->bytes);
	profile_sink_count(sink, &call->nested, e->nested);
	profile_sink_count(sink, &call->nested_ns, e->nested_ns);
	for (uint32_t i = 0; i < e->error_count; i++)
		keep(call, sink, PART_ERROR, e->errors[i].code, e->errors[i].count);
	for (uint32_t i = 0; i < e->bucket_count; i++)
		profile_sink_count(sink, &call->buckets[e->buckets[i].bucket], e->buckets[i].count);
	note_extremes(call, e);
	keep_extremes(call, sink, e);
}

void api_calls_begin_part(struct api_calls *calls)
{
	for (uint32_t i = 0; i < calls->count; i++) {
		calls->list[i]->shortest_ns = UINT64_MAX;
		calls->list[i]->longest_ns = 0;
	}
}

void api_calls_note(const struct profile_item *note)
{
	struct api_call *call = (struct api_call *)(uintptr_t)note->record.graph_node;
	uint64_t amount = note->record.bytes;

	switch ((enum part)note->record.work) {
	case PART_SHORTEST:
		call->shortest_ns = min_of(call->shortest_ns, amount);
		break;
	case PART_LONGEST:
		call->longest_ns = amount > call->longest_ns ? amount : call->longest_ns;
		break;
	case PART_ERROR:
		add_error(call, &(struct gpu_call_error){note->device, amount});
		break;
	}
}

void api_calls_end_part(struct api_calls *calls)
{
	uint32_t left = 0;

	hash_index_clear(&calls->index);
	for (uint32_t i = 0; i < calls->count; i++) {
		struct api_call *call = calls->list[i];

		for (uint32_t bucket = 0; bucket < GPU_CALL_BUCKETS; bucket++)
			saturated_add(&call->returned, call->buckets[bucket]);
		if (!call->calls && !call->returned && !call->failed) {
			free(call);
			continue;
		}
		/* cannot fail: the index had more entries */
		hash_index_add(&calls->index, hash_of(call->name, call->family, call->kind), left);
		calls->list[left++] = call;
	}
	calls->count = left;
}

uint64_t api_call_quantile(const struct api_call *call, uint32_t thousandths)
{
	/* the rank, rounded up; 128 bits, for programs may claim 2^64 calls */
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
