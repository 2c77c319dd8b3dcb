/* SPDX-License-Identifier: MIT */
/*
 * Spans sent during a run are those that would be sent at its end. This holds for any order and
 * split of records. The number of waiting records is bounded.
 */
#include "naming_bench.h"
#include "own_folder.h"
#include <pthread.h>
#include <cjson/cJSON.h>

#include "profiler/formats/spans.h"
#include "profiler/send/live_spans.h"
#include "symbolize/util/array.h"

#define TRACEPARENT "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define KERNELS 5u

enum { WAITING = 8192, HELD = 64 };

struct run {
	struct naming_bench *b;
	struct span_options spans;
	struct timeline *timeline; /* keeps all */
	struct live_spans *live;
	struct stack_id kernels[KERNELS], call;
	/* the spans that were put, as text with their resource; of operations without their ids */
	char **texts;
	uint32_t count, capacity;
	uint32_t requests;
	bool only_counts; /* counts spans only, for tests with many */
	uint64_t counted;
	int answer; /* result of `put` */
};

static struct run run;

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_operation(const cJSON *span)
{
	const cJSON *a;

	cJSON_ArrayForEach(
		a,
		cJSON_GetObjectItem(
			span,
			"attributes")) if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(a,
											   "key")),
						  "cuda.operation") == 0) return true;
	return false;
}

static void keep_span(struct run *r, const cJSON *resource, cJSON *span)
{
	char *of, *what;

	if (is_operation(span))
		cJSON_DeleteItemFromObject(span, "spanId");
	of = cJSON_PrintUnformatted(resource);
	what = cJSON_PrintUnformatted(span);
	assert_true(array_make_room(&r->texts, r->count, &r->capacity, sizeof(*r->texts)));
	assert_true(asprintf(&r->texts[r->count++], "%s %s", what, of) > 0);
	free(of);
	free(what);
}

static int put(void *context, const void *request, size_t size, uint32_t count)
{
	struct run *r = context;
	uint32_t before = r->count;
	const cJSON *resource;
	cJSON *tree, *span;

	if (r->answer)
		return r->answer;
	r->counted += count;
	if (r->only_counts)
		return 0;
	tree = cJSON_ParseWithLength(request, size);
	assert_non_null(tree);
	cJSON_ArrayForEach(resource, cJSON_GetObjectItem(tree, "resourceSpans")) cJSON_ArrayForEach(
		span,
		cJSON_GetObjectItem(cJSON_GetObjectItem(resource, "scopeSpans")->child, "spans"))
		keep_span(r, cJSON_GetObjectItem(resource, "resource"), span);
	assert_int_equal(r->count - before, count);
	assert_in_range(count, 1, SPANS_IN_REQUEST);
	cJSON_Delete(tree);
	r->requests++;
	return 0;
}

static struct live_spans *new_live(struct run *r)
{
	struct live_spans *l = live_spans_new(&(struct live_spans_options){.spans = &r->spans,
									   .encoding = OTLP_JSON,
									   .put = put,
									   .context = r,
									   .waiting_max = WAITING,
									   .held_max = HELD});

	assert_non_null(l);
	assert_int_equal(live_spans_begin(l, &r->b->totals), 0);
	return l;
}

static void forget_texts(struct run *r)
{
	for (uint32_t i = 0; i < r->count; i++)
		free(r->texts[i]);
	free(r->texts);
	r->texts = NULL;
	r->count = r->capacity = 0;
}

