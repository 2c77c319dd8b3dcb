/* SPDX-License-Identifier: MIT */
/* Detection of threads that have run: with real threads, and with a program that changes the
 * file. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"
#include "cupti_trace/core/guest.h"
#include "cupti_trace/core/thread_runs.h"

/* A thread that answers each byte with one, and spins while it should. */
struct other {
	pthread_t thread;
	int ask[2], answer[2];
	_Atomic uint32_t tid;
	_Atomic bool spins;
};

static void *serve(void *context)
{
	struct other *other = context;
	char byte;

	atomic_store(&other->tid, (uint32_t)syscall(SYS_gettid));
	while (read(other->ask[0], &byte, 1) == 1) {
		while (atomic_load(&other->spins))
			;
		if (write(other->answer[1], &byte, 1) != 1)
			break;
	}
	return NULL;
}

static void start(struct other *other)
{
	assert_int_equal(pipe(other->ask), 0);
	assert_int_equal(pipe(other->answer), 0);
	atomic_store(&other->tid, 0);
	atomic_store(&other->spins, false);
	assert_int_equal(pthread_create(&other->thread, NULL, serve, other), 0);
	while (!atomic_load(&other->tid))
		sched_yield();
}

static void stop(struct other *other)
{
	close(other->ask[1]);
	pthread_join(other->thread, NULL);
	close(other->ask[0]);
	close(other->answer[0]);
	close(other->answer[1]);
}

static void ask(const struct other *other)
{
	assert_int_equal(write(other->ask[1], "", 1), 1);
}

static void await_answer(const struct other *other)
{
	char byte;

	assert_int_equal(read(other->answer[0], &byte, 1), 1);
}

/* Notes a thread that sleeps sooner or later. */
static void note(struct thread_runs *runs, const struct other *other)
{
	while (!thread_runs_note(runs, atomic_load(&other->tid), true))
		sched_yield();
}

static void sleeps_until_it_runs(void **state)
{
	struct thread_runs runs = THREAD_RUNS_NONE;
	struct other other;

	(void)state;
	assert_false(thread_runs_sleeps(&runs));
	start(&other);
	for (int i = 0; i < 1000; i++) {
		note(&runs, &other);
		assert_true(thread_runs_sleeps(&runs));
		assert_true(thread_runs_sleeps(&runs));
		ask(&other);
		await_answer(&other);
		assert_false(thread_runs_sleeps(&runs));
	}
	thread_runs_close(&runs);
	assert_int_equal(runs.fd, -1);
	assert_null((const void *)(uintptr_t)runs.page);
	stop(&other);
}

static void one_that_runs_is_not_noted(void **state)
{
	struct thread_runs runs = THREAD_RUNS_NONE;
	struct other other;

	(void)state;
	start(&other);
	note(&runs, &other);
	atomic_store(&other.spins, true);
	ask(&other);
	/* the thread gets a CPU at some time, and is not asleep from then on */
	while (thread_runs_sleeps(&runs))
		sched_yield();
	/* under valgrind, a thread sleeps while another runs */
	while (thread_runs_note(&runs, atomic_load(&other.tid), true))
		assert_non_null(getenv("UNDER_VALGRIND"));
	assert_false(thread_runs_sleeps(&runs));
	atomic_store(&other.spins, false);
	await_answer(&other);
	thread_runs_close(&runs);
	stop(&other);
}

static void ended_threads_and_none(void **state)
{
	struct thread_runs runs = THREAD_RUNS_NONE;
	struct other other;

	(void)state;
	assert_false(thread_runs_note(&runs, 0, true));
	assert_false(thread_runs_note(&runs, UINT32_MAX, true));
	start(&other);
	note(&runs, &other);
	stop(&other);
	assert_false(thread_runs_sleeps(&runs));
	assert_false(thread_runs_note(&runs, atomic_load(&other.tid), true));
	thread_runs_close(&runs);
}

/* A forked process has no other thread, and no page of an event. */
static void children_by_fork(void **state)
{
	struct thread_runs runs = THREAD_RUNS_NONE;
	struct other other;
	int status;
	pid_t child;

	(void)state;
	start(&other);
	note(&runs, &other);
	child = (pid_t)syscall(SYS_fork); /* without fork's handlers */
	if (child == 0) {
		if (runs.page && thread_runs_sleeps(&runs))
			_exit(1);
		thread_runs_close(&runs);
		_exit(thread_runs_note(&runs, atomic_load(&other.tid), true) ? 2 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_true(thread_runs_sleeps(&runs));
	thread_runs_close(&runs);
	stop(&other);
}

/* A seccomp filter that allows everything: there are no events below it. */
static void below_a_filter(void **state)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	struct thread_runs runs = THREAD_RUNS_NONE;
	struct other other;
	bool had_event;

	(void)state;
	start(&other);
	note(&runs, &other);
	had_event = runs.page != NULL;
	print_message("events: %s\n", had_event ? "yes" : "no");
	thread_runs_close(&runs);
	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
	/* a filter that came later may forbid opening files, so nobody tries */
	assert_false(thread_runs_note(&runs, atomic_load(&other.tid), true));
	assert_int_equal(runs.fd, -1);
	guest_begin();
	note(&runs, &other);
	assert_null((const void *)(uintptr_t)runs.page);
	assert_true(runs.fd >= 0);
	/* whoever wants none is not given what a file says */
	assert_true(thread_runs_sleeps(&runs));
	for (int i = 0; i < 100; i++)
		assert_false(thread_runs_note(&runs, atomic_load(&other.tid), false));
	assert_false(thread_runs_sleeps(&runs));
	assert_int_equal(runs.fd, -1);
	thread_runs_close(&runs);
	stop(&other);
}

static void files_of_the_program(void **state)
{
	struct thread_runs runs = THREAD_RUNS_NONE;
	struct other other;
	int mine, fd;

	(void)state;
	start(&other);
	note(&runs, &other);
	fd = runs.fd;
	close(fd);
	assert_false(thread_runs_sleeps(&runs));
	note(&runs, &other);
	assert_true(thread_runs_sleeps(&runs));

	/* the program puts a file in its place, which stays open */
	mine = open("/proc/self/exe", O_RDONLY);
	assert_true(mine >= 0);
	fd = runs.fd;
	assert_int_equal(dup2(mine, fd), fd);
	assert_false(thread_runs_sleeps(&runs));
	thread_runs_close(&runs);
	assert_true(fcntl(fd, F_GETFD) >= 0);
	close(fd);
	close(mine);
	stop(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeps_until_it_runs),
		cmocka_unit_test(one_that_runs_is_not_noted),
		cmocka_unit_test(ended_threads_and_none),
		cmocka_unit_test(children_by_fork),
		cmocka_unit_test(below_a_filter), /* from here on, by files */
		cmocka_unit_test(sleeps_until_it_runs),
		cmocka_unit_test(one_that_runs_is_not_noted),
		cmocka_unit_test(ended_threads_and_none),
		cmocka_unit_test(files_of_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
