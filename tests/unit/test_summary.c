/* SPDX-License-Identifier: MIT */
/*
 * Every line of the summary: in singular and plural, none about things that did not happen, and in
 * order.
 */
#include "unit.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "profiler/report/summary.h"

struct bench {
	struct ledger ledger;
	struct totals totals;
	struct measure measure;
	struct log log;
	struct devices devices;
};

static struct capture captured;

/* A run with a GPU, in which nothing happened. */
static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	*state = b;
	if (!b)
		return -1;
	b->totals.ledger = &b->ledger;
	b->log.level = LOG_VERBOSE; /* all details */
	b->measure = (struct measure){.samples_cpu = true, .traces_gpu = true};
	b->ledger.pipe.processes = 1;
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	ledger_release(&b->ledger);
	devices_release(&b->devices);
	free(b);
	return 0;
}

static char *report(struct bench *b)
{
	capture_begin(&captured);
	summary_report(&b->log, &b->measure, &b->totals, &b->devices);
	capture_end(&captured);
	return captured.text;
}

#define NOTHING                                                  \
	"Samples: 0 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n" \
	"Correlation: 0 matched, 0 unmatched, 0 dropped\n"

/* Expects the summary to be `base` with `line` somewhere in it. */
static void expect_line(struct bench *b, const char *base, const char *line)
{
	char *text = report(b), *at = strstr(text, line), *rest;

	if (!at)
		fail_msg("'%s' is not in '%s'", line, text);
	assert_true(at == text || at[-1] == '\n');
	rest = at + strlen(line);
	assert_true(rest[-1] == '\n');
	memmove(at, rest, strlen(rest) + 1);
	assert_string_equal(text, base);
}

/* A count of the ledger, with the line about one and about two. */
struct count_case {
	size_t at, size;
	const char *one, *two;
};

#define COUNT(field) offsetof(struct ledger, field), sizeof(((struct ledger *)0)->field)

static void set(struct bench *b, const struct count_case *c, uint64_t value)
{
	uint32_t narrow = (uint32_t)value;

	assert_true(c->size == sizeof(value) || c->size == sizeof(narrow));
	memcpy((char *)&b->ledger + c->at, c->size == sizeof(value) ? (void *)&value : &narrow,
	       c->size);
}

static void check_counts(struct bench *b, const char *base, const struct count_case *cases,
			 size_t count)
{
	assert_string_equal(report(b), base);
	for (size_t i = 0; i < count; i++) {
		set(b, &cases[i], 1);
		expect_line(b, base, cases[i].one);
		set(b, &cases[i], 2);
		expect_line(b, base, cases[i].two);
		set(b, &cases[i], 0);
		assert_string_equal(report(b), base);
	}
}

#define CHECK_COUNTS(b, base, cases) \
	check_counts(b, base, cases, sizeof(cases) / sizeof((cases)[0]))

/* ---- a part of the run ---- */

static void a_part_of_the_run(void **state)
{
	static const struct count_case cases[] = {
		{COUNT(outside.before), "  1 GPU operation began before (0.000 ms): left out\n",
		 "  2 GPU operations began before (0.000 ms): left out\n"},
		{COUNT(outside.after),
		 "  1 GPU operation began just after recording ended (0.000 ms): left out\n",
		 "  2 GPU operations began just after recording ended (0.000 ms): left out\n"},
		{COUNT(outside.unended),
		 "  1 launch is left out: its work had not ended when recording did\n",
		 "  2 launches are left out: their work had not ended when recording did\n"},
		{COUNT(outside.earlier),
		 "  1 GPU operation was launched before launches were recorded (0.000 ms): under "
		 "[launched before recording]\n",
		 "  2 GPU operations were launched before launches were recorded (0.000 ms): under "
		 "[launched before recording]\n"},
	};
	struct bench *b = *state;

	b->totals.elapsed_ns = 3000000000;
	b->measure.delay_ns = 1000000000;
	b->measure.duration_ns = 500000000;
	CHECK_COUNTS(b, "Recorded: 500.000 ms, from 1.000 s after the command's start\n" NOTHING,
		     cases);
	/* the command ended first */
	b->totals.elapsed_ns = 1250000000;
	assert_string_equal(report(b), "Recorded: 250.000 ms, from 1.000 s after the command's "
				       "start\n" NOTHING);
	b->totals.elapsed_ns = 999000000;
	assert_string_equal(report(b), "profile: the run ended after 999.000 ms, before --delay "
				       "had passed: nothing was recorded\n" NOTHING);
	b->measure.delay_ns = 0;
	assert_string_equal(report(b), "Recorded: 500.000 ms\n" NOTHING);
}

/* Work behind the part is always seen. It has a line where it is half of what was recorded. */
static void work_after_the_part(void **state)
{
	const struct gpu_row rows[] = {{.work = GPU_WORK_KERNEL, .count = 1, .ns = 60000000},
				       {.work = GPU_WORK_MEMSET, .count = 1, .ns = 40000000}};
	const char *line = "  7 GPU operations began just after recording ended (49.000 ms): left "
			   "out\n";
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_true(ledger_add_row(&b->ledger, &rows[i]));
	b->ledger.outside.after = 7;
	b->ledger.outside.after_ns = 49000000;
	b->measure.attached = true;
	b->log.level = LOG_NORMAL;
	assert_null(strstr(report(b), "just after"));
	assert_null(strstr(report(b), "Recorded: "));
	b->measure.duration_ns = b->totals.elapsed_ns = 200000000;
	assert_null(strstr(report(b), "just after"));
	b->log.level = LOG_VERBOSE;
	assert_non_null(strstr(report(b), line));
	b->log.level = LOG_NORMAL;
	b->ledger.outside.after_ns = 50000000;
	assert_non_null(strstr(report(b), "just after recording ended (50.000 ms)"));
}

/* ---- samples ---- */

static void one_of_each(void **state)
{
	struct bench *b = *state;

	b->ledger.cpu.samples = 1;
	b->ledger.cpu.whole = 1;
	b->ledger.launches.kernels = 1;
	b->ledger.gpu.kernels = 1;
	b->ledger.gpu.kernel_ns = 1500000;
	b->ledger.gpu.matched = 1;
	assert_string_equal(report(b), "Samples: 1 CPU, 1 launch, 1 GPU kernel (1.500 ms)\n"
				       "Correlation: 1 matched, 0 unmatched, 0 dropped\n"
				       "Stacks: 100.0 % of CPU samples are whole\n");
	b->ledger.cpu.samples = 3;
	b->ledger.launches.kernels = 4440;
	b->ledger.gpu.kernels = 4441;
	b->ledger.gpu.kernel_ns = 1592400000;
	b->ledger.gpu.matched = 4441;
	assert_string_equal(report(b),
			    "Samples: 3 CPU, 4440 launches, 4441 GPU kernels (1592.400 ms)\n"
			    "Correlation: 4441 matched, 0 unmatched, 0 dropped\n"
			    "Stacks: 33.3 % of CPU samples are whole\n");
}

static void launches_without_a_stack_of_their_own(void **state)
{
	struct bench *b = *state;
	char *text;

	b->ledger.launches.with_stack = b->ledger.launches.whole = 100;
	b->measure.max_overhead = 2000;
	text = report(b);
	assert_non_null(strstr(text, "\nStacks: 100.0 % of 100 launches have one of their own: "
				     "--max-overhead left none out\n"));
	assert_null(strstr(text, "spread"));
	b->ledger.launches.skipped = 300;
	b->ledger.spread.operations = 301;
	b->ledger.spread.ns = 9000000;
	b->ledger.spread.error_ns = 20000;
	text = report(b);
	assert_non_null(strstr(
		text, "\nStacks: 25.0 % of 400 launches have one of their own\n"
		      "  9.000 ms of GPU work by the others are spread over these, by kernel and "
		      "thread; standard error of a stack's time: 0.020 ms at most\n"));
	assert_null(strstr(text, "not in that error"));
	assert_null(strstr(text, "not sampled"));
	b->ledger.spread.borrowed_ns = 2500000;
	b->ledger.spread.left = 1;
	b->ledger.spread.left_ns = 1000000;
	text = report(b);
	assert_non_null(strstr(
		text, "\n  8.000 ms of GPU work by the others are spread over these, by kernel and "
		      "thread; standard error of a stack's time: 0.020 ms at most\n"
		      "  2.500 ms of it went by stacks of other threads or few launches, and are "
		      "not in that error\n"
		      "  1.000 ms are under [stack not sampled]: no such launch had a stack\n"));
	/* without the option there is nothing to say */
	b->measure.max_overhead = 0;
	assert_null(strstr(report(b), "of their own"));
}

