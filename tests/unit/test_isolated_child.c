/* SPDX-License-Identifier: MIT */
/* Processes without capabilities: what they have, and what becomes of those that do not end. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "unit.h"
#include "profiler/run/isolated_child.h"

#define LONG_MS 60000

struct seen {
	char status[4096];
	bool has_descriptor;
	int nulls;
	pid_t pid;
	int kept; /* a descriptor of the parent's */
};

static struct seen *new_seen(void)
{
	struct seen *seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(seen, MAP_FAILED);
	return seen;
}

static void look(void *shared)
{
	struct seen *seen = shared;
	FILE *file = fopen("/proc/self/status", "re");

	seen->has_descriptor = fcntl(seen->kept, F_GETFD) >= 0;
	for (int fd = 0; fd < 3; fd++) {
		char path[64] = "", name[32];

		snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
		if (readlink(name, path, sizeof(path) - 1) > 0)
			seen->nulls += strcmp(path, "/dev/null") == 0;
	}
	if (!file)
		return;
	if (fread(seen->status, 1, sizeof(seen->status) - 1, file) == 0)
		seen->status[0] = '\0';
	fclose(file);
}

static void it_has_no_capability_and_nothing_of_ours(void **state)
{
	static const char *const lines[] = {"\nCapInh:\t0000000000000000\n",
					    "\nCapPrm:\t0000000000000000\n",
					    "\nCapEff:\t0000000000000000\n",
					    "\nCapAmb:\t0000000000000000\n", "\nNoNewPrivs:\t1\n"};
	struct seen *seen = new_seen();
	char uid[32];

	(void)state;
	seen->kept = fcntl(STDERR_FILENO, F_DUPFD, 100);
	assert_true(seen->kept >= 100);
	assert_int_equal(isolated_child_run(look, seen, LONG_MS), 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(seen->status, lines[i]))
			fail_msg("'%s' is not in %s", lines[i], seen->status);
	snprintf(uid, sizeof(uid), "\nUid:\t%u\t", getuid());
	assert_non_null(strstr(seen->status, uid));
	assert_false(seen->has_descriptor);
	assert_int_equal(seen->nulls, 3);
	close(seen->kept);
	munmap(seen, sizeof(*seen));
}

static void never_end(void *shared)
{
	((struct seen *)shared)->pid = getpid();
	for (;;)
		pause();
}

static void one_that_does_not_end_is_killed(void **state)
{
	struct seen *seen = new_seen();

	(void)state;
	assert_int_equal(isolated_child_run(never_end, seen, 300), -ETIMEDOUT);
	if (seen->pid)
		assert_int_equal(kill(seen->pid, 0), -1);
	munmap(seen, sizeof(*seen));
}

static void die(void *shared)
{
	(void)shared;
	raise(SIGKILL);
}

static void one_that_dies_is_known(void **state)
{
	(void)state;
	assert_int_equal(isolated_child_run(die, NULL, LONG_MS), -ECHILD);
}

/* No child is left. */
static void nothing_is_left(void **state)
{
	struct seen *seen = new_seen();

	(void)state;
	assert_int_equal(isolated_child_run(look, seen, LONG_MS), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	munmap(seen, sizeof(*seen));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_no_capability_and_nothing_of_ours),
		cmocka_unit_test(one_that_does_not_end_is_killed),
		cmocka_unit_test(one_that_dies_is_known),
		cmocka_unit_test(nothing_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
