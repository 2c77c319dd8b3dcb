/* SPDX-License-Identifier: MIT */
/*
 * Whose work a worker does, with every installed libpython, each in a separate process: while a
 * thread waits in the function that PyTorch waits in, and in another one. The test changes the
 * candidates as other threads do.
 */
#include "libpython.h"
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "cupti_trace/launch/async_parent_private.h"

#define DEPTH 20
#define STACK 7 /* the id that it gets */

static struct sink sink = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1, .broken = true};

static int calls, named;
static uint32_t frames;
static bool is_expected;  /* a waiting thread is expected */
static bool has_launched; /* the one who does */
static bool has_stepped;  /* through launches: check_handlers */

static uint32_t name_stack(struct sink *to, const struct async_parent_stack *stack)
{
	MUST(to == &sink);
	MUST(stack->python.is_whole && stack->ranges.count == 0);
	frames = stack->python.count;
	named++;
	return STACK;
}

/* Checks that in a forked child no thread waits for the worker. */
static void check_child(struct async_parent_worker *worker)
{
	int status;
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid == 0)
		_exit(async_parent_find(worker, 1, &sink, name_stack) == 0 ? GOOD : BAD);
	MUST(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == GOOD);
}

/* ---- launches in handlers of signals ---- */

#define TRAP 0x100 /* trap flag: SIGTRAP after each instruction */
#define STEPS_MAX 100000

#ifdef __SANITIZE_ADDRESS__
#define STRIDE 16 /* thousands of instructions */
#else
#define STRIDE 1
#endif

static struct {
	struct async_parent_worker *worker;
	int left; /* instructions before the one at which a handler launches */
} trap;

/* Simulates, in a signal handler, a thread that took the waiting thread's place and has ended. */
static void launch_in_handler(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	struct async_parent_launcher *launcher = &async_parent_launchers[0];
	uint64_t self = atomic_load(&launcher->self);
	uint32_t tid = atomic_load(&launcher->tid);

	(void)number;
	(void)info;
	if (trap.left-- > 0)
		return;
	interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
	atomic_store(&launcher->self, self + 1);
	atomic_store(&launcher->tid, INT32_MAX);
	atomic_fetch_add(&async_parent_changes, 1);
	trap.worker->last_ns = 0;
	async_parent_find(trap.worker, 1, &sink, name_stack);
	for (uint32_t i = 1; i < ASYNC_PARENT_CANDIDATES; i++) /* the one that waited, as another */
		if (atomic_load(&async_parent_launchers[i].self))
			async_parent_free_launcher(&async_parent_launchers[i],
						   atomic_load(&async_parent_launchers[i].self));
	atomic_store(&launcher->self, self);
	atomic_store(&launcher->tid, tid);
	atomic_fetch_add(&async_parent_changes, 1);
}

/* Waits for an answer; returns false if there is none. On a busy machine, the other thread takes
 * a while to sleep. */
static bool keeps_answer(struct async_parent_worker *worker)
{
	const struct timespec longer = {.tv_nsec = 100 * ASYNC_PARENT_STILL_NS};
	const struct async_parent_answer *answer = &worker->answer;

	for (int i = 0; i < 1000; i++) {
		async_parent_find(worker, 1, &sink, name_stack);
		if (answer->page && answer->changes == atomic_load(&async_parent_changes))
			return true;
		nanosleep(&longer, NULL);
	}
	return false;
}

/*
 * Launches, with or without an answer at hand. A signal handler launches at instruction `at`.
 * Returns false if the launch was over before, and had the answer all the time.
 */
static bool launch_and_trap(struct async_parent_worker *worker, bool has_answer, int at)
{
	uint64_t answered = worker->answer.ticks;
	uint32_t stack;

	if (!has_answer)
		atomic_fetch_add(&async_parent_changes, 1);
	trap.left = at;
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP) : "memory", "cc");
	stack = async_parent_find(worker, 1, &sink, name_stack);
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP) : "memory", "cc");
	MUST(stack == STACK || stack == 0);
	/* an answer that got too old meanwhile is looked for again */
	return trap.left < 0 || (has_answer && worker->answer.ticks != answered);
}

/* Interrupts a launch at every `stride`-th instruction. The time grows with the square of the
 * number of instructions. */
static void check_handlers(struct async_parent_worker *worker, bool has_answer, int stride)
{
	const struct sigaction action = {.sa_sigaction = launch_in_handler, .sa_flags = SA_SIGINFO};
	int at = 0;

	trap.worker = worker;
	MUST(sigaction(SIGTRAP, &action, NULL) == 0);
	do {
		MUST(at < STEPS_MAX);
		if (!keeps_answer(worker)) {
			MUST(at == 0);
			return; /* the kernel allows no events */
		}
		at += stride;
	} while (launch_and_trap(worker, has_answer, at - stride));
	MUST(at > 10);
	signal(SIGTRAP, SIG_DFL);
}

static bool is_same_frame(const struct python_frame *a, const struct python_frame *b)
{
	return a->code == b->code && a->place == b->place && a->mark == b->mark &&
	       a->anchor == b->anchor && a->copy == b->copy && a->number == b->number &&
	       a->is_entry == b->is_entry;
}