static void a_program_without_a_gpu_has_no_lines_of_zeros(void **state)
{
	struct bench *b = *state;

	b->ledger.pipe.processes = 0;
	b->measure.waits = true;
	b->ledger.cpu.samples = 36;
	b->ledger.cpu.whole = 36;
	assert_string_equal(report(b), "Samples: 36 CPU\n"
				       "profile: the command did not use CUDA: this profile has "
				       "CPU time only\n"
				       "Stacks: 100.0 % of CPU samples are whole\n");
	b->ledger.cpu.samples = 0;
	assert_string_equal(report(b), "Samples: 0 CPU\n"
				       "profile: the command did not use CUDA\n");
	b->measure.samples_cpu = false;
	assert_string_equal(report(b),
			    "profile: the command did not use CUDA: the profile is empty\n");
	/* without a watch on processes, the reason is not known */
	b->ledger.processes.unwatched = 1;
	assert_string_equal(report(b),
			    "profile: no process sent GPU work: the command did not use CUDA, or "
			    "something dropped CUDA_INJECTION64_PATH from its environment (env -i, "
			    "sudo, a launcher), which without eBPF was not seen; run with sudo to "
			    "know. The profile is empty\n");
}

/* Alone, and beside others that were. */
/* Checks that each cause has a line of its own, with advice. Common words are not repeated. */
static void each_cause_has_a_line(struct bench *b)
{
	char line[128];

	for (enum untraced_cause cause = 0; cause < UNTRACED_CAUSES; cause++) {
		const char *text, *at;

		b->ledger.processes.causes[cause] = 3;
		b->ledger.calls.processes = 3;
		text = report(b);
		snprintf(line, sizeof(line),
			 "profile: 3 processes used the GPU and were not traced: %s. ",
			 untraced_cause_text(cause));
		at = strstr(text, line);
		assert_non_null(at);
		assert_true(strlen(at) > strlen(line) + 10);
		assert_null(strstr(text, "CUDA calls:"));
		b->ledger.calls.timed = 1;
		assert_non_null(strstr(report(b), "CUDA calls: 1 in 3 processes"));
		b->ledger.calls.timed = 0;
		b->ledger.calls.processes = 0;
		b->ledger.processes.causes[cause] = 0;
	}
}

static void processes_that_were_not_traced(void **state)
{
	struct bench *b = *state;
	static const struct count_case cases[] = {
		{COUNT(processes.never_started),
		 "profile: tracing never started in 1 process that initialized CUDA: its GPU time "
		 "is not in the profile. No cause was found: see docs/troubleshooting.md\n",
		 "profile: tracing never started in 2 processes that initialized CUDA: their GPU "
		 "time "
		 "is not in the profile. No cause was found: see docs/troubleshooting.md\n"},
		{COUNT(processes.untraced),
		 "profile: 1 process loaded the CUDA driver and was not traced; whether it used "
		 "the GPU is not known: sudo and -v tell more\n",
		 "profile: 2 processes loaded the CUDA driver and were not traced; whether they "
		 "used the GPU is not known: sudo and -v tell more\n"},
		{COUNT(processes.causes[UNTRACED_OTHER_LIBC]),
		 "profile: 1 process used the GPU and was not traced: a C library other than "
		 "glibc. Run it with glibc\n",
		 "profile: 2 processes used the GPU and were not traced: a C library other than "
		 "glibc. Run it with glibc\n"},
	};

	CHECK_COUNTS(b, NOTHING, cases);
	/* the cause, as far as known */
	b->ledger.processes.untraced = 3;
	b->ledger.processes.unsure[UNTRACED_NOT_KNOWN] = 1;
	b->ledger.processes.unsure[UNTRACED_OTHER_LIBC] = 2;
	assert_non_null(strstr(report(b),
			       "profile: 1 process loaded the CUDA driver and was not traced; "
			       "whether it used the GPU is not known: sudo and -v tell more\n"
			       "profile: 2 processes loaded the CUDA driver and were not traced; "
			       "whether they used the GPU is not known: a C library other than "
			       "glibc. Run it with glibc\n"));
	/* some of them turned out to be traced: not known which */
	b->ledger.processes.untraced = 1;
	assert_non_null(strstr(report(b), "1 process loaded the CUDA driver and was not traced; "
					  "whether it used the GPU is not known: sudo"));
	assert_null(strstr(report(b), "glibc"));
	b->ledger.processes = (struct ledger_processes){.untraced = 0};
	b->ledger.pipe.processes = 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set(b, &cases[i], 1);
		expect_line(b, "Samples: 0 CPU\n", cases[i].one);
		set(b, &cases[i], 0);
	}
	each_cause_has_a_line(b);
	b->measure.traces_gpu = false;
	b->ledger.processes.never_started = b->ledger.processes.untraced = 1;
	assert_string_equal(report(b), "Samples: 0 CPU\n");
}

static void only_the_requested_sources(void **state)
{
	struct bench *b = *state;

	b->ledger.cpu.samples = 2;
	b->ledger.gpu.kernels = 7;
	b->measure.traces_gpu = false;
	assert_string_equal(report(b), "Samples: 2 CPU\n"
				       "Stacks: 0.0 % of CPU samples are whole\n");
	b->ledger.cpu.samples = 0;
	assert_string_equal(report(b), "Samples: 0 CPU\n");
	b->measure = (struct measure){.traces_gpu = true};
	assert_string_equal(report(b), "Samples: 0 launches, 7 GPU kernels (0.000 ms)\n"
				       "Correlation: 0 matched, 0 unmatched, 0 dropped\n");
}

static void quiet_prints_nothing(void **state)
{
	struct bench *b = *state;
	struct summary_written written = {
		.file = "x", .item = "stack", .is_first = true, .unit = "ns"};

	b->ledger.cpu.samples = b->ledger.cpu.dropped = b->ledger.launches.with_stack = 1;
	b->ledger.gpu.dropped = b->ledger.pipe.malformed = b->ledger.bounds.stacks = 1;
	b->log.level = LOG_ERRORS;
	assert_string_equal(report(b), "");
	capture_begin(&captured);
	summary_report_written(&b->log, &b->measure, &b->totals, &written);
	assert_string_equal(capture_end(&captured), "");
}

/* ---- details without -v ---- */

#define OF_MATCHES "\nCorrelation: "
#define OF_SAMPLES "Samples: "

