/* SPDX-License-Identifier: MIT */
/*
 * The reading end of the named pipe: untrusted text -> checked events of known programs.
 *
 * Each program in the target that writes to the pipe has its own instance id, sent with its hello;
 * the caller decides whether to accept it, and which process it belongs to. For each program the
 * pipe keeps what later lines refer to (kernel names by id), the sequence of its writes, and its
 * totals, so that every loss on the way is noticed. A line that is not an event, or from a program
 * that was not accepted, is only counted, whatever its content and length. So is one whose time or
 * bytes would take the run's past LEDGER_TOTAL_MAX: no sum of what is returned wraps.
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

/* Frame for kernels whose name did not arrive. */
#define GPU_PIPE_NAME_LOST "[kernel name lost]"
#define GPU_PIPE_NAMES_FULL "[too many kernel names]"

/* Programs traced at the same time. */
#define GPU_PIPE_TRACEES_MAX 65536

/*
 * CUPTI of CUDA 13.0 returns zero and reversed timestamps after about 25 million records of graph
 * nodes.
 */
bool gpu_pipe_has_graph_time_bug(uint32_t cupti_version);

struct gpu_pipe;
struct tracee;

/* Interns kernel names in `collect`, and counts in its ledger. NULL: out of memory. */
struct gpu_pipe *gpu_pipe_new(struct collect *collect);
void gpu_pipe_free(struct gpu_pipe *pipe);

/* ---- input ---- */

/*
 * Reads from the pipe, open as `fd` without blocking, after all events of the previous piece have
 * been taken. Returns the number of bytes; 0: empty; -EPIPE: no writer is left; -errno. `*bytes`,
 * if not NULL, are the bytes read, valid until the next call.
 */
int gpu_pipe_fill(struct gpu_pipe *pipe, int fd, const char **bytes);

/* Does the same for bytes in memory, which must stay valid until their events have been taken. */
void gpu_pipe_feed(struct gpu_pipe *pipe, const char *bytes, size_t size);

/* ---- events ---- */

/*
 * The next event, or NULL: no complete line is left. Valid until the next call. Batches and names
 * are handled internally; all other events of accepted programs are returned, and all hellos.
 * `*kernel` is the mangled name for GPU_EVENT_KERNEL.
 *
 * A hello is refused unless gpu_pipe_accept is called before the next call.
 */
const struct gpu_event *gpu_pipe_next(struct gpu_pipe *pipe, struct tracee **tracee,
				      const char **kernel);

/* Accepts the program of the last hello; it runs in this process. */
void gpu_pipe_accept(struct gpu_pipe *pipe, struct tracee *tracee, struct process *process);

/* From now on nothing counts that an accepted program sends. */
void gpu_pipe_ignore(struct tracee *tracee);

/* The process of an accepted program, and its instance id. */
struct process *tracee_process(const struct tracee *tracee);
uint64_t tracee_instance(const struct tracee *tracee);

/*
 * Returns how long before its end the last came from a program that has ended without a goodbye, in
 * ns, while the input is read as it comes; 0: it has said goodbye.
 */
uint64_t tracee_silence(const struct tracee *tracee);

/*
 * A library writes at least every SINK_BEAT_MS (cupti_trace/core/sink.h). One that was silent for
 * so long before its end may have lost the pipe: it is not known whether all that was waited for
 * came.
 */
#define GPU_PIPE_SILENT_NS 250000000u

/*
 * Finds a program whose process ended before `time_ns`, or that said goodbye GPU_PIPE_LEAVE_NS
 * before (the end of its process may be out of sight): it sends nothing more, and is to be closed.
 * UINT64_MAX: any. False: none.
 */
#define GPU_PIPE_LEAVE_NS (10 * UINT64_C(1000000000))
bool gpu_pipe_find_ended(const struct gpu_pipe *pipe, uint64_t time_ns, struct tracee **tracee);

/*
 * Removes a program that has ended, with a goodbye or without, and counts what is missing from it.
 * Its tracee becomes invalid.
 */
void gpu_pipe_close(struct gpu_pipe *pipe, struct tracee *tracee);

/* Lists the processes of all traced programs, up to `max`; returns their number. */
uint32_t gpu_pipe_list(const struct gpu_pipe *pipe, pid_t *pids, uint32_t max);

/*
 * A traced program runs on, for what is known, and has not said goodbye. It may send more even if
 * it has the pipe not open now: programs may close descriptors that they do not know.
 */
bool gpu_pipe_has_running(const struct gpu_pipe *pipe);

/* How many launches of one kernel, of programs that run, have no record of their kernel yet. */
uint64_t gpu_pipe_waiting(const struct gpu_pipe *pipe);

/*
 * From now on a write of a known program counts once, however often it is in the input: files may
 * have parts in common. A program numbers its writes, so one with a number that was read is left
 * out. gpu_pipe_repeats: how many with the same content. gpu_pipe_conflicts: how many with another
 * one, as in a damaged or forged file; they also count as lost.
 */
void gpu_pipe_leave_out_repeats(struct gpu_pipe *pipe);
uint64_t gpu_pipe_repeats(const struct gpu_pipe *pipe);
uint64_t gpu_pipe_conflicts(const struct gpu_pipe *pipe);

/*
 * The input, or one file of several, has ended: an unfinished last line counts as malformed. What
 * comes next, if anything, begins a line, and a batch.
 */
void gpu_pipe_finish(struct gpu_pipe *pipe);

#endif
