/* SPDX-License-Identifier: MIT */
/*
 * Rows of GPU work, and the end of a process: the profile's sums of its work, compared with the
 * sums that the process reported.
 */
#include "unit.h"
#include "cupti_trace/wire/gpu_work.h"
#include "profiler/model/ledger.h"

enum { PID = 10 };

struct books {
	struct ledger ledger;
	struct work_tally counted, reported; /* tallies of one process */
};

static int begin(void **state)
{
	*state = calloc(1, sizeof(struct books));
	return *state ? 0 : -1;
}

static void clear_tallies(struct books *b)
{
	work_tally_release(&b->counted);
	work_tally_release(&b->reported);
}

static int end(void **state)
{
	struct books *b = *state;

	clear_tallies(b);
	ledger_release(&b->ledger);
	free(b);
	return 0;
}

/* Adds a sum of a device, a stream (context 1) and a kind. */
static struct work_sum *add_sum(struct work_tally *t, uint32_t device, uint32_t stream,
				uint32_t work, uint64_t count, uint64_t ns, uint64_t bytes)
{
	struct work_key key = {device, 1, stream, work};
	struct work_sum *sum = work_tally_get(t, &key);

	assert_non_null(sum);
	sum->count += count;
	sum->ns += ns;
	sum->bytes += bytes;
	return sum;
}

static void put_both(struct books *b, uint32_t device, uint32_t stream, uint32_t work,
		     uint64_t count, uint64_t ns, uint64_t bytes)
{
	add_sum(&b->counted, device, stream, work, count, ns, bytes);
	add_sum(&b->reported, device, stream, work, count, ns, bytes);
}

static const struct ledger_gpu *settle(struct books *b, uint32_t pid)
{
	ledger_settle(&b->ledger, pid, &b->counted, &b->reported);
	return &b->ledger.gpu;
}

/* Returns the row of a device and kind, or NULL if there is none. */
static const struct gpu_row *row_of_work(const struct ledger *l, uint32_t device, uint32_t work)
{
	for (uint32_t i = 0; i < l->gpu.row_count; i++)
		if (l->gpu.rows[i].device == device && l->gpu.rows[i].work == work)
			return &l->gpu.rows[i];
	return NULL;
}

static void nothing_is_the_same_as_nothing(void **state)
{
	const struct ledger_gpu *gpu = settle(*state, PID);

	assert_int_equal(gpu->sums, 0);
	assert_int_equal(gpu->equal, 0);
	assert_int_equal(gpu->unreported, 0);
	assert_int_equal(gpu->uncompared, 0);
	assert_int_equal(gpu->row_count, 0);
}

static void equal_sums(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	put_both(b, 0, 8, GPU_WORK_KERNEL, 6, 6000, 0);
	put_both(b, 1, 7, GPU_WORK_MEMCPY_HTOD, 1, 70, 4096);
	settle(b, PID);
	clear_tallies(b);
	put_both(b, 0, 7, GPU_WORK_KERNEL, 1, 1, 0);
	put_both(b, 0, 7, GPU_WORK_ALLOC, 1, 0, 64);
	gpu = settle(b, PID + 10);
	assert_int_equal(gpu->sums, 5);
	assert_int_equal(gpu->equal, 5);
	assert_int_equal(gpu->unreported, 0);
	assert_int_equal(gpu->uncompared, 0);
}

static void a_difference_in_any_number_is_seen(void **state)
{
	static const uint64_t reported[][3] = {{4, 100, 64}, {3, 101, 64}, {3, 100, 65}};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct books b = {.counted = {.max = 0}};
		const struct ledger_gpu *gpu;

		put_both(&b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
		add_sum(&b.counted, 2, 9, GPU_WORK_MEMSET, 3, 100, 64);
		add_sum(&b.reported, 2, 9, GPU_WORK_MEMSET, reported[i][0], reported[i][1],
			reported[i][2]);
		gpu = settle(&b, PID);
		assert_int_equal(gpu->sums, 2);
		assert_int_equal(gpu->equal, 1);
		assert_int_equal(gpu->difference_pid, PID);
		assert_int_equal(gpu->difference.key.device, 2);
		assert_int_equal(gpu->difference.key.context, 1);
		assert_int_equal(gpu->difference.key.stream, 9);
		assert_int_equal(gpu->difference.key.work, GPU_WORK_MEMSET);
		assert_int_equal(gpu->difference.count, reported[i][0]);
		assert_int_equal(gpu->difference.ns, reported[i][1]);
		assert_int_equal(gpu->difference.bytes, reported[i][2]);
		assert_int_equal(gpu->difference_here.count, 3);
		assert_int_equal(gpu->difference_here.ns, 100);
		assert_int_equal(gpu->difference_here.bytes, 64);
		clear_tallies(&b);
		ledger_release(&b.ledger);
	}
}

