/* SPDX-License-Identifier: MIT */
/* Names of this process, its threads and its children, and of ended ones. */
#include "unit.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "profiler/cpu/proc_names.h"

/* A process started as another program's name: it only waits. */
#define WAITS_ENV "TEST_PROC_NAMES_WAITS"

#define NOBODY 4194305 /* above the largest pid_max */

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* Returns "name 4711". */
static const char *with_id(const char *name, pid_t id)
{
	static char out[512];

	snprintf(out, sizeof(out), "%s %d", name, (int)id);
	return out;
}

static const char *process_name_of(pid_t pid, const char *comm, const char *program)
{
	static char text[256];

	proc_names_process(NULL, pid, comm, program, text, sizeof(text));
	return text;
}

static const char *process_name(pid_t pid, const char *comm)
{
	return process_name_of(pid, comm, NULL);
}

static const char *thread_name_or(pid_t pid, pid_t tid, const char *comm, const char *earlier)
{
	static char text[256];

	proc_names_thread(pid, tid, comm, earlier, text, sizeof(text));
	return text;
}

static const char *thread_name(pid_t pid, pid_t tid, const char *comm)
{
	return thread_name_or(pid, tid, comm, NULL);
}

static void this_process_and_thread(void **state)
{
	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "test_names_main"), 0);
	assert_string_equal(process_name(getpid(), NULL), with_id("test_names_main", getpid()));
	assert_string_equal(thread_name(getpid(), own_tid(), NULL),
			    with_id("test_names_main", own_tid()));
}

/* Names from the kernel's records: they were right at their time. */
static void a_name_that_is_known_is_not_read(void **state)
{
	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "now"), 0);
	assert_string_equal(process_name(getpid(), "then"), with_id("then", getpid()));
	assert_string_equal(thread_name(getpid(), own_tid(), "then"), with_id("then", own_tid()));
	assert_string_equal(process_name(NOBODY, "then"), "then 4194305");
	assert_string_equal(thread_name(NOBODY, NOBODY, "then"), "then 4194305");
}

static void a_thread_that_is_gone_has_an_earlier_name(void **state)
{
	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "now"), 0);
	assert_string_equal(thread_name_or(getpid(), own_tid(), NULL, "then"),
			    with_id("now", own_tid()));
	assert_string_equal(thread_name_or(NOBODY, NOBODY, NULL, "then"), "then 4194305");
	assert_string_equal(thread_name_or(NOBODY, NOBODY, NULL, ""), "[thread 4194305]");
}

static void *thread_main(void *arg)
{
	bool *is_same = arg;

	prctl(PR_SET_NAME, "pool;1\x1b\x7f\t*\n;");
	*is_same = strcmp(thread_name(getpid(), own_tid(), NULL),
			  with_id("pool;1\x1b\x7f\t*", own_tid())) == 0;
	return NULL;
}

/* Only the line's end is omitted from the bytes of a thread's name. */
static void a_name_ends_with_its_line(void **state)
{
	bool is_same = false;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, thread_main, &is_same), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(is_same);
}

static void unknown_devices_have_their_number(void **state)
{
	(void)state;
	assert_string_equal(process_name(NOBODY, NULL), "[process 4194305]");
	assert_string_equal(thread_name(NOBODY, NOBODY, NULL), "[thread 4194305]");
	assert_string_equal(process_name(INT32_MAX, NULL), "[process 2147483647]");
	assert_string_equal(thread_name(INT32_MAX, INT32_MAX, NULL), "[thread 2147483647]");
	/* a thread of another process */
	assert_string_equal(thread_name(getpid(), 1, NULL), "[thread 1]");
	/* a name of no bytes is none */
	assert_string_equal(process_name(NOBODY, ""), "[process 4194305]");
	assert_string_equal(thread_name(NOBODY, 7, ""), "[thread 7]");
}

/* Starts this program again with another command line. The child reports that it runs, and
 * waits. */