static int begin(void **state)
{
	static const char *const names[KERNELS] = {"_Z7softmaxPKfi", "gemm", "_Z1av", "b", "c"};
	void *bench = NULL;

	if (bench_begin(&bench) != 0)
		return -1;
	*state = bench;
	run = (struct run){.b = bench};
	run.b->totals = (struct totals){.ledger = &run.b->ledger,
					.command = "./app 1",
					.command_pid = 101,
					.host = "node7",
					.folder = "/work",
					.start_ns = 1000,
					.start_unix_ns = 5000000,
					.elapsed_ns = 1000000};
	run.call = bench_call(run.b, STACK(run.b, "main"), "cudaLaunchKernel");
	for (uint32_t i = 0; i < KERNELS; i++) {
		struct gpu_work_origin origin;

		memset(&origin, 0, sizeof(origin));
		origin.launch = launched_at(run.call);
		origin.capture = CAPTURE_NONE;
		origin.work = GPU_WORK_KERNEL;
		origin.name = names[i];
		run.kernels[i] = gpu_stack_work(&run.b->gpu_stacks, &origin);
	}
	assert_int_equal(trace_context_continue(&run.spans.context, TRACEPARENT, NULL), 0);
	run.timeline = timeline_new(folder, NULL);
	assert_non_null(run.timeline);
	run.live = new_live(&run);
	return 0;
}

static int end(void **state)
{
	live_spans_free(run.live);
	timeline_free(run.timeline);
	forget_texts(&run);
	return bench_end(state);
}

static void hand_over(bool is_tick)
{
	live_spans_hand_over(run.live, &run.b->collected, run.timeline, is_tick);
}

/* Plays a tick, with the other thread's part of it. */
static void tick(void)
{
	hand_over(true);
	live_spans_work(run.live);
}

static void take(const struct timeline_record *record, uint64_t launched_ns)
{
	assert_int_equal(timeline_add(run.timeline, record), 0);
	if (live_spans_take(run.live, record, launched_ns))
		hand_over(false);
}

static uint32_t place(uint32_t process, uint32_t thread, uint32_t device, uint32_t stream)
{
	uint32_t context = stream == PLACE_UNKNOWN ? PLACE_UNKNOWN : 1;

	return places_add(&run.b->places,
			  &(struct place){{process, thread, device, context, stream}})
		.number;
}

static struct timeline_record call_of(uint8_t kind, uint32_t process, uint32_t thread,
				      uint64_t start_ns, uint64_t duration_ns, uint32_t correlation)
{
	return (struct timeline_record){
		.kind = kind,
		.start_ns = start_ns,
		.duration_ns = duration_ns,
		.place = {place(process, thread, PLACE_UNKNOWN, PLACE_UNKNOWN)},
		.stack = run.call,
		.correlation = correlation};
}

static struct timeline_record kernel_of(uint32_t process, uint32_t thread, uint64_t start_ns,
					uint32_t correlation, uint32_t number)
{
	const struct timeline_shape shape = {
		.grid = {number % 7 + 1, 1, 1}, .block = {32, 1, 1}, .registers = 16};

	return (struct timeline_record){.kind = TIMELINE_GPU_OPERATION,
					.start_ns = start_ns,
					.duration_ns = 7,
					.place = {place(process, thread, 0, 7 + number % 2)},
					.stack = run.kernels[number % KERNELS],
					.shape = timeline_number_shape(run.timeline, &shape),
					.correlation = correlation,
					.work = GPU_WORK_KERNEL};
}

static struct result *named_run(void)
{
	struct collected collected = run.b->collected;
	struct result *result;

	collected.timeline = run.timeline;
	run.b->collected = collected;
	timeline_finish(run.timeline);
	result = bench_result(run.b);
	run.b->collected.timeline = NULL;
	return result;
}

static void end_run(void)
{
	struct result *result;

	hand_over(false);
	live_spans_stop(run.live);
	result = named_run();
	assert_int_equal(live_spans_end(run.live, result), 0);
	result_free(result);
}

/* Expects the sent spans to be those that spans_write writes of the whole run. */
static void expect_the_same_as_at_the_end(void)
{
	struct run whole = {.spans = run.spans};
	struct collected collected = run.b->collected;
	struct written written;
	struct result *result;
	uint64_t total;

	collected.timeline = run.timeline;
	result = result_new(&collected, &run.b->options, &run.b->totals);
	assert_non_null(result);
	assert_int_equal(spans_write(result, &run.spans, OTLP_JSON, put, &whole, &written, &total),
			 0);
	assert_int_equal(run.count, total);
	assert_int_equal(whole.count, total);
	assert_int_equal(live_spans_count(run.live).all, total);
	assert_int_equal(live_spans_count(run.live).lost, 0);
	qsort(run.texts, run.count, sizeof(*run.texts), compare_texts);
	qsort(whole.texts, whole.count, sizeof(*whole.texts), compare_texts);
	for (uint32_t i = 0; i < run.count; i++)
		assert_string_equal(run.texts[i], whole.texts[i]);
	forget_texts(&whole);
	result_free(result);
}