/* The first process with a difference is kept, out of several. */
static void the_first_difference_is_kept(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 1, 10, 0);
	settle(b, PID);
	add_sum(&b->reported, 0, 7, GPU_WORK_KERNEL, 1, 0, 0);
	settle(b, PID + 1);
	add_sum(&b->reported, 0, 7, GPU_WORK_KERNEL, 1, 0, 0);
	gpu = settle(b, PID + 2);
	assert_int_equal(gpu->sums, 3);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->difference_pid, PID + 1);
	assert_int_equal(gpu->difference.count, 2);
}

static void reported_but_not_received(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->reported, 0, 8, GPU_WORK_KERNEL, 2, 20, 0);
	gpu = settle(b, PID);
	assert_int_equal(gpu->sums, 2);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->difference.key.stream, 8);
	assert_int_equal(gpu->difference.count, 2);
	assert_int_equal(gpu->difference_here.key.stream, 8);
	assert_int_equal(gpu->difference_here.count, 0);
}

static void received_but_not_reported(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->counted, 0, 8, GPU_WORK_MEMSET, 2, 20, 64);
	gpu = settle(b, PID);
	assert_int_equal(gpu->sums, 2);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->unreported, 0);
	assert_int_equal(gpu->difference.key.work, GPU_WORK_MEMSET);
	assert_int_equal(gpu->difference.count, 0);
	assert_int_equal(gpu->difference_here.count, 2);
	assert_int_equal(gpu->difference_here.ns, 20);
	assert_int_equal(gpu->difference_here.bytes, 64);
}

static void a_killed_process_reported_nothing(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu;

	add_sum(&b->counted, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->counted, 0, 8, GPU_WORK_KERNEL, 5, 5000, 0);
	gpu = settle(b, PID);
	assert_int_equal(gpu->sums, 0);
	assert_int_equal(gpu->unreported, 2);
	clear_tallies(b);
	/* another process's sums are unaffected */
	put_both(b, 0, 7, GPU_WORK_KERNEL, 1, 1, 0);
	gpu = settle(b, PID + 10);
	assert_int_equal(gpu->sums, 1);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->unreported, 2);
}

/* A process that used more streams than its tally holds reports this by sums of a remainder. */
static void a_remainder_is_not_compared(void **state)
{
	const struct work_key rest = {WORK_TALLY_REST, WORK_TALLY_REST, WORK_TALLY_REST,
				      GPU_WORK_KERNEL};
	struct books *b = *state;
	const struct ledger_gpu *gpu;

	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->counted, 0, 8, GPU_WORK_KERNEL, 1, 10, 0);
	add_sum(&b->counted, 0, 9, GPU_WORK_KERNEL, 1, 10, 0);
	work_tally_get(&b->reported, &rest)->count = 2;
	gpu = settle(b, PID);
	assert_int_equal(gpu->sums, 1);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->uncompared, 3);
	/* the rest has no work of the other kind */
	clear_tallies(b);
	work_tally_get(&b->reported, &rest)->count = 2;
	add_sum(&b->counted, 0, 9, GPU_WORK_MEMSET, 1, 10, 0);
	gpu = settle(b, PID + 1);
	assert_int_equal(gpu->sums, 2);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->uncompared, 4);
	assert_int_equal(gpu->difference_pid, PID + 1);
}

/* Sums that were reported, but for which there was no room here, are no process killed. */
static void sums_without_room_are_not_compared(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu;

	add_sum(&b->counted, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->counted, 0, 8, GPU_WORK_KERNEL, 5, 5000, 0);
	b->reported.overflowed = true;
	gpu = settle(b, PID);
	assert_int_equal(gpu->sums, 0);
	assert_int_equal(gpu->unreported, 0);
	assert_int_equal(gpu->uncompared, 2);
	/* a sum that the counted tally had no room for */
	clear_tallies(b);
	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->reported, 0, 8, GPU_WORK_KERNEL, 5, 5000, 0);
	add_sum(&b->reported, 0, 9, GPU_WORK_KERNEL, 5, 5000, 0);
	b->counted.overflowed = true;
	gpu = settle(b, PID + 1);
	assert_int_equal(gpu->sums, 1);
	assert_int_equal(gpu->equal, 1);
	assert_int_equal(gpu->unreported, 0);
	assert_int_equal(gpu->uncompared, 4);
	/* a rest without room on both sides: the number of sums is unknown */
	clear_tallies(b);
	put_both(b, 0, 7, GPU_WORK_KERNEL, 5, 5000, 0);
	b->counted.overflowed = b->reported.overflowed = true;
	gpu = settle(b, PID + 2);
	assert_int_equal(gpu->sums, 2);
	assert_int_equal(gpu->equal, 2);
	assert_int_equal(gpu->uncompared, 5);
}

/* ---- rows ---- */

static void only_launched_spans_can_be_unmatched(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu = &b->ledger.gpu;

	for (uint32_t work = 0; work < GPU_WORKS; work++)
		ledger_add_work(&b->ledger, &(struct gpu_row){.work = work,
							      .count = 3,
							      .ns = 30,
							      .unmatched = 2,
							      .unmatched_ns = 20,
							      .bad_times = 1});
	/* 24 kinds: 6 of unified memory, 2 memory calls, 1 of kernels */
	assert_int_equal(gpu->unmatched, 2 * (GPU_WORKS - 9));
	assert_int_equal(gpu->unmatched_ns, 20 * (GPU_WORKS - 9));
	assert_int_equal(gpu->matched, GPU_WORKS - 9);
	assert_int_equal(gpu->bad_times, GPU_WORKS);
	assert_int_equal(gpu->row_count, GPU_WORKS);
}

