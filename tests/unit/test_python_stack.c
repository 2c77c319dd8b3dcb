/* SPDX-License-Identifier: MIT */
/*
 * The calling thread's Python frames. Each installed libpython is tested in a separate process,
 * loaded locally (RTLD_LOCAL), with and without the GIL. Threads without Python are tested, too,
 * and an interpreter that ends and starts again.
 */
#include "libpython.h"
#include <pthread.h>
#include "cupti_trace/python/python_stack.h"
#include "cupti_trace/python/python_thread.h"

#define DEPTH 20

static struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .broken = true};

static struct python_stack stack, again;
static int calls;
static uint32_t runs; /* runs of the interpreter, with four functions each */
static void *library;

static void *without_python(void *arg)
{
	struct python_stack other;

	(void)arg;
	MUST(!python_stack_read(&sink, &other));
	MUST(other.count == 0);
	return NULL;
}

static void check_same(const struct python_stack *a, const struct python_stack *b)
{
	MUST(a->count == b->count && a->is_whole == b->is_whole);
	for (uint32_t i = 0; i < a->count; i++)
		MUST(a->frames[i].code == b->frames[i].code &&
		     a->frames[i].mark == b->frames[i].mark);
}

/* ---- the thread's state ---- */

static struct python_thread thread_state;
static int (*is_finalizing)(void);
static _Atomic bool has_state, has_ended;

static uint64_t this_thread(void)
{
	return (uint64_t)(uintptr_t)py.PyGILState_GetThisThreadState();
}

/* Finds the thread state by its key: up to 3.13, the interpreter's only key. */
static void find_thread_state(void *handle)
{
	uint64_t runtime = (uint64_t)(uintptr_t)dlsym(handle, "_PyRuntime");
	const struct python_interpreter *python = python_stack_interpreter();
	uint16_t version;

	MUST(python);
	thread_state.this_thread = py.PyGILState_GetThisThreadState;
	thread_state.finalizing =
		(const void *)(uintptr_t)(runtime + python->offsets.runtime_finalizing);
	version = python->offsets.version;
	thread_state.key = python_thread_find_key(runtime, version, this_thread());
	MUST((thread_state.key != NULL) == (version <= 0x030d));
	MUST(!python_thread_find_key(runtime, version, runtime)); /* somebody else's */
	/* another build has it elsewhere */
	MUST(!python_thread_find_key(runtime + 64, version, this_thread()));
	is_finalizing = (int (*)(void))dlsym(handle, "Py_IsFinalizing");
	if (!is_finalizing)
		is_finalizing = (int (*)(void))dlsym(handle, "_Py_IsFinalizing");
	MUST(is_finalizing);
}

static void check_thread_state(void)
{
	MUST(python_thread_own(&thread_state) == this_thread());
}

/* Checks a forked child, with the GIL held. A child has another key. */
static void check_thread_state_of_child(void)
{
	int status;
	pid_t pid;

	py.PyOS_BeforeFork();
	pid = fork();
	MUST(pid >= 0);
	if (pid == 0) {
		py.PyOS_AfterFork_Child();
		MUST(python_thread_own(&thread_state));
		check_thread_state();
		_exit(GOOD);
	}
	py.PyOS_AfterFork_Parent();
	/* under valgrind, leaks may change the exit status */
	MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) != BAD);
}

static void *with_a_state_for_a_while(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++) {
		int held;

		MUST(!python_thread_own(&thread_state));
		held = py.PyGILState_Ensure();
		MUST(python_thread_own(&thread_state));
		check_thread_state();
		py.PyGILState_Release(held);
	}
	MUST(!python_thread_own(&thread_state));
	return NULL;
}

/* Launches without the GIL, as a daemon, until the process ends. */
static void *with_a_state_to_the_end(void *arg)
{
	(void)arg;
	py.PyGILState_Ensure();
	py.PyEval_SaveThread();
	check_thread_state();
	atomic_store(&has_state, true);
	while (!atomic_load(&has_ended))
		if (is_finalizing())
			MUST(!python_thread_own(&thread_state));
	MUST(!python_thread_own(&thread_state));
	return NULL;
}

/* ---- stacks ---- */

