/* SPDX-License-Identifier: MIT */
/* Real programs behind the gate. */
#include <poll.h>
#include "unit.h"
#include "profiler/run/privilege.h"
#include "profiler/run/target.h"

static struct inherited inherited; /* state at the start of main() */

static int start(struct target *t, char **command, const char *const *environment)
{
	struct target_options options = {
		.command = command,
		.inherited = &inherited,
		.environment = environment,
	};

	return target_start(t, &options);
}

static void wait_for_end(struct target *t)
{
	siginfo_t info;

	/* leaves it to target_poll to take the status */
	while (waitid(P_PID, (id_t)t->pid, &info, WEXITED | WNOWAIT) != 0)
		assert_int_equal(errno, EINTR);
	assert_true(target_poll(t));
	assert_true(target_poll(t));
}

#define SHELL(script)                                                              \
	(char *[])                                                                 \
	{                                                                          \
		(char *)"/bin/sh", (char *)"-c", (char *)(uintptr_t)(script), NULL \
	}

static int status_of_command(char **command)
{
	struct target t;
	int status;

	assert_int_equal(start(&t, command, NULL), 0);
	assert_int_equal(target_release(&t, ""), 0);
	wait_for_end(&t);
	status = target_exit_status(&t);
	target_release_resources(&t);
	return status;
}

/* One variable is known only when the gate opens. */
static void the_gate_gives_one_more_variable(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(start(&t, SHELL("test \"$LATE\" = 'a b=1'"), NULL), 0);
	assert_int_equal(target_release(&t, "LATE=a b=1"), 0);
	wait_for_end(&t);
	assert_int_equal(target_exit_status(&t), 0);
	target_release_resources(&t);
}

static int status_of(const char *script)
{
	return status_of_command(SHELL(script));
}

static void exit_statuses_are_passed_on(void **state)
{
	(void)state;
	assert_int_equal(status_of("exit 0"), 0);
	assert_int_equal(status_of("exit 1"), 1);
	assert_int_equal(status_of("exit 255"), 255);
	assert_int_equal(status_of("kill -TERM $$"), 128 + SIGTERM);
	assert_int_equal(status_of("kill -KILL $$"), 128 + SIGKILL);
}

struct bench {
	char folder[64];
	char mark[96]; /* a file that the target would make */
	char script[256];
};

static int begin(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b)
		return -1;
	*state = b;
	snprintf(b->folder, sizeof(b->folder), "/tmp/profile_unit.XXXXXX");
	if (!mkdtemp(b->folder))
		return -1;
	snprintf(b->mark, sizeof(b->mark), "%s/mark", b->folder);
	snprintf(b->script, sizeof(b->script), "echo \"$VALUE\" > %s", b->mark);
	return 0;
}

static int end(void **state)
{
	struct bench *b = *state;

	unlink(b->mark);
	rmdir(b->folder);
	free(b);
	return 0;
}

static void a_closed_gate_is_never_passed(void **state)
{
	struct bench *b = *state;
	struct target t;
	int status;

	assert_int_equal(start(&t, SHELL(b->script), NULL), 0);
	assert_false(target_poll(&t));
	target_release_resources(&t); /* waits for the child */
	assert_int_equal(access(b->mark, F_OK), -1);
	assert_int_equal(waitpid(t.pid, &status, WNOHANG), -1);
	target_release_resources(&t);
}

