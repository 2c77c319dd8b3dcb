// SPDX-License-Identifier: MIT
#include "profiler/tables/api_calls_table.h"

#include <inttypes.h>
#include <stdio.h>
#include "profiler/model/api_calls.h"
#include "profiler/model/result.h"
#include "profiler/tables/report_table.h"

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

static const struct report_column columns[COLUMNS] = {
	[CALLS] = {"calls", "Calls", REPORT_CELL_COUNT, 9},
	[TIME] = {"ns", "Time", REPORT_CELL_TIME, 11},
	[MEAN] = {"mean_ns", "Mean", REPORT_CELL_TIME, 11},
	[SHORTEST] = {"shortest_ns", "Shortest", REPORT_CELL_TIME, 11},
	[LONGEST] = {"longest_ns", "Longest", REPORT_CELL_TIME, 11},
	[P99] = {"p99_ns", "99 % within", REPORT_CELL_TIME, 11},
	[FAILED] = {"failed", "Failed", REPORT_CELL_COUNT, 8},
	[BYTES] = {"bytes", "Bytes", REPORT_CELL_BYTES, 11},
	[FUNCTION] = {"function", "Function", REPORT_CELL_TEXT, UINT8_MAX},
	[ERRORS] = {"errors", "Errors", REPORT_CELL_NOTE, 0},
	[MEDIAN] = {"median_ns", "Half within", REPORT_CELL_TIME, 0},
	[NESTED] = {"within_runtime", "Within the runtime", REPORT_CELL_COUNT, 0},
	[NESTED_TIME] = {"within_runtime_ns", "Time within the runtime", REPORT_CELL_TIME, 0},
	[OPEN] = {"not_returned", "Not returned", REPORT_CELL_COUNT, 0},
	[INTERFACE] = {"interface", "Interface", REPORT_CELL_TEXT, 0},
};

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

static void add_cell(struct report_table *f, const struct result *r, const void *record)
{
	const struct api_call *call = *(const struct api_call *const *)record;
	char errors[1024], name[API_CALL_TEXT_BYTES];
	union report_cell row[COLUMNS];

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
	report_table_add(f, row);
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

struct report_table *api_calls_report_table(const struct result *result)
{
	const struct api_calls *calls = &result->totals.ledger->api;
	struct report_table *f = report_table_new("api_calls", "CUDA calls", columns, COLUMNS);

	return report_table_fill(f, result, calls->list, calls->count, sizeof(*calls->list),
				 by_time, add_cell);
}
