// SPDX-License-Identifier: MIT
#include "profiler/profile/api_calls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "profiler/base/cuda_errors.h"
#include "symbolize/util/saturate.h"
#include "profiler/profile/figures.h"
#include "profiler/profile/result.h"
#include "symbolize/util/array.h"

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

/* ---- as a table ---- */

enum column {
	CALLS,
	TIME,
	MEAN,
	SHORTEST,
	LONGEST,
	P99,
	FAILED,
	BYTES,
	FUNCTION,
	ERRORS,
	MEDIAN,
	NESTED,
	NESTED_TIME,
	OPEN,
	INTERFACE,
	COLUMNS
};

static const struct figure_column columns[COLUMNS] = {
	[CALLS] = {"calls", "Calls", FIGURE_COUNT, 9},
	[TIME] = {"ns", "Time", FIGURE_TIME, 11},
	[MEAN] = {"mean_ns", "Mean", FIGURE_TIME, 11},
	[SHORTEST] = {"shortest_ns", "Shortest", FIGURE_TIME, 11},
	[LONGEST] = {"longest_ns", "Longest", FIGURE_TIME, 11},
	[P99] = {"p99_ns", "99 % within", FIGURE_TIME, 11},
	[FAILED] = {"failed", "Failed", FIGURE_COUNT, 8},
	[BYTES] = {"bytes", "Bytes", FIGURE_BYTES, 11},
	[FUNCTION] = {"function", "Function", FIGURE_TEXT, UINT8_MAX},
	[ERRORS] = {"errors", "Errors", FIGURE_NOTE, 0},
	[MEDIAN] = {"median_ns", "Half within", FIGURE_TIME, 0},
	[NESTED] = {"within_runtime", "Within the runtime", FIGURE_COUNT, 0},
	[NESTED_TIME] = {"within_runtime_ns", "Time within the runtime", FIGURE_TIME, 0},
	[OPEN] = {"not_returned", "Not returned", FIGURE_COUNT, 0},
	[INTERFACE] = {"interface", "Interface", FIGURE_TEXT, 0},
};

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

/* "3 cudaErrorNotReady, 1 error 1234" */
static void errors_text(const struct api_call *call, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < API_CALL_ERRORS && used < size; i++) {
		const struct gpu_call_error *error = &call->errors[i];
		char name[API_CALL_ERROR_BYTES];

		if (error->count == 0)
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%" PRIu64 " %s",
					 used ? ", " : "", error->count,
					 api_call_error_text(call, i, name));
	}
}

static void add_figure(struct figures *f, const struct result *r, const void *record)
{
	const struct api_call *call = *(const struct api_call *const *)record;
	char errors[1024], name[API_CALL_TEXT_BYTES];
	union figure row[COLUMNS];

	(void)r;
	errors_text(call, errors, sizeof(errors));
	row[CALLS].number = call->calls;
	row[TIME].number = call->ns;
	row[MEAN].number = call->returned ? call->ns / call->returned : 0;
	row[SHORTEST].number = call->shortest_ns == UINT64_MAX ? 0 : call->shortest_ns;
	row[LONGEST].number = call->longest_ns;
	row[P99].number = api_call_quantile(call, 990);
	row[FAILED].number = call->failed;
	row[BYTES].number = call->bytes;
	row[FUNCTION].text = api_call_text(call, name);
	row[ERRORS].text = errors;
	row[MEDIAN].number = api_call_quantile(call, 500);
	row[NESTED].number = call->nested;
	row[NESTED_TIME].number = call->nested_ns;
	row[OPEN].number = call->calls > call->returned ? call->calls - call->returned : 0;
	row[INTERFACE].text = call->family == GPU_LAUNCH_DRIVER ? "driver" : "runtime";
	figures_add(f, row);
}

static int by_time(const void *a, const void *b)
{
	const struct api_call *x = **(const struct api_call *const *const *)a,
			      *y = **(const struct api_call *const *const *)b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return strcmp(x->name, y->name);
}

struct figures *api_calls_figures(const struct result *result)
{
	const struct api_calls *calls = &result->totals.ledger->api;
	struct figures *f = figures_new("api_calls", "CUDA calls", columns, COLUMNS);

	return figures_fill(f, result, calls->list, calls->count, sizeof(*calls->list), by_time,
			    add_figure);
}
