/* SPDX-License-Identifier: MIT */
/* Steps of a run: by repeated launches, and by NVTX ranges. */
#include "made_timeline.h"
#include "profiler/findings/run_steps.h"

#define STEP_NS 1000000u

/* A run under way. Launches of a step are 1000 ns apart. */
struct run {
	struct made_timeline timeline;
	uint64_t now_ns;
	uint32_t correlation, thread;
	uint32_t main; /* stack */
};

static void begin(struct run *r)
{
	*r = (struct run){.now_ns = STEP_NS / 2, .thread = 12};
	made_timeline_begin(&r->timeline);
	r->main = made_push(&r->timeline.made, RESULT_ROOT, "main");
}

static uint32_t push(struct run *r, uint32_t outer, enum frame_class class, const char *name)
{
	uint32_t stack = made_push(&r->timeline.made, outer, name);

	r->timeline.made.frames[r->timeline.made.stacks[stack].frame].class = class;
	return stack;
}

/* Launches a kernel from a stack. */
static void launch(struct run *r, uint32_t stack, uint32_t kernel)
{
	struct place_id place = made_place(&r->timeline, 1, r->thread, NOT, NOT);

	made_record(&r->timeline, (struct timeline_record){.kind = TIMELINE_LAUNCH,
							   .start_ns = r->now_ns,
							   .duration_ns = 100,
							   .place = place,
							   .stack = {stack},
							   .correlation = ++r->correlation});
	made_record(&r->timeline,
		    (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					     .start_ns = r->now_ns + 200,
					     .duration_ns = 100,
					     .place = made_place(&r->timeline, 1, r->thread, 0, 7),
					     .stack = {kernel},
					     .work = GPU_WORK_KERNEL,
					     .correlation = r->correlation});
	r->now_ns += 1000;
}

/* The stacks of a loop's body: three call sites inside `outer`. */
struct body {
	uint32_t calls[3], kernels[3];
};

static struct body make_body(struct run *r, uint32_t outer)
{
	static const char *const names[] = {"forward", "backward", "update"};
	struct body b;

	for (int i = 0; i < 3; i++) {
		uint32_t site = push(r, outer, CLASS_NATIVE, names[i]);

		b.calls[i] = push(r, site, CLASS_API, "cudaLaunchKernel");
		b.kernels[i] = push(r, b.calls[i], CLASS_GPU_KERNEL, names[i]);
	}
	return b;
}

/* Launches the body: forward twice, backward, and update. */
static void run_body(struct run *r, const struct body *b)
{
	launch(r, b->calls[0], b->kernels[0]);
	launch(r, b->calls[0], b->kernels[0]);
	launch(r, b->calls[1], b->kernels[1]);
	launch(r, b->calls[2], b->kernels[2]);
}

static const struct result *end(struct run *r)
{
	struct made_result *m = &r->timeline.made;

	assert_int_equal(timeline_finish(r->timeline.timeline), 0);
	m->result.timeline = r->timeline.timeline;
	m->result.record_stack_count = m->result.stack_count;
	m->result.totals.elapsed_ns = r->now_ns;
	return &m->result;
}

/* Finds steps by ranges, or by launches if `name` is NULL. */
static void find(struct run *r, struct run_steps *steps, const char *name)
{
	struct slice_match match = {.text = NULL};
	char error[SLICE_ERROR_BYTES];

	if (name)
		assert_true(slice_parse_match(name, false, &match, error));
	assert_int_equal(run_steps_find(steps, end(r), &match), 0);
	slice_release_match(&match);
}

