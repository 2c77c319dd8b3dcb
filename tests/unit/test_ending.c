/* SPDX-License-Identifier: MIT */
/* The end of a run: each line, with findings and without, and with names of any kind. */
#include "made_result.h"
#include "profiler/base/columns.h"
#include "profiler/findings/findings.h"
#include "profiler/report/ending.h"

#define MS UINT64_C(1000000)

static struct capture captured;

struct bench {
	struct made_result made;
	struct ledger ledger;
	struct findings findings;
	struct ending ending;
	struct log log;
};

/* A command of 14.6 s that ended with 0, and was sampled each 20 ms. */
static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct totals *t;

	*state = b;
	if (!b)
		return -1;
	made_begin(&b->made);
	t = &b->made.result.totals;
	t->ledger = &b->ledger;
	t->command = "python3 train.py";
	t->command_pid = 7;
	t->elapsed_ns = 14600 * MS;
	t->sample_ns = 20 * MS;
	t->own_cpu_ns = 900 * MS;
	t->measure = (struct measure){.samples_cpu = true, .traces_gpu = true};
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	made_end(&b->made);
	ledger_release(&b->ledger);
	free(b);
	return 0;
}

static char *report(struct bench *b)
{
	capture_begin(&captured);
	ending_report(&b->log, &b->made.result);
	capture_end(&captured);
	return captured.text;
}

static char *table(struct bench *b, unsigned int width)
{
	capture_begin(&captured);
	ending_report_table(&b->log, &b->made.result, width);
	capture_end(&captured);
	return captured.text;
}

static char *last_lines(struct bench *b)
{
	capture_begin(&captured);
	ending_close(&b->log, &b->ending, &b->made.result.totals);
	capture_end(&captured);
	return captured.text;
}

static uint32_t push(struct bench *b, uint32_t outer, enum frame_class class, const char *name)
{
	uint32_t stack = made_push(&b->made, outer, name);

	b->made.frames[b->made.stacks[stack].frame].class = class;
	return stack;
}

/* Adds `count` operations of a kernel, or of other work, launched by a function. */
static void add_work(struct bench *b, enum frame_class class, const char *site, const char *work,
		     uint64_t count, uint64_t ns)
{
	uint32_t stack = push(b, RESULT_ROOT, CLASS_NATIVE, site);

	stack = push(b, stack, CLASS_API, "cudaLaunchKernel");
	made_add(&b->made, push(b, stack, class, work), ROW_GPU, ns);
	b->made.rows[b->made.result.row_count - 1].count = count;
}

/* Adds samples of 20 ms in a function. */
static void add_samples(struct bench *b, uint32_t stack, uint64_t count)
{
	made_add(&b->made, stack, ROW_CPU, count * 20 * MS);
	b->made.rows[b->made.result.row_count - 1].count = count;
}

static void add_finding(struct bench *b, enum finding_kind kind, const char *claim,
			const char *next)
{
	assert_true(b->findings.count < FINDINGS_MAX);
	b->findings.list[b->findings.count++] = (struct finding){
		.kind = kind, .claim = claim, .certainty = "measured", .next = next};
	b->made.result.findings = &b->findings;
}

