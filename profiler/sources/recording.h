/* SPDX-License-Identifier: MIT */
/*
 * Records the raw input of a run in two files, for bug reports and tests (--save-input PREFIX):
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
 * A recording contains paths and addresses of the target, but none of its data. It omits mappings
 * of programs that the user may not inspect (bpf/access.bpf.h). So mappings wait for the first
 * stack of the process with access, even if the record of an exec was lost.
 */
#ifndef PROFILER_SOURCES_RECORDING_H
#define PROFILER_SOURCES_RECORDING_H

#include <stddef.h>
#include "profiler/join/collect.h"

struct recording;

/*
 * Creates the files. Returns NULL with errno set. `holds_maps`: stacks tell whether the user may
 * inspect their process, as BPF's do.
 */
struct recording *recording_open(const char *prefix, bool holds_maps);

/* Closes the recording. Returns 0, or -errno if anything could not be written. NULL is allowed. */
int recording_close(struct recording *recording);

/* Record input. A recording of NULL is ignored. */
void recording_pipe(struct recording *recording, const void *bytes, size_t size);
void recording_target(struct recording *recording, pid_t pid);
void recording_process_event(struct recording *recording, const struct process_event *event);

/* Drops held mappings: the process has executed a program that the user may not inspect. */
void recording_no_access(struct recording *recording, pid_t pid);

/* Records a sample or launch, after `collect` has unwound it. */
void recording_stack(struct recording *recording, const struct collect *collect,
		     const struct stack_event *event, bool is_launch);

/*
 * Passes one line of PREFIX.events, without its newline, to `collect`, as in the run. Returns 0, or
 * -EBADMSG for an invalid line.
 */
int recording_replay_line(struct collect *collect, char *line);

#endif
