/* SPDX-License-Identifier: MIT */
/*
 * The reading end of the named pipe: bytes of untrusted text -> checked events of known processes.
 *
 * Keeps, for each traced process, what later lines refer to (kernel names by id), the sequence of
 * its writes, and its totals, so that everything lost on the way is noticed. A line that is not an
 * event costs a count and nothing else, whatever is in it and however long it is.
 */
#ifndef PROFILER_SOURCES_GPU_PIPE_H
#define PROFILER_SOURCES_GPU_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/gpu_event.h"
#include "symbolize/intern.h"

/* Frames for kernels whose name did not arrive. */
#define GPU_PIPE_NAME_LOST "[kernel name lost]"
#define GPU_PIPE_NAMES_FULL "[too many kernel names]"

struct gpu_pipe_stats {
	uint64_t bytes;
	uint64_t lines;        /* all but empty ones */
	uint64_t malformed;    /* not an event: ignored */
	uint64_t too_long;     /* of these, longer than a line may be */
	uint64_t lost_batches; /* gaps in a process's sequence of writes */
	uint64_t kernels, kernel_ns;
	uint64_t works; /* operations other than kernels */
	uint64_t launches;
	uint64_t bad_times;       /* kernels without usable timestamps: counted, 0 ns */
	uint64_t dropped_kernels; /* by CUPTI or in the target, as the target told */
	uint64_t dropped_launches;
	uint64_t missing_kernels; /* sent, by a process's own totals, but not received */
	uint64_t wrong_totals;    /* processes whose sum of ns is not what was received */
	uint64_t unknown_records;
	/*
	 * Launches of one kernel each, of processes that have ended, that neither started nothing
	 * nor have a record, nor may have lost it as one of the dropped, unsent or missing ones.
	 */
	uint64_t unended_launches;
	uint32_t processes;        /* that said hello */
	uint32_t without_cupti;    /* of these, that cannot be traced: their hello said so */
	uint32_t graph_time_bugs;  /* of these, with a CUPTI that gives wrong times in long graph
				      runs */
	uint32_t without_goodbye;  /* that ended otherwise: killed, or _exit */
	uint32_t foreign_versions; /* spoke another protocol version; ignored */
};

/*
 * Called for each event but batches, names and those of ignored processes after their hello (which
 * may want an answer). `kernel` is the mangled name for GPU_EVENT_KERNEL (interned), else NULL.
 */
typedef void (*gpu_pipe_handler)(void *context, uint32_t pid, const struct gpu_event *event,
				 const char *kernel);

/*
 * CUPTI of CUDA 13.0 gives zero and reversed timestamps once there were some 25 million records of
 * graphs' nodes.
 */
bool gpu_pipe_has_graph_time_bug(uint32_t cupti_version);

struct gpu_pipe;

/* `strings` receives kernel names and must outlive the source. */
struct gpu_pipe *gpu_pipe_new(struct intern *strings, gpu_pipe_handler handler, void *context);
void gpu_pipe_free(struct gpu_pipe *source);

/* Shows all bytes read from the pipe to `tee` as well. */
void gpu_pipe_tee(struct gpu_pipe *source,
		  void (*tee)(void *context, const void *bytes, size_t size), void *context);

/*
 * Reads what is in the pipe, at most about `limit` bytes. Returns 1 if there may be more, 0 if it
 * is empty, -EPIPE at its end (no writer left), or -errno.
 */
int gpu_pipe_read(struct gpu_pipe *source, int pipe, uint64_t limit);

/* The same for bytes that are in memory: recorded streams, tests. */
void gpu_pipe_feed(struct gpu_pipe *source, const char *bytes, size_t size);

/* No more input: a last line without its newline counts as malformed. */
void gpu_pipe_finish(struct gpu_pipe *source);

struct gpu_pipe_stats gpu_pipe_stats(const struct gpu_pipe *source);

/* The beginning of the first malformed line, made printable; "" if there was none. */
const char *gpu_pipe_first_malformed(const struct gpu_pipe *source);

/* Whether `pid` is traced: has said hello but not goodbye. */
bool gpu_pipe_is_open(const struct gpu_pipe *source, uint32_t pid);

/* Calls back for each process that has said hello but not goodbye. */
void gpu_pipe_each_open(const struct gpu_pipe *source, void (*visit)(void *context, uint32_t pid),
			void *context);

#endif