/* Reads the stack again, by numbers: the frames are equal. A stack of other code is no match. */
static void check_reading(struct async_parent_worker *worker)
{
	static struct python_stack stack, again;
	const struct async_parent_launcher *launcher = &async_parent_launchers[worker->waiter];
	const struct python_waiter waiter = {.self = launcher->self, .thread = launcher->thread};
	struct python_frame *frame = &stack.frames[DEPTH / 2];

	MUST(worker->waiter < ASYNC_PARENT_CANDIDATES);
	MUST(python_waiters_read(&waiter, &worker->pieces, &stack));
	MUST(python_waiters_read_again(&waiter, &worker->pieces, &stack, &again));
	MUST(again.count == stack.count && again.is_whole == stack.is_whole);
	for (uint32_t i = 0; i < stack.count; i++)
		MUST(is_same_frame(&stack.frames[i], &again.frames[i]));
	frame->number ? frame->number++ : frame->mark++;
	MUST(!python_waiters_read_again(&waiter, &worker->pieces, &stack, &again));
	frame->number ? frame->number-- : frame->mark--;
	stack.count--;
	MUST(!python_waiters_read_again(&waiter, &worker->pieces, &stack, &again));
}

static void *work(void *name)
{
	const struct timespec longer = {.tv_nsec = 100 * ASYNC_PARENT_STILL_NS};
	struct async_parent_worker *worker;
	uint32_t expected = is_expected ? STACK : 0;

	MUST(!async_parent_worker_new()); /* a name given by the program does not count */
	pthread_setname_np(pthread_self(), name);
	worker = async_parent_worker_new();
	MUST(worker && strcmp(async_parent_worker_name(worker), name) == 0);
	named = 0;
	/*
	 * Once the other thread sleeps it does not run, so it is not read again; on a busy machine
	 * that takes a while. Where its clock is not known (before Python 3.11) it is read each
	 * time.
	 */
	for (int i = 0, quiet = 0; i < 3 || (has_launched && quiet < 3); i++) {
		int before = named;

		MUST(i < 1000);
		MUST(async_parent_find(worker, 1, &sink, name_stack) == expected);
		check_child(worker);
		MUST(async_parent_find(worker, 1, &sink, name_stack) == expected);
		nanosleep(&longer, NULL);
		quiet = named == before ? quiet + 1 : 0;
	}
	MUST(is_expected ? named >= 1 : named == 0);
	if (is_expected)
		check_reading(worker);
	if (is_expected && has_launched && !has_stepped && !getenv("UNDER_VALGRIND")) {
		check_handlers(worker, true, 1);
		check_handlers(worker, false, STRIDE);
		has_stepped = true;
	}
	async_parent_worker_free(worker);
	return NULL;
}

static void *called(void *self, void *arguments)
{
	static char name[] = "pt_autograd_3";
	pthread_t thread;
	void *saved;

	(void)self;
	(void)arguments;
	calls++;
	saved = py.PyEval_SaveThread();
	MUST(pthread_create(&thread, NULL, work, name) == 0);
	MUST(pthread_join(thread, NULL) == 0);
	py.PyEval_RestoreThread(saved);
	return py.PyLong_FromLong(1);
}

/* Runs the function `name` of the file `path`, which calls the test, DEPTH calls deep. */
static void run_in(const char *path, const char *name)
{
	char script[1024];

	snprintf(script, sizeof(script),
		 "exec(compile('def %s():\\n    return called()\\n', '%s', 'exec'))\n"
		 "def descend(depth):\n"
		 "    return descend(depth - 1) if depth > 1 else %s()\n"
		 "descend(%d)\n",
		 name, path, name, DEPTH);
	MUST(py.PyRun_SimpleString(script) == 0);
}

static void check_library(const char *path)
{
	struct async_parent_launcher *launcher = NULL;
	struct python_stack own;

	load_libpython(path);
	python_stack_init(&(struct python_stack_options){.lines = true});
	python_stack_look(&sink);
	py.Py_InitializeEx(0);
	python_stack_read(&sink, &own);
	define_called(called);
	/* a thread that has launched nothing, then one that has */
	for (int i = 0; i < 2; i++) {
		is_expected = true;
		run_in("/usr/lib/torch/autograd/graph.py", "_engine_run_backward");
		MUST(frames == DEPTH + 2); /* the function itself, the module */
		run_in("/usr/lib/torch/autograd/__init__.py", "grad");
		is_expected = false;
		run_in("/usr/lib/torch/autograd/graph.py", "engine_run_backward");
		run_in("/usr/lib/mytorch/autograd/graph.py", "_engine_run_backward");
		if (!has_launched)
			launcher = async_parent_launcher_new();
		has_launched = true;
		async_parent_launcher_note(launcher, 1, 5);
	}
	MUST(calls == 8);
	async_parent_launcher_free(launcher);
	py.Py_FinalizeEx();
	_exit(GOOD);
}

static void every_installed_library(void **state)
{
	(void)state;
	check_each_libpython(check_library);
}

static void without_python_nobody_waits(void **state)
{
	struct async_parent_worker *worker;

	(void)state;
	assert_null(async_parent_worker_new());
	pthread_setname_np(pthread_self(), "pt_autograd_12");
	worker = async_parent_worker_new();
	assert_non_null(worker);
	assert_string_equal(async_parent_worker_name(worker), "pt_autograd_12");
	assert_int_equal(async_parent_find(worker, 1, &sink, name_stack), 0);
	async_parent_worker_free(worker);
	async_parent_worker_free(NULL);
	async_parent_launcher_free(NULL);
	pthread_setname_np(pthread_self(), "test_handover");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_python_nobody_waits),
		cmocka_unit_test(every_installed_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