/* Each count that is wrong brings its details, and nothing else does. */
static void details_appear_where_something_is_wrong(void **state)
{
	static const struct count_case wrongs[] = {
		{COUNT(gpu.unmatched), OF_MATCHES, OF_SAMPLES},
		{COUNT(gpu.dropped), OF_MATCHES, OF_SAMPLES},
		{COUNT(gpu.missing), OF_MATCHES, OF_SAMPLES},
		{COUNT(gpu.bad_times), OF_MATCHES, OF_SAMPLES},
		{COUNT(gpu.unseen_nodes), OF_MATCHES, OF_SAMPLES},
		{COUNT(gpu.uncompared), OF_MATCHES, OF_SAMPLES},
		{COUNT(gpu.unreported), OF_MATCHES, OF_SAMPLES},
		{COUNT(gpu.sums), OF_MATCHES, OF_SAMPLES},
		{COUNT(launches.dropped), OF_MATCHES, OF_SAMPLES},
		{COUNT(launches.unended), OF_MATCHES, OF_SAMPLES},
		{COUNT(launches.copies_unended), OF_MATCHES, OF_SAMPLES},
		{COUNT(launches.graphs_unended), OF_MATCHES, OF_SAMPLES},
		{COUNT(launches.confused), OF_MATCHES, OF_SAMPLES},
		{COUNT(pipe.wrong_totals), OF_MATCHES, OF_SAMPLES},
		{COUNT(pipe.lost_batches), OF_MATCHES, OF_SAMPLES},
		{COUNT(pipe.malformed), OF_MATCHES, OF_SAMPLES},
		{COUNT(pipe.refused), OF_MATCHES, OF_SAMPLES},
		{COUNT(pipe.killed), OF_MATCHES, OF_SAMPLES},
		{COUNT(pipe.exited_launches), OF_MATCHES, OF_SAMPLES},
		{COUNT(processes.never_started), OF_MATCHES, OF_SAMPLES},
		{COUNT(processes.untraced), OF_MATCHES, OF_SAMPLES},
		{COUNT(processes.causes[UNTRACED_OTHER_LIBC]), OF_MATCHES, OF_SAMPLES},
		{COUNT(calls.processes), OF_MATCHES, OF_SAMPLES},
		{COUNT(cpu.dropped), OF_SAMPLES, OF_SAMPLES},
	};
	struct bench *b = *state;

	b->log.level = LOG_NORMAL;
	b->totals.command_cpu_ns = 2000000000;
	b->totals.sample_ns = 20000000;
	b->ledger.cpu.samples = b->ledger.cpu.whole = 100;
	b->ledger.launches.kernels = b->ledger.launches.with_stack = 1000;
	b->ledger.launches.whole = 1000;
	b->ledger.gpu.kernels = b->ledger.gpu.matched = 1000;
	assert_string_equal(report(b), "");
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		set(b, &wrongs[i], 1);
		assert_non_null(strstr(report(b), wrongs[i].one));
		assert_non_null(strstr(report(b), wrongs[i].two));
		assert_null(strstr(report(b), "are whole"));
		set(b, &wrongs[i], 0);
		assert_string_equal(report(b), "");
	}
}

/* Some stacks lack something in any program: up to 2 % of them. */
static void details_of_stacks_appear_where_they_are_unusual(void **state)
{
	static const struct count_case cases[] = {
		{COUNT(unwound.ends[UNWIND_GUESSED]), "are guessed", NULL},
		{COUNT(python.missing), "without their Python functions: taken", NULL},
		{COUNT(cpu.without_parent), "could not be attributed", NULL},
		{COUNT(launches.without_parent), "could not be attributed", NULL},
	};
	struct bench *b = *state;
	char *text;

	b->log.level = LOG_NORMAL;
	b->ledger.cpu.samples = b->ledger.launches.with_stack = 1000;
	b->ledger.cpu.whole = b->ledger.launches.whole = 980;
	assert_string_equal(report(b), "");
	b->ledger.cpu.whole = 979;
	assert_string_equal(report(b),
			    "Stacks: 97.9 % of CPU samples are whole\n"
			    "Stacks: 98.0 % of launches are whole, taken in the process\n");
	b->ledger.cpu.whole = 1000;
	b->ledger.launches.whole = 979;
	assert_non_null(strstr(report(b), "Stacks: 97.9 % of launches are whole"));
	b->ledger.launches.whole = 1000;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set(b, &cases[i], 20);
		assert_string_equal(report(b), "");
		set(b, &cases[i], 41);
		assert_non_null(strstr(report(b), cases[i].one));
		set(b, &cases[i], 0);
	}
	/* in a short run a few are usual */
	b->ledger.cpu.samples = 10;
	b->ledger.cpu.whole = 5;
	assert_string_equal(report(b), "");
	b->ledger.cpu.whole = 4;
	text = report(b);
	assert_ptr_equal(text, strstr(text, "Stacks: 40.0 % of CPU samples are whole\n"));
	/* advice is never left out */
	b->ledger.cpu.whole = 10;
	b->ledger.python.missing = b->ledger.python.unread = 1;
	assert_non_null(strstr(report(b), "which profile may not read"));
}

static void time_without_samples_is_a_detail_if_it_is_short(void **state)
{
	struct bench *b = *state;

	b->log.level = LOG_NORMAL;
	b->totals.sample_ns = 20000000;
	b->ledger.cpu.samples = b->ledger.cpu.whole = 95;
	b->ledger.cpu.used_ns = 2000000000;
	b->ledger.cpu.not_sampled_ns = 100000000;
	assert_string_equal(report(b), "");
	b->ledger.cpu.not_sampled_ns = 100000001;
	assert_non_null(strstr(report(b), "CPU: 2.000 s used, 1.900 s sampled (95 %), the rest is "
					  "[not sampled]\nprofile: 5 % of the CPU time has no "
					  "sample: "));
}

/* Sums of outputs and parts of the cost are for -v; warnings are for all. */
static void outputs_and_costs_are_details(void **state)
{
	struct summary_written w = {.file = "x",
				    .item = "stack",
				    .is_first = true,
				    .unit = "samples",
				    .written = {.items = 1, .total = {[ROW_CPU] = 3}}};
	struct bench *b = *state;

	b->log.level = LOG_NORMAL;
	capture_begin(&captured);
	summary_report_cost(&b->log, &b->totals);
	summary_report_written(&b->log, &b->measure, &b->totals, &w);
	w.weight = &(struct weight){"Memory", "", WEIGHT_BYTES};
	summary_report_written(&b->log, &b->measure, &b->totals, &w);
	assert_string_equal(capture_end(&captured), "");
	w = (struct summary_written){
		.file = "x", .item = "stack", .is_first = true, .unit = "samples"};
	w.written.exact_ns = 100;
	capture_begin(&captured);
	summary_report_written(&b->log, &b->measure, &b->totals, &w);
	assert_string_equal(capture_end(&captured),
			    "profile: all of it is less than one sample's period: use --unit us or "
			    "--unit ns\n");
}

/* ---- stacks ---- */

static void where_stacks_came_from(void **state)
{
	struct bench *b = *state;
	struct ledger_launches *l = &b->ledger.launches;

	l->with_stack = 1000;
	l->whole = 999;
	l->probed_functions = 2;
	expect_line(b, NOTHING, "Stacks: 99.9 % of launches are whole, taken in the process\n");
	l->with_stack = 0;
	l->by_probe = 2000;
	expect_line(b, NOTHING,
		    "Stacks: 50.0 % of launches are whole, taken by uprobes on 2 functions\n");
	l->probed_functions = 1;
	expect_line(b, NOTHING,
		    "Stacks: 50.0 % of launches are whole, taken by uprobes on 1 function\n");
	l->by_probe = 0;
	assert_string_equal(report(b), NOTHING);
}

static void what_was_handed_over(void **state)
{
	struct bench *b = *state;
	struct ledger *l = &b->ledger;

	l->launches.handed = 1;
	l->cpu.handed = 2;
	expect_line(b, NOTHING,
		    "Handed over: 1 launch and 2 CPU samples of other threads are under the thread "
		    "that waited for them\n");
	l->launches.handed = 0;
	l->cpu.handed = 0;
	l->launches.without_parent = 3;
	l->cpu.without_parent = 1;
	expect_line(b, NOTHING,
		    "Handed over: 0 launches and 0 CPU samples of other threads are under the "
		    "thread that waited for them\n"
		    "  3 launches and 1 CPU sample could not be attributed to a waiting "
		    "thread: none waited, or several did\n");
}

/* ---- correlation ---- */

static void operations_that_are_not_matched(void **state)
{
	struct bench *b = *state;

	b->ledger.gpu.unmatched = 1;
	b->ledger.gpu.unmatched_ns = 2500000;
	assert_string_equal(report(b),
			    "Samples: 0 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n"
			    "Correlation: 0 matched, 1 unmatched, 0 dropped\n"
			    "  unmatched operations ran 2.500 ms and are under [launch not "
			    "captured]\n");
}

