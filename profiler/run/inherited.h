/* SPDX-License-Identifier: MIT */
/*
 * Keeps process state that the profiler changes for itself and restores for the target.
 */
#ifndef PROFILER_RUN_INHERITED_H
#define PROFILER_RUN_INHERITED_H

#include <signal.h>
#include <sys/resource.h>
#include "profiler/run/dropped_environment.h"

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

#endif
