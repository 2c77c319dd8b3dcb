/* SPDX-License-Identifier: MIT */
/* Finding threads that only wait for work: by the place where they block, and by the share of
 * their lives. */
#include "unit.h"
#include "made_result.h"
#include "profiler/shape/idle_threads.h"
#include "profiler/model/pseudo_frames.h"

enum { PROCESS = 1, PID = 100 };

static const char program[] = "/opt/app/app", library[] = "/usr/lib/libpool.so";

static void begin(struct made_result *m)
{
	uint32_t main;

	made_begin(m);
	place_names_add_process(&m->place_names,
				&(struct process_info){.id = PROCESS, .pid = PID, .name = "app"});
	main = made_push(m, RESULT_ROOT, "main");
	m->frames[m->stacks[main].frame].module = program;
	m->result.totals.folder = "/opt/app";
}

/* Makes a stack of two functions of this file, around a function of the C library. */
static uint32_t wait_in(struct made_result *m, const char *module, const char *function,
			const char *wait)
{
	uint32_t outer = made_push(m, RESULT_ROOT, "run_thread");
	uint32_t inner = made_push(m, outer, function), last = made_push(m, inner, wait);

	m->frames[m->stacks[outer].frame].module = module;
	m->frames[m->stacks[inner].frame].module = module;
	m->frames[m->stacks[last].frame].module = "/usr/lib/x86_64-linux-gnu/libc.so.6";
	return last;
}

static uint32_t mark(struct made_result *m, uint32_t stack, const char *text)
{
	uint32_t at = made_push(m, stack, text);

	m->frames[m->stacks[at].frame].class = is_wait_mark(text) ? CLASS_WAIT : CLASS_MARK;
	frame_info_pseudo(&m->frames[m->stacks[at].frame]);
	return at;
}

static void add(struct made_result *m, uint32_t tid, enum row_kind kind, uint32_t stack,
		uint64_t ns)
{
	struct place place = place_unknown();

	place.part[PLACE_PROCESS] = PROCESS;
	place.part[PLACE_THREAD] = tid;
	made_add_at(m, &(struct row){.kind = kind, .stack = stack, .count = 1, .ns = ns}, place);
}

/* Adds a thread that is blocked there for `ns`, and computes for the rest of 100. */
static void add_thread(struct made_result *m, uint32_t tid, uint32_t blocked, uint64_t ns)
{
	add(m, tid, ROW_WAIT, blocked, ns);
	if (ns < 100)
		add(m, tid, ROW_CPU, made_push(m, RESULT_ROOT, "compute"), 100 - ns);
}

/* Expects idle threads by row, as a text of 1 and 0. Frees the result. */
static void expect_idle(struct made_result *m, const char *rows)
{
	bool is_idle[100] = {false};

	assert_in_range(m->result.row_count, 1, 99);
	assert_int_equal(idle_threads_find(&m->result, is_idle), 0);
	for (uint32_t i = 0; i < m->result.row_count; i++)
		if (is_idle[i] != (rows[i] == '1'))
			fail_msg("row %u is %d", i, is_idle[i]);
	assert_int_equal(strlen(rows), m->result.row_count);
	made_end(m);
}

static void a_library_s_thread_may_be_alone(void **state)
{
	struct made_result m;
	uint32_t stack;

	(void)state;
	begin(&m);
	stack = wait_in(&m, library, "next_task", "pthread_cond_wait");
	add_thread(&m, PID + 1, mark(&m, stack, "[blocked: futex]"), 80);
	add_thread(&m, PID + 2, mark(&m, stack, "[blocked: epoll]"), 79);
	expect_idle(&m, "1000");
}

static void a_wait_for_a_cpu_is_no_life(void **state)
{
	struct made_result m;
	uint32_t stack;

	(void)state;
	begin(&m);
	stack = wait_in(&m, library, "next_task", "pthread_cond_wait");
	add(&m, PID + 1, ROW_WAIT, mark(&m, stack, "[blocked: futex]"), 50);
	add(&m, PID + 1, ROW_WAIT, mark(&m, stack, PSEUDO_RUNNABLE), 100);
	expect_idle(&m, "10");
}

static void the_first_thread_is_never_idle(void **state)
{
	struct made_result m;
	uint32_t stack;

	(void)state;
	begin(&m);
	stack = wait_in(&m, library, "run_loop", "epoll_wait");
	add_thread(&m, PID, mark(&m, stack, "[blocked: epoll]"), 100);
	expect_idle(&m, "0");
}

static void the_program_s_own_need_company(void **state)
{
	struct made_result m;
	uint32_t blocked;

	(void)state;
	begin(&m);
	blocked = mark(&m, wait_in(&m, program, "worker", "pthread_cond_wait"), "[blocked: futex]");
	add_thread(&m, PID + 1, blocked, 100);
	expect_idle(&m, "0");
	begin(&m);
	blocked = mark(&m, wait_in(&m, program, "worker", "pthread_cond_wait"), "[blocked: futex]");
	add_thread(&m, PID + 1, blocked, 100);
	add_thread(&m, PID + 2, blocked, 95);
	add_thread(&m, PID + 3, blocked, 50);
	expect_idle(&m, "11000");
}

static void who_is_held_up_is_not_idle(void **state)
{
	static const char *const held[] = {"pthread_mutex_lock",    "__lll_lock_wait",
					   "pthread_rwlock_wrlock", "__pthread_clockjoin_ex",
					   "std::thread::join",     "RawMutex::lock_slow"};
	struct made_result m;

	(void)state;
	begin(&m);
	for (uint32_t i = 0; i < sizeof(held) / sizeof(held[0]); i++) {
		uint32_t blocked =
			mark(&m, wait_in(&m, library, "do_work", held[i]), "[blocked: futex]");

		add_thread(&m, PID + 1 + 2 * i, blocked, 100);
		add_thread(&m, PID + 2 + 2 * i, blocked, 100);
	}
	expect_idle(&m, "000000000000");
}

