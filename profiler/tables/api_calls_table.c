// SPDX-License-Identifier: MIT
#include "profiler/tables/api_calls_table.h"

#include <inttypes.h>
#include <stdio.h>
#include "profiler/model/api_calls.h"
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"
#include "symbolize/util/sorted.h"

struct call_row {
	struct api_call call;
	uint64_t mean_ns, shortest_ns, median_ns, p99_ns, not_returned;
	const char *function, *errors, *interface;
};

static const struct report_column columns[] = {
	REPORT_COLUMN(call_row, call.calls, "calls", "Calls", COUNT, 9),
	REPORT_COLUMN(call_row, call.ns, "ns", "Time", TIME, 11),
	REPORT_COLUMN(call_row, mean_ns, "mean_ns", "Mean", TIME, 11),
	REPORT_COLUMN(call_row, shortest_ns, "shortest_ns", "Shortest", TIME, 11),
	REPORT_COLUMN(call_row, call.longest_ns, "longest_ns", "Longest", TIME, 11),
	REPORT_COLUMN(call_row, p99_ns, "p99_ns", "99th percentile", TIME, 15),
	REPORT_COLUMN(call_row, call.failed, "failed", "Failed", COUNT, 8),
	REPORT_COLUMN(call_row, call.bytes, "bytes", "Bytes", BYTES, 11),
	REPORT_COLUMN(call_row, function, "function", "Function", TEXT, UINT8_MAX),
	REPORT_COLUMN(call_row, errors, "errors", "Errors", NOTE, 0),
	REPORT_COLUMN(call_row, median_ns, "median_ns", "Median", TIME, 0),
	REPORT_COLUMN(call_row, call.nested, "within_runtime", "Within the runtime", COUNT, 0),
	REPORT_COLUMN(call_row, call.nested_ns, "within_runtime_ns", "Time within the runtime",
		      TIME, 0),
	REPORT_COLUMN(call_row, not_returned, "not_returned", "Not returned", COUNT, 0),
	REPORT_COLUMN(call_row, interface, "interface", "Interface", TEXT, 0),
};

/* Writes "3 cudaErrorNotReady, 1 error 1234". */
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

static void add_call(struct report_table *f, const struct result *r, const void *record)
{
	const struct api_call *call = *(const struct api_call *const *)record;
	char errors[1024], name[API_CALL_TEXT_BYTES];
	const struct call_row row = {
		.call = *call,
		.mean_ns = call->returned ? call->ns / call->returned : 0,
		.shortest_ns = call->shortest_ns == UINT64_MAX ? 0 : call->shortest_ns,
		.median_ns = api_call_quantile(call, 500),
		.p99_ns = api_call_quantile(call, 990),
		.not_returned = call->calls > call->returned ? call->calls - call->returned : 0,
		.function = api_call_text(call, name),
		.errors = errors,
		.interface = call->family == GPU_LAUNCH_DRIVER ? "driver" : "runtime"};

	(void)r;
	errors_text(call, errors, sizeof(errors));
	report_table_add(f, &row);
}

static int by_time(const void *a, const void *b)
{
	const struct api_call *x = **(const struct api_call *const *const *)a,
			      *y = **(const struct api_call *const *const *)b;
	int order = compare_numbers(y->ns, x->ns);

	order = order ? order : compare_numbers(y->calls, x->calls);
	return order ? order : strcmp(x->name, y->name);
}

struct report_table *api_calls_report_table(const struct result *result)
{
	const struct api_calls *calls = &result->totals.ledger->api;
	struct report_table *f = REPORT_TABLE_NEW("api_calls", "CUDA calls", columns);

	return report_table_fill(f, result, calls->list, calls->count, sizeof(*calls->list),
				 by_time, add_call);
}
