/* SPDX-License-Identifier: MIT */
/* Why a command could not be run: the message, and the status. */
#include "unit.h"
#include <limits.h>
#include "profiler/run/exec_error.h"

static struct capture captured;
static char folder[] = "/tmp/profile_unit.XXXXXX";

/* Makes a script with this first line in the folder. Returns its path. */
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

static int explain_words(char *const *words, int err)
{
	struct log log = {.level = LOG_ERRORS};
	int status;

	capture_begin(&captured);
	status = exec_error_explain(&log, words, err);
	capture_end(&captured);
	return status;
}

static int explain(const char *command, int err)
{
	return explain_words((char *[]){(char *)command, NULL}, err);
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
	assert_string_equal(captured.text,
			    "profile: cannot run /etc/passwd: it has no permission to execute; if "
			    "it is a program, give it: chmod +x /etc/passwd\n");
	assert_int_equal(explain(folder, EACCES), 126);
	assert_said(": it is a folder; name a program in it\n");
	/* executable, but the kernel refuses: a file system mounted noexec */
	assert_int_equal(explain(script("#!/bin/sh\n"), EACCES), 126);
	assert_said("/test-script: Permission denied\n");
	assert_int_equal(explain("true", EPERM), 126);
	assert_string_equal(captured.text, "profile: cannot run true: Operation not permitted\n");
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

/* Makes a file in the working directory, with this content and mode. */
static void make(const char *name, const char *text, mode_t mode)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(name, mode), 0);
}

#define assert_line(words, error, status, line)                                                  \
	do {                                                                                     \
		assert_int_equal(                                                                \
			explain_words((char *const *)(const char *const[]){words, NULL}, error), \
			status);                                                                 \
		assert_said("; write: profile [options] " line "\n");                            \
	} while (0)
#define WORDS(...) __VA_ARGS__

/* The line that the message suggests can be run. */
static void the_line_that_would_have_worked(void **state)
{
	static const struct {
		const char *first, *name, *line;
	} scripts[] = {
		{"#!/usr/bin/env python3\n", "busy.py", "python3 ./busy.py"},
		{"#!/usr/bin/env -S A=1 python3 -u\n", "busy", "python3 ./busy"},
		{"#! /bin/sh -e\n", "job", "/bin/sh ./job"},
		{"#!/no/such/python\n", "old.py", "python3 ./old.py"},
		{"#!/usr/bin/env\n", "env.sh", "sh ./env.sh"},
		{"import os\n", "x.py", "python3 ./x.py"},
		{"", "x.R", "Rscript ./x.R"},
	};
	char here[PATH_MAX];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(folder), 0);
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		char path[64], line[128];

		snprintf(path, sizeof(path), "./%s", scripts[i].name);
		snprintf(line, sizeof(line), "; write: profile [options] %s --lr '1 2'\n",
			 scripts[i].line);
		make(path, scripts[i].first, 0644);
		assert_int_equal(
			explain_words((char *[]){path, (char *)"--lr", (char *)"1 2", NULL},
				      EACCES),
			126);
		assert_said(line);
		/* a name without "./" */
		assert_int_equal(
			explain_words((char *[]){path + 2, (char *)"--lr", (char *)"1 2", NULL},
				      ENOENT),
			127);
		assert_said(
			": command not found: PATH does not lead here; write: profile [options] ");
		unlink(path);
	}
	make("tool", "#!/bin/sh\n", 0755);
	assert_line(WORDS("tool", "-x"), ENOENT, 127, "./tool -x");
	unlink("tool");
	make("notes.txt", "a text\n", 0644);
	assert_int_equal(explain("notes.txt", ENOENT), 127);
	assert_string_equal(captured.text, "profile: notes.txt: command not found\n");
	unlink("notes.txt");
	assert_line(WORDS("python3 x.py --lr 1"), ENOENT, 127, "sh -c 'python3 x.py --lr 1'");
	assert_line(WORDS("A=1", "true"), ENOENT, 127, "env A=1 true");
	assert_int_equal(explain("source", ENOENT), 127);
	assert_said("; write: profile [options] sh -c 'source ...'\n");
	assert_line(WORDS("record", "-o", "a.svg", "--", "true"), ENOENT, 127, "-o a.svg -- true");
	assert_said("record: command not found: profile has no subcommands; write: ");
	assert_line(WORDS("record", "./app"), ENOENT, 127, "./app");
	assert_line(WORDS("report", "a.profile"), ENOENT, 127, "--from a.profile");
	assert_line(WORDS("stats", "a.profile", "-o", "b.html"), ENOENT, 127,
		    "--from a.profile -o b.html");
	make("tool", "#!/bin/sh\n", 0755);
	assert_line(WORDS("report", "./tool"), ENOENT, 127, "./tool");
	unlink("tool");
	assert_line(WORDS("attach", "12"), ENOENT, 127, "-p 12");
	assert_line(WORDS("attach", "true"), ENOENT, 127, "true");
	assert_int_equal(explain("help", ENOENT), 127);
	assert_string_equal(captured.text,
			    "profile: help: command not found; write: profile --help\n");
	assert_int_equal(chdir(here), 0);
}

