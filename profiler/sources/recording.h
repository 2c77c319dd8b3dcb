/* SPDX-License-Identifier: MIT */
/*
 * The raw input of a run, kept in two files for bug reports and as test input (--record PREFIX):
 *
 *   PREFIX.pipe     the bytes of the named pipe as received (docs/wire-format.md)
 *   PREFIX.events   stacks and process events, one per line, in the order in which they were
 *                   handled; numbers are decimal, addresses and offsets hexadecimal:
 *
 *     target PID
 *     fork TIME PARENT CHILD
 *     thread TIME PID TID
 *     exec TIME PID
 *     exit TIME PID TID
 *     map TIME PID START END OFFSET MAJOR MINOR INODE PATH
 *     stack TIME PID TID KIND FUNCTION FLAGS USER KERNEL ADDRESS...
 *
 * KIND is 1 for a CPU sample and 2 for the entry of the launch function with the number FUNCTION;
 * FLAGS is 1 for a truncated stack. There are USER unwound addresses, innermost first, then KERNEL
 * zeros: kernel addresses are confidential.
 *
 * A recording contains paths and addresses of the target, but none of its data. It has no mappings
 * of programs that the user may not look into (bpf/access.bpf.h). That is known soon after an exec,
 * so mappings wait for it.
 */
#ifndef PROFILER_SOURCES_RECORDING_H
#define PROFILER_SOURCES_RECORDING_H

#include <stddef.h>
#include "profiler/collect/collect.h"

struct recording;

/*
 * Returns NULL with errno set if the files cannot be created. `tells_access`: each exec is followed
 * by recording_access.
 */
struct recording *recording_open(const char *prefix, bool tells_access);

/* 0, or -errno if anything could not be written. NULL is allowed. */
int recording_close(struct recording *recording);

/* All do nothing if the recording is NULL. */
void recording_pipe(struct recording *recording, const void *bytes, size_t size);
void recording_target(struct recording *recording, pid_t pid);
void recording_process_event(struct recording *recording, const struct process_event *event);

/* Notes whether the user may look into the program that the process has just executed. */
void recording_access(struct recording *recording, pid_t pid, bool may_look);

/* A sample or launch, after `collect` has unwound it. */
void recording_stack(struct recording *recording, const struct collect *collect,
		     const struct stack_event *event, bool is_launch);

/*
 * Passes one line of PREFIX.events (without newline) to `collect`, as in the run. 0, or -EBADMSG
 * for a line that is none of the above.
 */
int recording_replay_line(struct collect *collect, char *line);

#endif