static uint32_t lines_of(const char *text)
{
	uint32_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* ---- what ran ---- */

static void without_findings_there_are_sums(void **state)
{
	struct bench *b = *state;

	assert_string_equal(report(b), "python3 train.py: ran 14.6 s, exit 0\n");
	add_samples(b, push(b, RESULT_ROOT, CLASS_NATIVE, "work"), 60);
	assert_string_equal(report(b), "python3 train.py: ran 14.6 s, exit 0. CPU 1.2 s\n");
	add_work(b, CLASS_GPU_KERNEL, "launch", "gemm", 3, 265400000);
	b->made.result.totals.exit_status = 137;
	assert_string_equal(report(b), "python3 train.py: ran 14.6 s, exit 137. CPU 1.2 s, GPU "
				       "265.400 ms\n");
	made_add(&b->made, push(b, RESULT_ROOT, CLASS_WAIT, "[waiting for GPU]"), ROW_WAIT,
		 30 * MS);
	assert_non_null(strstr(report(b), ", waiting 30.0 ms\n"));
	b->log.level = LOG_ERRORS;
	assert_string_equal(report(b), "");
}

static void how_a_run_ended_is_said_where_it_is_known(void **state)
{
	struct bench *b = *state;
	struct totals *t = &b->made.result.totals;

	t->command_pid = 0; /* an old capture, or a trace */
	assert_string_equal(report(b), "python3 train.py: ran 14.6 s\n");
	t->command_pid = 7;
	t->measure.attached = true;
	t->command = "process 7";
	assert_string_equal(report(b), "process 7: recorded 14.6 s\n");
	t->measure.attached = false;
	t->measure.delay_ns = 1000 * MS;
	t->measure.duration_ns = 500 * MS; /* the command goes on */
	t->shown = "--delay 1 -d 0.5";
	assert_string_equal(report(b), "process 7: recorded 500 ms; shown with --delay 1 -d 0.5\n");
	t->measure = (struct measure){.traces_gpu = true};
	t->shown = NULL;
	b->made.result.rank_count = 4;
	t->command = "train";
	assert_string_equal(report(b), "train (4 ranks): ran 14.6 s\n");
	b->made.result.rank_count = 0;
	t->command = NULL;
	assert_string_equal(report(b), "The program: ran 14.6 s, exit 0\n");
	t->program = "app";
	assert_string_equal(report(b), "app: ran 14.6 s, exit 0\n");
}

static void a_long_command_is_cut(void **state)
{
	struct bench *b = *state;
	char command[5001];

	memset(command, 'x', 5000);
	command[5000] = '\0';
	b->made.result.totals.command = command;
	command[59] = '\0';
	assert_int_equal(strlen(report(b)), 59 + strlen(": ran 14.6 s, exit 0\n"));
	command[59] = 'x';
	report(b);
	assert_true(columns_of(captured.text) < 90);
	assert_non_null(strstr(captured.text, "xxx\xe2\x80\xa6: ran 14.6 s"));
}

/* ---- findings ---- */

static void the_verdict_comes_first_and_three_others_follow(void **state)
{
	struct bench *b = *state;

	add_finding(b, FINDING_START_UP, "No GPU work until 6.5 s.", NULL);
	add_finding(b, FINDING_VERDICT, "GPU 0 busy 0.2 %: the host is slow.", NULL);
	add_finding(b, FINDING_LOSSES, "Something was lost", NULL);
	add_finding(b, FINDING_KERNEL, "gemm takes 71 %", "profile --stalls");
	add_finding(b, FINDING_IDLE, "The GPU was idle", "profile --wall ...");
	add_finding(b, FINDING_TINY, "Kernels are short", NULL);
	assert_string_equal(report(b),
			    "python3 train.py: ran 14.6 s, exit 0. GPU 0 busy 0.2 %: the host is "
			    "slow\n"
			    "  No GPU work until 6.5 s\n"
			    "  gemm takes 71 %; look closer: profile --stalls\n"
			    "  The GPU was idle; look closer: profile --wall ...\n");
	b->log.level = LOG_VERBOSE;
	report(b);
	assert_non_null(strstr(captured.text, "the host is slow (measured)\n"));
	assert_non_null(strstr(captured.text, "  Kernels are short (measured)\n"));
	assert_null(strstr(captured.text, "Something"));
	b->log.level = LOG_ERRORS;
	assert_string_equal(report(b), "");
}

static void what_to_run_after_the_verdict_has_a_line(void **state)
{
	struct bench *b = *state;

	add_finding(b, FINDING_VERDICT, "The GPU waits for the loader", "profile --wall python3 x");
	assert_string_equal(report(b), "python3 train.py: ran 14.6 s, exit 0. The GPU waits for "
				       "the loader\n"
				       "  look closer: profile --wall python3 x\n");
}

static void without_a_verdict_the_reason_is_said_of_a_gpu_program(void **state)
{
	struct bench *b = *state;

	b->findings.unknown = "too much work to look at";
	add_finding(b, FINDING_TINY, "Memory peaks at 3 GiB", NULL);
	assert_string_equal(report(b), "python3 train.py: ran 14.6 s, exit 0\n"
				       "  Memory peaks at 3 GiB\n");
	add_work(b, CLASS_GPU_KERNEL, "launch", "gemm", 3, 2 * MS);
	assert_string_equal(report(b), "python3 train.py: ran 14.6 s, exit 0. GPU 2.000 ms\n"
				       "  no verdict: too much work to look at\n"
				       "  Memory peaks at 3 GiB\n");
}

/* Names in claims come from the program. */
static void claims_of_any_kind_stay_in_their_lines(void **state)
{
	char claim[5000];
	struct bench *b = *state;

	memset(claim, 'y', sizeof(claim));
	claim[sizeof(claim) - 1] = '\0';
	add_finding(b, FINDING_VERDICT, "%s%n", "%n");
	add_finding(b, FINDING_KERNEL, "a\nb\x1b[31m", claim);
	add_finding(b, FINDING_SITE, claim, NULL);
	add_finding(b, FINDING_GAP, "", "");
	report(b);
	assert_int_equal(lines_of(captured.text), 5);
	assert_non_null(strstr(captured.text, "exit 0. %s%n\n  look closer: %n\n"));
	assert_non_null(strstr(captured.text, "  a?b?[31m; look closer: yyy"));
	assert_true(strlen(captured.text) < 1500);
}

/* ---- the table ---- */

static void gpu_work_has_its_launching_function(void **state)
{
	struct bench *b = *state;

	assert_string_equal(table(b, 120), "");
	add_work(b, CLASS_GPU_KERNEL, "forward", "gemm", 100, 60 * MS);
	add_work(b, CLASS_GPU_KERNEL, "backward", "gemm", 50, 20 * MS);
	add_work(b, CLASS_GPU_WORK, "load", "[memcpy HtoD]", 2, 15 * MS);
	add_work(b, CLASS_GPU_KERNEL, "forward", "relu", 7, 5 * MS);
	assert_string_equal(table(b, 120),
			    "         time    share          count   GPU work, launched by\n"
			    "    80.000 ms   80.0 %            150   gemm, by forward and 1 more\n"
			    "    15.000 ms   15.0 %              2   [memcpy HtoD], by load\n"
			    "     5.000 ms    5.0 %              7   relu, by forward\n");
	b->log.level = LOG_ERRORS;
	assert_string_equal(table(b, 120), "");
}

/* n samples have an error of sqrt(n). */
static void cpu_time_has_its_error(void **state)
{
	struct bench *b = *state;
	uint32_t start = push(b, RESULT_ROOT, CLASS_NATIVE, "start"); /* has no time of its own */
	uint32_t run = push(b, start, CLASS_NATIVE, "run");
	uint32_t rest = push(b, RESULT_ROOT, CLASS_MARK, "[not sampled]");

	add_samples(b, push(b, run, CLASS_NATIVE, "hot"), 10000);
	add_samples(b, push(b, run, CLASS_NATIVE, "warm"), 100);
	add_samples(b, run, 1);
	made_add(&b->made, rest, ROW_CPU, 5 * MS); /* no sample, and no error */
	b->made.rows[b->made.result.row_count - 1].count = 0;
	assert_string_equal(table(b, 120),
			    "             total                own   on the CPU\n"
			    "     200 s +-1.0 %      200 s +-1.0 %   hot\n"
			    "      2.0 s +-10 %       2.0 s +-10 %   warm\n"
			    "     202 s +-1.0 %    20.0 ms +-100 %   run\n"
			    "            5.0 ms             5.0 ms   [not sampled]\n");
	/* samples of --wall stand for the time that threads ran: 10101 samples of 10 ms */
	for (uint32_t i = 0; i < b->made.result.row_count; i++)
		b->made.rows[i].ns /= 2;
	b->made.result.totals.measure.wall = true;
	assert_non_null(strstr(table(b, 120), "      1.0 s +-10 %       1.0 s +-10 %   warm\n"));
}

static void waits_and_timed_calls_have_lines(void **state)
{
	struct bench *b = *state;
	uint32_t stack = push(b, RESULT_ROOT, CLASS_NATIVE, "sync");

	stack = push(b, stack, CLASS_API, "cudaDeviceSynchronize");
	made_add(&b->made, push(b, stack, CLASS_WAIT, "[waiting for GPU]"), ROW_WAIT, 30 * MS);
	assert_string_equal(table(b, 120),
			    "         time    share                  waiting, or timed calls, in\n"
			    "    30.000 ms  100.0 %                  sync\n");
}

static void the_table_is_short_and_adds_up(void **state)
{
	static char names[40][8];
	struct bench *b = *state;

	for (uint32_t i = 0; i < 40; i++) {
		uint32_t stack;

		snprintf(names[i], sizeof(names[0]), "f%u", i);
		add_work(b, i % 2 ? CLASS_GPU_KERNEL : CLASS_GPU_WORK, names[i], names[i], 1,
			 (1 + i) * MS);
		stack = push(b, RESULT_ROOT, CLASS_NATIVE, names[i]);
		add_samples(b, stack, 1 + i);
	}
	table(b, 80);
	assert_int_equal(lines_of(captured.text), 12);
	assert_non_null(
		strstr(captured.text, "    40.000 ms    4.9 %              1   f39, by f39\n"));
	/* 40 * 41 / 2 - 40 - 39 - 38 - 37 */
	assert_non_null(
		strstr(captured.text, "   666.000 ms   81.2 %                  (36 more)\n"));
	assert_non_null(strstr(captured.text, "      13.3 s +-3.9 %   (36 more)\n"));
	for (uint32_t i = 0; i < 40; i++) {
		uint32_t stack = push(b, RESULT_ROOT, CLASS_NATIVE, names[i]);

		stack = push(b, stack, CLASS_API, "cudaDeviceSynchronize");
		made_add(&b->made, push(b, stack, CLASS_WAIT, "[waiting for GPU]"), ROW_WAIT,
			 5 + i);
	}
	table(b, 80);
	assert_in_range(lines_of(captured.text), 12, ENDING_LINES);
	assert_non_null(strstr(captured.text, "   (39 more)\n"));
}

/* Names of kernels and functions are cut, each to its part of the line. */
static void long_names_fit(void **state)
{
	static const unsigned int widths[] = {0, 40, 64, 80, 120, 250, 100000};
	static char kernel[4000], site[4000];
	struct bench *b = *state;

	memset(kernel, 'k', sizeof(kernel) - 1);
	memset(site, 's', sizeof(site) - 1);
	add_work(b, CLASS_GPU_KERNEL, site, kernel, 1, 3 * MS);
	add_work(b, CLASS_GPU_KERNEL, "main", kernel, 1, 2 * MS);
	add_work(b, CLASS_GPU_KERNEL, site, "gemm", 1, 1 * MS);
	add_work(b, CLASS_GPU_KERNEL, "\xe5\x9b\xb3\xe5\x9b\xb3", "\xe5\x9b\xb3", 1, 1);
	add_samples(b, push(b, RESULT_ROOT, CLASS_NATIVE, site), 5);
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		unsigned int most = widths[i] > 250 ? 250 : widths[i] < 104 ? 104 : widths[i];

		for (char *line = table(b, widths[i]); *line;) {
			char *rest = strchr(line, '\n');

			*rest = '\0';
			assert_true(columns_of(line) <= most);
			line = rest + 1;
		}
	}
	table(b, 100);
	assert_non_null(strstr(captured.text, "kkk\xe2\x80\xa6, by sss"));
	assert_non_null(strstr(captured.text, "s\xe2\x80\xa6 and 1 more\n"));
	assert_non_null(strstr(captured.text, "gemm, by ssssssssssssssssssssssssssssss"));
}

