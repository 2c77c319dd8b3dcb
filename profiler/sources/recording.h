/* SPDX-License-Identifier: MIT */
/*
 * The raw input of a run, kept in two files for bug reports and as test input (--record PREFIX):
 *
 *   PREFIX.pipe     the bytes of the named pipe, as they came (docs/wire-format.md)
 *   PREFIX.events   stacks and process events, each on a line of its own, in the order in which
 * they were taken in; numbers are decimal, addresses and offsets hexadecimal:
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
 * FLAGS is 1 for a stack that is cut. USER addresses are those that the stack was unwound to,
 * innermost first; KERNEL more are 0, for where the kernel lies is not for everybody's eyes.
 *
 * A recording holds paths and addresses of the target, no data of it.
 */
#ifndef PROFILER_SOURCES_RECORDING_H
#define PROFILER_SOURCES_RECORDING_H

#include <stddef.h>
#include "profiler/collect/collect.h"

struct recording;

/* NULL with errno set when the files cannot be made. */
struct recording *recording_open(const char *prefix);

/* 0 or -errno if anything could not be written. NULL is fine. */
int recording_close(struct recording *recording);

/* Each takes a NULL recording and does nothing then. */
void recording_pipe(struct recording *recording, const void *bytes, size_t size);
void recording_target(struct recording *recording, pid_t pid);
void recording_process_event(struct recording *recording, const struct process_event *event);

/* A sample or launch, once `collect` has taken it in and has unwound it. */
void recording_stack(struct recording *recording, const struct collect *collect,
		     const struct stack_event *event, bool is_launch);

/*
 * Takes one line of PREFIX.events (without newline) into `collect`, as in the run. 0, or -EBADMSG
 * for a line that is none of the above.
 */
int recording_replay_line(struct collect *collect, char *line);

#endif
