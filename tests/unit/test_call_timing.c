/* SPDX-License-Identifier: MIT */
/*
 * Whose calls are timed, and from when to when: calls of this very program, with real probes. Needs
 * root.
 */
#include "unit.h"
#include <dlfcn.h>
#include "profiler/attach/call_timing.h"
#include "symbolize/util/monotonic.h"

#define MULTIPLE_SUBSCRIBERS 39 /* CUPTI's "no" */

/* ---- functions that are found in this program, as in one that has CUDA's runtime in it ---- */

#define PROBED __attribute__((noipa)) static

static volatile int sink;

PROBED int cudaMemcpy(void)
{
	return sink++;
}

/* ---- */

struct bench {
	struct log log;
	struct notices notices;
	struct bpf_source *source;
	struct collect *collect;
	struct call_timing *timing;
	struct process *process; /* the test's process */
	struct capture captured;
	char folder[64];
};

/* Follows this process and its children. */
static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	char error[512] = "";

	if (!b)
		return -1;
	*state = b;
	b->log.level = LOG_VERBOSE;
	notices_init(&b->notices, &b->log);
	b->source =
		bpf_source_open(&(struct bpf_source_options){.calls = true}, error, sizeof(error));
	b->collect = collect_new(&(struct collect_options){.sample_ns = 1});
	if (!b->source || !b->collect || bpf_source_track(b->source, getpid()) != 0) {
		print_error("%s\n", error);
		return -1;
	}
	b->timing = call_timing_new(b->source, b->collect, &b->notices, &b->log);
	b->process = collect_find_process(b->collect, getpid());
	snprintf(b->folder, sizeof(b->folder), "/tmp/profile_unit.XXXXXX");
	return b->timing && b->process && mkdtemp(b->folder) ? 0 : -1;
}

static int end(void **state)
{
	struct bench *b = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", b->folder);
	call_timing_free(b->timing);
	collect_free(b->collect);
	bpf_source_close(b->source);
	free(b);
	return system(command);
}

/* Hands all events on that there are. */
static void take_events(struct bench *b)
{
	const struct stack_event *event;

	bpf_source_fill(b->source);
	while ((event = bpf_source_next(b->source)))
		call_timing_take(b->timing, event);
}

/* Expects a call to be timed or not. */
static void expect_timed(struct bench *b, bool timed)
{
	const struct ledger *l = collect_ledger(b->collect);
	uint64_t before = l->calls.timed;

	cudaMemcpy();
	take_events(b);
	assert_int_equal(l->calls.timed, before + timed);
	assert_int_equal(l->calls.without_stack, 0);
}

static void start_timing(struct bench *b)
{
	capture_begin(&b->captured);
	call_timing_begin(b->timing, b->process);
	capture_end(&b->captured);
}

/* Returns the process as it is afterwards. */
static struct process *happen(struct bench *b, enum process_event_type type, pid_t pid,
			      uint64_t time_ns)
{
	const struct process_event event = {
		.type = type, .pid = pid, .tid = pid, .time_ns = time_ns};
	struct process *process = collect_process_event(b->collect, &event);

	assert_non_null(process);
	call_timing_watch(b->timing, &event, process);
	return process;
}

/* Maps this file into a process. Returns the message. */
static const char *map(struct bench *b, pid_t pid, const char *path)
{
	const struct process_event event = {
		.type = PROCESS_MAP, .pid = pid, .mapping = {.path = path}};

	capture_begin(&b->captured);
	call_timing_watch(b->timing, &event, collect_find_process(b->collect, pid));
	return capture_end(&b->captured);
}

static void *load_library(const struct bench *b, const char *name, const char *function)
{
	char command[512], path[128];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", b->folder, name);
	snprintf(command, sizeof(command),
		 "echo 'int %s(int x) { return x; }' | ${CC:-cc} -shared -fPIC -xc -o %s -",
		 function, path);
	assert_int_equal(system(command), 0);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	return library;
}

/* ---- from when to when ---- */

static void without_timing_nothing_happens(void **state)
{
	struct bench *b = *state;
	const struct stack_event event = {.kind = STACK_EVENT_CALL};
	const struct process_event exec = {.type = PROCESS_EXEC};

	expect_timed(b, false);
	call_timing_begin(NULL, b->process);
	call_timing_note_traced(NULL, b->process);
	call_timing_watch(NULL, &exec, b->process);
	call_timing_scan(NULL);
	call_timing_take(NULL, &event);
	call_timing_free(NULL);
	assert_false(b->process->lacks_gpu_time);
}

static void calls_are_timed_from_the_start(void **state)
{
	struct bench *b = *state;

	start_timing(b);
	expect_timed(b, true);
	start_timing(b);
	expect_timed(b, true);
	assert_true(b->process->lacks_gpu_time);
	assert_int_equal(collect_ledger(b->collect)->calls.processes, 1);
}

static void a_program_that_is_traced_is_not_timed(void **state)
{
	struct bench *b = *state;

	start_timing(b);
	call_timing_note_traced(b->timing, b->process);
	expect_timed(b, false);
}

static void another_program_is_not_timed(void **state)
{
	struct bench *b = *state;

	start_timing(b);
	b->process = happen(b, PROCESS_EXEC, getpid(), 1); /* a time before that */
	expect_timed(b, true);
	b->process = happen(b, PROCESS_EXEC, getpid(), monotonic_ns());
	expect_timed(b, false);
	start_timing(b);
	expect_timed(b, true);
	happen(b, PROCESS_EXIT, getpid(), monotonic_ns()); /* one with more rights goes on */
	expect_timed(b, true);
	happen(b, PROCESS_EXIT, getpid(), monotonic_ns());
	expect_timed(b, false);
}

