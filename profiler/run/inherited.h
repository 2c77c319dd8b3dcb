/* SPDX-License-Identifier: MIT */
/*
 * Inherited state that we change for ourselves and restore for the target.
 */
#ifndef PROFILER_RUN_INHERITED_H
#define PROFILER_RUN_INHERITED_H

#include <signal.h>
#include <sys/resource.h>
#include "profiler/run/dropped_environment.h"

struct inherited {
	sigset_t mask;
	struct sigaction child_end; /* SIGCHLD's: default or ignored, the only ones exec leaves */
	struct rlimit files;        /* RLIMIT_NOFILE, RLIMIT_MEMLOCK: see privilege.h */
	struct rlimit locked_memory;
	int nice;                           /* see privilege.h */
	struct dropped_environment dropped; /* main notes it, for it has the arguments */
};

/*
 * Notes it; to be called first of all. Then SIGCHLD gets its default disposition (children of a
 * process that ignores it cannot be waited for), and standard descriptors that are closed become
 * ones that refuse reading and writing, so that no file of ours takes their numbers. They close
 * when the target is executed.
 */
void inherited_note(struct inherited *inherited);

/* In the target, before it executes the command. */
void inherited_restore(const struct inherited *inherited);

#endif