/* Checks steps of equal length from `from_ns` on. */
static void assert_steps(const struct run_steps *steps, uint32_t count, uint64_t from_ns,
			 uint64_t length_ns)
{
	const struct step_series *s = steps->steps.list;

	assert_null(steps->none);
	assert_int_equal(steps->steps.count, 1);
	assert_int_equal(s->count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(s->starts_ns[i], from_ns + i * length_ns);
}

static void finish(struct run *r, struct run_steps *steps)
{
	run_steps_release(steps);
	made_timeline_end(&r->timeline);
}

/* A cache of host memory that fills: two of three steps allocate first. */
static void allocations_begin_no_steps(void **state)
{
	struct run r;
	struct run_steps steps;
	uint32_t allocate, copy, launch_graph, work, kernel;

	(void)state;
	begin(&r);
	allocate = push(&r, r.main, CLASS_API, "cudaHostAlloc");
	copy = push(&r, r.main, CLASS_API, "cudaMemcpyAsync");
	work = push(&r, copy, CLASS_GPU_WORK, "[GPU_Memcpy HtoD]");
	launch_graph = push(&r, r.main, CLASS_API, "cudaGraphLaunch");
	kernel = push(&r, launch_graph, CLASS_GPU_KERNEL, "[GPU_Kernel]step");
	for (int i = 0; i < 30; i++) {
		r.now_ns = (uint64_t)(i + 1) * STEP_NS - (i % 3 ? 1000 : 0);
		if (i % 3)
			launch(&r, allocate, allocate);
		launch(&r, copy, work);
		launch(&r, copy, work);
		launch(&r, launch_graph, kernel);
	}
	find(&r, &steps, NULL);
	assert_steps(&steps, 30, STEP_NS, STEP_NS);
	finish(&r, &steps);
}

static void launches_without_a_stack_are_launches(void **state)
{
	struct run r;
	struct run_steps steps;

	(void)state;
	begin(&r);
	r.timeline.made.stacks[RESULT_ROOT].frame = UINT32_MAX; /* none */
	for (int i = 0; i < 30; i++) {
		r.now_ns = (uint64_t)(i + 1) * STEP_NS;
		launch(&r, RESULT_ROOT, RESULT_ROOT);
	}
	find(&r, &steps, NULL);
	finish(&r, &steps);
}

static void repeated_launches_are_steps(void **state)
{
	struct run r;
	struct run_steps steps;
	struct body b;

	(void)state;
	begin(&r);
	b = make_body(&r, r.main);
	for (int i = 0; i < 30; i++) {
		r.now_ns = (uint64_t)(i + 1) * STEP_NS;
		run_body(&r, &b);
	}
	find(&r, &steps, NULL);
	assert_steps(&steps, 30, STEP_NS, STEP_NS);
	assert_int_equal(steps.thread.process, 1);
	assert_int_equal(steps.thread.tid, 12);
	finish(&r, &steps);
}

/* Each step is in a range of its own name, so that its stacks are its own. */
static void ranges_do_not_hide_repetition(void **state)
{
	static char names[30][16];
	struct run r;
	struct run_steps steps;
	struct body first;

	(void)state;
	begin(&r);
	for (int i = 0; i < 30; i++) {
		struct body b;
		struct made_result *m = &r.timeline.made;

		snprintf(names[i], sizeof(names[i]), "nvtx:step %d", i);
		b = make_body(&r, push(&r, r.main, CLASS_NVTX, names[i]));
		if (i == 0)
			first = b;
		for (int k = 0; k < 3; k++) { /* equal functions are one frame in results */
			uint32_t site = m->stacks[b.calls[k]].outer;

			m->stacks[site].frame = m->stacks[m->stacks[first.calls[k]].outer].frame;
			m->stacks[b.calls[k]].frame = m->stacks[first.calls[k]].frame;
			m->stacks[b.kernels[k]].frame = m->stacks[first.kernels[k]].frame;
		}
		r.now_ns = (uint64_t)(i + 1) * STEP_NS;
		run_body(&r, &b);
	}
	find(&r, &steps, NULL);
	assert_steps(&steps, 30, STEP_NS, STEP_NS);
	finish(&r, &steps);
}

/* Launches the body `count` times, at steady intervals, by a thread. */
static void run_loop(struct run *r, const struct body *b, uint32_t thread, int count,
		     uint64_t interval_ns)
{
	r->thread = thread;
	for (int i = 0; i < count; i++) {
		uint64_t begin_ns = r->now_ns;

		run_body(r, b);
		r->now_ns = begin_ns + interval_ns;
	}
}

/* A compiler's threads launch their attempts for longer than the program takes for its steps. */
static void attempts_of_other_threads_are_no_steps(void **state)
{
	struct run r;
	struct run_steps steps;
	struct body load, attempts, step;
	uint64_t from_ns;

	(void)state;
	begin(&r);
	attempts = make_body(&r, push(&r, r.main, CLASS_NATIVE, "tune"));
	step = make_body(&r, push(&r, r.main, CLASS_NATIVE, "train"));
	load = make_body(&r, push(&r, r.main, CLASS_NATIVE, "load"));
	run_loop(&r, &load, 12, 1, 40 * STEP_NS);
	for (uint32_t i = 0; i < 3; i++)
		run_loop(&r, &attempts, 20 + i, 30, STEP_NS);
	from_ns = r.now_ns;
	run_loop(&r, &step, 12, 30, STEP_NS / 20);
	find(&r, &steps, NULL);
	assert_null(steps.none);
	assert_int_equal(steps.thread.tid, 12);
	assert_int_equal(steps.steps.list[0].starts_ns[steps.steps.list[0].count],
			 r.now_ns - STEP_NS / 20 + 3001);
	assert_true(steps.steps.list[0].starts_ns[1] >= from_ns);
	finish(&r, &steps);
}

/* Each of many short threads repeats what it does: none of these loops is the run's. */
static void loops_of_short_threads_are_no_steps(void **state)
{
	struct run r;
	struct run_steps steps;
	struct body b;

	(void)state;
	begin(&r);
	b = make_body(&r, r.main);
	for (uint32_t i = 0; i < 8; i++)
		run_loop(&r, &b, 20 + i, 30, STEP_NS);
	find(&r, &steps, NULL);
	assert_non_null(steps.none);
	finish(&r, &steps);
}

static void without_launches_there_are_no_steps(void **state)
{
	struct run r;
	struct run_steps steps;

	(void)state;
	begin(&r);
	find(&r, &steps, NULL);
	assert_int_equal(steps.steps.count, 0);
	assert_string_equal(steps.none, "there are too few launches");
	finish(&r, &steps);
}

/* Ranges that launches separate are steps, whatever is in them. */
static void ranges_are_steps(void **state)
{
	struct run r;
	struct run_steps steps;
	struct body in, out;

	(void)state;
	begin(&r);
	in = make_body(&r, push(&r, r.main, CLASS_NVTX, "nvtx:train"));
	out = make_body(&r, push(&r, r.main, CLASS_NVTX, "nvtx:eval"));
	launch(&r, out.calls[0], out.kernels[0]);
	for (int i = 0; i < 5; i++) {
		r.now_ns = (uint64_t)(i + 1) * STEP_NS;
		for (int k = 0; k <= i; k++)
			launch(&r, in.calls[(i * 7 + k) % 3], in.kernels[(i * 7 + k) % 3]);
		launch(&r, out.calls[1], out.kernels[1]);
	}
	find(&r, &steps, "^train$");
	assert_steps(&steps, 5, STEP_NS, STEP_NS);
	/* the last step has 5 launches; what follows is outside */
	assert_int_equal(steps.steps.list->starts_ns[5], 5 * STEP_NS + 4 * 1000 + 1);
	assert_int_equal(steps.steps.list->launches, 5 + 4 + 3 + 2 + 1 + 4);
	assert_int_equal(steps.steps.list->of, 1 + 15 + 5);
	finish(&r, &steps);
}

static void another_name_is_another_step(void **state)
{
	static const char *const names[] = {"nvtx:step 1", "nvtx:step 2", "nvtx:step 3"};
	struct run r;
	struct run_steps steps;

	(void)state;
	begin(&r);
	for (int i = 0; i < 3; i++) {
		struct body b = make_body(&r, push(&r, r.main, CLASS_NVTX, names[i]));

		r.now_ns = (uint64_t)(i + 1) * STEP_NS;
		for (int k = 0; k < 20; k++) /* what repeats in a step splits no named one */
			run_body(&r, &b);
	}
	find(&r, &steps, "step [0-9]+");
	assert_steps(&steps, 3, STEP_NS, STEP_NS);
	finish(&r, &steps);
}

/* A range inside the step's range does not count. */
static void the_outermost_range_counts(void **state)
{
	struct run r;
	struct run_steps steps;
	uint32_t range;
	struct body b, inner;

	(void)state;
	begin(&r);
	range = push(&r, r.main, CLASS_NVTX, "nvtx:step");
	b = make_body(&r, range);
	inner = make_body(&r, push(&r, range, CLASS_NVTX, "nvtx:sub step"));
	for (int i = 0; i < 6; i++) {
		r.now_ns = (uint64_t)(i + 1) * STEP_NS;
		run_body(&r, &b);
		run_body(&r, &inner);
		launch(&r, r.main, r.main);
	}
	find(&r, &steps, "step");
	assert_steps(&steps, 6, STEP_NS, STEP_NS);
	finish(&r, &steps);
}

/*
 * Between ranges nothing is launched, and steps take random times. They begin with what the first
 * range begins with, also in the last step.
 */
static void adjoining_ranges_are_split_where_they_begin(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < unit_rounds(20); round++) {
		enum { COUNT = 40 };
		struct prng p = prng_round(round);
		struct run r;
		struct run_steps steps;
		struct body b;
		uint64_t starts[COUNT];

		begin(&r);
		b = make_body(&r, push(&r, r.main, CLASS_NVTX, "nvtx:step"));
		for (int i = 0; i < COUNT; i++) {
			r.now_ns += prng_bits(&p, 20);
			starts[i] = r.now_ns;
			run_body(&r, &b);
			if (i % 10 == 5)
				launch(&r, r.main, b.kernels[1]); /* outside */
		}
		find(&r, &steps, "step");
		assert_int_equal(steps.steps.count, 1);
		EXPECT(&p, steps.steps.list->count == COUNT);
		for (uint32_t i = 0; i < COUNT && steps.steps.list->count == COUNT; i++)
			EXPECT(&p, steps.steps.list->starts_ns[i] == starts[i]);
		finish(&r, &steps);
	}
}