static void missing_operations(void **state)
{
	struct bench *b = *state;

	b->ledger.gpu.dropped = 1;
	assert_string_equal(report(b),
			    "Samples: 0 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n"
			    "Correlation: 0 matched, 0 unmatched, 1 dropped\n"
			    "  1 operation was dropped before reaching the profiler: its GPU time "
			    "is not in the profile\n");
	b->ledger.gpu.missing = 1;
	assert_string_equal(report(b),
			    "Samples: 0 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n"
			    "Correlation: 0 matched, 0 unmatched, 2 dropped\n"
			    "  1 operation was dropped before reaching the profiler: its GPU time "
			    "is not in the profile\n"
			    "  1 operation was sent but did not arrive\n");
	b->ledger.gpu.dropped = 100;
	b->ledger.gpu.missing = 2;
	assert_string_equal(report(b),
			    "Samples: 0 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n"
			    "Correlation: 0 matched, 0 unmatched, 102 dropped\n"
			    "  100 operations were dropped before reaching the profiler: their GPU "
			    "time is not in the profile\n"
			    "  2 operations were sent but did not arrive\n");
}

/* Stacks without Python functions have a line of their own if nobody could read their
 * interpreter. */
static void python_functions_that_may_not_be_read(void **state)
{
	struct bench *b = *state;
	const char *text;

	b->ledger.python.missing = 5;
	text = report(b);
	assert_non_null(strstr(text, "Stacks: 5 are without their Python functions: taken before"));
	assert_null(strstr(text, "which profile may not read"));
	b->ledger.python.unread = 5;
	text = report(b);
	assert_non_null(strstr(text, "Stacks: 5 are without their Python functions, which profile "
				     "may not read: run with sudo, or give the file capabilities: "
				     "setcap cap_bpf,cap_perfmon,cap_syslog=ep profile\n"));
	assert_null(strstr(text, "taken before"));
	b->ledger.python.unread = 4;
	text = report(b);
	assert_non_null(strstr(text, "Stacks: 4 are without their Python functions, which"));
	assert_non_null(strstr(text, "Stacks: 1 is without its Python functions: taken before"));
	b->ledger.python.unread = UINT64_MAX; /* a capture may say anything */
	assert_non_null(strstr(report(b), "Stacks: 5 are without their Python functions, which"));
}

static void operations_and_launches_that_are_odd(void **state)
{
	static const struct count_case cases[] = {
		{COUNT(pipe.wrong_totals),
		 "  1 process reported a different sum of GPU time than arrived: something else "
		 "wrote "
		 "to the pipe\n",
		 "  2 processes reported a different sum of GPU time than arrived: something else "
		 "wrote to the pipe\n"},
		{COUNT(gpu.bad_times),
		 "  1 operation has no usable timestamps and counts as 0 ns\n",
		 "  2 operations have no usable timestamps and count as 0 ns\n"},
		{COUNT(launches.unended),
		 "  1 kernel launch has no record: the kernel had not ended when tracing did, or "
		 "its record was lost\n",
		 "  2 kernel launches have no record: the kernels had not ended when tracing did, "
		 "or their records were lost\n"},
		{COUNT(launches.confused),
		 "  1 launch has the correlation id of another, so their work may be under the "
		 "other's stack: CUPTI 13.0 does that to threads in which a profiler has left it, "
		 "and CUPTI 11.8 with newer drivers\n",
		 "  2 launches have the correlation id of another, so their work may be under the "
		 "other's stack: CUPTI 13.0 does that to threads in which a profiler has left "
		 "it, and CUPTI 11.8 with newer drivers\n"},
		{COUNT(gpu.unseen_nodes),
		 "  1 operation is of a graph node that was made before tracing or out of sight\n",
		 "  2 operations are of graph nodes that were made before tracing or out of "
		 "sight\n"},
		{COUNT(gpu.unwatched),
		 "1 allocation is of unified memory, whose migrations and page faults are not "
		 "recorded: --unified-memory records them\n",
		 "2 allocations are of unified memory, whose migrations and page faults are not "
		 "recorded: --unified-memory records them\n"},
	};

	CHECK_COUNTS(*state, NOTHING, cases);
}

static void a_known_bug_of_cupti(void **state)
{
	struct bench *b = *state;

	b->ledger.pipe.graph_time_bugs = 1;
	assert_string_equal(report(b), NOTHING); /* no effect on the report */
	b->ledger.gpu.bad_times = 3;
	expect_line(b, NOTHING "  3 operations have no usable timestamps and count as 0 ns\n",
		    "  CUPTI of CUDA 13.0 is known to do that after some 25 million records of "
		    "graph nodes; --graph whole makes fewer\n");
}

static void the_table_of_gpu_work(void **state)
{
	struct bench *b = *state;
	const struct gpu_row row = {.device = devices_key(&b->devices, 1, 0),
				    .work = GPU_WORK_MEMSET,
				    .count = 3,
				    .ns = 1500000,
				    .bytes = 2048};

	ledger_add_work(&b->ledger, &row);
	b->ledger.gpu.sums = b->ledger.gpu.equal = 1;
	b->ledger.launches.unended = 1;
	assert_string_equal(report(b),
			    "Samples: 0 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n"
			    "Correlation: 3 matched, 0 unmatched, 0 dropped\n"
			    "GPU work:\n"
			    "  GPU 0  memset                  3        1.500 ms       2.0 KiB\n"
			    "  CUPTI's own sums: 1 of 1 match\n"
			    "  1 kernel launch has no record: the kernel had not ended when "
			    "tracing did, or its "
			    "record was lost\n");
}

/* ---- waits and calls ---- */

static void waits(void **state)
{
	struct bench *b = *state;

	b->ledger.calls.waits = 1;
	b->ledger.calls.wait_ns = 1500000;
	assert_string_equal(report(b), NOTHING); /* samples were not requested */
	b->measure.waits = true;
	expect_line(b, NOTHING, "Waits: 1 call, 1.500 ms\n");
	b->ledger.calls.wait_computed_ns = 250000;
	expect_line(b, NOTHING,
		    "Waits: 1 call, 1.500 ms\n"
		    "  and 0.250 ms in them on a CPU, computing or spinning, which is CPU time\n");
	b->ledger.calls.wait_computed_ns = 0;
	b->ledger.calls.waits = 0;
	b->ledger.calls.wait_ns = 0;
	expect_line(b, NOTHING, "Waits: 0 calls, 0.000 ms\n");
	b->ledger.calls.waits = 12;
	b->ledger.calls.cut_waits = 2;
	expect_line(b, NOTHING,
		    "Waits: 12 calls, 0.000 ms\n"
		    "  only the last part of 2 of them is split by what ran: too much GPU work ran "
		    "during them to keep it all\n");
	b->measure.wall = true;
	assert_non_null(strstr(report(b), "  only the last part of 2 of them is split by what ran: "
					  "too much GPU work ran during them, or threads were too "
					  "often off the CPU, to keep it all\n"));
}

static void times_off_the_cpu(void **state)
{
	struct bench *b = *state;
	struct ledger_wall *wall = &b->ledger.wall;

	wall->threads = 1;
	wall->switches = 1;
	wall->ran_ns = 1000000;
	assert_string_equal(report(b), NOTHING); /* waits were not requested */
	b->measure.wall = true;
	expect_line(b, NOTHING,
		    "Wall: 1 thread, 1.000 ms: 1.000 ms on a CPU, 0 ns blocked, 0 ns runnable\n"
		    "  1 switch, 0 with a stack; 0 ns of the others is spread over these\n");
	wall->threads = 2;
	wall->switches = 9;
	wall->stacks = 8;
	wall->off_ns[OFF_CPU_READ] = 2000000;
	wall->off_ns[OFF_CPU_SLEEP] = 5000000;
	wall->off_ns[OFF_CPU_OTHER] = 1000000;
	wall->off_ns[OFF_CPU_RUNNABLE] = 4000000;
	wall->spread_ns = 3000;
	wall->left_ns = 2000;
	wall->in_calls_ns = 6000;
	wall->lost = 3;
	expect_line(b, NOTHING,
		    "Wall: 2 threads, 13.000 ms: 1.000 ms on a CPU, 8.000 ms blocked (sleep 5.000 "
		    "ms, read 2.000 ms, other 1.000 ms), 4.000 ms runnable\n"
		    "  9 switches, 8 with a stack; 3.000 us of the others is spread over these\n"
		    "  2.000 us is under [stack not captured]\n"
		    "  6.000 us more is within timed calls, whose time has it\n"
		    "profile: 3 threads without times, or only with a part of them: there were "
		    "too many at once, or they ended last\n");
}

