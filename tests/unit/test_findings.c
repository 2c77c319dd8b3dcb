// SPDX-License-Identifier: MIT
/* The verdict, steps and other findings of made runs. */
#include "profiler/findings/findings.h"

#include "made_timeline.h"
#include "profiler/findings/report_tables.h"
#include "profiler/model/copied_memory.h"
#include "profiler/model/gpu_state.h"
#include "profiler/model/memory_use.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum { TID = 12 };

struct run {
	struct made_timeline made;
	uint32_t call, kernels[3];
	uint32_t correlation;
	bool waits; /* its thread waits for each kernel */
	struct findings *findings;
};

static void begin(struct run *r)
{
	static const char *const names[] = {"[GPU_Kernel]first", "[GPU_Kernel]second",
					    "[GPU_Kernel]third"};

	memset(r, 0, sizeof(*r));
	made_timeline_begin(&r->made);
	for (int i = 0; i < 3; i++) {
		uint32_t call = MADE_STACK(&r->made.made, "main", i ? "forward" : "load",
					   "cudaLaunchKernel");

		r->kernels[i] = made_push(&r->made.made, call, names[i]);
		r->made.made.frames[r->made.made.stacks[r->kernels[i]].frame].class =
			CLASS_GPU_KERNEL;
		r->made.made.frames[r->made.made.stacks[call].frame].class = CLASS_API;
	}
	r->made.made.result.totals.start_ns = 0;
	r->made.made.result.totals.elapsed_ns = 1000 * MS;
	r->made.made.result.totals.sample_ns = 20 * MS;
	assert_int_equal(
		devices_add(&r->made.made.devices, &(struct device){.process = 1, .is_used = true}),
		0);
	r->made.made.result.devices = r->made.made.devices.list;
	r->made.made.result.device_count = 1;
}

static void add_kernel(struct run *r, int kernel, uint64_t launch_ns, uint64_t start_ns,
		       uint64_t duration_ns)
{
	const struct made_result *m = &r->made.made;

	r->correlation++;
	made_record(&r->made,
		    (struct timeline_record){.kind = TIMELINE_LAUNCH,
					     .start_ns = launch_ns,
					     .duration_ns = 3 * US,
					     .place = made_place(&r->made, 1, TID, NOT, NOT),
					     .stack = {m->stacks[r->kernels[kernel]].outer},
					     .correlation = r->correlation});
	made_record(&r->made, (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						       .start_ns = start_ns,
						       .duration_ns = duration_ns,
						       .place = made_place(&r->made, 1, TID, 0, 7),
						       .stack = {r->kernels[kernel]},
						       .is_waited = r->waits,
						       .correlation = r->correlation});
	made_add(&r->made.made, r->kernels[kernel], ROW_GPU, duration_ns);
}

/* Adds 50 steps of three kernels, each `every_ns`, from `from_ns` on. */
static void add_steps(struct run *r, uint64_t from_ns, uint64_t every_ns, uint64_t duration_ns)
{
	for (uint64_t i = 0; i < 150; i++)
		add_kernel(r, (int)(i % 3), from_ns + i * every_ns, from_ns + i * every_ns + 5 * US,
			   duration_ns);
}

static const struct findings *find(struct run *r)
{
	timeline_finish(r->made.timeline);
	r->made.made.result.timeline = r->made.timeline;
	r->findings = findings_new(&r->made.made.result, NULL);
	assert_non_null(r->findings);
	r->made.made.result.findings = r->findings;
	return r->findings;
}

static void end(struct run *r)
{
	findings_free(r->findings);
	made_timeline_end(&r->made);
}

static void expect_claim(const struct findings *f, enum finding_kind kind, const char *text)
{
	const struct finding *finding = findings_find(f, kind);

	if (!finding)
		fail_msg("no finding %s", finding_word(kind));
	else if (!strstr(finding->claim, text))
		fail_msg("'%s' does not say '%s'", finding->claim, text);
}

