/* SPDX-License-Identifier: MIT */
/* Calls by function over all processes: what programs claim, quantiles, names of errors. */
#include "report_cell.h"
#include "profiler/base/cuda_errors.h"
#include "profiler/model/api_calls.h"
#include "profiler/model/profile_sink.h"
#include "profiler/model/result.h"
#include "profiler/tables/api_calls_table.h"

#if defined(__has_include) && __has_include(<cuda.h>)
#include <cuda.h>
#endif

static const char *keep(void *context, const char *name)
{
	(void)context;
	return name;
}

static struct api_call *get(struct api_calls *calls, const char *name, uint32_t kind)
{
	const struct gpu_event_calls e = {
		.function = name, .family = GPU_LAUNCH_RUNTIME, .kind = kind};

	return api_calls_get(calls, &e, NULL, keep, NULL);
}

static void is_bounded(void **state)
{
	static char names[API_CALLS_MAX][8];
	const uint32_t last = API_CALLS_MAX - 1;
	struct quota none = {.limit = 0};
	struct api_calls calls = {.count = 0};
	const struct gpu_event_calls e = {.function = "a", .family = GPU_LAUNCH_RUNTIME};

	(void)state;
	assert_null(api_calls_get(&calls, &e, &none, keep, NULL));
	assert_int_equal(none.refused, 1);
	assert_non_null(get(&calls, "a", 0));
	assert_non_null(get(&calls, "a", 1));
	assert_ptr_equal(get(&calls, "a", 1), calls.list[1]);
	for (uint32_t i = 2; i <= last; i++) {
		snprintf(names[i], sizeof(names[i]), "b%u", i);
		assert_non_null(get(&calls, names[i], 0));
	}
	assert_null(get(&calls, "c", 0));
	assert_ptr_equal(get(&calls, names[last], 0), calls.list[last]);
	api_calls_release(&calls);
}

static void claims_do_not_wrap(void **state)
{
	const struct gpu_call_error errors[] = {{2, UINT64_MAX}, {2, 5}, {0, UINT64_MAX}};
	const struct gpu_call_bucket buckets[] = {{7, UINT64_MAX}, {9, UINT64_MAX}};
	const struct gpu_event_calls e = {.function = "a",
					  .family = GPU_LAUNCH_RUNTIME,
					  .calls = UINT64_MAX,
					  .ns = UINT64_MAX,
					  .bytes = UINT64_MAX,
					  .shortest_ns = 7,
					  .longest_ns = 9,
					  .error_count = 3,
					  .errors = errors,
					  .bucket_count = 2,
					  .buckets = buckets};
	static struct ledger ledger = {.gpu.kernels = 0};
	const struct result result = {.totals.ledger = &ledger};
	struct api_call *call = get(&ledger.api, "a", 0);
	struct report_table *f;

	(void)state;
	api_call_add(call, &e);
	api_call_add(call, &e);
	assert_true(call->calls == UINT64_MAX && call->ns == UINT64_MAX);
	assert_true(call->failed == UINT64_MAX && call->returned == UINT64_MAX);
	assert_int_equal(api_call_quantile(call, 500), 7);
	assert_true(api_call_quantile(call, 1000) <= 9);
	f = api_calls_report_table(&result);
	assert_int_equal(f->count, 1);
	report_table_free(f);
	ledger_release(&ledger);
}

static void quantiles_are_those_of_the_calls(void **state)
{
	for (uint64_t round = 0; round < 50; round++) {
		struct prng p = prng_round(round);
		struct api_calls calls = {.count = 0};
		struct api_call *call = get(&calls, "a", 0);
		uint64_t list[1000], count = 1 + prng_below(&p, 1000);

		for (uint64_t i = 0; i < count; i++) {
			const uint64_t ns = list[i] = prng_bits(&p, 40);
			const struct gpu_call_bucket bucket = {gpu_call_bucket(ns), 1};

			api_call_add(call, &(struct gpu_event_calls){.bucket_count = 1,
								     .buckets = &bucket,
								     .shortest_ns = ns,
								     .longest_ns = ns ? ns : 1});
		}
		for (uint32_t q = 0; q <= 1000; q += 10) {
			uint64_t got = api_call_quantile(call, q), within = 0, below = 0;

			for (uint64_t i = 0; i < count; i++) {
				within += list[i] <= got;
				/* a value an eighth smaller bounds fewer calls */
				below += list[i] < got - got / 8;
			}
			if (within * 1000 < q * count || (below * 1000 >= q * count && q > 0))
				fail_msg("seed %" PRIu64 ", %u", p.seed, q);
		}
		api_calls_release(&calls);
	}
	(void)state;
}

