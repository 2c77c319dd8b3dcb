/* SPDX-License-Identifier: MIT */
/* The report's tables: sums, order, what is left out, and names of any length. */
#include "made_result.h"
#include "profiler/report/top.h"

static struct capture captured;

static uint32_t push(struct made_result *m, uint32_t outer, enum frame_class class,
		     const char *name)
{
	uint32_t stack = made_push(m, outer, name);

	m->frames[m->stacks[stack].frame].class = class;
	frame_info_pseudo(&m->frames[m->stacks[stack].frame]);
	return stack;
}

static struct ledger ledger;

/* Returns the whole report. */
static const char *report_all(struct made_result *m, unsigned int width)
{
	struct log log = {.level = LOG_NORMAL};

	m->result.totals.ledger = &ledger;
	m->result.totals.elapsed_ns = 4000000000;
	m->result.totals.command_cpu_ns = m->result.totals.measure.duration_ns ? 0 : 1000000000;
	m->result.totals.own_cpu_ns = 40000000;
	m->result.totals.own_memory_bytes = 30 << 20;
	capture_begin(&captured);
	top_report(&log, &m->result, width);
	made_end(m);
	return capture_end(&captured);
}

/* Returns the report's tables, without the first line and the last one. */
static const char *report(struct made_result *m, unsigned int width)
{
	char *text = (char *)report_all(m, width), *end;

	assert_memory_equal(text, "The run took 4.000 s; CPU 1.000 s (25.0 %)", 42);
	text = strchr(text, '\n') + 1;
	end = strstr(text, "Nothing was lost, and everything was matched.\n");
	assert_non_null(end);
	*end = '\0';
	return text;
}

static void an_empty_result_has_no_tables(void **state)
{
	struct made_result m;

	(void)state;
	made_begin(&m);
	assert_string_equal(report(&m, 80), "");
}

/* With -d the command may go on: its times are not known yet. */
static void a_run_that_goes_on_has_taken_no_time(void **state)
{
	struct made_result m;
	const char *text;

	(void)state;
	made_begin(&m);
	m.result.totals.measure.duration_ns = 300000000;
	m.result.totals.shown = "-d 0.3";
	text = report_all(&m, 80);
	assert_ptr_equal(text, strstr(text, "Shown with -d 0.3: 300.000 ms"));
	assert_null(strstr(text, "The run took"));
}

/* The part that --last or `start` chose ends with it. */
static void a_run_whose_last_part_is_shown_has_ended(void **state)
{
	struct made_result m;

	(void)state;
	made_begin(&m);
	m.result.totals.measure.delay_ns = 3000000000;
	m.result.totals.measure.duration_ns = 1000000000;
	m.result.totals.shown = "--last 1 --process a";
	assert_non_null(strstr(report_all(&m, 80), "The run took 4.000 s"));
}

/* A view of no part, as of one's own code alone, shows all of the time. */
static void a_view_of_no_part_shows_the_whole_run(void **state)
{
	struct made_result m;

	(void)state;
	made_begin(&m);
	m.result.totals.shown = "--my-code";
	assert_non_null(strstr(report_all(&m, 80), "Shown with --my-code: the whole run\n"));
}

/* Names that begin alike stay apart where there is little room. */
static void long_names_keep_their_ends(void **state)
{
	static const struct {
		const char *name, *shown;
	} cases[] = {
		{"server::InferencePipeline::embed", "\xe2\x80\xa6InferencePipeline::embed\n"},
		{"a::b::Map<c::d, e::f>::find_it_there", "\xe2\x80\xa6"
							 "find_it_there\n"},
		{"run(x::y, aaaaaaaaaaaaaaaaaaaaaaaaaaaa)",
		 "run(x::y, aaaaaaaaaaaaaaaaa\xe2\x80\xa6\n"},
		{"space::long_long_long_long_long_name_",
		 "space::long_long_long_long_\xe2\x80\xa6\n"},
		{"operator<::a::bbbbbbbbbbbbbbbbbbbbbb::c",
		 "operator<::a::bbbbbbbbbbbbb\xe2\x80\xa6\n"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa::",
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaa\xe2\x80\xa6\n"},
		{"space::short_enough", " space::short_enough\n"},
	};
	struct made_result m;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		made_begin(&m);
		made_add(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, cases[i].name), ROW_CPU, 1);
		assert_non_null(strstr(report(&m, 80), cases[i].shown));
	}
}

