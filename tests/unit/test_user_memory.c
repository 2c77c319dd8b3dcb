/* SPDX-License-Identifier: MIT */
/* Memory of other processes, for those whom the kernel lets look into them. */
#include "tests/unit/unit.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "profiler/attach/user_memory.h"
#include "symbolize/util/bounded_call.h"

#define NOBODY 65534

static const char word[] = "moved text";

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void memory_of_ones_own_process(void **state)
{
	struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);
	pid_t pid = start_sleeper();
	char read[sizeof(word)] = "";
	int fd = user_memory_open(calls, pid);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, read, sizeof(read), (off_t)(uintptr_t)word), sizeof(read));
	assert_string_equal(read, word);
	end(pid);
	/* the file stays that of the program of that time */
	assert_true(pread(fd, read, sizeof(read), (off_t)(uintptr_t)word) <= 0);
	close(fd);
	assert_true(user_memory_open(calls, pid) < 0);
	bounded_caller_free(calls);
}

static void memory_of_another_users(void **state)
{
	pid_t sleeper = start_sleeper(), asking;
	int status = -1;

	(void)state;
	if (geteuid() != 0) {
		end(sleeper);
		skip();
	}
	asking = fork();
	if (asking == 0) {
		struct bounded_caller *calls = bounded_caller_new(BOUNDED_CALL_RUN_MS);

		if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) != 0)
			_exit(2);
		_exit(user_memory_open(calls, sleeper) == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(asking, &status, 0), asking);
	assert_int_equal(status, 0);
	end(sleeper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_of_ones_own_process),
		cmocka_unit_test(memory_of_another_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
