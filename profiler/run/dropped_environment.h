/* SPDX-License-Identifier: MIT */
/*
 * The variables that the dynamic loader has dropped before we began: where our file has
 * capabilities, LD_LIBRARY_PATH, TMPDIR and others (ld.so(8), "secure-execution mode"). We stay
 * without them, for they could bring others' code in. The command, which has no capabilities of
 * ours, gets them back: its user has set them for it.
 *
 * The kernel has put the texts behind those of the arguments; the loader removes the pointers
 * alone.
 */
#ifndef PROFILER_RUN_DROPPED_ENVIRONMENT_H
#define PROFILER_RUN_DROPPED_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#define DROPPED_VARIABLES_MAX 32 /* further ones stay away */

struct dropped_environment {
	const char *list[DROPPED_VARIABLES_MAX]; /* "NAME=value"; they stay where they are */
	uint32_t count;
};

/* To be called before anything changes the arguments or the environment. */
void dropped_environment_note(struct dropped_environment *dropped, int argc, char *const *argv);

/*
 * Finds what lies from `from` to `to`, each text with its NUL, and has no pointer in `environment`.
 */
void dropped_environment_find(struct dropped_environment *dropped, const char *from, const char *to,
			      char *const *environment);

/* Their names, "LD_LIBRARY_PATH, TMPDIR", cut if there is less room. */
void dropped_environment_names(const struct dropped_environment *dropped, char *text, size_t size);

/* In the command's process, when it has no capabilities any more. */
void dropped_environment_restore(const struct dropped_environment *dropped);

#endif
