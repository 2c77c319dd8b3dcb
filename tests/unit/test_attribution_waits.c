/* SPDX-License-Identifier: MIT */
/* Waits for operations, and stalls of kernels, below the stacks of launches. */
#include "attribution_bench.h"

static void a_wait_is_split_by_operation(void **state)
{
	struct bench *b = new_bench(ALL, true);
	struct gpu_operation o = kernel(b, 1000, 60);
	struct ledger_calls *calls = &b->ledger.calls;

	(void)state;
	wait_for(b, b->waiter, 1000, 100, false, 0);
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	wait_for(b, b->waiter, 1010, 60, true, 8); /* for another stream */
	addons_advance(&b->addons, 1100);
	assert_null(row_of(b, ROW_WAIT, "cudaWait;[waiting for GPU]"));
	addons_advance(&b->addons, 1100 + WAITS_TIMEOUT_NS);
	expect_row(b, ROW_WAIT, "cudaWait;[waiting for GPU];k;launched at;cudaLaunch", 1, 60);
	expect_row(b, ROW_WAIT, "cudaWait;[waiting for GPU]", 2, 100);
	/* the row has the waiting thread; the GPU work may have run anywhere */
	expect_place(b, row_of(b, ROW_WAIT, "cudaWait;[waiting for GPU]"), b->process->id, 44,
		     PLACE_UNKNOWN, PLACE_UNKNOWN, PLACE_UNKNOWN);
	expect_row(b, ROW_GPU, "cudaLaunch;k", 1, 60);
	assert_int_equal(calls->waits, 2);
	assert_int_equal(calls->wait_ns, 160);
	finish(b);
	assert_int_equal(calls->cut_waits, 0);
	free_bench(b);
}

/* Nor do invalid times count as waited-for work. */
static void at_the_end_all_waits_are_decided(void **state)
{
	struct bench *b = new_bench(0, true);
	struct gpu_operation o = kernel(b, 1000, 60);

	(void)state;
	wait_for(b, b->waiter, 1000, 100, true, 7);
	o.bad_time = true;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	o.bad_time = false;
	o.process = 999;
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	finish(b);
	expect_row(b, ROW_WAIT, "cudaWait;[waiting for GPU]", 1, 100);
	free_bench(b);
}

static void waits_not_requested(void **state)
{
	struct bench *b = new_bench(0, false);
	struct gpu_operation o = kernel(b, 1000, 60);

	(void)state;
	wait_for(b, b->waiter, 1000, 100, false, 0);
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
	addons_advance(&b->addons, UINT64_C(1) << 40);
	finish(b);
	assert_null(row_of(b, ROW_WAIT, "cudaWait;[waiting for GPU]"));
	expect_row(b, ROW_GPU, "cudaLaunch;k", 1, 60);
	assert_int_equal(b->ledger.calls.waits, 0);
	assert_int_equal(b->ledger.calls.wait_ns, 0);
	free_bench(b);
}

/* A kernel's time has that of the faults in it: no operation, but a part of the kernel's. */
static void page_faults_are_stalls_of_kernels(void **state)
{
	(void)state;
	for (int with_waits = 0; with_waits <= 1; with_waits++) {
		struct bench *b = new_bench(ALL, with_waits);
		struct gpu_operation o = kernel(b, 1000, 60), faults = o;

		faults.work = GPU_WORK_UVM_GPU_FAULTS;
		faults.name = NULL;
		faults.start_ns = 1050;
		faults.duration_ns = 30;
		faults.bytes = 17;
		attribution_add(&b->attribution, origin_of_mark(LAUNCH_NONE_NEEDED), 0, &faults);
		attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 900, &o);
		faults.bad_time = true;
		faults.duration_ns = 0;
		attribution_add(&b->attribution, origin_of_mark(LAUNCH_NONE_NEEDED), 0, &faults);
		finish(b);
		expect_row(b, ROW_GPU, "cudaLaunch;k", 1, 60);
		assert_null(row_of(b, ROW_GPU, "[GPU_UVM page faults]"));
		assert_int_equal(total_of(b, GPU_WORK_UVM_GPU_FAULTS)->ns, 30);
		assert_int_equal(total_of(b, GPU_WORK_UVM_GPU_FAULTS)->bytes, 34);
		assert_int_equal(b->ledger.calls.waits, 0);
		if (with_waits) {
			expect_row(b, ROW_WAIT, "cudaLaunch;k;[waiting for pages]", 1, 10);
			expect_row(b, ROW_WAIT, "[waiting for pages]", 1, 20);
			expect_place(b, row_of(b, ROW_WAIT, "[waiting for pages]"), b->process->id,
				     PLACE_UNKNOWN, o.device, PLACE_UNKNOWN, PLACE_UNKNOWN);
		} else {
			assert_null(row_of(b, ROW_WAIT, "cudaLaunch;k;[waiting for pages]"));
		}
		free_bench(b);
	}
}

static void give_samples(struct bench *b, uint32_t launch, uint32_t reason, uint64_t samples)
{
	const struct gpu_pc_count count = {0, reason, samples};
	const struct gpu_event event = {.type = GPU_EVENT_PCS,
					.pcs = {.correlation_id = 9, .count = 1, .counts = &count}};

	b->found = launch;
	assert_int_equal(addons_event(&b->addons, b->process->id, &event, "k"), 0);
}

static void give_reason(struct bench *b, uint32_t id, const char *name)
{
	const struct gpu_event event = {.type = GPU_EVENT_STALL, .stall = {id, name}};

	assert_int_equal(addons_event(&b->addons, b->process->id, &event, NULL), 0);
}

/* Samples of a launch split its kernel's time; those of none, and of graphs, are the mean's. */
static void samples_are_of_their_launch(void **state)
{
	struct bench *b = new_bench(ALL, false);
	struct gpu_operation o = kernel(b, 100, 1000);

	(void)state;
	addons_release(&b->addons);
	b->measure.stall_period = 14;
	b->measure.exact_stalls = true;
	begin_addons(b);
	give_reason(b, 1, "wait");
	give_reason(b, 2, "else");
	attribution_add(&b->attribution, ORIGIN_ID(b->launch.number), 0, &o);
	attribution_add(&b->attribution, ORIGIN_ID(b->capture.number), 0, &o);
	attribution_add(&b->attribution, ORIGIN_ID(b->waiter.number), 0, &o);
	give_samples(b, b->launch.number, 1, 3);
	give_samples(b, b->capture.number, 2, 1);
	give_samples(b, LAUNCH_UNKNOWN.number, 2, 4);
	finish(b);
	expect_row(b, ROW_GPU, "cudaLaunch;k;[stall: wait]", 0, 1000);
	expect_row(b, ROW_GPU, "cudaCapture;k;[stall: other]", 0, 1000);
	expect_row(b, ROW_GPU, "cudaWait;k;[stall: wait]", 0, 375);
	expect_row(b, ROW_GPU, "cudaWait;k;[stall: other]", 0, 625);
	assert_int_equal(b->ledger.stalls.samples, 8);
	assert_int_equal(b->ledger.stalls.placed, 4);
	assert_int_equal(b->ledger.stalls.split_ns, 3000);
	assert_int_equal(b->ledger.stalls.mean_ns, 1000);
	assert_int_equal(total_of(b, GPU_WORK_KERNEL)->count, 3);
	free_bench(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_is_split_by_operation),
		cmocka_unit_test(at_the_end_all_waits_are_decided),
		cmocka_unit_test(page_faults_are_stalls_of_kernels),
		cmocka_unit_test(waits_not_requested),
		cmocka_unit_test(samples_are_of_their_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