/* After kernel_events_catch_up, an exec is known before an earlier call is. */
static void a_call_is_of_the_program_that_made_it(void **state)
{
	struct bench *b = *state;
	struct process *now;

	start_timing(b);
	cudaMemcpy();
	now = happen(b, PROCESS_EXEC, getpid(), monotonic_ns());
	assert_ptr_not_equal(now, b->process);
	take_events(b);
	assert_int_equal(collect_ledger(b->collect)->calls.timed, 1);
	assert_int_equal(collect_ledger(b->collect)->calls.processes, 1);
	assert_false(now->lacks_gpu_time);
}

static void a_process_that_is_not_followed(void **state)
{
	struct bench *b = *state;

	capture_begin(&b->captured);
	call_timing_begin(b->timing, collect_find_process(b->collect, getppid()));
	assert_non_null(strstr(capture_end(&b->captured), "not a known process"));
	assert_int_equal(collect_ledger(b->collect)->calls.processes, 1);
	expect_timed(b, false);
}

static void libraries_that_are_loaded_later(void **state)
{
	struct bench *b = *state;
	const struct ledger *l = collect_ledger(b->collect);
	int (*allocate)(int);
	void *library;

	start_timing(b);
	library = load_library(b, "libother.so", "cudaMalloc");
	*(void **)&allocate = dlsym(library, "cudaMalloc");
	map(b, getpid(), "/libother.so");
	allocate(1);
	take_events(b);
	assert_int_equal(l->calls.timed, 0);
	call_timing_scan(b->timing);
	allocate(1);
	take_events(b);
	assert_int_equal(l->calls.timed, 1);
	dlclose(library);
}

/* ---- what cannot be traced ---- */

static void a_process_that_cannot_be_traced_is_timed(void **state)
{
	static const struct {
		enum untraced_cause obstacle;
		bool is_traced, is_timed;
	} cases[] = {{UNTRACED_NOT_KNOWN, false, false},
		     {UNTRACED_NOT_FOUND, false, false},
		     {UNTRACED_FILTERED, false, false},
		     {UNTRACED_NO_VARIABLE, true, false},
		     {UNTRACED_NO_VARIABLE, false, true}};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		b->process->gpu.obstacle = cases[i].obstacle;
		b->process->speech = cases[i].is_traced ? PROCESS_TRACED : PROCESS_SILENT;
		map(b, getpid(), "/lib/libcudart.so");
		expect_timed(b, false);
		map(b, getpid(), "/lib/libcuda.so.1");
		expect_timed(b, cases[i].is_timed);
	}
	/* the process has said hello after all */
	call_timing_note_traced(b->timing, b->process);
	expect_timed(b, false);
}

/* ---- others that want CUPTI ---- */

/* Asks the library's function for CUPTI, and is refused. */
static void ask(struct bench *b, void *library)
{
	int (*subscribe)(int);

	*(void **)&subscribe = dlsym(library, "cuptiSubscribe");
	assert_non_null(subscribe);
	capture_begin(&b->captured);
	subscribe(MULTIPLE_SUBSCRIBERS);
	take_events(b);
	capture_end(&b->captured);
}

static void refused_clients_are_named(void **state)
{
	struct bench *b = *state;
	const uint32_t *seen = &b->notices.seen[GPU_NOTICE_OTHER_REFUSED];
	void *library = load_library(b, "libcupti.so.13", "cuptiSubscribe");
	/* CUPTI's older function calls the newer one: it asks for somebody else */
	struct stack_value by_itself = {
		.event = {.kind = STACK_EVENT_REFUSED, .pid = (uint32_t)getpid()},
		.value = (uintptr_t)dlsym(library, "cuptiSubscribe"),
	};

	b->process->speech = PROCESS_TRACED;
	ask(b, library);
	assert_int_equal(*seen, 0); /* nobody looks yet */
	call_timing_note_traced(b->timing, b->process);
	b->process->speech = PROCESS_SPOKE;
	ask(b, library);
	assert_int_equal(*seen, 0); /* the process has said hello: the subscriber is the library */
	b->process->speech = PROCESS_TRACED;
	call_timing_take(b->timing, &by_itself.event);
	assert_int_equal(*seen, 0);
	ask(b, library);
	assert_int_equal(*seen, 1);
	assert_non_null(strstr(b->captured.text, "test_call_timing"));
	dlclose(library);
}

/* A traced program loads CUPTI for another tool. */
static void cupti_that_is_loaded_later(void **state)
{
	struct bench *b = *state;
	void *library;

	b->process->speech = PROCESS_TRACED;
	call_timing_note_traced(b->timing, b->process);
	library = load_library(b, "libcupti.so.12", "cuptiSubscribe");
	map(b, getpid(), "/lib/libcupti.so.12");
	call_timing_scan(b->timing);
	ask(b, library);
	assert_int_equal(b->notices.seen[GPU_NOTICE_OTHER_REFUSED], 1);
	dlclose(library);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_timing_nothing_happens),
		TEST(calls_are_timed_from_the_start),
		TEST(a_program_that_is_traced_is_not_timed),
		TEST(another_program_is_not_timed),
		TEST(a_call_is_of_the_program_that_made_it),
		TEST(a_process_that_is_not_followed),
		TEST(libraries_that_are_loaded_later),
		TEST(a_process_that_cannot_be_traced_is_timed),
		TEST(refused_clients_are_named),
		TEST(cupti_that_is_loaded_later),
	};

	if (geteuid() != 0 || getenv("UNDER_VALGRIND")) {
		print_message("1..0 # SKIP needs root, and code that runs as it is\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