static uint32_t count_of(const char *text)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run.count; i++)
		count += strstr(run.texts[i], text) != NULL;
	return count;
}

static void name_process(uint32_t id)
{
	static const char *const names[] = {"", "app 101", "b 102", "c 103"};

	place_names_add_process(
		&run.b->place_names,
		&(struct process_info){.id = id, .pid = (pid_t)(100 + id), .name = names[id]});
}

static void a_launch_and_its_kernel(void **state)
{
	const struct timeline_record launch = call_of(TIMELINE_LAUNCH, 1, 12, 2000, 500, 9);
	const struct timeline_record kernel = kernel_of(1, 12, 3000, 9, 0);

	(void)state;
	name_process(1);
	/* the operation comes first, and does not wait */
	take(&kernel, 2000);
	tick();
	assert_int_equal(run.count, 1);
	assert_int_equal(count_of("\"name\":\"softmax\""), 1);
	take(&launch, 0);
	tick();
	assert_int_equal(run.count, 1);
	tick();
	assert_int_equal(run.count, 2);
	assert_int_equal(count_of("\"name\":\"cudaLaunchKernel\""), 1);
	end_run();
	assert_int_equal(run.requests, 3);
	expect_the_same_as_at_the_end();
}

static void a_renamed_thread(void **state)
{
	const struct timeline_record launches[] = {
		call_of(TIMELINE_LAUNCH, 1, 12, 2000, 10, 1),
		call_of(TIMELINE_LAUNCH, 1, 12, 9000, 10, 2),
	};

	(void)state;
	name_process(1);
	place_names_add_thread(&run.b->place_names,
			       &(struct thread_info){.process = 1, .tid = 12, .name = "old 12"});
	take(&launches[0], 0);
	tick();
	tick();
	assert_int_equal(count_of("\"old\""), 1);
	assert_true(place_names_rename_thread(&run.b->place_names, 1, 12, "new 12"));
	take(&launches[1], 0);
	tick();
	tick();
	assert_int_equal(count_of("\"old\""), 1);
	assert_int_equal(count_of("\"new\""), 1);
	end_run();
}

/* The calls around a call end, and so arrive, up to a tick later. */
static void calls_within_calls(void **state)
{
	const struct timeline_record records[] = {
		call_of(TIMELINE_LAUNCH, 1, 12, 2100, 10, 1), /* inside a wait */
		call_of(TIMELINE_WAIT, 1, 12, 2200, 10, 0),
		call_of(TIMELINE_WAIT, 1, 13, 2000, 9, 0),
		call_of(TIMELINE_WAIT, 1, 12, 2000, 1000, 0), /* around the first two */
		call_of(TIMELINE_LAUNCH, 1, 12, 3000, 0, 2),
		call_of(TIMELINE_CALL, 1, 12, 3001, 5, 0),
	};

	(void)state;
	name_process(1);
	for (uint32_t i = 0; i < 6; i++) {
		take(&records[i], 0);
		if (i == 2)
			tick();
	}
	tick();
	assert_int_equal(run.count, 3);
	tick();
	assert_int_equal(run.count, 6);
	end_run();
	expect_the_same_as_at_the_end();
}

