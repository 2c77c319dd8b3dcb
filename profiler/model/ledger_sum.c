// SPDX-License-Identifier: MIT
#include "profiler/model/ledger_sum.h"

#include <stddef.h>
#include <string.h>
#include "profiler/model/ledger_counts.h"
#include "symbolize/util/number.h"
#include "symbolize/util/saturate.h"

struct summed_count {
	uint16_t offset;
	uint8_t size;
};

static const struct summed_count counts[] = {
#define COUNT(number, member) \
	{offsetof(struct ledger, member), sizeof(((struct ledger *)0)->member)},
#define NAMED(number, member, severity, summary, key, words) COUNT(number, member)
#define NO_COUNT(number, member)
	LEDGER_COUNTS(NAMED, COUNT, NO_COUNT)};

#define COUNTS (sizeof(counts) / sizeof(counts[0]))

/* losses alone */
static const struct summed_count losses[] = {
#define NO_LOSS_COUNT(number, member)
	LEDGER_COUNTS(NAMED, NO_LOSS_COUNT, NO_COUNT)};

static void add_counts(struct ledger *sum, const struct ledger *more)
{
	for (const struct summed_count *c = counts; c < counts + COUNTS; c++) {
		uint64_t count = saturated_sum(number_load(sum, c->offset, c->size),
					       number_load(more, c->offset, c->size));

		if (!number_store(sum, c->offset, c->size, count))
			number_store(sum, c->offset, c->size, UINT32_MAX);
	}
}

/* Merges single items: keeps the first of both, or the larger number. */
static void keep_first(struct ledger *sum, const struct ledger *more)
{
	if (sum->gpu.equal == sum->gpu.sums && more->gpu.equal != more->gpu.sums) {
		sum->gpu.difference = more->gpu.difference;
		sum->gpu.difference_here = more->gpu.difference_here;
		sum->gpu.difference_pid = more->gpu.difference_pid;
	}
	if (!sum->pipe.first_malformed[0])
		memcpy(sum->pipe.first_malformed, more->pipe.first_malformed,
		       sizeof(sum->pipe.first_malformed));
	if (!sum->pipe.first_refused[0])
		memcpy(sum->pipe.first_refused, more->pipe.first_refused,
		       sizeof(sum->pipe.first_refused));
	if (!sum->python.first_file[0])
		memcpy(sum->python.first_file, more->python.first_file,
		       sizeof(sum->python.first_file));
	if (!sum->stalls.period)
		sum->stalls.period = more->stalls.period;
	if (sum->spread.error_ns < more->spread.error_ns)
		sum->spread.error_ns = more->spread.error_ns;
	if (sum->launches.probed_functions < more->launches.probed_functions)
		sum->launches.probed_functions = more->launches.probed_functions;
}

static bool add_totals(struct ledger_total *sum, const struct ledger_total *more)
{
	return ledger_total_add(sum, more->count, more->ns, more->bytes);
}

static bool add_call(struct api_calls *sum, const struct api_call *call, struct quota *memory,
		     const char *(*keep)(void *context, const char *name), void *context)
{
	struct gpu_call_bucket buckets[GPU_CALL_BUCKETS];
	struct gpu_call_error errors[API_CALL_ERRORS];
	struct gpu_event_calls all = {.function = call->name,
				      .family = call->family,
				      .kind = call->kind,
				      .calls = call->calls,
				      .ns = call->ns,
				      .bytes = call->bytes,
				      .nested = call->nested,
				      .nested_ns = call->nested_ns,
				      .shortest_ns = call->shortest_ns,
				      .longest_ns = call->longest_ns,
				      .errors = errors,
				      .buckets = buckets};
	struct api_call *to = api_calls_get(sum, &all, memory, keep, context);

	if (!to)
		return false;
	for (uint32_t i = 0; i < API_CALL_ERRORS; i++) {
		if (!call->errors[i].count)
			continue;
		errors[all.error_count] = call->errors[i];
		if (i == API_CALL_ERRORS - 1)
			errors[all.error_count].code = GPU_CALL_OTHER_ERROR;
		all.error_count++;
	}
	for (uint32_t i = 0; i < GPU_CALL_BUCKETS; i++)
		if (call->buckets[i])
			buckets[all.bucket_count++] = (struct gpu_call_bucket){i, call->buckets[i]};
	api_call_add(to, &all);
	return true;
}

bool ledger_sum_add(struct ledger *sum, const struct ledger *more, struct quota *memory,
		    const char *(*keep)(void *context, const char *name), void *context)
{
	keep_first(sum, more);
	add_counts(sum, more);
	if (!add_totals(&sum->measured, &more->measured) ||
	    !add_totals(&sum->reported, &more->reported))
		return false;
	for (uint32_t i = 0; i < more->api.count; i++)
		if (!add_call(&sum->api, more->api.list[i], memory, keep, context))
			return false;
	return true;
}

void ledger_subtract_losses(struct ledger *ledger, const struct ledger *before)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		const struct summed_count *c = &losses[i];
		uint64_t now = number_load(ledger, c->offset, c->size);
		uint64_t then = number_load(before, c->offset, c->size);

		number_store(ledger, c->offset, c->size, now > then ? now - then : 0);
	}
}