static void a_gpu_that_computes(void **state)
{
	const struct findings *f;
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 100 * MS, 5 * MS, 4990 * US);
	f = find(&r);
	assert_null(f->unknown);
	assert_string_equal(verdict_word(&f->verdict), "computing");
	expect_claim(f, FINDING_VERDICT, "is busy computing 99.");
	assert_int_equal(f->steps.count, 1);
	assert_int_equal(f->steps.list[0].count, 50);
	assert_int_equal(f->step_times.median_ns, 15 * MS);
	expect_claim(f, FINDING_STEPS, "50 steps of 15.000 ms");
	expect_claim(f, FINDING_START_UP, "no GPU work until 0.100 s");
	expect_claim(f, FINDING_KERNEL,
		     "50 executions) is spent in [GPU_Kernel]first; it explains 33.3 %");
	assert_null(findings_find(f, FINDING_TINY));
	assert_null(findings_find(f, FINDING_LOSSES));
	end(&r);
}

static void launches_that_cannot_keep_up(void **state)
{
	const struct findings *f;
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 10 * MS, 20 * US, 5 * US);
	f = find(&r);
	assert_string_equal(verdict_word(&f->verdict), "launching");
	assert_true(f->verdict.ns > f->verdict.of_ns / 100 * 72);
	assert_true(f->verdict.ns < f->verdict.of_ns / 100 * 76);
	expect_claim(f, FINDING_TINY, "150 kernels of 5.000 us");
	end(&r);
}

/* The first 30 % of the run pass before the GPU has anything to do. */
static void a_long_start(void **state)
{
	const struct findings *f;
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 300 * MS, 4 * MS, 3990 * US);
	f = find(&r);
	assert_string_equal(verdict_word(&f->verdict), "start_up");
	expect_claim(f, FINDING_VERDICT, "start-up takes 30.0 % of the run");
	end(&r);
}

static void what_is_not_known(void **state)
{
	const struct findings *f;
	struct run r;

	(void)state;
	begin(&r);
	f = find(&r);
	assert_string_equal(verdict_word(&f->verdict), "no_gpu_work");
	assert_int_equal(f->steps.count, 0);
	end(&r);

	begin(&r); /* without the course of the run */
	r.findings = findings_new(&r.made.made.result, NULL);
	assert_non_null(r.findings->unknown);
	assert_int_equal(r.findings->count, 0);
	end(&r);
}

static void waits_without_results(void **state)
{
	const struct findings *f;
	struct run r;

	(void)state;
	begin(&r);
	r.waits = true;
	add_steps(&r, 10 * MS, MS, 800 * US + 50 * US);
	f = find(&r);
	assert_string_equal(verdict_word(&f->verdict), "synchronizing");
	expect_claim(f, FINDING_SYNCS, "waits for kernels leave the GPU idle for 22.");
	end(&r);
}

static void copies_of_pageable_memory(void **state)
{
	struct run r;

	(void)state;
	for (int is_pageable = 0; is_pageable < 2; is_pageable++) {
		struct copied_memory row = {.direction = "HtoD",
					    .memory = is_pageable ? "pageable" : "pinned",
					    .copies = 40,
					    .bytes = 80 << 20,
					    .ns = 60 * MS};

		begin(&r);
		row.stack = r.kernels[0];
		add_steps(&r, 10 * MS, 5 * MS, 4 * MS);
		made_table(&r.made.made, &copied_memory_table, &row, 1);
		if (is_pageable)
			expect_claim(find(&r), FINDING_COPIES,
				     "40 copies of pageable memory take 60.000 ms, 10.0 % of the "
				     "GPU time (80.0 MiB); most by load");
		else
			assert_null(findings_find(find(&r), FINDING_COPIES));
		end(&r);
	}
}

/* Returns a row of a GPU's state, from and to a share of the run in thousandths. */
static struct gpu_state clocks_of(const struct run *r, const char *gpu, uint64_t from, uint64_t to,
				  struct gpu_reading reading)
{
	const struct totals *t = &r->made.made.result.totals;
	struct gpu_state row;

	reading.start_ns = t->start_ns + t->elapsed_ns / 1000 * from;
	reading.end_ns = t->start_ns + t->elapsed_ns / 1000 * to;
	reading.most_sm_mhz = 1980;
	gpu_state_of(&row, gpu, &reading);
	return row;
}

