/* SPDX-License-Identifier: MIT */
/*
 * Reads a trace: the file that the library writes without a profiler (INJECTION_TRACE;
 * docs/traces.md). A trace is a stream as in the pipe, of one or more programs. It has
 * no CPU samples and no names of threads.
 *
 * The file is untrusted, like a target. Its processes are gone, or ran on another machine, so
 * nothing is looked up by pid. Code is named from files of this machine if they match the mapped
 * ones.
 *
 * A file may hold several runs, and several files are read as one, if they share a clock. Programs
 * of another boot than the first are skipped, and a warning counts them. The program that began
 * first describes the run.
 */
#ifndef PROFILER_RUN_TRACE_READER_H
#define PROFILER_RUN_TRACE_READER_H

#include <stdint.h>
#include <stdio.h>
#include "profiler/base/boot.h"
#include "profiler/base/job_rank.h"
#include "profiler/base/log.h"
#include "profiler/join/collect.h"
#include "profiler/model/result.h"
#include "profiler/model/timeline.h"

/* First byte of a trace. No capture and no folded stacks begin with it. */
#define TRACE_FIRST_BYTE '\n'

struct trace_reader;

/*
 * Makes a reader. `timeline` is borrowed (collect.h); may be NULL. `frequency_hz` is the rate of
 * CPU samples in which outputs may count time. Returns NULL when out of memory.
 */
struct trace_reader *trace_reader_new(struct log *log, struct timeline *timeline,
				      uint32_t frequency_hz);
void trace_reader_free(struct trace_reader *reader);

/*
 * The beginning of a trace, with its first program's description. Zero-initialise; `bytes` is
 * owned.
 */
struct trace_head {
	char *bytes;
	size_t count;
	struct job_rank job;
	struct boot_id boot; /* unknown if the first TRACE_HEAD_BYTES describe no run */
};

/* Reads the first TRACE_HEAD_BYTES at most. Returns 0 or -errno. */
#define TRACE_HEAD_BYTES 65536
int trace_head_read(struct trace_head *head, FILE *in);
void trace_head_release(struct trace_head *head);

/*
 * Reads one file to its end. `head`: bytes already read from it, or NULL. May be called for several
 * files of one machine, in any order: their programs are processes of one run. Records found in
 * several files count once. Returns 0, -EBADMSG if no program says hello in the file (not a trace),
 * or -errno.
 */
int trace_reader_read(struct trace_reader *reader, FILE *in, const struct trace_head *head);

/* Completes the collected data. Call after the last file. */
void trace_reader_finish(struct trace_reader *reader);

/* Return the collected data and the run's totals, after trace_reader_finish. */
struct collect *trace_reader_collect(struct trace_reader *reader);
struct totals trace_reader_totals(const struct trace_reader *reader);

#endif