/* "(1 more)" takes the line that the row would. */
static void one_row_alone_is_not_left_out(void **state)
{
	char names[12][8];

	(void)state;
	for (uint32_t count = 11; count <= 12; count++) {
		struct made_result m;
		const char *text;

		made_begin(&m);
		for (uint32_t i = 0; i < count; i++) {
			snprintf(names[i], sizeof(names[0]), "f%u", i);
			made_add(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, names[i]), ROW_CPU,
				 50 - i);
		}
		text = report(&m, 80);
		assert_int_equal(strstr(text, " f10\n") != NULL, count == 11);
		assert_int_equal(strstr(text, "(2 more)\n") != NULL, count == 12);
		assert_null(strstr(text, "(1 more)"));
	}
}

/* Idle time is that of a GPU: no thread waits in it. */
static void idle_time_of_a_gpu_is_in_no_table(void **state)
{
	struct made_result m;
	uint32_t idle;

	(void)state;
	made_begin(&m);
	idle = push(&m, RESULT_ROOT, CLASS_IDLE, "[GPU 0 idle]");
	made_add(&m, push(&m, idle, CLASS_NATIVE, "main"), ROW_IDLE, 40000000);
	assert_string_equal(report(&m, 80), "");
}

static void each_question_has_a_table(void **state)
{
	struct made_result m;
	uint32_t main, python, call, work;

	(void)state;
	made_begin(&m);
	main = push(&m, RESULT_ROOT, CLASS_NATIVE, "main");
	made_add(&m, main, ROW_CPU, 40000000);
	python = push(&m, main, CLASS_PYTHON, "step (train.py)");
	call = push(&m, push(&m, python, CLASS_NATIVE, "at::add"), CLASS_API, "cudaLaunchKernel");
	made_add(&m, push(&m, call, CLASS_GPU_KERNEL, "add"), ROW_GPU, 3000);
	m.rows[m.result.row_count - 1].count = 3;
	call = push(&m, main, CLASS_API, "cudaMemcpy");
	work = push(&m, call, CLASS_GPU_WORK, "[GPU_Memcpy HtoD]");
	made_add(&m, work, ROW_GPU, 1000);
	m.rows[m.result.row_count - 1].bytes = 2000;
	made_add(&m, push(&m, call, CLASS_WAIT, "[waiting for GPU]"), ROW_WAIT, 1500000000);
	assert_string_equal(
		report(&m, 120),
		"       calls         time          mean   share   GPU kernel\n"
		"           3     3.000 us      1.000 us 100.0 %   add\n"
		"  operations         time          rate   share   other GPU work\n"
		"           1     1.000 us     2.00 GB/s 100.0 %   [GPU_Memcpy HtoD]\n"
		"  operations         time          mean   share   launched by\n"
		"           3     3.000 us      1.000 us  75.0 %   step (train.py)\n"
		"           1     1.000 us      1.000 us  25.0 %   main\n"
		"   samples    own time   share  total time   share  function, on the CPU\n"
		"         1   40.000 ms 100.0 %   40.000 ms 100.0 %  main\n"
		"                     time                 share   waiting, or timed calls, in\n"
		"                  1.500 s               100.0 %   main\n");
}