/* Without CUPTI, the report shows timed calls. */
static void calls_that_were_timed(void **state)
{
	static const struct count_case cases[] = {
		{COUNT(cpu.in_calls),
		 "  1 CPU sample fell into these calls and is not shown: the calls' time covers "
		 "it\n",
		 "  2 CPU samples fell into these calls and are not shown: the calls' time covers "
		 "them\n"},
		{COUNT(calls.unfinished),
		 "  1 of them had not returned when their process or the run ended; their time is "
		 "counted until then\n",
		 "  2 of them had not returned when their process or the run ended; their time is "
		 "counted until then\n"},
		{COUNT(calls.without_stack),
		 "  1 of them has no stack: the machine was too busy to read it in time\n",
		 "  2 of them have no stack: the machine was too busy to read it in time\n"},
		{COUNT(calls.lost),
		 "  1 more was lost: the machine was too busy to read it in time\n",
		 "  2 more were lost: the machine was too busy to read them in time\n"},
	};
	struct bench *b = *state;

	b->ledger.calls.timed = 70;
	b->ledger.calls.timed_ns = 1500000;
	assert_string_equal(report(b), NOTHING); /* none, as the line says */
	b->ledger.calls.processes = 1;
	CHECK_COUNTS(b,
		     NOTHING "CUDA calls: 70 in 1 process without GPU time, 1.500 ms of wall "
			     "time\n",
		     cases);
	b->ledger.calls.processes = 2;
	expect_line(b, NOTHING,
		    "CUDA calls: 70 in 2 processes without GPU time, 1.500 ms of wall time\n");
	/* without a program that says hello there is nothing to correlate */
	b->ledger.pipe.processes = 0;
	assert_string_equal(report(b),
			    "Samples: 0 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n"
			    "CUDA calls: 70 in 2 processes without GPU time, 1.500 ms of wall "
			    "time\n");
}

/* ---- what was lost ---- */

#define BUSY(what, it) \
	"profile: " what " dropped: the machine was too busy to read " it " in time\n"

static void losses_between_the_kernel_and_us(void **state)
{
	struct bench *b = *state;

	b->ledger.cpu.dropped = 1;
	expect_line(b, NOTHING, BUSY("1 CPU sample was", "it"));
	b->ledger.cpu.dropped = 12;
	expect_line(b, NOTHING, BUSY("12 CPU samples were", "them"));
	b->ledger.launches.dropped = 1;
	expect_line(b, NOTHING, BUSY("12 CPU samples and 1 launch were", "them"));
	b->ledger.cpu.dropped = 1;
	b->ledger.launches.dropped = 3;
	expect_line(b, NOTHING, BUSY("1 CPU sample and 3 launches were", "them"));
	b->ledger.cpu.dropped = 0;
	expect_line(b, NOTHING, BUSY("3 launches were", "them"));
	b->ledger.launches.dropped = 1;
	expect_line(b, NOTHING, BUSY("1 launch was", "it"));
	b->ledger.cpu.dropped = b->ledger.launches.dropped = UINT64_MAX / 2;
	expect_line(b, NOTHING,
		    BUSY("9223372036854775807 CPU samples and 9223372036854775807 launches were",
			 "them"));
	b->ledger.cpu.dropped = 1;
	b->ledger.launches.dropped = UINT64_MAX;
	expect_line(b, NOTHING,
		    BUSY("1 CPU sample and 18446744073709551615 launches were", "them"));
}

static void losses_on_the_way(void **state)
{
	static const struct count_case cases[] = {
		{COUNT(processes.not_followed),
		 "profile: 1 process was not followed: too many at once\n",
		 "profile: 2 processes were not followed: too many at once\n"},
		{COUNT(cpu.after_end),
		 "profile: 1 process outlived the command: CPU time after its end is not in "
		 "the profile\n",
		 "profile: 2 processes outlived the command: CPU time after its end is not in "
		 "the profile\n"},
		{COUNT(pipe.without_goodbye),
		 "profile: 1 traced process ended without a goodbye (killed?): GPU work of its "
		 "last 50 ms is missing\n",
		 "profile: 2 traced processes ended without a goodbye (killed?): GPU work of their "
		 "last 50 ms is missing\n"},
		{COUNT(pipe.lost_batches), "profile: writes of traced processes lost: 1\n",
		 "profile: writes of traced processes lost: 2\n"},
		{COUNT(pipe.left),
		 "profile: 1 byte in the pipe was not read: something went on writing after the "
		 "end\n",
		 "profile: 2 bytes in the pipe were not read: something went on writing after the "
		 "end\n"},
		{COUNT(pipe.foreign_versions),
		 "profile: 1 process sent another protocol version and was ignored: is "
		 "-injection-lib from another release?\n",
		 "profile: 2 processes sent another protocol version and were ignored: is "
		 "-injection-lib from another release?\n"},
		{COUNT(gpu.unknown_kinds), "profile: CUPTI records of an unknown kind: 1\n",
		 "profile: CUPTI records of an unknown kind: 2\n"},
		{COUNT(processes.lost_records),
		 "profile: 1 mapping record was lost: some frames may be [unknown]\n",
		 "profile: 2 mapping records were lost: some frames may be [unknown]\n"},
	};

	CHECK_COUNTS(*state, NOTHING, cases);
}

/* Ends of programs: by a signal, _exit or exec, or unknown. */
static void ends_of_programs(void **state)
{
	struct bench *b = *state;
	struct ledger_pipe *pipe = &b->ledger.pipe;

	pipe->without_goodbye = pipe->killed = 1;
	assert_string_equal(report(b), NOTHING "profile: 1 traced process was killed: GPU work of "
					       "its last 50 ms is missing\n");
	pipe->without_goodbye = pipe->killed = 2;
	pipe->killed_launches = 7;
	assert_string_equal(report(b),
			    NOTHING "profile: 2 traced processes were killed: GPU work of their "
				    "last 50 ms is missing; 7 of their kernel launches have no "
				    "record\n");
	pipe->killed = pipe->killed_launches = 0;
	pipe->without_goodbye = pipe->exited = 1;
	assert_string_equal(report(b), NOTHING
			    "1 traced process ended by _exit or exec: what it launched in "
			    "the last 50 ms and did not wait for is missing, if anything\n");
	pipe->exited_launches = 1;
	assert_string_equal(
		report(b),
		NOTHING "profile: 1 traced process ended by _exit or exec, or with "
			"threads that still launched; 1 of its kernel launches has no record, and "
			"what it launched in the last 50 ms may be missing, too\n");
	pipe->without_goodbye = 3;
	pipe->killed = 1;
	assert_non_null(strstr(report(b), "1 traced process ended without a goodbye"));
}

static void print_slow(char *line, size_t size, uint64_t ns)
{
	snprintf(line, size,
		 "profile: profile itself read nothing for %.1f s (stopped, or no free CPU): "
		 "programs wait %d s for it, then go on and drop what they cannot send\n",
		 (double)ns / 1e9, GPU_WIRE_TIMEOUT_MS / 1000);
}

/* The profiler was slow only if something was lost, for this long a time. */
static void when_the_profiler_itself_was_slow(void **state)
{
	struct bench *b = *state;
	const uint64_t timeout_ns = GPU_WIRE_TIMEOUT_MS * UINT64_C(1000000);
	char line[256];

	print_slow(line, sizeof(line), timeout_ns);
	b->totals.longest_round_ns = timeout_ns;
	assert_string_equal(report(b), NOTHING);
	b->ledger.pipe.lost_batches = 1;
	expect_line(b, NOTHING "profile: writes of traced processes lost: 1\n", line);
	b->ledger.pipe.lost_batches = 0;
	b->ledger.pipe.without_goodbye = 1;
	expect_line(b,
		    NOTHING "profile: 1 traced process ended without a goodbye (killed?): GPU work "
			    "of its last 50 ms is missing\n",
		    line);
	b->totals.longest_round_ns = timeout_ns - 1;
	assert_null(strstr(report(b), "read nothing"));
}