/* Launches of another thread do not end a range, whose thread is the one with most launches. */
static void ranges_are_of_one_thread(void **state)
{
	struct run r;
	struct run_steps steps;
	struct body in, out;

	(void)state;
	begin(&r);
	in = make_body(&r, push(&r, r.main, CLASS_NVTX, "nvtx:step"));
	out = make_body(&r, r.main);
	for (int i = 0; i < 7; i++) {
		r.now_ns = (uint64_t)(i + 1) * STEP_NS;
		r.thread = 12;
		launch(&r, in.calls[0], in.kernels[0]);
		r.thread = 13;
		launch(&r, out.calls[1], out.kernels[1]);
		launch(&r, in.calls[1], in.kernels[1]);
		r.thread = 12;
		launch(&r, in.calls[2], in.kernels[2]);
		launch(&r, out.calls[2], out.kernels[2]);
	}
	find(&r, &steps, "step");
	assert_steps(&steps, 7, STEP_NS, STEP_NS);
	assert_int_equal(steps.thread.tid, 12);
	finish(&r, &steps);
}

static void without_a_range_there_are_no_steps(void **state)
{
	struct run r;
	struct run_steps steps;
	struct body b;

	(void)state;
	begin(&r);
	b = make_body(&r, push(&r, r.main, CLASS_NVTX, "nvtx:step"));
	for (int i = 0; i < 30; i++)
		run_body(&r, &b);
	find(&r, &steps, "^nvtx"); /* the prefix is no part of the name */
	assert_int_equal(steps.steps.count, 0);
	assert_string_equal(steps.none, "no launch is in an NVTX range whose name matches");
	finish(&r, &steps);
}