/* Own times add up; a total has each sample once, though its function calls itself. */
static void functions_have_own_and_total_time(void **state)
{
	struct made_result m;
	uint32_t main, walk, place;

	(void)state;
	made_begin(&m);
	place = push(&m, RESULT_ROOT, CLASS_PLACE, "[thread 1]");
	main = push(&m, place, CLASS_NATIVE, "main");
	walk = push(&m, push(&m, main, CLASS_NATIVE, "walk"), CLASS_NATIVE, "walk");
	made_add(&m, walk, ROW_CPU, 60000000);
	walk = push(&m, push(&m, walk, CLASS_PYTHON, "visit (a.py)"), CLASS_NATIVE, "walk");
	made_add(&m, push(&m, walk, CLASS_KERNEL_MODE, "do_read"), ROW_CPU, 30000000);
	/* a kernel that a spinning thread waits for has no CPU time of its own */
	walk = push(&m, push(&m, main, CLASS_NATIVE, "spin"), CLASS_MARK, PSEUDO_SPINNING);
	made_add(&m, push(&m, walk, CLASS_GPU_KERNEL, "add"), ROW_CPU, 10000000);
	made_add(&m, push(&m, RESULT_ROOT, CLASS_MARK, "[not sampled]"), ROW_CPU, 100000000);
	/* the GPU's time is none of the CPU's */
	made_add(&m, push(&m, push(&m, main, CLASS_API, "cudaLaunchKernel"), CLASS_GPU_WORK, "w"),
		 ROW_GPU, 5);
	assert_non_null(
		strstr(report(&m, 80),
		       "   samples    own time   share  total time   share  function, on the CPU\n"
		       "         1  100.000 ms  50.0 %  100.000 ms  50.0 %  [not sampled]\n"
		       "         1   60.000 ms  30.0 %   90.000 ms  45.0 %  walk\n"
		       "         1   30.000 ms  15.0 %   30.000 ms  15.0 %  do_read\n"
		       "         1   10.000 ms   5.0 %   10.000 ms   5.0 %  spin\n"
		       "         0        0 ns   0.0 %  100.000 ms  50.0 %  main\n"
		       "         0        0 ns   0.0 %   30.000 ms  15.0 %  visit (a.py)\n"));
}

/* The node of a graph counts for the function that launched the graph. */
static void a_graph_is_launched_by_its_launch(void **state)
{
	struct made_result m;
	uint32_t stack;

	(void)state;
	made_begin(&m);
	stack = push(&m, RESULT_ROOT, CLASS_NATIVE, "replay");
	stack = push(&m, stack, CLASS_API, "cudaGraphLaunch");
	stack = push(&m, stack, CLASS_MARK, "[GPU_Graph node captured at]");
	stack = push(&m, stack, CLASS_NATIVE, "build");
	stack = push(&m, stack, CLASS_API, "cudaLaunchKernel");
	made_add(&m, push(&m, stack, CLASS_GPU_KERNEL, "k"), ROW_GPU, 10);
	assert_non_null(strstr(report(&m, 80), "100.0 %   replay\n"));
}

/* Who launched is the function around folded code, or else the package. */
static void folded_code_launches_for_its_caller(void **state)
{
	struct made_result m;
	uint32_t own, folded;
	const char *text;

	(void)state;
	made_begin(&m);
	own = push(&m, RESULT_ROOT, CLASS_NATIVE, "step");
	for (int i = 0; i < 2; i++) {
		folded = push(&m, i ? own : RESULT_ROOT, CLASS_FOLDED, "[torch]");
		folded = push(&m, folded, CLASS_FOLDED, "[libcublas.so]");
		folded = push(&m, folded, CLASS_API, "cudaLaunchKernel");
		made_add(&m, push(&m, folded, CLASS_GPU_KERNEL, "k"), ROW_GPU, i ? 10 : 30);
	}
	text = report(&m, 80);
	assert_non_null(strstr(text, "75.0 %   [libcublas.so]\n"));
	assert_non_null(strstr(text, "25.0 %   step\n"));
}

static void a_launch_without_a_stack_is_unknown(void **state)
{
	struct made_result m;
	uint32_t stack;

	(void)state;
	made_begin(&m);
	stack = push(&m, RESULT_ROOT, CLASS_MARK, "[launch not captured]");
	made_add(&m, push(&m, stack, CLASS_GPU_KERNEL, "k"), ROW_GPU, 10);
	assert_non_null(strstr(report(&m, 80), "100.0 %   [unknown]\n"));
}