/* ---- the last lines ---- */

static void a_complete_run(void **state)
{
	struct bench *b = *state;

	ending_note_losses(&b->ending, &b->made.result.totals, 0);
	assert_string_equal(last_lines(b),
			    "Complete: nothing lost. Price: CPU 900 ms in profile\n");
	b->ledger.launches.with_stack = b->ledger.launches.whole = 1000;
	b->ledger.cpu.samples = b->ledger.cpu.whole = 100;
	b->ledger.pipe.processes = 1;
	b->ledger.cost = (struct ledger_cost){.program_ns = 31 * MS, .kernel_ns = 2 * MS};
	b->made.result.totals.command_cpu_ns = 1000 * MS;
	ending_note_losses(&b->ending, &b->made.result.totals, 0);
	ending_note_file(&b->ending,
			 &(struct ending_file){.path = "train.html", .is_report = true});
	ending_note_file(&b->ending, &(struct ending_file){.path = "a.folded"});
	ending_note_file(&b->ending,
			 &(struct ending_file){.path = "a.profile", .has_whole_run = true});
	assert_string_equal(last_lines(b),
			    "Complete: nothing lost, all stacks whole. Price: CPU 31.0 ms in the "
			    "program, 2.0 ms in the operating system, 900 ms in profile\n"
			    "Wrote: a.folded, a.profile (the whole run)\n"
			    "Report: train.html\n");
	b->ledger.pipe.processes = 2; /* the cost of one is not known */
	b->ledger.pipe.without_goodbye = 1;
	assert_non_null(strstr(last_lines(b), "Price: CPU at least 31.0 ms in the program"));
	b->log.level = LOG_VERBOSE; /* other lines have the files with their sums */
	assert_null(strstr(last_lines(b), "Wrote"));
	assert_non_null(strstr(captured.text, "Report: train.html\n"));
	b->log.level = LOG_ERRORS;
	assert_string_equal(last_lines(b), "");
}

