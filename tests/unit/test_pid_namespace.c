/* SPDX-License-Identifier: MIT */
/*
 * Processes that know themselves by another number than we do: real ones, in pid namespaces that
 * are made here (which needs root), one in the other.
 */
#include "unit.h"
#include <sched.h>
#include <sys/prctl.h>
#include "profiler/cpu/pid_namespace.h"

#define NOBODY 65534
#define NO_PROCESS 0x3fff0000 /* above the largest pid_max */

/* Reports of processes about themselves, from their own namespaces. */
struct account {
	pid_t pid;                       /* pid inside the namespace */
	struct pid_namespace name_space; /* namespace by its own report; /proc is still ours */
};

static uint64_t id_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void assert_in(uint64_t id, pid_t inner, pid_t pid)
{
	struct pid_namespace found = pid_namespace_of(pid);

	assert_int_equal(found.id, id);
	assert_int_equal(found.inner, inner);
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void our_own_process(void **state)
{
	struct pid_namespace own = pid_namespace_own();

	(void)state;
	assert_true(own.id != 0);
	assert_int_equal(own.id, id_of(getpid()));
	assert_int_equal(own.inner, getpid());
	assert_in(own.id, own.inner, getpid());
}

static void missing_processes(void **state)
{
	static const pid_t none[] = {NO_PROCESS, 0, -1, INT32_MIN, INT32_MAX};
	pid_t ended = fork();

	(void)state;
	assert_true(ended >= 0);
	if (ended == 0)
		_exit(0);
	assert_int_equal(waitpid(ended, NULL, 0), ended);
	assert_in(0, 0, ended);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_in(0, 0, none[i]);
}

/* Forks a process into namespaces of its own, which reports. Waits for its end. */
static void account_and_wait(int report)
{
	struct account account = {getpid(), pid_namespace_own()};

	if (write(report, &account, sizeof(account)) != sizeof(account))
		_exit(1);
	for (;;)
		pause();
}

/*
 * Makes a process `depth` namespaces below ours. Each one on the way waits for its end, and takes
 * all below with it.
 */
static void nest(int depth, int report)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (; depth > 0; depth--) {
		if (unshare(CLONE_NEWPID) != 0)
			_exit(2);
		if (fork() != 0) {
			for (;;)
				pause();
		}
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	}
	account_and_wait(report);
}

/* Returns the only child of a process, as this namespace numbers it. */
static pid_t child_of(pid_t pid)
{
	char path[96];
	int child = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "re");
	if (!file)
		SKIP("this kernel does not list children");
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	return child;
}

static void check_nested(int depth)
{
	uint64_t own = pid_namespace_own().id, theirs;
	struct account account;
	int ends[2];
	pid_t outermost, pid;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	outermost = fork();
	assert_true(outermost >= 0);
	if (outermost == 0)
		nest(depth, ends[1]);
	close(ends[1]);
	assert_int_equal(read(ends[0], &account, sizeof(account)), sizeof(account));
	close(ends[0]);
	pid = outermost;
	for (int i = 0; i < depth; i++)
		pid = child_of(pid);

	theirs = id_of(pid);
	assert_true(theirs != own);
	assert_int_equal(account.pid, 1); /* the first one of its namespace */
	assert_int_equal(account.name_space.id, theirs);
	assert_int_equal(account.name_space.inner, 1);
	assert_in(theirs, 1, pid);
	assert_in(own, outermost, outermost);
	end_child(outermost);
}

static void a_process_in_its_own_namespace(void **state)
{
	(void)state;
	if (geteuid() != 0)
		SKIP("needs root to make pid namespaces");
	check_nested(1);
	check_nested(2);
	check_nested(4);
}

static void an_unreadable_process(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		SKIP("needs root to become somebody else");
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setresuid(NOBODY, NOBODY, NOBODY) != 0)
			_exit(1);
		_exit(pid_namespace_of(getppid()).id == PID_NAMESPACE_HIDDEN ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_process),
		cmocka_unit_test(missing_processes),
		cmocka_unit_test(a_process_in_its_own_namespace),
		cmocka_unit_test(an_unreadable_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