/* All instances of a name are one line; the rest is in the last one. */
static void what_is_left_out_is_summed(void **state)
{
	static char names[25][8];
	struct made_result m;
	const char *text;

	(void)state;
	made_begin(&m);
	for (uint32_t i = 0; i < 50; i++) {
		snprintf(names[i % 25], sizeof(names[0]), "f%u", i % 25);
		made_add(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, names[i % 25]), ROW_CPU,
			 (i % 25 + 1) * 1000);
	}
	text = report(&m, 80);
	assert_non_null(strstr(text, "         2   50.000 us   7.7 %   50.000 us   7.7 %  f24\n"));
	assert_non_null(strstr(text, "         2   32.000 us   4.9 %   32.000 us   4.9 %  f15\n"));
	assert_null(strstr(text, "   f14\n"));
	assert_non_null(
		strstr(text, "        30  240.000 us  36.9 %                      (15 more)\n"));
}

static void names_are_cut_to_the_width(void **state)
{
	char name[200] = "";
	struct made_result m;

	(void)state;
	for (int i = 0; i < 60; i++)
		memcpy(name + 2 * i, "\xc3\xa9", 3); /* one column each */
	for (unsigned int width = 0; width < 200; width += 20) {
		const char *line, *end;
		unsigned int columns = 0;

		made_begin(&m);
		made_add(&m, push(&m, RESULT_ROOT, CLASS_NATIVE, name), ROW_CPU, 1);
		line = strchr(report(&m, width), '\n') + 1;
		end = strchr(line, '\n');
		for (const char *at = line; at < end; at++)
			columns += ((unsigned char)*at & 0xc0) != 0x80;
		assert_true(columns <= (width > 78 ? width : 78));
		assert_int_equal(strstr(line, "\xe2\x80\xa6") != NULL, width < 120);
	}
}

/* A report from a timeline: GPU time that overlaps, two devices, calls, and idle times. */
static void a_timeline_tells_more(void **state)
{
	static const struct device devices[] = {{.id = 0, .is_used = true},
						{.id = 1, .is_used = true}};
	struct made_result m;
	uint32_t main, launch, work, other, places[2];
	const char *text;

	(void)state;
	made_begin(&m);
	main = push(&m, RESULT_ROOT, CLASS_NATIVE, "main");
	other = push(&m, RESULT_ROOT, CLASS_NATIVE, "load");
	launch = push(&m, main, CLASS_API, "cudaLaunchKernel");
	work = push(&m, launch, CLASS_GPU_KERNEL, "k");
	made_add(&m, work, ROW_GPU, 2500000000);
	for (uint32_t i = 0; i < 2; i++) {
		struct place place = place_unknown();

		place.part[PLACE_PROCESS] = 0;
		place.part[PLACE_DEVICE] = i;
		places[i] = places_add(&m.places, &place).number;
	}
	m.result.places = m.places.list;
	m.result.place_count = m.places.count;
	m.result.devices = devices;
	m.result.device_count = 2;
	m.result.totals.start_ns = 1000000000;
	{
		const struct timeline_record records[] = {
			{.kind = TIMELINE_GPU_OPERATION,
			 .start_ns = 2000000000,
			 .duration_ns = 1000000000,
			 .stack = {work},
			 .place = {places[0]}},
			{.kind = TIMELINE_GPU_OPERATION,
			 .start_ns = 2500000000,
			 .duration_ns = 1000000000,
			 .stack = {work},
			 .place = {places[0]}},
			{.kind = TIMELINE_GPU_OPERATION,
			 .start_ns = 3000000000,
			 .duration_ns = 500000000,
			 .stack = {work},
			 .place = {places[1]}},
			{.kind = TIMELINE_LAUNCH,
			 .start_ns = 1900000000,
			 .duration_ns = 5000,
			 .stack = {launch}},
			{.kind = TIMELINE_LAUNCH,
			 .start_ns = 1900010000,
			 .duration_ns = 7000,
			 .stack = {launch}},
			{.kind = TIMELINE_LAUNCH, .start_ns = 1900020000, .duration_ns = 1000},
			{.kind = TIMELINE_CPU_SAMPLE,
			 .start_ns = 1500000000,
			 .duration_ns = 20000000,
			 .stack = {other}},
			{.kind = TIMELINE_CPU_SAMPLE,
			 .start_ns = 2500000000,
			 .duration_ns = 20000000,
			 .stack = {main}},
		};

		struct timeline *t = timeline_new("/tmp", NULL);

		assert_non_null(t);
		for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
			assert_int_equal(timeline_add(t, &records[i]), 0);
		timeline_finish(t);
		m.result.timeline = t;
		text = report_all(&m, 100);
		timeline_free(t);
	}
	assert_ptr_equal(text,
			 strstr(text,
				"The run took 4.000 s; CPU 1.000 s (25.0 %), GPU 0 busy 1.500 s "
				"(37.5 %), GPU 1 busy 500.000 ms (12.5 %), GPU work 2.500 s (sum)\n"
				"No GPU worked for 2.500 s (62.5 %); longest: 1.500 s at 2.500 s, "
				"1.000 s from the start\n"));
	assert_non_null(strstr(text, "while no GPU worked\n"
				     "         1   20.000 ms 100.0 %   20.000 ms 100.0 %  load\n"));
	assert_non_null(strstr(text,
			       "CUDA call\n"
			       "           2    12.000 us      6.000 us  92.3 %   "
			       "cudaLaunchKernel\n"
			       "           1     1.000 us      1.000 us   7.7 %   [unknown]\n"));
}

