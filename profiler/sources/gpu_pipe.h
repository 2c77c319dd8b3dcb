/* SPDX-License-Identifier: MIT */
/*
 * The reading end of the named pipe: bytes of untrusted text -> checked events of known programs.
 *
 * Each program in the target that writes to the pipe has an instance id of its own, which its hello
 * brings; the caller decides whether it is believed, and to which process it belongs. Kept for each
 * of them is what later lines refer to (kernel names by id), the sequence of its writes, and its
 * totals, so that everything lost on the way is noticed. A line that is not an event, or of a
 * program that is not believed, costs a count and nothing else, whatever is in it and however long
 * it is.
 *
 * Events are pulled:
 *
 *	while (gpu_pipe_fill(pipe, fd) > 0)
 *		while ((event = gpu_pipe_next(pipe, &tracee, &kernel)))
 *			...
 */
#ifndef PROFILER_SOURCES_GPU_PIPE_H
#define PROFILER_SOURCES_GPU_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/gpu_event.h"
#include "profiler/collect/collect.h"

/* Frames for kernels whose name did not arrive. */
#define GPU_PIPE_NAME_LOST "[kernel name lost]"
#define GPU_PIPE_NAMES_FULL "[too many kernel names]"

/* Programs that are traced at the same time. */
#define GPU_PIPE_TRACEES_MAX 65536

/*
 * CUPTI of CUDA 13.0 gives zero and reversed timestamps once there were some 25 million records of
 * graphs' nodes.
 */
bool gpu_pipe_has_graph_time_bug(uint32_t cupti_version);

struct gpu_pipe;
struct tracee;

/* Kernel names go to `collect`, counts to its ledger. NULL: out of memory. */
struct gpu_pipe *gpu_pipe_new(struct collect *collect);
void gpu_pipe_free(struct gpu_pipe *pipe);

/* ---- bytes in ---- */

/*
 * Reads a piece of what is in the pipe, which `fd` is open for without blocking, once all events of
 * the piece before have been taken. How many bytes; 0: it is empty; -EPIPE: it has ended, there is
 * no writer left; -errno. `*bytes`, if not NULL, are those read, valid until the next call.
 */
int gpu_pipe_fill(struct gpu_pipe *pipe, int fd, const char **bytes);

/* The same for bytes that are in memory, which must stay until their events have been taken. */
void gpu_pipe_feed(struct gpu_pipe *pipe, const char *bytes, size_t size);

/* ---- events out ---- */

/*
 * The next event, or NULL: there is no whole line left. Valid until the next call. Batches and
 * names are taken in here; all others are handed out, hellos of all programs and other events of
 * those that are believed. `*kernel` is the mangled name for GPU_EVENT_KERNEL.
 *
 * A hello has to be answered before the next call: gpu_pipe_accept, or it is refused.
 */
const struct gpu_event *gpu_pipe_next(struct gpu_pipe *pipe, struct tracee **tracee,
				      const char **kernel);

/* The program whose hello was handed out last is believed, and runs in this process. */
void gpu_pipe_accept(struct gpu_pipe *pipe, struct tracee *tracee, struct process *process);

/* The process of a program, as it was accepted, and its instance id. */
struct process *tracee_process(const struct tracee *tracee);
uint64_t tracee_instance(const struct tracee *tracee);

/*
 * Programs whose process ended before `time_ns`, though they did not say goodbye: nothing more
 * comes of them. UINT64_MAX: all. `*tracee` is one of them, to be closed; false: there is none.
 */
bool gpu_pipe_find_ended(const struct gpu_pipe *pipe, uint64_t time_ns, struct tracee **tracee);

/*
 * Forgets a program that has said goodbye, or will not: what is missing of it is counted. Its
 * tracee is gone after that.
 */
void gpu_pipe_close(struct gpu_pipe *pipe, struct tracee *tracee);

/* The processes of all traced programs, up to `max`: how many there are. */
uint32_t gpu_pipe_list(const struct gpu_pipe *pipe, pid_t *pids, uint32_t max);

/* No more input: a last line without its newline counts as malformed. */
void gpu_pipe_finish(struct gpu_pipe *pipe);

#endif