static void own_barriers_are_not_idle_but_a_runtime_s_are(void **state)
{
	struct made_result m;
	uint32_t own, pool;

	(void)state;
	begin(&m);
	own = wait_in(&m, program, "loop_body", "GOMP_barrier");
	pool = wait_in(&m, library, "gomp_thread_start", "gomp_barrier_wait");
	own = mark(&m, own, "[blocked: futex]");
	pool = mark(&m, pool, "[blocked: futex]");
	add_thread(&m, PID + 1, own, 100);
	add_thread(&m, PID + 2, own, 100);
	add_thread(&m, PID + 3, pool, 100);
	expect_idle(&m, "001");
}

static void other_kinds_are_not_waits_for_work(void **state)
{
	static const char *const kinds[] = {"[blocked: GIL]",   "[blocked: sleep]",
					    "[blocked: disk]",  "[blocked: stopped]",
					    "[blocked: write]", "[blocked: system call 500]"};
	struct made_result m;
	uint32_t stack;

	(void)state;
	begin(&m);
	stack = wait_in(&m, library, "next_task", "wait");
	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		add_thread(&m, PID + 1 + i, mark(&m, stack, kinds[i]), 100);
	expect_idle(&m, "000000");
}

/* Makes a stack below the interpreter's own functions. */
static uint32_t python_wait(struct made_result *m, const char *name, const char *file)
{
	uint32_t stack =
		wait_in(m, "/usr/bin/python3.11", "_PyEval_EvalFrameDefault", "thread_run");
	uint32_t python = made_push(m, stack, name);

	m->frames[m->stacks[python].frame].class = CLASS_PYTHON;
	m->frames[m->stacks[python].frame].file = file;
	return mark(m, made_push(m, python, "lock_PyThread_acquire_lock"), "[blocked: futex]");
}

static void of_python_the_innermost_function_decides(void **state)
{
	struct made_result m;
	uint32_t held_up;

	(void)state;
	begin(&m);
	held_up = python_wait(&m, "held_up (app.py)", "/opt/app/app.py");
	add_thread(&m, PID + 1, held_up, 100);
	add_thread(&m, PID + 2, held_up, 100);
	add_thread(&m, PID + 3,
		   python_wait(&m, "_worker (thread.py)",
			       "/usr/lib/python3.11/concurrent/futures/thread.py"),
		   100);
	expect_idle(&m, "001");
}

static void marks_of_other_threads_stay(void **state)
{
	struct made_result m;
	uint32_t profile, none;

	(void)state;
	begin(&m);
	profile = mark(&m, RESULT_ROOT, PSEUDO_THREADS_OF_PROFILE);
	none = mark(&m, made_push(&m, RESULT_ROOT, "app"), PSEUDO_NO_STACK);
	add_thread(&m, PID + 1, mark(&m, profile, "[blocked: futex]"), 100);
	add_thread(&m, PID + 2, mark(&m, none, "[blocked: futex]"), 100);
	add_thread(&m, PID + 3, mark(&m, RESULT_ROOT, "[blocked: futex]"), 100);
	expect_idle(&m, "000");
}

/* With --thread-origin, the code that created a thread does not count as its wait. */
static void creators_do_not_count(void **state)
{
	struct made_result m;
	uint32_t stack;

	(void)state;
	begin(&m);
	stack = wait_in(&m, program, "start_pool", "pthread_mutex_lock");
	stack = mark(&m, stack, PSEUDO_THREAD_STARTED);
	stack = made_push(&m, stack, "next_task");
	m.frames[m.stacks[stack].frame].module = library;
	add_thread(&m, PID + 1, mark(&m, stack, "[blocked: futex]"), 100);
	expect_idle(&m, "1");
}

static void expect_frame(const char *thread_name, const char *text)
{
	struct made_result m;
	char frame[IDLE_THREADS_FRAME_BYTES];

	begin(&m);
	if (thread_name)
		place_names_add_thread(&m.place_names, &(struct thread_info){.process = PROCESS,
									     .tid = PID + 1,
									     .name = thread_name});
	add(&m, PID + 1, ROW_WAIT, wait_in(&m, library, "next", "poll"), 1);
	idle_threads_frame(&m.result, &m.result.rows[0], frame);
	assert_string_equal(frame, text);
	assert_int_equal(pseudo_kind_of(frame), PSEUDO_KIND_IDLE_THREADS);
	made_end(&m);
}

static void frames_have_names_without_numbers(void **state)
{
	(void)state;
	expect_frame("app 101", "[idle threads of app]");
	expect_frame("worker-17 101", "[idle threads of worker]");
	expect_frame("pt_autograd_0 101", "[idle threads of pt_autograd]");
	expect_frame("[thread 101]", "[idle threads]");
	expect_frame("42 101", "[idle threads]");
	expect_frame(NULL, "[idle threads]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_library_s_thread_may_be_alone),
		cmocka_unit_test(a_wait_for_a_cpu_is_no_life),
		cmocka_unit_test(the_first_thread_is_never_idle),
		cmocka_unit_test(the_program_s_own_need_company),
		cmocka_unit_test(who_is_held_up_is_not_idle),
		cmocka_unit_test(own_barriers_are_not_idle_but_a_runtime_s_are),
		cmocka_unit_test(other_kinds_are_not_waits_for_work),
		cmocka_unit_test(of_python_the_innermost_function_decides),
		cmocka_unit_test(marks_of_other_threads_stay),
		cmocka_unit_test(creators_do_not_count),
		cmocka_unit_test(frames_have_names_without_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