/* Expects similar names alone, from all folders of PATH and from the working directory. */
static void expect_meant(const char *file)
{
	static const struct {
		const char *typed, *meant;
	} cases[] = {
		{"nosuch", NULL},
		{"touhc", "touch"},
		{"ouch", "touch"},
		{"couch1", NULL},
		{"lss", NULL},
		{"bnechmark1", "./benchmark1"},
		{"benchmakr2", "./benchmark1"},
	};
	char path[160], here[256], *before = strdup(getenv("PATH"));

	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(path, sizeof(path), "%.*s", (int)(strrchr(file, '/') - file), file);
	assert_int_equal(chdir(path), 0);
	assert_int_equal(mkdir("first", 0755) | mkdir("second", 0755), 0);
	make("first/touchy", "#!/bin/sh\n", 0755);
	make("second/touch", "#!/bin/sh\n", 0755);
	make("second/ls", "#!/bin/sh\n", 0755);
	make("benchmark1", "#!/bin/sh\n", 0755);
	setenv("PATH", "first:second", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[128];

		snprintf(text, sizeof(text), "profile: %s: command not found%s%s%s\n",
			 cases[i].typed, cases[i].meant ? "; did you mean " : "",
			 cases[i].meant ? cases[i].meant : "", cases[i].meant ? "?" : "");
		assert_int_equal(explain(cases[i].typed, ENOENT), 127);
		assert_string_equal(captured.text, text);
	}
	unlink("first/touchy");
	unlink("second/touch");
	unlink("second/ls");
	unlink("benchmark1");
	assert_int_equal(rmdir("first") | rmdir("second"), 0);
	setenv("PATH", before, 1);
	free(before);
	assert_int_equal(chdir(here), 0);
}

/* A slip in a name, of PATH or with its folder. */
static void what_was_meant(void **state)
{
	char *before = strdup(getenv("PATH")), path[128];

	(void)state;
	script("#!/bin/sh\n");
	snprintf(path, sizeof(path), "/no/such::%s", folder);
	setenv("PATH", path, 1);
	assert_int_equal(explain("tset-script", ENOENT), 127);
	assert_string_equal(captured.text, "profile: tset-script: command not found; did you mean "
					   "test-script?\n");
	snprintf(path, sizeof(path), "%s/test-scrpt", folder);
	assert_int_equal(explain(path, ENOENT), 127);
	assert_said("/test-script?\n");
	chmod(script("#!/bin/sh\n"), 0644); /* not executable */
	assert_int_equal(explain("tset-script", ENOENT), 127);
	assert_string_equal(captured.text, "profile: tset-script: command not found\n");
	expect_meant(path);
	setenv("SUDO_UID", "4242", 1);
	assert_int_equal(explain("tset-script", ENOENT), 127);
	assert_said("; sudo replaces PATH: give the command's path, as in \"$(command -v ");
	unsetenv("SUDO_UID");
	unsetenv("PATH");
	assert_int_equal(explain("tset-script", ENOENT), 127);
	setenv("PATH", before, 1);
	free(before);
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
	unsetenv("SUDO_UID");
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
		cmocka_unit_test(the_line_that_would_have_worked),
		cmocka_unit_test(what_was_meant),
		cmocka_unit_test(scripts_of_the_path),
		cmocka_unit_test(only_regular_files_are_read),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