static void take_note(void *context, const struct profile_item *note)
{
	(void)context;
	api_calls_note(note);
}

/* Sends this number of calls, each of this duration. */
static void keep_calls(struct api_call *call, struct profile_sink *sink, uint64_t count,
		       uint64_t ns, uint64_t shortest_ns, uint64_t longest_ns)
{
	const struct gpu_call_bucket bucket = {gpu_call_bucket(ns), count};
	const struct gpu_call_error error = {2, 1};

	api_call_keep(call,
		      &(struct gpu_event_calls){.calls = count,
						.ns = count * ns,
						.bytes = 8 * count,
						.nested = 1,
						.nested_ns = ns,
						.shortest_ns = shortest_ns,
						.longest_ns = longest_ns,
						.error_count = 1,
						.errors = &error,
						.bucket_count = 1,
						.buckets = &bucket},
		      sink);
}

/* Calls that returned in the last seconds count. A function without such calls is absent. */
static void calls_of_the_last_seconds(void **state)
{
	struct api_calls calls = {.count = 0};
	struct ledger ledger = {.gpu = {.kernels = 0}};
	struct profile_sink sink = {.ledger = &ledger, .take_note = take_note};
	struct time_range time_range = {.from_ns = 100, .to_ns = 200};
	struct api_call *a = get(&calls, "a", 0), *b = get(&calls, "b", 0);

	(void)state;
	assert_true(profile_sink_keep(&sink));
	sink.now_ns = 50;
	keep_calls(a, &sink, 1000, 7, 7, 90000);
	keep_calls(b, &sink, 1000, 7, 7, 90000);
	sink.now_ns = 150;
	keep_calls(a, &sink, 10, 1000, 7, 90000);
	sink.now_ns = 250; /* after the end: a count of calls from before */
	keep_calls(a, &sink, 20, 90000, 7, 90000);
	api_calls_begin_part(&calls);
	profile_sink_finish(&sink, &time_range);
	api_calls_end_part(&calls);
	assert_int_equal(calls.count, 1);
	assert_ptr_equal(get(&calls, "a", 0), a);
	assert_int_equal(calls.count, 1);
	assert_int_equal(a->calls, 30);
	assert_int_equal(a->returned, 30);
	assert_int_equal(a->ns, 10 * 1000 + 20 * 90000);
	assert_int_equal(a->bytes, 8 * 30);
	assert_int_equal(a->nested, 2);
	assert_int_equal(a->nested_ns, 91000);
	assert_int_equal(a->failed, 2);
	assert_int_equal(a->errors[0].code, 2);
	assert_int_equal(a->longest_ns, 90000);
	assert_true(a->shortest_ns <= 1000 && a->shortest_ns >= 1000 - 1000 / 8);
	api_calls_release(&calls);
}

static void errors_have_names(void **state)
{
	static struct ledger ledger;
	const struct result result = {.totals.ledger = &ledger};
	const struct gpu_call_error errors[] = {{600, 3}, {123456, 1}, {0, 2}};
	struct api_call *call = get(&ledger.api, "cudaMemcpy", 2);
	struct report_table *f;

	(void)state;
	api_call_add(call, &(struct gpu_event_calls){.error_count = 3, .errors = errors});
	f = api_calls_report_table(&result);
	assert_string_equal(report_cell(f, 0, "function")->text, "cudaMemcpy, host to device");
	assert_string_equal(report_cell(f, 0, "errors")->text,
			    "3 cudaErrorNotReady, 1 error 123456, 2 others");
	assert_string_equal(cuda_error_name(2, true), "CUDA_ERROR_OUT_OF_MEMORY");
	assert_null(cuda_error_name(202, false));
	assert_null(cuda_error_name(0, true));
#ifdef CUDA_VERSION
	assert_string_equal(cuda_error_name(CUDA_ERROR_ILLEGAL_ADDRESS, true),
			    "CUDA_ERROR_ILLEGAL_ADDRESS");
	assert_string_equal(cuda_error_name(CUDA_ERROR_NOT_READY, true), "CUDA_ERROR_NOT_READY");
	assert_string_equal(cuda_error_name(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, false),
			    "cudaErrorStreamCaptureInvalidated");
#endif
	report_table_free(f);
	ledger_release(&ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_bounded),
		cmocka_unit_test(claims_do_not_wrap),
		cmocka_unit_test(quantiles_are_those_of_the_calls),
		cmocka_unit_test(calls_of_the_last_seconds),
		cmocka_unit_test(errors_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