/* The profiler dies before the gate opens: the command must not run without it. */
static void the_death_of_the_profiler_closes_the_gate(void **state)
{
	struct bench *b = *state;
	int ends[2], status;
	pid_t profiler, child = 0;
	char byte;

	assert_int_equal(pipe(ends), 0);
	profiler = fork();
	if (profiler == 0) {
		struct target t;

		close(ends[0]);
		status = start(&t, SHELL(b->script), NULL);
		if (write(ends[1], &t.pid, sizeof(t.pid)) != sizeof(t.pid))
			status = 1;
		_exit(status != 0); /* the gate ends with it */
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	/* the child holds the pipe open until it ends */
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	assert_int_equal(waitpid(profiler, &status, 0), profiler);
	assert_int_equal(status, 0);
	assert_int_equal(access(b->mark, F_OK), -1);
}

static void an_open_gate_lets_it_run_with_its_environment(void **state)
{
	static const char *const environment[] = {"VALUE=a=b c", "OTHER=", NULL};
	struct bench *b = *state;
	char text[32] = "";
	struct target t;
	FILE *f;

	assert_int_equal(start(&t, SHELL(b->script), environment), 0);
	assert_int_equal(access(b->mark, F_OK), -1);
	assert_null(getenv("VALUE")); /* ours stays as it is */
	assert_int_equal(target_release(&t, ""), 0);
	wait_for_end(&t);
	assert_int_equal(target_exit_status(&t), 0);
	f = fopen(b->mark, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_string_equal(text, "a=b c\n");
	target_release_resources(&t);
}

static int exec_error(const char *command)
{
	char *words[] = {(char *)(uintptr_t)command, NULL};
	struct target t;
	int err;

	assert_int_equal(start(&t, words, NULL), 0);
	err = target_release(&t, "");
	wait_for_end(&t);
	target_release_resources(&t);
	return err;
}

static void commands_that_cannot_run(void **state)
{
	struct bench *b = *state;
	FILE *f = fopen(b->mark, "w");

	assert_non_null(f);
	fputs("no program\n", f);
	fclose(f);
	setenv("PATH", "/usr/bin:/bin",
	       1); /* a folder in it that is closed to us would be EACCES */
	assert_int_equal(exec_error("/no/such/program"), -ENOENT);
	assert_int_equal(exec_error("no-such-program-anywhere"), -ENOENT);
	assert_int_equal(exec_error(""), -ENOENT);
	assert_int_equal(exec_error(b->folder), -EACCES);
	assert_int_equal(exec_error(b->mark), -EACCES);
}

static void signals_reach_it(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(start(&t, SHELL("kill -STOP $$; exec sleep 1000"), NULL), 0);
	assert_int_equal(target_release(&t, ""), 0);
	target_signal(&t, SIGTERM);
	target_signal(&t, SIGCONT);
	wait_for_end(&t);
	assert_int_equal(target_exit_status(&t), 128 + SIGTERM);
	assert_int_equal(target_killed_by(&t), SIGTERM);
	target_signal(&t, SIGTERM); /* no target: not even a process that has that number now */
	target_release_resources(&t);
}

/* A target that has become another user cannot be signalled by kill(1). A child stands for it. */
static void a_target_of_another_user_cannot_be_signalled(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		struct target t = {.pid = getppid()};

		if (geteuid() != 0)
			_exit(77);
		if (setresuid(12345, 12345, 12345) != 0)
			_exit(1);
		_exit(target_signal(&t, 0) == -EPERM ? 0 : 2);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("needs root");
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* The mask, SIGCHLD and the limits that the profiler was started with, not its own. */
static void changes_are_restored(void **state)
{
	static const char script[] = "test \"$(ulimit -S -n) $(ulimit -H -n)\" = '200 300' && "
				     "test \"$(ulimit -S -l)\" = 32";
	/* no shell: it would take SIGCHLD itself; grep counts what it finds of its own */
	char *signals[] = {(char *)"grep", (char *)"-qzP",
			   (char *)"SigBlk:\\t0000000000000200\\nSigIgn:\\t.{11}1.{4}\\n",
			   (char *)"/proc/self/status", NULL};
	pid_t child;
	int status;

	(void)state;
	if (getenv("UNDER_VALGRIND"))
		SKIP("valgrind keeps descriptors for itself and forbids to change the limit");
	child = fork();
	if (child == 0) {
		const struct rlimit files = {200, 300}, memory = {32 << 10, 64 << 10};
		struct inherited before;
		sigset_t usr1, usr2;

		setrlimit(RLIMIT_NOFILE, &files);
		setrlimit(RLIMIT_MEMLOCK, &memory);
		signal(SIGCHLD, SIG_IGN);
		sigemptyset(&usr1);
		sigaddset(&usr1, SIGUSR1);
		sigprocmask(SIG_SETMASK, &usr1, NULL);
		inherited_note(&before);
		privilege_raise_limits();
		sigemptyset(&usr2);
		sigaddset(&usr2, SIGUSR2);
		sigprocmask(SIG_SETMASK, &usr2, NULL);
		inherited = before;
		_exit(status_of(script) + 2 * status_of_command(signals));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Ignored, as some parents leave it, it would keep the status of the target from us. */
static void an_ignored_child_end_is_no_obstacle(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		signal(SIGCHLD, SIG_IGN);
		inherited_note(&inherited);
		_exit(status_of("exit 7") == 7 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Closed standard descriptors stay closed. Otherwise files would get their numbers, and output
 * meant for them. */
static void closed_standard_descriptors_stay_closed(void **state)
{
	pid_t child = fork();
	int status;

	(void)state;
	if (child == 0) {
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		inherited_note(&inherited);
		if (write(STDERR_FILENO, "x", 1) != -1 || errno != EBADF)
			_exit(1);
		if (open("/dev/null", O_RDONLY) < 3)
			_exit(2);
		_exit(status_of("for fd in 0 1 2; do [ ! -e /proc/$$/fd/$fd ] || exit 3; done"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The end shows at a descriptor, and before a status is available. */
static void its_end_can_be_waited_for(void **state)
{
	struct target t;

	(void)state;
	assert_int_equal(start(&t, SHELL("exit 4"), NULL), 0);
	if (t.end >= 0) {
		struct pollfd end = {.fd = t.end, .events = POLLIN};

		assert_int_equal(poll(&end, 1, 0), 0);
		assert_int_equal(target_release(&t, ""), 0);
		assert_int_equal(poll(&end, 1, -1), 1);
		assert_true(target_poll(&t));
		assert_int_equal(target_exit_status(&t), 4);
		assert_int_equal(target_killed_by(&t), 0);
	}
	target_release_resources(&t);
	if (t.end < 0 && !t.ended)
		SKIP("no pidfd here");
}

static void its_stdout_can_become_stderr(void **state)
{
	struct target_options options = {
		.command = SHELL("echo out"), .inherited = &inherited, .stdout_to_stderr = true};
	static struct capture captured;
	struct target t;

	(void)state;
	capture_begin(&captured);
	assert_int_equal(target_start(&t, &options), 0);
	assert_int_equal(target_release(&t, ""), 0);
	wait_for_end(&t);
	assert_string_equal(capture_end(&captured), "out\n");
	target_release_resources(&t);
}

/* The gate and the report take the lowest free descriptors: none of them is there after exec. */
static void it_inherits_no_descriptors(void **state)
{
	char script[256];
	int fds[4];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(fds + 2), 0);
	snprintf(script, sizeof(script),
		 "for fd in %d %d %d %d; do [ ! -e /proc/$$/fd/$fd ] || exit 9; done", fds[0],
		 fds[1], fds[2], fds[3]);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
	assert_int_equal(status_of(script), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_statuses_are_passed_on),
		TEST(a_closed_gate_is_never_passed),
		TEST(the_death_of_the_profiler_closes_the_gate),
		TEST(an_open_gate_lets_it_run_with_its_environment),
		TEST(the_gate_gives_one_more_variable),
		TEST(commands_that_cannot_run),
		cmocka_unit_test(signals_reach_it),
		cmocka_unit_test(a_target_of_another_user_cannot_be_signalled),
		cmocka_unit_test(changes_are_restored),
		cmocka_unit_test(an_ignored_child_end_is_no_obstacle),
		cmocka_unit_test(closed_standard_descriptors_stay_closed),
		cmocka_unit_test(its_end_can_be_waited_for),
		cmocka_unit_test(its_stdout_can_become_stderr),
		cmocka_unit_test(it_inherits_no_descriptors),
	};

	inherited_note(&inherited);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
