/* SPDX-License-Identifier: MIT */
/* Names of files that the library writes alone. */
#include "unit.h"
#include <limits.h>
#include "cupti_trace/core/output_path.h"

static void expect_path(const char *name, const char *expected)
{
	char path[PATH_MAX];

	assert_int_equal(output_path(name, path, sizeof(path)), 0);
	assert_string_equal(path, expected);
}

static void names_become_absolute(void **state)
{
	char folder[PATH_MAX], expected[PATH_MAX + 64];

	(void)state;
	assert_non_null(getcwd(folder, sizeof(folder)));
	expect_path("/a/b.trace", "/a/b.trace");
	snprintf(expected, sizeof(expected), "%s/b.trace", folder);
	expect_path("b.trace", expected);
	assert_int_equal(chdir("/"), 0);
	expect_path("b.trace", "//b.trace");
	assert_int_equal(chdir(folder), 0);
}

static void the_first_mark_is_the_process(void **state)
{
	char expected[64];

	(void)state;
	snprintf(expected, sizeof(expected), "/%d", (int)getpid());
	expect_path("/%p", expected);
	snprintf(expected, sizeof(expected), "/a-%d-%%p%%d", (int)getpid());
	expect_path("/a-%p-%p%d", expected);
	expect_path("/%", "/%");
	expect_path("/%%s%n", "/%%s%n");
}

static void what_does_not_fit_is_refused(void **state)
{
	char name[64], path[sizeof(name) + 32];

	(void)state;
	memset(name, 'x', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	for (size_t size = 1; size <= sizeof(path); size++)
		assert_int_equal(output_path(name, path, size),
				 size < sizeof(name) ? -ENAMETOOLONG : 0);
	memcpy(name + 1, "%p", 2);
	assert_int_equal(output_path(name, path, 64 - 2), -ENAMETOOLONG);
	assert_int_equal(output_path("", path, sizeof(path)), -ENOENT);
}

/* A folder that has no path any more. */
static void a_folder_that_is_gone(void **state)
{
	char folder[] = "/tmp/profile_unit.XXXXXX", path[PATH_MAX];
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(folder));
	pid = fork();
	if (pid == 0) {
		if (chdir(folder) != 0 || rmdir(folder) != 0)
			_exit(2);
		_exit(output_path("x", path, sizeof(path)) == -ENOENT ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_become_absolute),
		cmocka_unit_test(the_first_mark_is_the_process),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(a_folder_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
