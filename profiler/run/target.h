/* SPDX-License-Identifier: MIT */
/*
 * Starts the target, holds it at a gate until everything is attached, releases it, waits for it.
 *
 * The target keeps our stdin, stdout, stderr, environment, working directory and user, and gets
 * back the inherited state (inherited.h). If the profiler dies before the gate opens, the target
 * exits without running the command.
 */
#ifndef PROFILER_RUN_TARGET_H
#define PROFILER_RUN_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "profiler/run/inherited.h"

struct target_options {
	char **command;
	const struct inherited *inherited;
	const char *const *environment; /* "NAME=value" to add, NULL-terminated; may be NULL */
	bool stdout_to_stderr;
};

struct target {
	pid_t pid;
	int end;        /* pidfd, readable at its end; -1: not supported */
	int gate;       /* writing opens it; -1 once open */
	int exec_error; /* carries errno of a failed exec; closed by a successful one */
	bool ended;
	int wait_status;
	uint64_t used_ns; /* CPU time of the program itself, to its end; 0: unknown */
};

/* Starts the child, which waits at the gate. Returns 0 or -errno. */
int target_start(struct target *target, const struct target_options *options);

/*
 * Opens the gate and waits until the command runs. `variable` is one more "NAME=value" for its
 * environment, at most TARGET_VARIABLE_BYTES, or "". Returns 0, or -errno of exec; the child is
 * gone then.
 */
#define TARGET_VARIABLE_BYTES 128
int target_release(struct target *target, const char *variable);

/* Returns true if the target has ended, without waiting. May be called at any time. */
bool target_poll(struct target *target);

/* Returns the CPU time of a process, which may be a zombie; 0 if unknown. */
uint64_t target_used_ns(pid_t pid);

/* Initialises the struct. target_release_resources is allowed from here on. */
void target_init(struct target *target);

/*
 * Sends a signal to the program itself, if it lives. Returns 0, or -EPERM if it has become another
 * user.
 */
int target_signal(const struct target *target, int signal);

/* Returns the signal that killed the program, or 0 if it exited. */
int target_killed_by(const struct target *target);

/* Returns the exit status to pass on: the program's, or 128 plus the signal that killed it. */
int target_exit_status(const struct target *target);

/* Kills the child if it still waits at the gate, and closes descriptors. */
void target_release_resources(struct target *target);

#endif
