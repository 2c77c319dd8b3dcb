/* SPDX-License-Identifier: MIT */
/*
 * Takes in what traced programs send: hellos, which are answered, their work, their end.
 */
#ifndef PROFILER_RUN_PIPE_READER_H
#define PROFILER_RUN_PIPE_READER_H

#include <stdbool.h>
#include <stdint.h>

struct run_parts;

/* How far the pipe is read. Zero-initialised at first. */
struct pipe_reader {
	uint64_t read_ns;       /* when bytes were read last */
	uint64_t unread_at_end; /* bytes in the pipe when the command ended */
	bool has_ended;         /* nobody has it open any more */
	bool has_read_all;      /* that was in it, the last time */
};

/*
 * Reads a few MiB at most: the kernel's events wait meanwhile. True: the pipe was empty, or has
 * ended, or there is none.
 */
bool pipe_reader_read(struct run_parts *run);

/* Closes programs that ended before, once all that they have written is read. */
void pipe_reader_close_ended(struct run_parts *run, uint64_t before_ns);

/* Reads what is in the pipe at the end, not what somebody goes on writing. */
void pipe_reader_finish(struct run_parts *run);

#endif
