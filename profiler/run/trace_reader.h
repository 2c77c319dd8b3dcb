/* SPDX-License-Identifier: MIT */
/*
 * A run that is over, from a trace: the file that the library writes where there is no profiler
 * (INJECTION_TRACE; docs/traces.md). It is a stream as in the pipe, of one program or several, with
 * the kernel's part missing: no CPU samples, no names of threads.
 *
 * The file may be anything, and the processes in it are gone, or another machine's: what it says is
 * believed as that of a target is, and nothing is looked up under its pids. Places in code are
 * named by files of this machine, if they are those that the program had mapped.
 *
 * One file may hold several runs, and several files are read as one, as long as their clock is one:
 * programs that ran after another start of the machine than the first are left out, and a warning
 * says how many. The run is described as the program says that began first.
 */
#ifndef PROFILER_RUN_TRACE_READER_H
#define PROFILER_RUN_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "profiler/base/boot.h"
#include "profiler/base/job_rank.h"
#include "profiler/base/log.h"
#include "profiler/join/collect.h"
#include "profiler/model/result.h"
#include "profiler/model/timeline.h"

/* No capture, and no folded stacks, begin with this byte. */
#define TRACE_FIRST_BYTE '\n'

struct trace_reader;

/*
 * `timeline`: borrowed, as in collect.h; NULL: none is wanted. `frequency_hz`: of CPU samples, as
 * which outputs may count time. NULL: out of memory.
 */
struct trace_reader *trace_reader_new(struct log *log, struct timeline *timeline,
				      uint32_t frequency_hz);
void trace_reader_free(struct trace_reader *reader);

/*
 * The beginning of a trace, and what the first program in it says of its run. Zero-initialise;
 * `bytes` is owned.
 */
struct trace_head {
	char *bytes;
	size_t count;
	struct job_rank job;
	struct boot_id boot; /* unknown if no run is described so early */
};

/* Reads the beginning, of TRACE_HEAD_BYTES at most. 0 or -errno. */
#define TRACE_HEAD_BYTES 65536
int trace_head_read(struct trace_head *head, FILE *in);
void trace_head_release(struct trace_head *head);

/*
 * Reads one file to its end. `head`: what was read of it before; NULL: nothing. It may be called
 * for several files of one machine: their programs are processes of one run, whatever the order.
 * What is in several of them counts once. 0; -EBADMSG: no program says hello in it, so it is no
 * trace; or -errno.
 */
int trace_reader_read(struct trace_reader *reader, FILE *in, const struct trace_head *head);

/* Completes what was collected. After the last file. */
void trace_reader_finish(struct trace_reader *reader);

/* Afterwards: what was collected, and what is known of the run. */
struct collect *trace_reader_collect(struct trace_reader *reader);
struct totals trace_reader_totals(const struct trace_reader *reader);

#endif