static void data_beyond_the_bounds(void **state)
{
	static const struct count_case cases[] = {
		{COUNT(bounds.out_of_memory), "profile: out of memory: 1 event was lost\n",
		 "profile: out of memory: 2 events were lost\n"},
		{COUNT(bounds.stacks),
		 "profile: 1 stack exceeded the limit on distinct stacks; it is under [too many "
		 "stacks]\n",
		 "profile: 2 stacks exceeded the limit on distinct stacks; they are under [too "
		 "many "
		 "stacks]\n"},
		{COUNT(bounds.refused),
		 "profile: 1 name, mapping or stack from the program exceeded the limit and was "
		 "dropped\n",
		 "profile: 2 names, mappings or stacks from the program exceeded the limit and "
		 "were dropped\n"},
		{COUNT(bounds.ranges),
		 "profile: 1 range went past a limit of --nvtx or --ops: it is not in stacks by "
		 "its "
		 "name\n",
		 "profile: 2 ranges went past a limit of --nvtx or --ops: they are not in stacks "
		 "by "
		 "their names\n"},
		{COUNT(bounds.folded_ranges),
		 "profile: 1 NVTX range has N in place of the numbers in its name: too many names "
		 "differ in these alone\n",
		 "profile: 2 NVTX ranges have N in place of the numbers in their names: too many "
		 "names differ in these alone\n"},
		{COUNT(bounds.truncated),
		 "profile: 1 stack is cut where it was too deep or could not be followed; it "
		 "begins at [truncated]\n",
		 "profile: 2 stacks are cut where they were too deep or could not be followed; "
		 "they begin at [truncated]\n"},
	};

	CHECK_COUNTS(*state, NOTHING, cases);
}

static void lines_that_are_not_ours(void **state)
{
	static const struct count_case cases[] = {
		{COUNT(pipe.malformed),
		 "profile: 1 malformed line in the pipe was ignored (1 too long); it began: "
		 "{\"a\n",
		 "profile: 2 malformed lines in the pipe were ignored (1 too long); the "
		 "first began: {\"a\n"},
		{COUNT(pipe.refused),
		 "profile: 1 line in the pipe came from a process that is not the command's and "
		 "was "
		 "ignored; it began: {\"b\n",
		 "profile: 2 lines in the pipe came from processes that are not the command's and "
		 "were ignored; the first began: {\"b\n"},
	};
	struct bench *b = *state;

	b->ledger.pipe.too_long = 1;
	snprintf(b->ledger.pipe.first_malformed, sizeof(b->ledger.pipe.first_malformed), "{\"a");
	snprintf(b->ledger.pipe.first_refused, sizeof(b->ledger.pipe.first_refused), "{\"b");
	CHECK_COUNTS(b, NOTHING, cases);
}

/* ---- all together ---- */

static void everything_in_its_order(void **state)
{
	struct bench *b = *state;
	struct ledger *l = &b->ledger;
	char slow[256];

	b->measure.waits = true;
	b->totals.longest_round_ns = 60000000000;
	l->cpu = (struct ledger_cpu){
		.samples = 100, .whole = 90, .dropped = 8, .in_calls = 7, .after_end = 6};
	l->launches = (struct ledger_launches){
		.kernels = 20, .with_stack = 24, .whole = 12, .dropped = 4, .unended = 3};
	l->gpu.kernels = 30;
	l->gpu.matched = 40;
	l->gpu.unmatched = 5;
	l->gpu.bad_times = 9;
	l->gpu.unseen_nodes = 11;
	l->gpu.dropped = 13;
	l->gpu.missing = 14;
	l->gpu.unknown_kinds = 15;
	l->pipe = (struct ledger_pipe){.processes = 2,
				       .malformed = 16,
				       .refused = 17,
				       .left = 18,
				       .lost_batches = 19,
				       .without_goodbye = 21,
				       .wrong_totals = 22,
				       .foreign_versions = 23,
				       .graph_time_bugs = 1};
	l->calls = (struct ledger_calls){.waits = 31,
					 .cut_waits = 32,
					 .timed = 33,
					 .without_stack = 34,
					 .unfinished = 35,
					 .lost = 36,
					 .processes = 37};
	l->processes = (struct ledger_processes){.lost_records = 38, .not_followed = 39};
	l->bounds = (struct ledger_bounds){
		.stacks = 41, .refused = 42, .out_of_memory = 43, .truncated = 44};
	print_slow(slow, sizeof(slow), b->totals.longest_round_ns);
	expect_line(
		b,
		"Samples: 100 CPU, 20 launches, 30 GPU kernels (0.000 ms)\n"
		"Correlation: 40 matched, 5 unmatched, 27 dropped\n"
		"  unmatched operations ran 0.000 ms and are under [launch not captured]\n"
		"  13 operations were dropped before reaching the profiler: their GPU time is not "
		"in the profile\n"
		"  14 operations were sent but did not arrive\n"
		"  22 processes reported a different sum of GPU time than arrived: something else "
		"wrote to the pipe\n"
		"  9 operations have no usable timestamps and count as 0 ns\n"
		"  CUPTI of CUDA 13.0 is known to do that after some 25 million records of graph "
		"nodes; --graph whole makes fewer\n"
		"  3 kernel launches have no record: the kernels had not ended when tracing did, "
		"or their records were lost\n"
		"  11 operations are of graph nodes that were made before tracing or out of sight\n"
		"Waits: 31 calls, 0.000 ms\n"
		"  only the last part of 32 of them is split by what ran: too much GPU work ran "
		"during them to keep it all\n"
		"CUDA calls: 33 in 37 processes without GPU time, 0.000 ms of wall time\n"
		"  7 CPU samples fell into these calls and are not shown: the calls' time covers "
		"them\n"
		"  35 of them had not returned when their process or the run ended; their time is "
		"counted until then\n"
		"  34 of them have no stack: the machine was too busy to read it in time\n"
		"  36 more were lost: the machine was too busy to read them in time\n"
		"Stacks: 90.0 % of CPU samples are whole\n"
		"Stacks: 50.0 % of launches are whole, taken in the process\n"
		"profile: 8 CPU samples and 4 launches were dropped: the machine was too busy to "
		"read them in time\n"
		"profile: 39 processes were not followed: too many at once\n"
		"profile: 6 processes outlived the command: CPU time after its end is not in "
		"the profile\n"
		"profile: 21 traced processes ended without a goodbye (killed?): GPU work of their "
		"last 50 ms is missing\n"
		"profile: 18 bytes in the pipe were not read: something went on writing after the "
		"end\n"
		"profile: 23 processes sent another protocol version and were ignored: is "
		"-injection-lib from another release?\n"
		"profile: 38 mapping records were lost: some frames may be [unknown]\n"
		"profile: out of memory: 43 events were lost\n"
		"profile: 41 stacks exceeded the limit on distinct stacks; they are under [too "
		"many "
		"stacks]\n"
		"profile: 42 names, mappings or stacks from the program exceeded the limit and "
		"were dropped\n"
		"profile: 16 malformed lines in the pipe were ignored (0 too long); the "
		"first began: \n"
		"profile: 17 lines in the pipe came from processes that are not the command's and "
		"were ignored; the first began: \n"
		"profile: 44 stacks are cut where they were too deep or could not be followed; "
		"they begin at [truncated]\n"
		"profile: CUPTI records of an unknown kind: 15\n"
		"profile: writes of traced processes lost: 19\n",
		slow);
}

/* ---- names ---- */

static char *report_unnamed(struct bench *b, const struct unnamed *unnamed)
{
	capture_begin(&captured);
	summary_report_unnamed(&b->log, unnamed);
	capture_end(&captured);
	return captured.text;
}

