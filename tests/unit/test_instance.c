/* SPDX-License-Identifier: MIT */
/*
 * A process's own ids, and the kernel's. The test's getrandom() stands in front of the C library's.
 */
#include "unit.h"
#include <sched.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "cupti_trace/core/instance.h"

enum { REAL, FAILS, IS_SHORT, GIVES_ZERO };
static int randomness;

ssize_t getrandom(void *out, size_t size, unsigned int flags)
{
	switch (randomness) {
	case FAILS:
		errno = ENOSYS;
		return -1;
	case IS_SHORT:
		memset(out, 0x55, size);
		return (ssize_t)size / 2;
	case GIVES_ZERO:
		memset(out, 0, size);
		return (ssize_t)size;
	default:
		return syscall(SYS_getrandom, out, size, flags);
	}
}

static struct instance describe(int how)
{
	struct instance instance;

	randomness = how;
	instance_describe(&instance);
	randomness = REAL;
	return instance;
}

/* Returns the id that a forked child draws. */
static uint64_t id_of_child(int how)
{
	uint64_t id = 0;
	int ends[2], status;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		id = describe(how).id;
		_exit(write(ends[1], &id, sizeof(id)) != sizeof(id));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], &id, sizeof(id)), sizeof(id));
	close(ends[0]);
	close(ends[1]);
	return id;
}

static void assert_all_differ(const uint64_t *ids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		assert_int_not_equal(ids[i], 0);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(ids[i], ids[k]);
	}
}

static void each_call_draws_another_id(void **state)
{
	static const int ways[] = {REAL, FAILS, IS_SHORT};
	uint64_t ids[3 * 100];

	(void)state;
	for (int i = 0; i < 300; i++)
		ids[i] = describe(ways[i / 100]).id;
	assert_all_differ(ids, 300);
}

static void forked_children_draw_new_ids(void **state)
{
	uint64_t ids[40];

	(void)state;
	for (int i = 0; i < 40; i += 2) {
		ids[i] = describe(i < 20 ? REAL : FAILS).id;
		ids[i + 1] = id_of_child(i < 20 ? REAL : FAILS);
	}
	assert_all_differ(ids, 40);
}

static void no_id_is_zero(void **state)
{
	(void)state;
	assert_int_equal(describe(GIVES_ZERO).id, 1);
}

/* A name that looks like more fields must not mislead. */
static void the_start_is_the_kernels(void **state)
{
	uint64_t before = describe(REAL).start_ticks, uptime;
	struct timespec now;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) R 1 (b) 7 8"), 0);
	assert_int_equal(describe(REAL).start_ticks, before);
	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	uptime = (uint64_t)now.tv_sec + 1;
	assert_in_range(before, 1, uptime * (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Others find this instance in /proc/PID/stat and /proc/PID/ns/pid. */
static void others_find_the_same(void **state)
{
	struct instance mine = describe(REAL);
	char path[64], text[1024], link[64] = "", expected[64];
	const char *end;
	unsigned long long start;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/stat", getpid());
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	end = strrchr(text, ')');
	assert_non_null(end);
	assert_int_equal(sscanf(end + 1,
				" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
				"%*d %*d %*d %llu",
				&start),
			 1);
	assert_int_equal(mine.start_ticks, start);
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", getpid());
	assert_true(readlink(path, link, sizeof(link) - 1) > 0);
	snprintf(expected, sizeof(expected), "pid:[%" PRIu64 "]", mine.pid_namespace);
	assert_string_equal(link, expected);
}

static void another_pid_namespace_is_another_number(void **state)
{
	uint64_t outside = describe(REAL).pid_namespace;
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		pid_t inner;

		if (unshare(CLONE_NEWPID) != 0)
			_exit(77);
		inner = fork();
		if (inner == 0) {
			struct instance i = describe(REAL);

			_exit(i.pid_namespace == 0 || i.pid_namespace == outside ||
			      i.start_ticks == 0);
		}
		waitpid(inner, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		print_message("SKIP: no new pid namespace without privilege\n");
		skip();
	}
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_draws_another_id),
		cmocka_unit_test(forked_children_draw_new_ids),
		cmocka_unit_test(no_id_is_zero),
		cmocka_unit_test(the_start_is_the_kernels),
		cmocka_unit_test(others_find_the_same),
		cmocka_unit_test(another_pid_namespace_is_another_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
