/* SPDX-License-Identifier: MIT */
/*
 * The profiled program: started, held at a gate until everything is attached, released, waited for.
 *
 * It keeps our stdin, stdout, stderr, environment, working directory and user, and the
 * inherited state that we changed (inherited.h). If we die before the gate opens, it exits without
 * ever running the command.
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
	int end;        /* pidfd: readable when it has ended; -1: this kernel has none */
	int gate;       /* writing opens it; -1 once open */
	int exec_error; /* carries errno of a failed exec; closed by a successful one */
	bool ended;
	int wait_status;
	uint64_t used_ns; /* CPU time of the program itself, to its end; 0: not known */
};

/* Starts the child and stops it at the gate. 0 or -errno. */
int target_start(struct target *target, const struct target_options *options);

/*
 * Opens the gate and waits until the command runs, with one more variable in its environment,
 * "NAME=value" in TARGET_VARIABLE_BYTES, if it is not "". 0, or the -errno of exec: the child is
 * gone then.
 */
#define TARGET_VARIABLE_BYTES 128
int target_release(struct target *target, const char *variable);

/* Notes whether it has ended, without waiting. Safe to call at any time. */
bool target_poll(struct target *target);

/* The CPU time that the kernel has charged to a process, which may have ended; 0: unknown. */
uint64_t target_used_ns(pid_t pid);

/* Nothing is there yet: target_release_resources is allowed from here on. */
void target_init(struct target *target);

/* Sends a signal to the program itself, if it lives. 0, or -EPERM: it has become another user. */
int target_signal(const struct target *target, int signal);

/* The signal that killed it; 0: it exited. */
int target_killed_by(const struct target *target);

/* The exit status to pass on: its own, or 128 + the signal that killed it. */
int target_exit_status(const struct target *target);

/* Kills it if it still waits at the gate, and closes descriptors. */
void target_release_resources(struct target *target);

#endif