static void names_that_are_missing(void **state)
{
	struct bench *b = *state;
	struct unnamed u = {.unreadable_path = "/opt/lib.so"};

	assert_string_equal(report_unnamed(b, &u), "");
	u.unreadable = 1;
	assert_string_equal(report_unnamed(b, &u), "profile: this user may not read 1 file: its "
						   "code appears as [name]; it is /opt/lib.so\n");
	u.unreadable = u.stuck = u.refused = u.mangled = 2;
	assert_string_equal(
		report_unnamed(b, &u),
		"profile: this user may not read 2 files: their code appears as [name]; the first "
		"is /opt/lib.so\n"
		"profile: 2 files or processes could not be read in time (a network or user file "
		"system, or a busy machine?): some names are missing\n"
		"profile: 2 symbol tables are too large to read: some code appears as [name]\n"
		"profile: 2 names take too long to demangle, and stay mangled\n");
	u.unreadable = 0;
	u.stuck = u.refused = u.mangled = 1;
	assert_string_equal(
		report_unnamed(b, &u),
		"profile: 1 file or process could not be read in time (a network or user file "
		"system, or a busy machine?): some names are missing\n"
		"profile: 1 symbol table is too large to read: some code appears as [name]\n"
		"profile: 1 name takes too long to demangle, and stays mangled\n");
	u = (struct unnamed){.refused_frames = 1};
	assert_string_equal(
		report_unnamed(b, &u),
		"profile: 1 record of call-frame information in jitdumps is malformed, "
		"too large or of no code: stacks through that code may be cut or guessed\n");
	u = (struct unnamed){.refused_frames = 2};
	assert_string_equal(report_unnamed(b, &u),
			    "profile: 2 records of call-frame information in jitdumps are "
			    "malformed, too large or of no code: stacks through that code may be "
			    "cut or guessed\n");
	u = (struct unnamed){.unread = 2, .unread_kind = 1, .unread_path = "/opt/app"};
	assert_string_equal(report_unnamed(b, &u),
			    "profile: inlined functions are missing in 2 files: debug information "
			    "of /opt/app is in .dwo files: build without -gsplit-dwarf\n");
	u.unread_kind = 99; /* an unknown kind, from a damaged capture */
	assert_string_equal(report_unnamed(b, &u), "");
	b->log.level = LOG_ERRORS;
	u.stuck = 1;
	assert_string_equal(report_unnamed(b, &u), "");
}

/* ---- what was written ---- */

static const char *report_written(struct bench *b, const struct summary_written *written)
{
	capture_begin(&captured);
	summary_report_written(&b->log, &b->measure, &b->totals, written);
	return capture_end(&captured);
}

static void the_written_output(void **state)
{
	struct bench *b = *state;
	struct summary_written w = {
		.file = "app.folded",
		.item = "stack",
		.is_first = true,
		.unit = "samples",
		.written = {.items = 11, .total = {[ROW_CPU] = 36, [ROW_GPU] = 80}, .exact_ns = 1}};

	b->totals.sample_ns = 20000000;
	assert_string_equal(report_written(b, &w),
			    "Wrote 11 stacks (116 x 20 ms: 36 CPU, 80 GPU) to app.folded\n");
	w.written.items = 1;
	w.written.total[ROW_CPU] = 1;
	w.written.total[ROW_GPU] = 0;
	assert_string_equal(report_written(b, &w),
			    "Wrote 1 stack (1 x 20 ms: 1 CPU, 0 GPU) to app.folded\n");
	w.unit = "us";
	assert_string_equal(report_written(b, &w),
			    "Wrote 1 stack (1 us: 1 CPU, 0 GPU) to app.folded\n");
	/* a run with another sampling rate */
	b->totals.sample_ns = 1003009;
	w.unit = "samples";
	assert_string_equal(report_written(b, &w),
			    "Wrote 1 stack (1 x 1.003 ms: 1 CPU, 0 GPU) to app.folded\n");
	b->totals.sample_ns = 20000000;
	w.unit = "us";
	w.written.omitted = 1;
	w.written.omitted_ns = 400;
	assert_string_equal(report_written(b, &w),
			    "Wrote 1 stack (1 us: 1 CPU, 0 GPU) to app.folded\n"
			    "  1 more stack rounds to 0 (0.000 ms) and is not in it; the sum "
			    "includes its time\n");
	w.unit = "samples";
	w.written.omitted = 5;
	w.written.omitted_ns = 9420000;
	assert_string_equal(report_written(b, &w),
			    "Wrote 1 stack (1 x 20 ms: 1 CPU, 0 GPU) to app.folded\n"
			    "  5 more stacks round to 0 (9.420 ms altogether) and are not in it; "
			    "the sum includes their time\n");
	w.written.omitted = 0;
	w.unit = "ns";
	w.file = "standard output";
	w.written.total[ROW_GPU] = UINT64_C(75000000);
	assert_string_equal(report_written(b, &w), "Wrote 1 stack (75000001 ns: 1 CPU, 75000000 "
						   "GPU) to standard output\n");
	w = (struct summary_written){
		.file = "a.svg",
		.item = "frame",
		.is_first = true,
		.written = {.items = 3, .total = {[ROW_CPU] = 1500000000, [ROW_GPU] = 250000}}};
	assert_string_equal(report_written(b, &w),
			    "Wrote 3 frames (1.500 s: 1.500 s CPU, 0.000 s GPU) to a.svg\n");
}

static void waits_and_calls_are_written_too(void **state)
{
	struct bench *b = *state;
	struct summary_written w = {.file = "x",
				    .item = "stack",
				    .is_first = true,
				    .unit = "samples",
				    .written = {.items = 4,
						.total = {1, 2, 3, 4}, /* by enum row_kind */
						.exact_ns = 1}};

	b->totals.sample_ns = 20000000;
	/* all kinds of rows are named, also in a merge of runs of several kinds */
	assert_string_equal(report_written(b, &w), "Wrote 4 stacks (10 x 20 ms: 1 CPU, 2 GPU, 3 "
						   "waiting, 4 in CUDA calls) to x\n");
	b->measure.waits = true;
	assert_string_equal(report_written(b, &w), "Wrote 4 stacks (10 x 20 ms: 1 CPU, 2 GPU, 3 "
						   "waiting, 4 in CUDA calls) to x\n");
	w.written.total[ROW_WAIT] = w.written.total[ROW_CALL] = 0;
	assert_string_equal(report_written(b, &w), "Wrote 4 stacks (3 x 20 ms: 1 CPU, 2 GPU, 0 "
						   "waiting) to x\n");
}

#define WROTE_NONE(unit) "Wrote 0 stacks (0 " unit ": 0 CPU, 0 GPU) to x\n"

