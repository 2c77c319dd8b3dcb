/* SPDX-License-Identifier: MIT */
/*
 * Restores environment variables that the dynamic loader removed before main (ld.so(8),
 * "secure-execution mode"): LD_LIBRARY_PATH, TMPDIR and others, if profile's file has capabilities.
 *
 * The profiler stays without these variables, because they could load foreign code. The command has
 * none of our capabilities, so it gets the variables that its user set.
 *
 * The kernel stores the strings behind the arguments. The loader removes only the pointers.
 */
#ifndef PROFILER_RUN_DROPPED_ENVIRONMENT_H
#define PROFILER_RUN_DROPPED_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#define DROPPED_VARIABLES_MAX 32 /* more are ignored */

struct dropped_environment {
	const char *list[DROPPED_VARIABLES_MAX]; /* "NAME=value"; borrowed from the initial stack */
	uint32_t count;
};

/* Notes the dropped variables. Call before anything changes arguments or environment. */
void dropped_environment_note(struct dropped_environment *dropped, int argc, char *const *argv);

/*
 * Finds the NUL-terminated strings in [from, to) to which no pointer in `environment` refers.
 */
void dropped_environment_find(struct dropped_environment *dropped, const char *from, const char *to,
			      char *const *environment);

/* Writes the names, "LD_LIBRARY_PATH, TMPDIR", cut to `size`. */
void dropped_environment_names(const struct dropped_environment *dropped, char *text, size_t size);

/* Sets the variables again, in the command's process after it gave up capabilities. */
void dropped_environment_restore(const struct dropped_environment *dropped);

#endif
