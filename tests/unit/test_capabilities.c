/* SPDX-License-Identifier: MIT */
/* Capabilities kept and given up, in children. */
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"
#include "profiler/run/capabilities.h"

#define TWO (CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON))

static int in_child(int (*act)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(act());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int keep_two(void)
{
	if (capabilities_keep(TWO) != 0 || capabilities_effective() != TWO)
		return 1;
	/* dropped capabilities do not come back */
	return capabilities_keep(UINT64_MAX) == 0 && capabilities_effective() == TWO ? 0 : 2;
}

/* Renounces capabilities: a program that user 0 executes has none either. */
static int renounce(void)
{
	if (capabilities_renounce() != 0 || capabilities_effective() != 0)
		return 1;
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 || prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0)
		return 2;
	execlp("grep", "grep", "-q", "^CapEff:.0*$", "/proc/self/status", (char *)NULL);
	return 3;
}

static void some_are_kept(void **state)
{
	(void)state;
	if ((capabilities_effective() & TWO) != TWO)
		SKIP("needs capabilities");
	assert_int_equal(in_child(keep_two), 0);
}

static void all_are_given_up(void **state)
{
	(void)state;
	assert_int_equal(in_child(renounce), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_are_kept),
		cmocka_unit_test(all_are_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
