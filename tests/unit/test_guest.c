/* SPDX-License-Identifier: MIT */
/* The library leaves the state of its host's threads alone. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"
#include "cupti_trace/core/guest.h"

static volatile sig_atomic_t handled;

static void note_signal(int signal)
{
	(void)signal;
	handled++;
}

static void signals_wait_until_the_outermost_leaves(void **state)
{
	struct sigaction action = {.sa_handler = note_signal}, old;
	struct guest outer, inner;
	sigset_t before, after;

	(void)state;
	handled = 0;
	sigaction(SIGUSR1, &action, &old);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	guest_enter(&outer);
	raise(SIGUSR1);
	guest_enter(&inner);
	guest_leave(&inner);
	assert_int_equal(handled, 0);
	guest_leave(&outer);
	assert_int_equal(handled, 1);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	for (int i = 1; i < 32; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	sigaction(SIGUSR1, &old, NULL);
}

static void faults_are_not_held_back(void **state)
{
	struct guest guest;
	sigset_t held;

	(void)state;
	guest_enter(&guest);
	pthread_sigmask(SIG_BLOCK, NULL, &held);
	guest_leave(&guest);
	assert_int_equal(sigismember(&held, SIGSEGV), 0);
	assert_int_equal(sigismember(&held, SIGBUS), 0);
	assert_int_equal(sigismember(&held, SIGTERM), 1);
}

static void errno_is_what_it_was(void **state)
{
	struct guest outer, inner;

	(void)state;
	errno = 4711;
	guest_enter(&outer);
	guest_enter(&inner);
	close(-1);
	guest_leave(&inner);
	guest_leave(&outer);
	assert_int_equal(errno, 4711);
}

static void *be_cancelled(void *got_through)
{
	struct guest guest;

	pthread_cancel(pthread_self());
	guest_enter(&guest);
	pthread_testcancel();
	*(bool *)got_through = true;
	guest_leave(&guest);
	pthread_testcancel();
	*(bool *)got_through = false;
	return NULL;
}

static void a_cancellation_waits_too(void **state)
{
	bool got_through = false;
	pthread_t thread;
	void *result;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, be_cancelled, &got_through), 0);
	pthread_join(thread, &result);
	assert_ptr_equal(result, PTHREAD_CANCELED);
	assert_true(got_through);
}

static void files_get_high_numbers(void **state)
{
	int low = open("/dev/null", O_RDONLY | O_CLOEXEC), one, two, after;

	(void)state;
	one = guest_open("/proc/self/maps", O_RDONLY);
	two = guest_open("/proc/self/maps", O_RDONLY);
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(low >= 0 && one > low + 100 && two > one);
	assert_int_equal(after, low + 1); /* the program's numbers are undisturbed */
	assert_int_equal(fcntl(one, F_GETFD), FD_CLOEXEC);
	close(low);
	close(one);
	close(two);
	close(after);
	assert_int_equal(guest_open("/no/such/file", O_RDONLY), -ENOENT);
}