/* Source in a report is said: it may be handed on. */
static void source_in_a_report_is_counted(void **state)
{
	struct bench *b = *state;

	ending_note_file(&b->ending, &(struct ending_file){.path = "a.html",
							   .is_report = true,
							   .source_lines = 1,
							   .source_files = 1});
	ending_note_file(&b->ending, &(struct ending_file){.path = "b.html",
							   .is_report = true,
							   .source_lines = 117,
							   .source_files = 3});
	assert_non_null(strstr(last_lines(b),
			       "Report: a.html (with 1 line of 1 source file), b.html "
			       "(with 117 lines of 3 source files)\n"));
}

static void losses_are_named(void **state)
{
	struct bench *b = *state;

	b->ledger.gpu.dropped = 100;
	b->ledger.cpu.samples = 100000;
	b->ledger.cpu.whole = 99999;
	ending_note_losses(&b->ending, &b->made.result.totals, 0);
	assert_string_equal(last_lines(b), "Not complete: GPU operations dropped: 100; 99.9 % of "
					   "stacks whole. Price: CPU 900 ms in profile\n");
	b->ledger.gpu.dropped = 0;
	ending_note_losses(&b->ending, &b->made.result.totals, 0);
	assert_non_null(strstr(last_lines(b), "Complete: nothing lost, 99.9 % of stacks whole. "));
	ending_note_losses(&b->ending, &b->made.result.totals, 3);
	assert_non_null(strstr(last_lines(b),
			       "Not complete: stacks past the limit on distinct stacks: 3; "));
	b->ledger.cpu.dropped = b->ledger.launches.dropped = 1;
	b->ledger.gpu.missing = b->ledger.gpu.unmatched = UINT64_MAX;
	ending_note_losses(&b->ending, &b->made.result.totals, 0);
	assert_non_null(strstr(last_lines(b),
			       "Not complete: CPU samples dropped: 1; launches dropped: 1; GPU "
			       "operations sent that did not arrive: 18446744073709551615; and 1 "
			       "more, which --top lists; 99.9 % of stacks whole. "));
}