static void clocks_that_are_held_back(void **state)
{
	static const struct {
		struct gpu_reading first, second;
		const char *claim; /* NULL: there is no finding */
	} runs[] = {
		{{.sm_mhz = 1980},
		 {.sm_mhz = 1410, .is_power_capped = 1},
		 "GPU-a is held back by its power cap for 40.0 % of the run: SM clock 1980 -> 1410 "
		 "MHz"},
		{{.sm_mhz = 1755, .is_hot = 1},
		 {.sm_mhz = 1755, .is_hot = 1},
		 "GPU-a is held back by heat for 100.0 % of the run: SM clock 1980 -> 1755 MHz"},
		{{.sm_mhz = 1900},
		 {.sm_mhz = 950, .is_slowed = 1},
		 "GPU-a is held back by a hardware slowdown for 40.0 % of the run: SM clock 1900 "
		 "-> "
		 "950 MHz"},
		{{.sm_mhz = 1980}, {.sm_mhz = 345, .is_idle = 1, .is_power_capped = 1}, NULL},
		{{.sm_mhz = 1980}, {.sm_mhz = 1965, .is_power_capped = 1}, NULL},
		{{.sm_mhz = 1980}, {.sm_mhz = 1410}, NULL}, /* no reason is known */
		{{.sm_mhz = 0}, {.is_power_capped = 1}, NULL},
	};
	struct run r;

	(void)state;
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct gpu_state rows[2];

		begin(&r);
		add_steps(&r, 10 * MS, 5 * MS, 4 * MS);
		rows[0] = clocks_of(&r, "GPU-a", 0, 600, runs[i].first);
		rows[1] = clocks_of(&r, "GPU-a", 600, 1000, runs[i].second);
		made_table(&r.made.made, &gpu_states_table, rows, 2);
		if (runs[i].claim)
			expect_claim(find(&r), FINDING_CLOCKS, runs[i].claim);
		else
			assert_null(findings_find(find(&r), FINDING_CLOCKS));
		end(&r);
	}
}

static void the_gpu_that_is_held_back_most(void **state)
{
	const struct gpu_reading free = {.sm_mhz = 1980},
				 capped = {.sm_mhz = 1410, .is_power_capped = 1};
	struct gpu_state rows[5];
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 10 * MS, 5 * MS, 4 * MS);
	rows[0] = clocks_of(&r, "GPU-a", 0, 800, free);
	rows[1] = clocks_of(&r, "GPU-a", 800, 1000, capped);
	rows[2] = clocks_of(&r, "GPU-b", 0, 500, free);
	rows[3] = clocks_of(&r, "GPU-b", 500, 1000, capped);
	rows[4] = clocks_of(&r, "GPU-c", 0, 20, capped); /* too short */
	made_table(&r.made.made, &gpu_states_table, rows, 5);
	expect_claim(find(&r), FINDING_CLOCKS,
		     "GPU-b is held back by its power cap for 50.0 % of the run: SM clock 1980 -> "
		     "1410 MHz; less so 1 other GPU");
	end(&r);
}

static void memory_peaks(void **state)
{
	const struct memory_total totals[] = {
		{.process = 1, .kind = MEMORY_OF_HOST, .peak_bytes = 9 << 20},
		{.process = 1, .kind = MEMORY_OF_DEVICE, .peak_bytes = 4 << 20, .peak_ns = 30 * MS},
		{.process = 1, .kind = MEMORY_OF_DEVICE, .peak_bytes = 1 << 20, .peak_ns = 40 * MS},
	};
	struct memory_row rows[] = {
		{.total = 0, .peak_bytes = 9 << 20},
		{.total = 1, .peak_bytes = 1 << 20},
		{.total = 1, .peak_bytes = 3 << 20},
		{.total = 2, .peak_bytes = 1 << 20},
	};
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 10 * MS, 5 * MS, 4 * MS);
	rows[0].stack = rows[1].stack = r.kernels[0];
	rows[2].stack = rows[3].stack = r.kernels[1];
	made_table(&r.made.made, &memory_totals_table, totals, 3);
	made_table(&r.made.made, &memory_rows_table, rows, 4);
	made_table(&r.made.made, &memory_pools_table, NULL, 0);
	find(&r);
	expect_claim(r.findings, FINDING_MEMORY, "memory peaks at 4.0 MiB (device, GPU 0");
	expect_claim(r.findings, FINDING_MEMORY,
		     "at 0.030 s; 75.0 % of it was allocated by forward");
	end(&r);
}