/* Without a call of CUDA around it. */
static void time_off_the_cpu_is_of_a_function(void **state)
{
	struct made_result m;
	uint32_t main, call;

	(void)state;
	made_begin(&m);
	main = push(&m, RESULT_ROOT, CLASS_NATIVE, "main");
	call = push(&m, push(&m, main, CLASS_NATIVE, "wait4"), CLASS_KERNEL_MODE, "do_wait");
	made_add(&m, push(&m, call, CLASS_WAIT, "[blocked: wait]"), ROW_WAIT, 3000000);
	made_add(&m, push(&m, main, CLASS_WAIT, "[runnable]"), ROW_WAIT, 1000000);
	call = push(&m, RESULT_ROOT, CLASS_MARK, "[stack not captured]");
	made_add(&m, push(&m, call, CLASS_WAIT, "[blocked: file]"), ROW_WAIT, 4000000);
	assert_string_equal(
		report(&m, 80),
		"                     time                 share   waiting, or timed calls, in\n"
		"                 4.000 ms                50.0 %   [stack not captured]\n"
		"                 3.000 ms                37.5 %   wait4\n"
		"                 1.000 ms                12.5 %   main\n");
}

static void the_cost_is_a_line(void **state)
{
	struct log log = {.level = LOG_NORMAL};
	struct totals totals = {
		.elapsed_ns = 4000000000, .own_cpu_ns = 40000000, .own_memory_bytes = 30 << 20};

	(void)state;
	capture_begin(&captured);
	top_report_cost(&log, &totals);
	assert_string_equal(capture_end(&captured), "While it ran, profile itself used 40.000 ms "
						    "(1.0 %) of CPU and 30 MiB of memory\n");
}

static void losses_are_named(void **state)
{
	struct made_result m;
	const char *text;

	(void)state;
	made_begin(&m);
	ledger.gpu.dropped = 7;
	text = report_all(&m, 80);
	memset(&ledger, 0, sizeof(ledger));
	assert_non_null(strstr(text, "        lost   or not matched\n"
				     "             7   GPU operations dropped\n"));
	assert_null(strstr(text, "Nothing was lost"));
}

