/* SPDX-License-Identifier: MIT */
/* Files of /proc: of this process, of none, and of one whose memory is locked for ever. */
#include "unit.h"
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "profiler/cpu/proc_names.h"
#include "symbolize/util/proc_file.h"

#define WORKLOADS "build/tests/workloads/"
#define NOBODY 4194305 /* above the largest pid_max */

static char folder[] = "/tmp/profile_unit.XXXXXX";

static void readable_files(void **state)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	char *text;
	size_t size;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "tested"), 0);
	assert_int_equal(proc_file_read(calls, getpid(), "comm", 100, &text, &size), 0);
	assert_string_equal(text, "tested\n");
	assert_int_equal(size, 7);
	free(text);
	assert_int_equal(proc_file_read(NULL, getpid(), "comm", 3, &text, &size), 0);
	assert_string_equal(text, "tes");
	free(text);
	assert_int_equal(proc_file_read(calls, NOBODY, "comm", 100, &text, &size), -ENOENT);
	assert_int_equal(proc_pid_inside(NOBODY), 0);
	assert_int_equal(proc_pid_inside(getpid()), getpid());
	assert_int_equal(bounded_caller_count_stuck(calls), 0);
	bounded_caller_free(calls);
}

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static char state_of(pid_t pid)
{
	char *text, state;
	size_t size;

	assert_int_equal(proc_file_read(NULL, pid, "stat", 1000, &text, &size), 0);
	state = strrchr(text, ')')[2];
	free(text);
	return state;
}

/* A process whose first thread has ended keeps its memory until the process ends. */
static void a_process_whose_first_thread_has_ended(void **state)
{
	const char *const files[] = {"maps", "auxv", "cmdline"};
	size_t size;
	char *text;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, wait_for_ever, NULL);
		pthread_exit(NULL);
	}
	while (state_of(pid) != 'Z')
		sched_yield();
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(proc_file_read(NULL, pid, files[i], 4096, &text, &size), 0);
		assert_true(size > 0);
		free(text);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	if (proc_file_read(NULL, pid, "maps", 4096, &text, &size) == 0) {
		assert_int_equal(size, 0);
		free(text);
	}
	waitpid(pid, NULL, 0);
}

/* Starts a process that waits for ever as the first of a pid namespace. Returns 0 if that is
 * impossible. */
static pid_t start_in_namespace(void)
{
	int ends[2];
	pid_t outer, inner = 0;

	assert_int_equal(pipe(ends), 0);
	outer = fork();
	assert_true(outer >= 0);
	if (outer == 0) {
		inner = unshare(CLONE_NEWPID) == 0 ? fork() : -1;
		while (inner == 0)
			pause();
		if (inner > 0 && write(ends[1], &inner, sizeof(inner)) != sizeof(inner))
			_exit(1);
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &inner, sizeof(inner)) != sizeof(inner))
		inner = 0;
	close(ends[0]);
	waitpid(outer, NULL, 0);
	return inner;
}

static void pid_in_a_namespace(void **state)
{
	pid_t process = start_in_namespace();

	(void)state;
	if (!process)
		SKIP("no pid namespaces for this user");
	assert_int_equal(proc_pid_inside(process), 1);
	assert_int_equal(kill(process, SIGKILL), 0);
}

/* Starts a program that prints "ready"; 0: it is not there, or cannot do its work here. */
static pid_t start(const char *program, const char *a, const char *b, const char *c)
{
	char path[128], line[256] = "";
	int out[2];
	FILE *answer;
	pid_t pid;

	snprintf(path, sizeof(path), WORKLOADS "%s", program);
	assert_int_equal(pipe(out), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(out[1], STDOUT_FILENO);
		execl(path, program, a, b, c, (char *)NULL);
		_exit(1);
	}
	close(out[1]);
	answer = fdopen(out[0], "r");
	assert_non_null(answer);
	if (!fgets(line, sizeof(line), answer) || strcmp(line, "ready\n") != 0) {
		print_message("%s: %s\n", program, line);
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	fclose(answer);
	return pid;
}

static void memory_that_never_arrives(void **state)
{
	static const char *const files[] = {"environ", "cmdline"};
	struct bounded_caller *calls;
	char file[64], text[64], want[64], *unused;
	pid_t server, process;
	size_t size;

	(void)state;
	server = start("stuck_file", folder, "/bin/true", "read");
	if (!server)
		SKIP("no file system that never answers");
	calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	snprintf(file, sizeof(file), "%s/true", folder);
	process = start("stuck_memory", file, "60000", NULL);
	assert_int_not_equal(process, 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(proc_file_read(calls, process, files[i], 4096, &unused, &size),
				 i == 0 ? -ETIMEDOUT : -EBUSY);
	assert_int_equal(bounded_caller_count_stuck(calls), 1);
	proc_names_process(calls, process, NULL, NULL, text, sizeof(text));
	snprintf(want, sizeof(want), "stuck_memory %d", (int)process);
	assert_string_equal(text, want);
	assert_int_equal(proc_pid_inside(process), process);
	kill(process, SIGKILL);
	kill(server, SIGTERM);
	waitpid(process, NULL, 0);
	waitpid(server, NULL, 0);
	bounded_caller_free(calls);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	umount2(folder, MNT_DETACH); /* left by a failed test */
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readable_files),
		cmocka_unit_test(a_process_whose_first_thread_has_ended),
		cmocka_unit_test(pid_in_a_namespace),
		cmocka_unit_test(memory_that_never_arrives),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
