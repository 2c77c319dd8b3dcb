/* SPDX-License-Identifier: MIT */
/*
 * Threads call exit(3) while another thread exits, in children of the test. The handler always
 * completes before the process ends, with the requested status. This holds for any place of the
 * guard in glibc's blocks of 32 exit handlers. The calls come while the handler runs. Before that,
 * glibc has a race of its own: it frees a block while a thread is in one of the block's handlers.
 */
#include "unit.h"
#include <pthread.h>
#include <time.h>
#include "cupti_trace/core/exit_guard.h"

static int out; /* letters of the functions that ran */
static _Atomic bool began;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void say(char letter)
{
	if (write(out, &letter, 1) != 1)
		_exit(99);
}

static void earlier(void)
{
	say('u');
}

static void nothing(void)
{
}

/* Additional events of a scene. */
enum twist {
	NONE,
	JOINED,       /* an earlier handler joins the threads */
	LOCKED_FIRST, /* an earlier handler wants a lock that the first thread holds */
	LOCKED_LATER, /* one that the others hold */
	CANCELLED,    /* the others are cancelled while they are held */
	STREAM,       /* JOINED, by a thread that holds the lock of stdout */
	HANGS,        /* the guarded handler does not return */
};

struct scene {
	int threads;
	int before; /* handlers that are registered before the guard's */
	int after;  /* handlers registered later; only if one thread exits */
	enum twist twist;
};

static pthread_t others[EXIT_GUARD_THREADS];
static int other_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum twist twist;

static void join_or_lock(void)
{
	if (twist == STREAM)
		flockfile(stdout);
	if (twist == JOINED || twist == STREAM)
		for (int i = 0; i < other_count; i++)
			pthread_join(others[i], NULL);
	if (twist == LOCKED_FIRST || twist == LOCKED_LATER)
		pthread_mutex_lock(&lock);
}

static void guarded(void)
{
	say('b');
	began = true;
	while (exit_guard_held() < (uint32_t)other_count) /* all have come */
		sleep_ms(1);
	for (int i = 0; twist == CANCELLED && i < other_count; i++)
		pthread_cancel(others[i]);
	while (twist == HANGS)
		pause();
	say('e');
}

static void *leave(void *arg)
{
	while (!began)
		sleep_ms(1);
	if (twist == LOCKED_LATER)
		pthread_mutex_trylock(&lock);
	sleep_ms((long)(intptr_t)arg % 3);
	exit(3);
}

static void play(const struct scene *s)
{
	alarm(300);
	twist = s->twist;
	atexit(earlier);
	atexit(join_or_lock);
	for (int i = 0; i < s->before; i++)
		atexit(nothing);
	if (exit_guard_add(guarded))
		_exit(98);
	for (int i = 0; i < s->after; i++)
		atexit(nothing);
	for (int i = 1; i < s->threads; i++)
		if (pthread_create(&others[other_count++], NULL, leave, (void *)(intptr_t)i))
			_exit(97);
	if (twist == LOCKED_FIRST)
		pthread_mutex_lock(&lock);
	exit(3);
}