/* If a timeline lacks events, its table shows the least that happened. */
static void a_timeline_that_lacks_events(void **state)
{
	static const struct device device = {.id = 0, .is_used = true};
	struct timeline *t = timeline_new("/tmp", NULL);
	struct place place = place_unknown();
	struct made_result m;
	uint32_t main, work;
	const char *text;

	(void)state;
	made_begin(&m);
	main = push(&m, RESULT_ROOT, CLASS_NATIVE, "load");
	made_add(&m, main, ROW_CPU, 20000000);
	work = push(&m, push(&m, main, CLASS_API, "cudaLaunchKernel"), CLASS_GPU_KERNEL, "add");
	made_add(&m, work, ROW_GPU, 1000000000);
	place.part[PLACE_PROCESS] = 0;
	place.part[PLACE_DEVICE] = 0;
	places_add(&m.places, &place);
	m.result.places = m.places.list;
	m.result.place_count = m.places.count;
	m.result.devices = &device;
	m.result.device_count = 1;
	assert_non_null(t);
	timeline_add(t, &(struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
						  .start_ns = 1000000000,
						  .duration_ns = 1000000000,
						  .stack = {work},
						  .place = {m.places.count - 1}});
	timeline_add(t, &(struct timeline_record){.kind = TIMELINE_LAUNCH,
						  .start_ns = 900000000,
						  .duration_ns = 5000,
						  .stack = {main + 1}});
	timeline_add(t, &(struct timeline_record){.kind = TIMELINE_CPU_SAMPLE,
						  .start_ns = 500000000,
						  .duration_ns = 20000000,
						  .stack = {main}});
	timeline_finish(t);
	m.result.timeline = t;
	ledger.timeline.lost = 3;
	text = report_all(&m, 100);
	memset(&ledger, 0, sizeof(ledger));
	timeline_free(t);
	assert_non_null(strstr(text, " busy at least 1.000 s (25.0 %), "));
	assert_non_null(strstr(text, "\nNo GPU worked for at most 3.000 s (75.0 %): 3 events are "
				     "missing from the timeline\n"));
	assert_non_null(strstr(text, "while no GPU worked, as far as the timeline goes\n"));
	assert_non_null(strstr(text, "CUDA call, as far as the timeline goes\n"));
}

static void quiet_prints_nothing(void **state)
{
	struct log log = {.level = LOG_ERRORS};
	struct made_result m;

	(void)state;
	made_begin(&m);
	made_add(&m, MADE_STACK(&m, "main"), ROW_CPU, 1);
	m.result.totals.ledger = &ledger;
	capture_begin(&captured);
	top_report(&log, &m.result, 80);
	assert_string_equal(capture_end(&captured), "");
	made_end(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_result_has_no_tables),
		cmocka_unit_test(a_run_that_goes_on_has_taken_no_time),
		cmocka_unit_test(a_run_whose_last_part_is_shown_has_ended),
		cmocka_unit_test(a_view_of_no_part_shows_the_whole_run),
		cmocka_unit_test(long_names_keep_their_ends),
		cmocka_unit_test(one_row_alone_is_not_left_out),
		cmocka_unit_test(idle_time_of_a_gpu_is_in_no_table),
		cmocka_unit_test(each_question_has_a_table),
		cmocka_unit_test(functions_have_own_and_total_time),
		cmocka_unit_test(a_graph_is_launched_by_its_launch),
		cmocka_unit_test(folded_code_launches_for_its_caller),
		cmocka_unit_test(a_launch_without_a_stack_is_unknown),
		cmocka_unit_test(what_is_left_out_is_summed),
		cmocka_unit_test(names_are_cut_to_the_width),
		cmocka_unit_test(a_timeline_tells_more),
		cmocka_unit_test(time_off_the_cpu_is_of_a_function),
		cmocka_unit_test(the_cost_is_a_line),
		cmocka_unit_test(losses_are_named),
		cmocka_unit_test(a_timeline_that_lacks_events),
		cmocka_unit_test(quiet_prints_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
