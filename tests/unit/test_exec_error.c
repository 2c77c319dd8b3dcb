/* SPDX-License-Identifier: MIT */
/* Why a command could not be run: the message, and the status. */
#include "unit.h"
#include "profiler/session/exec_error.h"

static struct capture captured;
static char folder[] = "/tmp/profile_unit.XXXXXX";

/* The path of a script there with this first line. */
static const char *script(const char *first_line)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/test-script", folder);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(first_line, f);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

static int explain(const char *command, int err)
{
	struct log log = {.level = LOG_ERRORS};
	int status;

	capture_begin(&captured);
	status = exec_error_explain(&log, command, err);
	capture_end(&captured);
	return status;
}

#define assert_said(words) assert_non_null(strstr(captured.text, words))

static void commands_that_do_not_exist(void **state)
{
	(void)state;
	assert_int_equal(explain("no-such-command", ENOENT), 127);
	assert_string_equal(captured.text, "profile: no-such-command: command not found\n");
	assert_int_equal(explain("/no/such/command", ENOENT), 127);
	assert_int_equal(explain("", ENOENT), 127);
}

static void commands_that_may_not_be_run(void **state)
{
	(void)state;
	assert_int_equal(explain("/etc/passwd", EACCES), 126);
	assert_string_equal(captured.text, "profile: cannot run /etc/passwd: Permission denied\n");
}

static void interpreters_that_do_not_exist(void **state)
{
	(void)state;
	assert_int_equal(explain(script("#!/no/such/sh -x\nexit\n"), ENOENT), 126);
	assert_said("/test-script: its interpreter /no/such/sh does not exist\n");
	assert_int_equal(explain(script("#! \t/no/such/sh"), ENOENT), 126);
	assert_said("its interpreter /no/such/sh does not exist\n");
	assert_int_equal(explain(script("#!/bin/sh\r\nexit\r\n"), ENOENT), 126);
	assert_said("/test-script: its first line ends in CR LF");
	assert_int_equal(explain(script("#!"), ENOENT), 126);
	assert_said("the loader that it needs does not exist here\n");
	assert_int_equal(explain(script("\177ELF"), ENOENT), 126);
	assert_said("the loader that it needs does not exist here\n");
	assert_int_equal(explain(script(""), ENOENT), 126);
}

/* Found along PATH, as execvp looks for it. */
static void scripts_of_the_path(void **state)
{
	char path[128], *before = strdup(getenv("PATH"));

	(void)state;
	script("#!/no/such/sh\n");
	snprintf(path, sizeof(path), "/no/such:%s:/bin", folder);
	setenv("PATH", path, 1);
	assert_int_equal(explain("test-script", ENOENT), 126);
	assert_said(
		"profile: cannot run test-script: its interpreter /no/such/sh does not exist\n");
	setenv("PATH", "/no/such::/bin", 1);
	assert_int_equal(explain("test-script", ENOENT), 127);
	setenv("PATH", before, 1);
	free(before);
}

/* A name of the target's user, who may create anything there. */
static void only_regular_files_are_read(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/test-script", folder);
	unlink(path);
	assert_int_equal(mkfifo(path, 0755), 0);
	assert_int_equal(explain(path, ENOENT), 126); /* would wait for a writer */
	assert_int_equal(explain(folder, ENOENT), 126);
}

static int begin(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/test-script", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_that_do_not_exist),
		cmocka_unit_test(commands_that_may_not_be_run),
		cmocka_unit_test(interpreters_that_do_not_exist),
		cmocka_unit_test(scripts_of_the_path),
		cmocka_unit_test(only_regular_files_are_read),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