/* With a small limit on descriptors, and with no free descriptor, the limit is kept. */
static void a_small_limit_is_kept(void **state)
{
	struct rlimit old, small;
	int fd, more[64], count = 0;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &old);
	small = (struct rlimit){.rlim_cur = 40, .rlim_max = old.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
	fd = guest_open("/dev/null", O_RDONLY);
	assert_in_range(fd, 20, 39);
	close(fd);
	while (count < 64 && (more[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	assert_int_equal(guest_open("/dev/null", O_RDONLY), -EMFILE);
	while (count > 0)
		close(more[--count]);
	setrlimit(RLIMIT_NOFILE, &old);
}

static volatile bool stop_looking, saw_one;

/* Watches descriptors 0 to 2, which must never be open for reading or writing. */
static void *look_at_standard(void *unused)
{
	(void)unused;
	while (!stop_looking)
		for (int fd = 0; fd < 3; fd++) {
			int flags = fcntl(fd, F_GETFL);

			if (flags >= 0 && !(flags & O_PATH))
				saw_one = true;
		}
	return NULL;
}

static void standard_descriptors_are_never_ours(void **state)
{
	int kept[3];
	pthread_t thread;

	(void)state;
	stop_looking = false;
	saw_one = false;
	for (int fd = 0; fd < 3; fd++)
		kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (pthread_create(&thread, NULL, look_at_standard, NULL) == 0) {
		for (uint64_t i = 0; i < unit_rounds(2000); i++)
			close(guest_open("/dev/null", O_RDWR));
		stop_looking = true;
		pthread_join(thread, NULL);
	}
	for (int fd = 0; fd < 3; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			saw_one = true; /* a placeholder is left */
		dup2(kept[fd], fd);
		close(kept[fd]);
	}
	assert_false(saw_one);
}

/* ---- descriptors of its own ---- */

struct seen {
	int lowest;          /* lowest descriptor returned by open */
	int flags_of_theirs; /* flags of the program's descriptor; -1: none */
	pid_t pid;
	int theirs;
};

static void open_some(void *data)
{
	struct seen *seen = data;

	seen->flags_of_theirs = fcntl(seen->theirs, F_GETFD);
	seen->lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
	seen->pid = getpid();
	errno = EXDEV; /* errno is shared with the caller */
}

static void work_apart_has_descriptors_of_its_own(void **state)
{
	int ends[2], before, after;
	struct seen seen = {.lowest = -1};
	char byte;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	seen.theirs = ends[1];
	before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(before);
	for (int i = 0; i < 100; i++) {
		if (!guest_run_isolated(open_some, &seen))
			skip(); /* Linux before 5.9, or valgrind */
		assert_int_equal(seen.lowest, 0);
		assert_int_equal(seen.flags_of_theirs, -1);
		assert_int_equal(seen.pid, getpid());
	}
	after = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(after, before);
	close(after);
	/* nobody has kept a copy */
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

static volatile sig_atomic_t handled_in;

static void note_thread(int signal)
{
	(void)signal;
	handled_in = (int)syscall(SYS_gettid);
}

static void raise_faults(void *data)
{
	kill(getpid(), SIGTRAP);
	kill(getpid(), SIGABRT);
	*(int *)data = handled_in;
}

/*
 * The signals of faults, sent by others: a handler would write into a descriptor of the program's.
 * Handled where guest_enter lets them be.
 */
static void handlers_of_faults_wait_for_work_apart(void **state)
{
	struct sigaction action = {.sa_handler = note_thread}, old[2];
	int during = -1;

	(void)state;
	handled_in = 0;
	sigaction(SIGTRAP, &action, &old[0]);
	sigaction(SIGABRT, &action, &old[1]);
	if (guest_run_isolated(raise_faults, &during)) {
		assert_int_equal(during, 0);
		assert_int_equal(handled_in, getpid());
	}
	sigaction(SIGTRAP, &old[0], NULL);
	sigaction(SIGABRT, &old[1], NULL);
	if (during < 0)
		skip(); /* Linux before 5.9, or valgrind */
}

static void count_thread(void *data)
{
	*(pid_t *)data = (pid_t)syscall(SYS_gettid);
}

/* Whoever is not allowed to make threads as it likes does the work itself. */
static void a_filter_of_system_calls_is_heeded(void **state)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	pid_t child = fork(), worker = 0;
	int status = 0;

	(void)state;
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(3);
		guest_note_closed();
		if (guest_run_isolated(count_thread, &worker) || worker != 0)
			_exit(1);
		guest_run_with_files(count_thread, &worker);
		_exit(worker == getpid() ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Sets a filter that kills a process that opens a file. */
static int forbid_to_open(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof(filter) / sizeof(filter[0]), .filter = filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
			       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
		       ? 0
		       : -1;
}

static void nothing_is_opened_below_a_filter_that_came_later(void **state)
{
	pid_t child = fork();
	int status = 0;

	(void)state;
	if (child == 0) {
		guest_begin();
		if (guest_is_sandboxed() || forbid_to_open() != 0)
			_exit(1);
		_exit(guest_is_sandboxed() && guest_open("/dev/null", O_RDONLY) == -EPERM ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

enum { NEEDS_ROOT = 77 };

/* Files open below a filter that allows CUDA to open its files, as in a container. A second
 * filter forbids opening. */
static void files_are_opened_below_a_filter_that_was_there(void **state)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	pid_t child = fork();
	int status = 0;

	(void)state;
	if (child == 0) {
		if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
			_exit(NEEDS_ROOT);
		guest_begin();
		if (guest_is_sandboxed() || guest_open("/dev/null", O_RDONLY) < 0)
			_exit(2);
		if (forbid_to_open() != 0)
			_exit(3);
		_exit(guest_is_sandboxed() && guest_open("/dev/null", O_RDONLY) == -EPERM ? 0 : 4);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NEEDS_ROOT)
		skip(); /* the others set PR_SET_NO_NEW_PRIVS first */
	assert_int_equal(status, 0);
}

/* In a child, because the noted state lasts. */
static void files_are_used_apart_once_one_was_closed(void **state)
{
	pid_t child = fork(), worker = 0;
	int status = 0;

	(void)state;
	if (child == 0) {
		guest_run_with_files(count_thread, &worker);
		if (guest_is_isolated() || worker != getpid())
			_exit(1);
		guest_note_closed();
		if (!guest_is_isolated())
			_exit(2);
		guest_run_with_files(count_thread, &worker);
		_exit(worker != getpid() || !guest_run_isolated(count_thread, &worker) ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_wait_until_the_outermost_leaves),
		cmocka_unit_test(faults_are_not_held_back),
		cmocka_unit_test(errno_is_what_it_was),
		cmocka_unit_test(a_cancellation_waits_too),
		cmocka_unit_test(files_get_high_numbers),
		cmocka_unit_test(a_small_limit_is_kept),
		cmocka_unit_test(standard_descriptors_are_never_ours),
		cmocka_unit_test(work_apart_has_descriptors_of_its_own),
		cmocka_unit_test(handlers_of_faults_wait_for_work_apart),
		cmocka_unit_test(a_filter_of_system_calls_is_heeded),
		cmocka_unit_test(nothing_is_opened_below_a_filter_that_came_later),
		cmocka_unit_test(files_are_opened_below_a_filter_that_was_there),
		cmocka_unit_test(files_are_used_apart_once_one_was_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