/* Stands at the bottom of DEPTH functions, which sorted()'s key calls. */
static void *called(void *self, void *arguments)
{
	static struct gpu_event_frame frames[700];
	struct unwind_stack native;
	uint32_t python = 0, count;
	pthread_t thread;
	bool is_cut, is_ordered;
	uint64_t sps[UNWIND_MAX_FRAMES];
	struct python_stack_natives natives;
	void *saved;

	(void)self;
	(void)arguments;
	calls++;
	MUST(python_stack_read(&sink, &stack)); /* the first time with care, then directly */
	MUST(python_stack_read(&sink, &again));
	check_same(&stack, &again);
	MUST(stack.is_whole);
	MUST(stack.count == DEPTH + 3); /* bottom, lambda, module */
	saved = py.PyEval_SaveThread();
	MUST(python_stack_read(&sink, &again));
	check_same(&stack, &again);
	find_thread_state(library);
	check_thread_state();
	MUST(pthread_create(&thread, NULL, with_a_state_for_a_while, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	py.PyEval_RestoreThread(saved);
	check_thread_state_of_child();
	MUST(pthread_create(&thread, NULL, without_python, NULL) == 0);
	MUST(pthread_join(thread, NULL) == 0);

	unwind_own_stack(&native, sps, UNWIND_MAX_FRAMES);
	natives = (struct python_stack_natives){native.pcs, sps, native.count, native.is_whole};
	count = python_stack_merge(&sink, &natives, &stack, frames, NULL, 700, &is_cut,
				   &is_ordered);
	MUST(!is_cut && is_ordered);
	for (uint32_t i = 0; i < count; i++)
		if (frames[i].kind == GPU_FRAME_PYTHON) {
			MUST(frames[i].value >= 1 && frames[i].value <= 4 * runs);
			MUST((frames[i].line != 0) == true);
			python++;
		}
	MUST(python == stack.count);
	MUST(count < native.count + stack.count);
	return py.PyLong_FromLong(1);
}

static void run_python(void)
{
	calls = 0;
	runs++;
	py.Py_InitializeEx(0);
	MUST(!python_stack_read(&sink, &stack)); /* runs nothing yet */
	define_called(called);
	MUST(py.PyRun_SimpleString("def descend(depth):\n"
				   "    return descend(depth - 1) if depth > 1 else bottom()\n"
				   "def bottom():\n"
				   "    return called()\n"
				   "for _ in range(3):\n"
				   "    sorted([1], key=lambda value: descend(20))\n") == 0);
	MUST(calls == 3);
	MUST(!python_stack_read(&sink, &stack));
}

static void check_library(const char *path)
{
	pthread_t daemon;
	void *saved;

	library = load_libpython(path);
	python_stack_init(&(struct python_stack_options){.lines = true});
	MUST(!python_stack_read(&sink, &stack)); /* the interpreter has not been searched yet */
	python_stack_look(&sink);
	MUST(!python_stack_read(&sink, &stack)); /* the interpreter is not initialized yet */
	run_python();
	saved = py.PyEval_SaveThread();
	MUST(pthread_create(&daemon, NULL, with_a_state_to_the_end, NULL) == 0);
	while (!atomic_load(&has_state))
		;
	py.PyEval_RestoreThread(saved);
	py.Py_FinalizeEx();
	MUST(!python_stack_read(&sink, &stack));
	atomic_store(&has_ended, true);
	MUST(pthread_join(daemon, NULL) == 0);
	run_python();
	py.Py_FinalizeEx();
	MUST(!python_stack_read(&sink, &stack));
	_exit(GOOD);
}

static void every_installed_library(void **state)
{
	(void)state;
	check_each_libpython(check_library);
}

static void no_python_is_no_stack(void **state)
{
	struct gpu_event_frame frames[3];
	uint64_t pcs[3] = {1, 2, 3};
	const struct python_stack_natives natives = {pcs, NULL, 3, true};
	bool is_cut, is_ordered;

	(void)state;
	python_stack_look(&sink);
	assert_false(python_stack_read(&sink, &stack));
	assert_int_equal(
		python_stack_merge(&sink, &natives, &stack, frames, NULL, 3, &is_cut, &is_ordered),
		3);
	assert_true(!is_cut && is_ordered);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(frames[i].kind, GPU_FRAME_RETURN);
		assert_int_equal(frames[i].value, pcs[i]);
	}
	assert_int_equal(
		python_stack_merge(&sink, &natives, &stack, frames, NULL, 2, &is_cut, &is_ordered),
		2);
	assert_true(is_cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_python_is_no_stack),
		cmocka_unit_test(every_installed_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
