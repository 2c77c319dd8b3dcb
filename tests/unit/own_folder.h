/* SPDX-License-Identifier: MIT */
/* A folder of the test program's own: setup and teardown of all its tests, commands and files. */
#ifndef TESTS_UNIT_OWN_FOLDER_H
#define TESTS_UNIT_OWN_FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[128];

static inline int make_folder(void **state)
{
	const char *parent = getenv("TMPDIR");

	(void)state;
	snprintf(folder, sizeof(folder), "%s/profile_unit.XXXXXX", parent ? parent : "/tmp");
	return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* Runs a command there; the test fails if it does. */
__attribute__((format(printf, 1, 2))) static inline void shell(const char *format, ...)
{
	char command[4096];
	va_list arguments;
	size_t length;

	length = (size_t)snprintf(command, sizeof(command), "cd %s && ", folder);
	va_start(arguments, format);
	vsnprintf(command + length, sizeof(command) - length, format, arguments);
	va_end(arguments);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

/* Writes a file there. */
static inline void write_text(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

#endif