/* Rows add up by device and kind, with all members. */
static void rows_add_up(void **state)
{
	const struct gpu_row row = {1, GPU_WORK_MEMSET, 10, 100, 7, 4, 40, 1, 2, 3, 30, 5, 50};
	struct gpu_row other = row;
	struct books *b = *state;
	const struct gpu_row *total;

	ledger_add_work(&b->ledger, &row);
	assert_memory_equal(row_of_work(&b->ledger, 1, GPU_WORK_MEMSET), &row, sizeof(row));
	ledger_add_work(&b->ledger, &row);
	other.device = 2;
	ledger_add_work(&b->ledger, &other);
	other = row;
	other.work = GPU_WORK_KERNEL;
	ledger_add_work(&b->ledger, &other);
	ledger_add_work(&b->ledger, &row);
	assert_int_equal(b->ledger.gpu.row_count, 3);
	assert_int_equal(row_of_work(&b->ledger, 2, GPU_WORK_MEMSET)->count, 10);
	assert_int_equal(row_of_work(&b->ledger, 1, GPU_WORK_KERNEL)->count, 10);
	total = row_of_work(&b->ledger, 1, GPU_WORK_MEMSET);
	for (size_t i = 1; i < sizeof(row) / sizeof(uint64_t); i++)
		assert_int_equal(((const uint64_t *)total)[i], 3 * ((const uint64_t *)&row)[i]);
	assert_int_equal(b->ledger.gpu.matched, 5 * 6);
	assert_int_equal(b->ledger.gpu.unmatched, 5 * 4);
	assert_int_equal(b->ledger.gpu.unmatched_ns, 5 * 40);
	assert_int_equal(b->ledger.gpu.bad_times, 5);
}

/* A process may name any device: rows are bounded, and those past it share one for each kind. */
static void devices_without_number_share_a_row(void **state)
{
	struct books *b = *state;
	const struct ledger_gpu *gpu = &b->ledger.gpu;
	uint64_t count = 0, ns = 0;

	for (uint32_t i = 0; i < 20000; i++)
		ledger_add_work(
			&b->ledger,
			&(struct gpu_row){.device = i * 7, .work = i % 3, .count = 1, .ns = i});
	assert_true(gpu->row_count <= 4096 + GPU_WORKS);
	assert_int_equal(row_of_work(&b->ledger, 7, 1)->count, 1);
	for (uint32_t work = 0; work < 3; work++)
		assert_true(row_of_work(&b->ledger, UINT32_MAX, work)->count > 5000);
	for (uint32_t i = 0; i < gpu->row_count; i++) {
		count += gpu->rows[i].count;
		ns += gpu->rows[i].ns;
	}
	assert_int_equal(count, 20000);
	assert_int_equal(ns, UINT64_C(20000) * 19999 / 2);
	/* existing ones continue */
	ledger_add_work(&b->ledger, &(struct gpu_row){.device = 7, .work = 1, .count = 1});
	assert_int_equal(row_of_work(&b->ledger, 7, 1)->count, 2);
	assert_int_equal(b->ledger.bounds.out_of_memory, 0);
}

static void totals_end_at_the_limit(void **state)
{
	const struct ledger_total limit = {LEDGER_TOTAL_MAX, LEDGER_TOTAL_MAX, LEDGER_TOTAL_MAX};
	struct ledger_total t = {0};

	(void)state;
	assert_true(ledger_total_add(&t, 1, LEDGER_TOTAL_MAX - 5, 7));
	/* a refused addition changes none of the totals */
	assert_false(ledger_total_add(&t, 1, 6, 1));
	assert_false(ledger_total_add(&t, 1, 1, UINT64_MAX));
	assert_false(ledger_total_add(&t, UINT64_MAX, 1, 1));
	assert_int_equal(t.count, 1);
	assert_int_equal(t.ns, LEDGER_TOTAL_MAX - 5);
	assert_int_equal(t.bytes, 7);
	assert_true(ledger_total_add(&t, LEDGER_TOTAL_MAX - 1, 5, LEDGER_TOTAL_MAX - 7));
	assert_memory_equal(&t, &limit, sizeof(t));
	assert_true(ledger_total_add(&t, 0, 0, 0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_the_same_as_nothing),
		TEST(equal_sums),
		cmocka_unit_test(a_difference_in_any_number_is_seen),
		TEST(the_first_difference_is_kept),
		TEST(reported_but_not_received),
		TEST(received_but_not_reported),
		TEST(a_killed_process_reported_nothing),
		TEST(a_remainder_is_not_compared),
		TEST(sums_without_room_are_not_compared),
		TEST(only_launched_spans_can_be_unmatched),
		TEST(rows_add_up),
		TEST(devices_without_number_share_a_row),
		cmocka_unit_test(totals_end_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