/* The first steps, which take long, are warm-up; a slow one later is not. */
static void long_first_steps_are_warm_up(void **state)
{
	static const uint32_t lengths[] = {50, 20, 1, 1, 1, 30, 1, 1, 1, 1, 1, 1};
	struct run r;
	struct run_steps steps;
	struct body b;

	(void)state;
	begin(&r);
	b = make_body(&r, push(&r, r.main, CLASS_NVTX, "nvtx:step"));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint64_t start = r.now_ns;

		launch(&r, b.calls[0], b.kernels[0]);
		launch(&r, r.main, r.main);
		r.now_ns = start + lengths[i] * STEP_NS;
	}
	find(&r, &steps, "step");
	assert_int_equal(steps.steps.list->count, 12);
	assert_int_equal(steps.steps.list->warm_up, 2);
	finish(&r, &steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repeated_launches_are_steps),
		cmocka_unit_test(allocations_begin_no_steps),
		cmocka_unit_test(launches_without_a_stack_are_launches),
		cmocka_unit_test(ranges_do_not_hide_repetition),
		cmocka_unit_test(attempts_of_other_threads_are_no_steps),
		cmocka_unit_test(loops_of_short_threads_are_no_steps),
		cmocka_unit_test(without_launches_there_are_no_steps),
		cmocka_unit_test(ranges_are_steps),
		cmocka_unit_test(another_name_is_another_step),
		cmocka_unit_test(the_outermost_range_counts),
		cmocka_unit_test(adjoining_ranges_are_split_where_they_begin),
		cmocka_unit_test(ranges_are_of_one_thread),
		cmocka_unit_test(without_a_range_there_are_no_steps),
		cmocka_unit_test(long_first_steps_are_warm_up),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