static pid_t start(const char *const *argv)
{
	int pipes[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(pipes), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(pipes[1], STDOUT_FILENO);
		setenv(WAITS_ENV, "1", 1);
		execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	close(pipes[0]);
	return pid;
}

static void expect_name(const char *want, const char *comm, const char *const *argv)
{
	pid_t pid = start(argv);
	const char *got = process_name(pid, comm);
	bool same = strcmp(got, with_id(want, pid)) == 0;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (!same)
		fail_msg("%s: got '%s', wanted '%s'", argv[1] ? argv[1] : argv[0], got, want);
}

#define NAME(want, ...) expect_name(want, NULL, (const char *const[]){__VA_ARGS__, NULL})
#define NAME_WITH(comm, want, ...) expect_name(want, comm, (const char *const[]){__VA_ARGS__, NULL})

static void an_interpreter_is_its_script(void **state)
{
	(void)state;
	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind runs no program under another's name");
	NAME("train.py", "python3", "train.py");
	NAME("train.py", "/usr/bin/python3.12", "-u", "/home/a/train.py", "--lr", "1");
	NAME("t;r\n.py", "python", "a;b/t;r\n.py");
	NAME("train.py", "python3", "-W", "ignore", "-X", "dev", "-O", "train.py");
	NAME_WITH("python3", "train.py", "python3", "train.py");
	NAME("pkg.serve", "python3", "-u", "-m", "pkg.serve", "x.py");
	NAME("app.pyz", "python3", "dist/app.pyz");
	NAME("train.sh", "bash", "train.sh");
	NAME("app", "/lib64/ld-linux-x86-64.so.2", "--library-path", "lib", "./app");
	NAME_WITH("ld-linux-x86-64", "app", "/lib64/ld-linux-x86-64.so.2", "./app");
	NAME_WITH("renamed", "renamed", "/lib64/ld-linux-x86-64.so.2", "./app");
	/* the kernel's name is the script's, cut */
	NAME_WITH("a_script_of_lon", "a_script_of_long_name.py", "/usr/bin/python3",
		  "./a_script_of_long_name.py");
	/* the process has renamed itself */
	NAME_WITH("trainer", "trainer", "python3", "train.py");
	/* no script: the name of the program */
	NAME("exe", "python3", "-c", "print(1)");
	NAME("exe", "python3");
	NAME("exe", "python3", "-W");
	NAME("exe", "python3", "");
	NAME("exe", "bash", "-c", "train.sh");
	NAME("exe", "./app", "train.py");
	NAME_WITH("python3", "python3", "python3", "-c", "print(1)");
}

/* Expects the kernel's name for a program that a dynamic loader runs; "": no loader. */
static void expect_loaded(const char *want, const char *comm, const char *const *argv)
{
	pid_t pid = start(argv);
	char got[PROCESS_COMM_BYTES] = "";
	bool is_loaded = proc_names_loaded(NULL, pid, comm, got);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_string_equal(is_loaded ? got : "", want);
}

#define LOADED(comm, want, ...) expect_loaded(want, comm, (const char *const[]){__VA_ARGS__, NULL})

static void a_loader_is_its_program(void **state)
{
	char none[PROCESS_COMM_BYTES];

	(void)state;
	assert_false(proc_names_loaded(NULL, NOBODY, "ld.so", none));
	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind runs no program under another's name");
	LOADED("ld-linux-x86-64", "app", "/lib64/ld-linux-x86-64.so.2", "./app");
	LOADED("ld.so", "a_program_of_lo", "ld.so", "bin/a_program_of_long_name");
	LOADED("ld.so", "", "ld.so", "--list");
	LOADED("app", "", "ld.so", "./app");
	LOADED("ld-linux-x86-64", "", "python3", "train.py"); /* another program by now */
}

static void a_long_name_is_cut(void **state)
{
	char script[5000], want[201], small[16];

	(void)state;
	proc_names_process(NULL, NOBODY, "longer than there is room for", NULL, small,
			   sizeof(small));
	assert_string_equal(small, "longer than the");
	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind runs no program under another's name");
	memset(script, 'x', sizeof(script) - 1);
	script[sizeof(script) - 1] = '\0';
	memset(want, 'x', 200);
	want[200] = '\0';
	NAME(want, "python3", script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_process_and_thread),
		cmocka_unit_test(a_name_that_is_known_is_not_read),
		cmocka_unit_test(a_thread_that_is_gone_has_an_earlier_name),
		cmocka_unit_test(a_name_ends_with_its_line),
		cmocka_unit_test(unknown_devices_have_their_number),
		cmocka_unit_test(an_interpreter_is_its_script),
		cmocka_unit_test(a_loader_is_its_program),
		cmocka_unit_test(a_long_name_is_cut),
	};

	if (getenv(WAITS_ENV)) {
		if (write(STDOUT_FILENO, "!", 1) == 1)
			pause();
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