/* Threads of several processes that launch within waits, and what it starts at once or later. */
static void random_runs(void **state)
{
	struct prng p = prng_round(0);
	uint64_t now_ns = 2000;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		name_process(i);
	for (uint32_t i = 1; i <= unit_rounds(4000); i++) {
		uint32_t process = 1 + (uint32_t)prng_below(&p, 3), thread = 10 + i % 3;
		uint64_t start_ns = now_ns, took = 1 + prng_below(&p, 9);
		struct timeline_record launch =
			call_of(TIMELINE_LAUNCH, process, thread, start_ns, took, i);
		struct timeline_record wait = call_of(TIMELINE_WAIT, process, thread, start_ns - 1,
						      took + prng_below(&p, 4), 0);
		struct timeline_record sample =
			call_of(TIMELINE_CPU_SAMPLE, process, thread, start_ns, 20, 0);
		bool is_lost = prng_chance(&p, 5), waits = prng_chance(&p, 30);

		now_ns += 30;
		if (prng_chance(&p, 20))
			take(&sample, 0);
		for (uint64_t k = prng_below(&p, 3); k > 0; k--) {
			struct timeline_record kernel = kernel_of(
				process, thread, start_ns + 10 + k, is_lost ? 5000 + i : i, i);

			take(&kernel, is_lost ? 0 : start_ns);
		}
		if (!is_lost)
			take(&launch, 0);
		if (prng_chance(&p, 5))
			tick();
		if (waits)
			take(&wait, 0);
		if (prng_chance(&p, 2))
			devices_describe(&run.b->devices, process,
					 &(struct gpu_event_device){.id = 3, .name = "GPU"});
	}
	end_run();
	expect_the_same_as_at_the_end();
}

/* More calls than may be held: none waits endlessly, and none is lost. */
static void many_calls_at_once(void **state)
{
	(void)state;
	name_process(1);
	for (uint32_t i = 0; i < 20 * HELD; i++) {
		const struct timeline_record launch =
			call_of(TIMELINE_LAUNCH, 1, 12, 2000 + 2 * i, 1, i + 1);

		take(&launch, 0);
	}
	hand_over(false);
	live_spans_work(run.live);
	assert_true(live_spans_kept(run.live).held <= HELD);
	assert_true(run.count >= 512);
	end_run();
	expect_the_same_as_at_the_end();
}

/* Bounds that nobody has chosen are those of the header, which are larger. */
static void the_usual_bounds(void **state)
{
	(void)state;
	live_spans_free(run.live);
	run.live = live_spans_new(&(struct live_spans_options){
		.spans = &run.spans, .encoding = OTLP_JSON, .put = put, .context = &run});
	assert_non_null(run.live);
	assert_int_equal(live_spans_begin(run.live, &run.b->totals), 0);
	run.only_counts = true;
	for (uint32_t i = 0; i < 2 * WAITING; i++) {
		const struct timeline_record launch =
			call_of(TIMELINE_LAUNCH, 1, 12, 2000 + 2 * i, 1, i + 1);

		take(&launch, 0);
	}
	hand_over(false);
	assert_int_equal(live_spans_kept(run.live).waiting, 2 * WAITING);
	live_spans_work(run.live);
	assert_int_equal(live_spans_kept(run.live).held, 2 * WAITING);
	end_run();
}

/* Nobody works: what waits is bounded, and what is lost is counted. */
static void millions_that_nobody_takes(void **state)
{
	const struct timeline_record kernel = kernel_of(1, 12, 3000, 9, 0);
	const uint64_t millions = unit_rounds(3000000);

	(void)state;
	run.only_counts = true;
	for (uint64_t i = 0; i < millions; i++)
		if (live_spans_take(run.live, &kernel, 0))
			hand_over(i % 3 == 0);
	hand_over(false);
	assert_int_equal(live_spans_kept(run.live).waiting, WAITING);
	assert_int_equal(live_spans_kept(run.live).places, run.b->places.count);
	assert_int_equal(live_spans_count(run.live).lost, millions - WAITING);
	assert_int_equal(live_spans_count(run.live).all, millions + 1);
	end_run();
	assert_int_equal(live_spans_kept(run.live).waiting, 0);
	assert_int_equal(run.counted, WAITING + 1);
}

/* As many spans can wait again once others are sent. */
static void room_is_made(void **state)
{
	const struct timeline_record kernel = kernel_of(1, 12, 3000, 9, 0);

	(void)state;
	run.only_counts = true;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < WAITING; i++)
			take(&kernel, 0);
		live_spans_work(run.live);
	}
	assert_int_equal(live_spans_count(run.live).lost, 0);
	end_run();
	assert_int_equal(run.counted, 3 * WAITING + 1);
}