/* Sets the class of the function that launches a kernel. */
static void set_caller(struct run *r, int kernel, enum frame_class class, const char *name,
		       const char *short_name)
{
	const struct stack_info *stacks = r->made.made.stacks;
	struct frame_info *caller =
		&r->made.made.frames[stacks[stacks[stacks[r->kernels[kernel]].outer].outer].frame];

	caller->class = class;
	caller->name = name;
	caller->short_name = short_name;
}

static void trials_are_told_by_marks_and_functions(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 10 * MS, 5 * MS, 4 * MS);
	/* its launches of the best variant are no trials */
	set_caller(&r, 0, CLASS_PYTHON, "Autotuner.run (autotuner.py)", "Autotuner.run");
	set_caller(&r, 1, CLASS_PHASE, PSEUDO_COMPILING, PSEUDO_COMPILING);
	set_caller(&r, 2, CLASS_PHASE, PSEUDO_AUTOTUNING, PSEUDO_AUTOTUNING);
	expect_claim(find(&r), FINDING_AUTOTUNING, "33.3 % of the GPU time (200.000 ms, 50 ");
	end(&r);
	begin(&r);
	add_steps(&r, 10 * MS, 5 * MS, 4 * MS);
	set_caller(&r, 1, CLASS_PYTHON, "do_bench (testing.py)", "do_bench");
	expect_claim(find(&r), FINDING_AUTOTUNING, "33.3 % of the GPU time (200.000 ms, 50 ");
	end(&r);
}

static void losses_are_said(void **state)
{
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 10 * MS, 5 * MS, 4 * MS);
	r.made.ledger.gpu.dropped = 17;
	expect_claim(find(&r), FINDING_LOSSES, "17 of 167 records");
	expect_claim(r.findings, FINDING_LOSSES, "may be 10.2 % off");
	end(&r);
}

/* Times of the tables add up to the time of the GPU. */
static void tables_add_up(void **state)
{
	struct report_tables list;
	uint64_t run_ns = 0, steady_ns = 0;
	const struct findings *f;
	bool has_times = false;
	struct run r;

	(void)state;
	begin(&r);
	add_steps(&r, 100 * MS, 3 * MS, 2 * MS);
	f = find(&r);
	assert_int_equal(report_tables_of(&r.made.made.result, &list), 0);
	for (uint32_t t = 0; t < list.count; t++) {
		const struct report_table *table = list.tables[t];

		for (uint32_t row = 0; row < table->count; row++)
			for (uint32_t c = 0; c < table->column_count; c++) {
				uint64_t number = report_table_row(table, row)[c].number;

				if (strcmp(table->columns[c].key, "run_ns") == 0)
					run_ns += number;
				if (strcmp(table->columns[c].key, "steady_ns") == 0)
					steady_ns += number;
			}
		has_times |= strcmp(table->key, "gpu_time") == 0;
	}
	assert_true(has_times);
	assert_int_equal(run_ns, 1000 * MS);
	assert_int_equal(steady_ns, f->steady_to_ns - f->steady_from_ns);
	report_tables_release(&list);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gpu_that_computes),
		cmocka_unit_test(launches_that_cannot_keep_up),
		cmocka_unit_test(a_long_start),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(waits_without_results),
		cmocka_unit_test(copies_of_pageable_memory),
		cmocka_unit_test(clocks_that_are_held_back),
		cmocka_unit_test(the_gpu_that_is_held_back_most),
		cmocka_unit_test(memory_peaks),
		cmocka_unit_test(trials_are_told_by_marks_and_functions),
		cmocka_unit_test(losses_are_said),
		cmocka_unit_test(tables_add_up),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