/* Runs the scene in a child. Reads the child's output, and returns its status. */
static int run(void (*child)(const struct scene *), const struct scene *s, char *said, size_t size)
{
	int pipe_ends[2], status;
	size_t used = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipe_ends), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(pipe_ends[0]);
		out = pipe_ends[1];
		child(s);
	}
	close(pipe_ends[1]);
	while ((n = read(pipe_ends[0], said + used, size - 1 - used)) > 0)
		used += (size_t)n;
	said[used] = '\0';
	close(pipe_ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void expect_said(const struct scene *s, const char *expected)
{
	char said[16];
	int status = run(play, s, said, sizeof(said));

	if (!WIFEXITED(status) || WEXITSTATUS(status) != 3 || strcmp(said, expected) != 0)
		fail_msg("%d threads, %d handlers before, %d after, %d: wait status %d, said "
			 "\"%s\"",
			 s->threads, s->before, s->after, (int)s->twist, status, said);
}

static void expect(const struct scene *s)
{
	expect_said(s, "beu");
}

static void one_thread(void **state)
{
	(void)state;
	expect(&(struct scene){.threads = 1});
	expect(&(struct scene){.threads = 1, .before = 40, .after = 40});
}

static void several_threads(void **state)
{
	(void)state;
	for (int threads = 2; threads <= 8; threads++)
		expect(&(struct scene){.threads = threads});
	expect(&(struct scene){.threads = EXIT_GUARD_THREADS + 1});
}

/* The guard's handlers lie across the end of a block in most of these. */
static void wherever_the_handlers_lie(void **state)
{
	(void)state;
	for (int before = 0; before < 34; before += (int)unit_stride()) {
		expect(&(struct scene){.threads = 2, .before = before});
		expect(&(struct scene){.threads = 5, .before = before});
	}
}

/* A thread waits for one that must not continue: the process still ends, with the first status. */
static void threads_that_wait_for_each_other(void **state)
{
	(void)state;
	for (int threads = 2; threads < 5; threads++) {
		/* joining oneself fails at once */
		expect_said(&(struct scene){.threads = threads, .twist = JOINED},
			    threads == 2 ? "beu" : "be");
		expect_said(&(struct scene){.threads = threads, .twist = LOCKED_FIRST}, "be");
	}
	expect_said(&(struct scene){.threads = 4, .twist = LOCKED_LATER}, "be");
	/* valgrind does not end a process of which a thread waits for a stream's lock */
	if (!getenv("UNDER_VALGRIND"))
		expect_said(&(struct scene){.threads = 4, .twist = STREAM}, "be");
}

static void threads_that_are_cancelled(void **state)
{
	(void)state;
	expect(&(struct scene){.threads = 2, .twist = CANCELLED});
	expect(&(struct scene){.threads = 4, .twist = CANCELLED});
}

/* The exit does not wait for ever, nor once for each of the guard's own handlers. */
static void a_handler_that_hangs(void **state)
{
	(void)state;
	expect_said(&(struct scene){.threads = 2, .twist = HANGS}, "bu");
	expect_said(&(struct scene){.threads = 5, .twist = HANGS}, "bu");
}

static void say_child(void)
{
	say('c');
}

static void fork_within(const struct scene *s)
{
	int status;
	pid_t pid;

	(void)s;
	exit_guard_add(guarded);
	pid = fork();
	if (pid == 0) {
		atexit(say_child);
		exit(4);
	}
	waitpid(pid, &status, 0);
	_exit(WEXITSTATUS(status));
}

static void a_forked_child_is_left_alone(void **state)
{
	char said[16];

	(void)state;
	assert_int_equal(WEXITSTATUS(run(fork_within, NULL, said, sizeof(said))), 4);
	assert_string_equal(said, "c");
}

static void exit_again(int signal)
{
	(void)signal;
	exit(5);
}

static void raise_signal(void)
{
	say('b');
	raise(SIGUSR1);
	say('x');
}

static void exit_with_signal(const struct scene *s)
{
	(void)s;
	signal(SIGUSR1, exit_again);
	atexit(earlier);
	exit_guard_add(raise_signal);
	exit(3);
}

/* A signal handler that exits inside exit does not wait for itself. */
static void a_signal_handler_exits_within(void **state)
{
	char said[16];

	(void)state;
	assert_int_equal(WEXITSTATUS(run(exit_with_signal, NULL, said, sizeof(said))), 5);
	assert_string_equal(said, "bu");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(wherever_the_handlers_lie),
		cmocka_unit_test(threads_that_wait_for_each_other),
		cmocka_unit_test(threads_that_are_cancelled),
		cmocka_unit_test(a_handler_that_hangs),
		cmocka_unit_test(a_forked_child_is_left_alone),
		cmocka_unit_test(a_signal_handler_exits_within),
	};

	exit_guard_set_times(2000, 1000);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