static void a_trace_has_no_price_of_the_profiler(void **state)
{
	struct bench *b = *state;

	b->made.result.totals.measure.alone = true;
	b->ledger.pipe.processes = 1;
	b->ledger.cost.program_ns = 3 * MS;
	assert_string_equal(last_lines(b), "Price: CPU 3.0 ms in the program\n");
	b->ledger.pipe.without_goodbye = 1; /* not known at all */
	assert_string_equal(last_lines(b), "");
	ending_note_losses(&b->ending, &b->made.result.totals, 0);
	assert_string_equal(last_lines(b), "Not complete: traced processes that ended without a "
					   "goodbye: 1.\n");
}

static void files_have_a_limit(void **state)
{
	struct bench *b = *state;

	for (uint32_t i = 0; i < 2 * ENDING_FILES; i++)
		ending_note_file(&b->ending, &(struct ending_file){.path = "f"});
	assert_int_equal(b->ending.file_count, ENDING_FILES);
	assert_non_null(strstr(last_lines(b), "\nWrote: f, f, f"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_findings_there_are_sums),
		TEST(how_a_run_ended_is_said_where_it_is_known),
		TEST(a_long_command_is_cut),
		TEST(the_verdict_comes_first_and_three_others_follow),
		TEST(what_to_run_after_the_verdict_has_a_line),
		TEST(without_a_verdict_the_reason_is_said_of_a_gpu_program),
		TEST(claims_of_any_kind_stay_in_their_lines),
		TEST(gpu_work_has_its_launching_function),
		TEST(cpu_time_has_its_error),
		TEST(waits_and_timed_calls_have_lines),
		TEST(the_table_is_short_and_adds_up),
		TEST(long_names_fit),
		TEST(a_complete_run),
		TEST(source_in_a_report_is_counted),
		TEST(losses_are_named),
		TEST(a_trace_has_no_price_of_the_profiler),
		TEST(files_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
