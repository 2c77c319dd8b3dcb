/* SPDX-License-Identifier: MIT */
/*
 * Reads the named pipe: untrusted text becomes checked events of known programs.
 *
 * Each program that writes to the pipe has its own instance id, sent with its hello. The caller
 * decides whether to accept the program, and which process it belongs to. For each program the pipe
 * keeps kernel names by id. Sequences of writes and totals are kept to notice every loss. A line
 * that is no event, or of a program that was not accepted, is only counted. So is an event whose
 * time or bytes would take the run's total past LEDGER_TOTAL_MAX: no sum wraps.
 *
 * Events are pulled:
 *
 * 	while (gpu_pipe_fill(pipe, fd) > 0)
 * 		while ((event = gpu_pipe_next(pipe, &tracee, &kernel)))
 * 			...
 */
#ifndef PROFILER_SOURCES_GPU_PIPE_H
#define PROFILER_SOURCES_GPU_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/join/collect.h"

/* Frames of kernels whose names are missing. */
#define GPU_PIPE_NAME_LOST "[kernel name lost]"
#define GPU_PIPE_NAMES_FULL "[too many kernel names]"

/* Limit of programs traced at one time. */
#define GPU_PIPE_TRACEES_MAX 65536

/*
 * Returns true for CUPTI of CUDA 13.0. It returns zero and reversed timestamps after about 25
 * million records of graph nodes.
 */
bool gpu_pipe_has_graph_time_bug(uint32_t cupti_version);

struct gpu_pipe;
struct tracee;

/*
 * Creates the reader. It interns kernel names in `collect`, and counts in its ledger. Returns NULL
 * if memory is exhausted.
 */
struct gpu_pipe *gpu_pipe_new(struct collect *collect);
void gpu_pipe_free(struct gpu_pipe *pipe);

/* ---- input ---- */

/*
 * Reads from the non-blocking pipe `fd`, after all events of the previous piece have been taken.
 * Returns the number of bytes, 0 if the pipe is empty, or -errno. -EPIPE: no writer is left. Sets
 * `*bytes`, if not NULL, to the bytes read, valid until the next call.
 */
int gpu_pipe_fill(struct gpu_pipe *pipe, int fd, const char **bytes);

/*
 * Feeds bytes from memory instead of a pipe. The bytes must stay valid until their events have been
 * taken.
 */
void gpu_pipe_feed(struct gpu_pipe *pipe, const char *bytes, size_t size);

/* ---- events ---- */

/*
 * Returns the next event, or NULL if no complete line is left. Valid until the next call. Batches
 * and names are handled internally. A line with operations of graphs' nodes becomes an event for
 * each. All other events of accepted programs are returned, and all
 * hellos. `*kernel` is the mangled name for GPU_EVENT_KERNEL.
 *
 * A hello is refused unless gpu_pipe_accept is called before the next call.
 */
const struct gpu_event *gpu_pipe_next(struct gpu_pipe *pipe, struct tracee **tracee,
				      const char **kernel);

/* Accepts the program of the last hello, which runs in `process`. */
void gpu_pipe_accept(struct gpu_pipe *pipe, struct tracee *tracee, struct process *process);

/* Ignores everything that an accepted program sends from now on. */
void gpu_pipe_ignore(struct tracee *tracee);

/* Return the process of an accepted program, and its instance id. */
struct process *tracee_process(const struct tracee *tracee);
uint64_t tracee_instance(const struct tracee *tracee);

/*
 * Returns the time from the last write of a program that ended without a goodbye to its end, ns.
 * Returns 0 if the program said goodbye. The input must be read as it arrives.
 */
uint64_t tracee_silence(const struct tracee *tracee);

/*
 * A library writes at least every SINK_BEAT_MS (cupti_trace/core/sink.h). A longer silence before
 * its end may mean that the pipe was lost: awaited records may be missing.
 */
#define GPU_PIPE_SILENT_NS 250000000u

/*
 * Finds a program that sends nothing more, and is to be closed. Its process ended before `time_ns`,
 * or it said goodbye GPU_PIPE_LEAVE_NS before: the end of its process may be out of sight.
 * UINT64_MAX finds any program. Returns false if there is none.
 */
#define GPU_PIPE_LEAVE_NS (10 * UINT64_C(1000000000))
bool gpu_pipe_find_ended(const struct gpu_pipe *pipe, uint64_t time_ns, struct tracee **tracee);

/*
 * Removes a program that has ended, and counts what is missing from it. Its tracee becomes invalid.
 */
void gpu_pipe_close(struct gpu_pipe *pipe, struct tracee *tracee);

/* Lists the pids of all traced programs, up to `max`. Returns their number. */
uint32_t gpu_pipe_list(const struct gpu_pipe *pipe, pid_t *pids, uint32_t max);

/*
 * Returns true if a traced program seems to be running and has not said goodbye. It may send more
 * even if the pipe is not open now: programs may close descriptors that they do not know.
 */
bool gpu_pipe_has_running(const struct gpu_pipe *pipe);

/*
 * Returns true if each traced program that is running has sent its launches up to the end of the
 * recorded part (GPU_NOTICE_RANGE_SENT).
 */
bool gpu_pipe_has_range(const struct gpu_pipe *pipe);

/*
 * Returns the number of launches of one kernel whose record has not come yet, of running programs.
 */
uint64_t gpu_pipe_waiting(const struct gpu_pipe *pipe);

/*
 * Makes a write of a known program count once from now on: input files may overlap. A program
 * numbers its writes, so a number that was read before is skipped. gpu_pipe_repeats returns the
 * number of writes skipped. gpu_pipe_conflicts returns the number of skipped writes with other
 * content, as in a damaged or forged file. These also count as lost.
 */
void gpu_pipe_leave_out_repeats(struct gpu_pipe *pipe);
uint64_t gpu_pipe_repeats(const struct gpu_pipe *pipe);
uint64_t gpu_pipe_conflicts(const struct gpu_pipe *pipe);

/*
 * Ends the input, or one file of several. An unfinished last line counts as malformed. Further
 * input begins with a new line and batch.
 */
void gpu_pipe_finish(struct gpu_pipe *pipe);

#endif
