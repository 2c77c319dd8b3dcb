/* SPDX-License-Identifier: MIT */
/*
 * Keeps process state that the profiler changes for itself and restores for the target.
 */
#ifndef PROFILER_RUN_INHERITED_H
#define PROFILER_RUN_INHERITED_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#define DROPPED_VARIABLES_MAX 32 /* more are ignored */

/*
 * Environment variables that the dynamic loader removed before main (ld.so(8), "secure-execution
 * mode"): LD_LIBRARY_PATH, TMPDIR and others, if profile's file has capabilities.
 *
 * The profiler stays without these variables, because they could load foreign code. The command has
 * none of our capabilities, so it gets the variables that its user set.
 *
 * The kernel stores the strings behind the arguments. The loader removes only the pointers.
 */
struct dropped_environment {
	const char *list[DROPPED_VARIABLES_MAX]; /* "NAME=value"; borrowed from the initial stack */
	uint32_t count;
};

struct inherited {
	sigset_t mask;
	struct sigaction child_end;         /* SIGCHLD: default or ignored; exec resets handlers */
	struct rlimit files;                /* RLIMIT_NOFILE (privilege.h) */
	struct rlimit locked_memory;        /* RLIMIT_MEMLOCK (privilege.h) */
	int nice;                           /* see privilege.h */
	struct dropped_environment dropped; /* set by main, which has argv */
};

/*
 * Saves the state; must be the first call of the program. Sets SIGCHLD to its default, because
 * children of a process that ignores SIGCHLD cannot be waited for. Opens closed standard
 * descriptors as ones that refuse I/O, so that no file of ours gets their numbers. They are
 * close-on-exec.
 */
void inherited_note(struct inherited *inherited);

/* Restores the state, in the target before it executes the command. */
void inherited_restore(const struct inherited *inherited);

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
