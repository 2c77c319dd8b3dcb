/* SPDX-License-Identifier: MIT */
/* A folder of the test program's own: setup and teardown of all its tests. */
#ifndef TESTS_UNIT_OWN_FOLDER_H
#define TESTS_UNIT_OWN_FOLDER_H

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

#endif