static void a_request_that_fails(void **state)
{
	const struct timeline_record launch = call_of(TIMELINE_LAUNCH, 1, 12, 2000, 500, 9);
	const struct timeline_record kernel = kernel_of(1, 12, 3000, 9, 0);
	struct result *result;

	(void)state;
	name_process(1);
	take(&kernel, 2000);
	run.answer = -ENOMEM;
	tick();
	run.answer = 0;
	take(&launch, 0);
	tick();
	tick();
	assert_int_equal(run.count, 1);
	take(&kernel, 2000);
	hand_over(false);
	/* no more is wanted */
	run.answer = -ECANCELED;
	live_spans_stop(run.live);
	result = named_run();
	assert_int_equal(live_spans_end(run.live, result), -ECANCELED);
	assert_int_equal(run.count, 1);
	assert_int_equal(live_spans_count(run.live).all, 4);
	result_free(result);
}

/* A device may be described after operations on it. */
static void a_device_that_is_described_late(void **state)
{
	const struct timeline_record kernel = kernel_of(1, 12, 3000, 9, 0);

	(void)state;
	take(&kernel, 0);
	tick();
	assert_int_equal(devices_describe(&run.b->devices, 1,
					  &(struct gpu_event_device){.name = "NVIDIA A"}),
			 0);
	take(&kernel, 0);
	tick();
	assert_int_equal(run.count, 2);
	assert_int_equal(count_of("\"NVIDIA A\""), 1);
	end_run();
}

/* Nothing of our own code is known there; a file that is, is. */
static void timed_calls(void **state)
{
	struct code_ref here = symbolizer_locate(run.b->symbolizer, run.b->self,
						 (uint64_t)(uintptr_t)gpu_stack_call);
	struct timeline_record call = call_of(TIMELINE_CALL, 1, 12, 2000, 500, 0);

	(void)state;
	if (here.module <= MODULE_JIT)
		skip(); /* valgrind has another file */
	name_process(1);
	run.b->totals.command_pid = (uint32_t)getpid();
	live_spans_free(run.live);
	run.live = new_live(&run);
	call.stack = gpu_stack_call(&run.b->gpu_stacks, run.call, &here);
	take(&call, 0);
	call.start_ns = 3000;
	call.stack = gpu_stack_call(&run.b->gpu_stacks, run.call, NULL);
	take(&call, 0);
	tick();
	tick();
	assert_int_equal(run.count, 2);
	assert_int_equal(count_of("\"name\":\"gpu_stack_call\""), 1);
	end_run();
	expect_the_same_as_at_the_end();
}

static void *work_until_stopped(void *arg)
{
	while (live_spans_wait(arg))
		live_spans_work(arg);
	return NULL;
}

static void two_threads(void **state)
{
	pthread_t thread;

	(void)state;
	name_process(1);
	assert_int_equal(pthread_create(&thread, NULL, work_until_stopped, run.live), 0);
	for (uint32_t i = 1; i <= unit_rounds(3000); i++) {
		struct timeline_record launch = call_of(TIMELINE_LAUNCH, 1, i, 2000 + i, 500, i);
		struct timeline_record kernel = kernel_of(1, i, 2600 + i, i, i);

		take(&launch, 0);
		take(&kernel, 2000 + i);
		if (i % 100 == 0)
			hand_over(i % 300 == 0);
	}
	hand_over(true);
	live_spans_stop(run.live);
	pthread_join(thread, NULL);
	end_run();
	expect_the_same_as_at_the_end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_launch_and_its_kernel),
		TEST(a_renamed_thread),
		TEST(calls_within_calls),
		TEST(random_runs),
		TEST(many_calls_at_once),
		TEST(the_usual_bounds),
		TEST(millions_that_nobody_takes),
		TEST(room_is_made),
		TEST(a_request_that_fails),
		TEST(a_device_that_is_described_late),
		TEST(timed_calls),
		TEST(two_threads),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
