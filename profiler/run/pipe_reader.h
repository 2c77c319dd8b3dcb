/* SPDX-License-Identifier: MIT */
/*
 * Reads the pipe from traced programs: answers hellos, collects their work, notes their end.
 */
#ifndef PROFILER_RUN_PIPE_READER_H
#define PROFILER_RUN_PIPE_READER_H

#include <stdbool.h>
#include <stdint.h>

struct run_parts;

/* State of reading the pipe. Zero-initialise. */
struct pipe_reader {
	uint64_t read_ns;       /* time of the last read with data */
	uint64_t unread_at_end; /* bytes in the pipe when the command ended */
	bool has_ended;         /* no writer is left */
	bool has_read_all;      /* the last read emptied the pipe */
};

/*
 * Reads a few MiB at most, because kernel events wait meanwhile. Returns true if the pipe is empty,
 * has ended, or does not exist.
 */
bool pipe_reader_read(struct run_parts *run);

/* Closes programs that ended before `before_ns`, once all their data is read. */
void pipe_reader_close_ended(struct run_parts *run, uint64_t before_ns);

/* Reads the rest of the pipe at the end, but not what a writer adds meanwhile. */
void pipe_reader_finish(struct run_parts *run);

#endif
