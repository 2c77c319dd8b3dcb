/* SPDX-License-Identifier: MIT */
/* Each count of a run is in the sum once. */
#include "unit.h"
#include "profiler/model/run_numbers.h"
#include "profiler/model/ledger_sum.h"

#define AT(member) offsetof(struct run_numbers, ledger.member)

/* Checks for a member that is no count. Its sum is the first value, or the greatest. */
static bool is_no_count(uint32_t offset)
{
	static const size_t single[] = {AT(spread.error_ns), AT(stalls.period),
					AT(launches.probed_functions)};

	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
		if (offset == single[i])
			return true;
	return (offset >= AT(gpu.difference) &&
		offset < AT(gpu.difference) + 2 * sizeof(struct work_sum)) ||
	       offset == AT(gpu.difference_pid);
}

/* Checks for a member of the timeline, which both results share. */
static bool is_of_timeline(uint32_t offset)
{
	return offset >= AT(timeline) && offset < AT(timeline) + sizeof(struct timeline_stats);
}

static const char *keep(void *context, const char *name)
{
	(void)context;
	return name;
}

/* Fails when a count is added to the ledger, and so to captures, but not here. */
static void every_count_is_added(void **state)
{
	static struct run_numbers sum, one, two;
	uint32_t counts = 0;

	(void)state;
	for (uint32_t i = 0; i < run_number_count; i++) {
		const struct run_number *n = &run_numbers[i];

		assert_int_not_equal(n->size, 0); /* each number has a member */
		number_store(&one, n->offset, n->size, n->size == 1 ? 1 : 3 + i);
		number_store(&two, n->offset, n->size, n->size == 1 ? 1 : 1000 + 7 * i);
	}
	assert_true(ledger_sum_add(&sum.ledger, &one.ledger, NULL, keep, NULL));
	assert_true(ledger_sum_add(&sum.ledger, &two.ledger, NULL, keep, NULL));
	for (uint32_t i = 0; i < run_number_count; i++) {
		const struct run_number *n = &run_numbers[i];
		uint64_t want = number_load(&one, n->offset, n->size) +
				number_load(&two, n->offset, n->size);

		if (n->offset < AT(cpu) || n->offset >= AT(cpu) + sizeof(struct ledger) ||
		    is_of_timeline(n->offset) || is_no_count(n->offset))
			continue;
		if (number_load(&sum, n->offset, n->size) != want)
			fail_msg("number %u at %u is not the sum", i + 1, n->offset);
		counts++;
	}
	assert_in_range(counts, 80, run_number_count);
	assert_int_equal(sum.ledger.timeline.records, 0);
	assert_int_equal(sum.ledger.spread.error_ns, two.ledger.spread.error_ns);
	assert_int_equal(sum.ledger.stalls.period, one.ledger.stalls.period);
	assert_int_equal(sum.ledger.gpu.difference_pid, one.ledger.gpu.difference_pid);
}

static void calls_are_added(void **state)
{
	const struct gpu_call_error errors[] = {{600, 4}, {GPU_CALL_OTHER_ERROR, 2}};
	const struct gpu_call_bucket buckets[] = {{3, 1}, {GPU_CALL_BUCKETS - 1, 8}};
	const struct gpu_event_calls query = {.function = "cudaEventQuery",
					      .family = GPU_LAUNCH_RUNTIME,
					      .calls = 9,
					      .ns = 70,
					      .shortest_ns = 3,
					      .longest_ns = 50,
					      .error_count = 2,
					      .errors = errors,
					      .bucket_count = 2,
					      .buckets = buckets};
	struct ledger sum = {.cpu.samples = 0};
	struct ledger one = {.cpu.samples = 0}, two = {.cpu.samples = 0};
	const struct api_call *call;

	(void)state;
	api_call_add(api_calls_get(&one.api, &query, NULL, keep, NULL), &query);
	assert_true(ledger_sum_add(&sum, &one, NULL, keep, NULL));
	assert_true(ledger_sum_add(&sum, &two, NULL, keep, NULL));
	assert_true(ledger_sum_add(&sum, &one, NULL, keep, NULL));
	assert_int_equal(sum.api.count, 1);
	call = sum.api.list[0];
	assert_int_equal(call->calls, 18);
	assert_int_equal(call->ns, 140);
	assert_int_equal(call->returned, 18);
	assert_int_equal(call->failed, 12);
	assert_int_equal(call->errors[0].count, 8);
	assert_int_equal(call->errors[API_CALL_ERRORS - 1].count, 4);
	assert_int_equal(call->shortest_ns, 3);
	assert_int_equal(call->longest_ns, 50);
	api_calls_release(&one.api);
	ledger_release(&sum);
}

/* Captures may claim anything. */
static void sums_do_not_wrap(void **state)
{
	struct ledger sum = {.cpu.samples = UINT64_MAX - 1, .pipe.processes = UINT32_MAX};
	struct ledger more = {.cpu.samples = 7, .pipe.processes = 2};

	(void)state;
	assert_true(ledger_sum_add(&sum, &more, NULL, keep, NULL));
	assert_int_equal(sum.cpu.samples, UINT64_MAX);
	assert_int_equal(sum.pipe.processes, UINT32_MAX);
	sum.measured.ns = LEDGER_TOTAL_MAX;
	more.measured.ns = 1;
	assert_false(ledger_sum_add(&sum, &more, NULL, keep, NULL));
	ledger_release(&sum);
}

/* The next result of --every has the losses since the one before. */
static void losses_of_earlier_results_are_subtracted(void **state)
{
	struct ledger now = {.cpu = {.dropped = 7, .samples = 20}, .gpu.missing = 2};
	const struct ledger before = {.cpu = {.dropped = 5, .samples = 9}, .gpu.missing = 3};

	(void)state;
	ledger_subtract_losses(&now, &before);
	assert_int_equal(now.cpu.dropped, 2);
	assert_int_equal(now.gpu.missing, 0);
	assert_int_equal(now.cpu.samples, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_count_is_added),
		cmocka_unit_test(calls_are_added),
		cmocka_unit_test(sums_do_not_wrap),
		cmocka_unit_test(losses_of_earlier_results_are_subtracted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