static void an_empty_profile_says_why(void **state)
{
	struct bench *b = *state;
	struct summary_written w = {.file = "x",
				    .item = "stack",
				    .is_first = true,
				    .unit = "samples",
				    .written.exact_ns = 999};

	b->totals.elapsed_ns = 1234567890;
	b->totals.sample_ns = 20000000;
	assert_string_equal(
		report_written(b, &w),
		"profile: all of it is less than one sample's period: use --unit us or --unit "
		"ns\n" WROTE_NONE("x 20 ms"));
	w.unit = "us";
	assert_string_equal(
		report_written(b, &w),
		"profile: all of it is less than one unit: use --unit us or --unit ns\n" WROTE_NONE(
			"us"));
	w.written.exact_ns = 0;
	assert_string_equal(report_written(b, &w),
			    "profile: the profile is empty: the command used 0.000 s of CPU in "
			    "1.235 s, and no sample fell into it (raise -F)\n" WROTE_NONE("us"));
	b->measure.samples_cpu = false;
	assert_string_equal(
		report_written(b, &w),
		"profile: the profile is empty: no GPU time was recorded\n" WROTE_NONE("us"));
	w.is_first = false; /* another file has said so */
	assert_string_equal(report_written(b, &w), WROTE_NONE("us"));
	w.is_first = true;
	/* no further line after the summary has said it: the command did not use CUDA */
	b->ledger.pipe.processes = 0;
	assert_string_equal(report_written(b, &w), WROTE_NONE("us"));
	/* nor where something was written */
	w.written.total[ROW_WAIT] = 1;
	w.written.items = 1;
	b->measure.samples_cpu = true;
	assert_string_equal(report_written(b, &w),
			    "Wrote 1 stack (1 us: 0 CPU, 0 GPU, 1 waiting) to x\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

/* Sampled and used time are compared from a hundred samples on, or if time is missing. */
static void sampled_time_is_compared_with_used_time(void **state)
{
	struct bench *b = *state;
	const char *samples = "Samples: 95 CPU, 0 launches, 0 GPU kernels (0.000 ms)\n";

	b->totals.sample_ns = 20000000;
	b->totals.command_cpu_ns = 1999999999;
	assert_null(strstr(report(b), "CPU: "));
	b->totals.command_cpu_ns = 2000000000;
	b->ledger.cpu.samples = 95;
	b->ledger.cpu.in_calls = 4;
	assert_non_null(strstr(report(b), samples));
	assert_non_null(strstr(captured.text, "\nCPU: 2.000 s used, 1.980 s sampled (99 %)\n"));
	assert_null(strstr(captured.text, "has no sample"));
	b->ledger.cpu.samples = 80;
	assert_null(strstr(report(b), "has no sample")); /* a difference by chance */
	b->ledger.cpu.used_ns = 4000000000;              /* more than was waited for */
	b->ledger.cpu.not_sampled_ns = 640000000;
	assert_non_null(strstr(report(b),
			       "\nCPU: 4.000 s used, 1.680 s sampled (42 %), the rest is "
			       "[not sampled]\nprofile: 16 % of the CPU time has no "
			       "sample: time in "));
	b->ledger.cpu.not_sampled_ns = 200000000;
	assert_null(strstr(report(b), "has no sample"));
	b->ledger.cpu.not_sampled_ns = 640000000;
	b->ledger.cpu.dropped = 16; /* less than most of it */
	assert_non_null(
		strstr(report(b), "\nprofile: 16 % of the CPU time has no sample: time in "));
	b->ledger.cpu.dropped = 17;
	assert_non_null(strstr(report(b), "\nprofile: 16 % of the CPU time has no sample: samples "
					  "were dropped, see below\n"));
	b->ledger.cpu.samples = b->ledger.cpu.in_calls = 0; /* time on the CPU, but no sample */
	b->measure.wall = true;
	assert_non_null(strstr(report(b), "\nCPU: 4.000 s used, 0.000 s sampled (0 %)"));
	b->measure.samples_cpu = false;
	assert_null(strstr(report(b), "CPU: "));
}

static void what_it_cost(void **state)
{
	struct bench *b = *state;

	b->totals.command_cpu_ns = 1000000000;
	b->totals.own_cpu_ns = 61250000;
	b->totals.own_memory_bytes = 68 << 20;
	b->ledger.cost = (struct ledger_cost){
		.program_ns = 145000000, .kernel_ns = 90500, .pipe_bytes = 3 << 19};
	capture_begin(&captured);
	summary_report_cost(&b->log, &b->totals);
	/* one of two programs is killed; the cost is known of no program */
	b->ledger.pipe.processes = 2;
	b->ledger.pipe.without_goodbye = 1;
	summary_report_cost(&b->log, &b->totals);
	b->ledger.pipe.without_goodbye = 2;
	summary_report_cost(&b->log, &b->totals);
	/* no program was traced, nothing sampled */
	b->ledger.pipe.processes = 0;
	b->ledger.cost = (struct ledger_cost){.kernel_ns = 0};
	summary_report_cost(&b->log, &b->totals);
	capture_end(&captured);
	assert_string_equal(captured.text,
			    "Cost: CPU 145.000 ms in the program (14.5 % of its CPU time), 90.500 "
			    "us in the operating system, 61.250 ms in profile; memory "
			    "68.0 MiB, pipe 1.5 MiB\n"
			    "Cost: CPU at least 145.000 ms in the program (14.5 % of its CPU "
			    "time), 90.500 us in the operating system, 61.250 ms in "
			    "profile; memory 68.0 MiB, pipe 1.5 MiB\n"
			    "Cost: CPU 90.500 us in the operating system, 61.250 ms in "
			    "profile; memory 68.0 MiB, pipe 1.5 MiB\n"
			    "Cost: CPU 61.250 ms in profile; memory 68.0 MiB\n");
}

static const char *cost(struct bench *b)
{
	capture_begin(&captured);
	summary_report_cost(&b->log, &b->totals);
	return capture_end(&captured);
}

/* The library's time is a part of the programs': no more than that, where both are of one run. */
static void the_cost_in_the_program_is_a_part_of_its_time(void **state)
{
	struct bench *b = *state;
	struct measure *measure = &b->totals.measure;
	const char *alone = "Cost: CPU 998.000 ms in the program (from its start to its end, "
			    "recorded or not), ";

	b->ledger.cost.program_ns = 998000000;
	b->ledger.cpu.used_ns = 786000000;
	assert_non_null(strstr(cost(b), "Cost: CPU 786.000 ms in the program (100.0 % of its CPU "
					"time), "));
	/* the processes' time is that of a part */
	b->ledger.cpu.after_end = 1;
	assert_ptr_equal(strstr(cost(b), alone), captured.text);
	b->ledger.cpu.after_end = 0;
	measure->attached = true;
	assert_ptr_equal(strstr(cost(b), alone), captured.text);
	measure->attached = false;
	measure->duration_ns = 1;
	assert_ptr_equal(strstr(cost(b), alone), captured.text);
	measure->duration_ns = 0;
	measure->ranges = "step";
	assert_ptr_equal(strstr(cost(b), alone), captured.text);
	measure->ranges = NULL;
	/* without samples: of those that were waited for */
	b->ledger.cpu.used_ns = 0;
	assert_ptr_equal(strstr(cost(b), alone), captured.text);
	b->totals.command_cpu_ns = 500000000;
	assert_ptr_equal(strstr(cost(b), alone), captured.text);
	b->totals.command_cpu_ns = 1996000000;
	assert_non_null(strstr(cost(b), "998.000 ms in the program (50.0 % of its CPU time), "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_part_of_the_run),
		TEST(work_after_the_part),
		TEST(one_of_each),
		TEST(launches_without_a_stack_of_their_own),
		TEST(a_program_without_a_gpu_has_no_lines_of_zeros),
		TEST(processes_that_were_not_traced),
		TEST(only_the_requested_sources),
		TEST(quiet_prints_nothing),
		TEST(details_appear_where_something_is_wrong),
		TEST(details_of_stacks_appear_where_they_are_unusual),
		TEST(time_without_samples_is_a_detail_if_it_is_short),
		TEST(outputs_and_costs_are_details),
		TEST(where_stacks_came_from),
		TEST(what_was_handed_over),
		TEST(operations_that_are_not_matched),
		TEST(missing_operations),
		TEST(python_functions_that_may_not_be_read),
		TEST(operations_and_launches_that_are_odd),
		TEST(a_known_bug_of_cupti),
		TEST(the_table_of_gpu_work),
		TEST(waits),
		TEST(times_off_the_cpu),
		TEST(calls_that_were_timed),
		TEST(losses_between_the_kernel_and_us),
		TEST(losses_on_the_way),
		TEST(ends_of_programs),
		TEST(when_the_profiler_itself_was_slow),
		TEST(data_beyond_the_bounds),
		TEST(lines_that_are_not_ours),
		TEST(everything_in_its_order),
		TEST(names_that_are_missing),
		TEST(the_written_output),
		TEST(waits_and_calls_are_written_too),
		TEST(an_empty_profile_says_why),
		cmocka_unit_test_setup_teardown(sampled_time_is_compared_with_used_time, begin,
						end),
		TEST(what_it_cost),
		TEST(the_cost_in_the_program_is_a_part_of_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
