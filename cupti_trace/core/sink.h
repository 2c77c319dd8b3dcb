/* SPDX-License-Identifier: MIT */
/*
 * Sends events from the target: encodes them as whole lines, and writes each batch of lines by one
 * write() into the named pipe.
 *
 * A batch is at most GPU_WIRE_BATCH_MAX bytes, so the kernel keeps it in one piece. The pipe is
 * non-blocking. When the profiler does not keep up, sink_put waits for room (backpressure), up to
 * SINK_TIMEOUT_MS in a row. Then the batch is given up, and its work and launches are counted. No
 * thread waits until the profiler reads again. The profiler's death (EPIPE) turns the sink off for
 * good, without a signal to the application.
 *
 * Later events need definitions: names, stacks, code, nodes of graphs and the like. So definitions
 * in a batch that was given up are kept, and sent first when there is room. They take up to
 * SINK_KEPT_MAX bytes; a notice counts those beyond.
 *
 * Operations of a graph's launch that are put one after the other go into one line (node_run.h).
 * Any other event ends that line, and so does a full batch.
 *
 * A program may close all descriptors, ours too, and open a file of its own under the number. So
 * before each write, also after waiting for room, the descriptor is compared with the pipe. If it
 * is another file, the pipe is opened again; while that fails, batches are given up. A file opened
 * between the two calls is not noticed. For a while the pipe is then opened for each write in a
 * descriptor table of our own (guest.h). A thread with a root folder or mounts of its own may not
 * find the pipe. That says nothing about the profiler, so only its batches are given up.
 *
 * A child made without fork's handlers has a copy of the sink, and writes nothing.
 *
 * Without a profiler the sink appends batches to a file (a trace), which several programs may
 * share. There no thread waits. A batch without room is given up at once, and only definitions are
 * tried again. After a partial write the whole lines count as sent, and the rest is given up. A
 * file at the program's size limit (RLIMIT_FSIZE) raises no signal.
 *
 * Any thread may call; events of one batch stay in the order of the calls. In a thread of the
 * program call between guest_enter and guest_leave: a lock is held.
 */
#ifndef CUPTI_TRACE_CORE_SINK_H
#define CUPTI_TRACE_CORE_SINK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cupti_trace/core/guest.h"
#include "cupti_trace/wire/gpu_event.h"
#include "cupti_trace/wire/gpu_wire.h"
#include "cupti_trace/wire/node_run.h"

#define SINK_TIMEOUT_MS GPU_WIRE_TIMEOUT_MS
#define SINK_PATH_MAX 1024
#define SINK_KEPT_MAX (16u << 20)
#define SINK_HEADER_MAX (GPU_WIRE_BATCH_MAX - GPU_WIRE_LINE_MAX)

struct sink {
	pthread_mutex_t lock;
	bool is_on;
	int fd;       /* in the program's descriptor table; -1: closed, and opened for each write */
	bool is_file; /* a trace instead of a pipe; comments below that say pipe apply to both */
	int error;    /* last errno of a file; 0: none */
	dev_t device; /* identity of the pipe */
	ino_t inode;
	struct guest_root root; /* root folder in which the path leads to the pipe */
	char path[SINK_PATH_MAX];
	uint32_t pid;
	pid_t owner; /* the process that opened it */
	uint64_t instance;
	bool stalled;          /* the last write was given up; no waiting until one succeeds */
	bool waits;            /* a thread is waiting for room */
	bool broken;           /* no reader any more */
	size_t used;           /* bytes in `batch`, including the room for its header */
	struct node_runs runs; /* while a line is open, its end is not in `batch` yet */
	uint64_t sequence;
	uint64_t written_ns;                /* time of the last batch */
	struct gpu_event_drops batch_drops; /* drops in the batch; taken back if it is given up */
	struct gpu_event_drops drops;       /* drops that are not yet sent */
	struct gpu_event_goodbye totals;    /* totals of all events put, sent or given up */
	char batch[GPU_WIRE_BATCH_MAX];     /* lines, after SINK_HEADER_MAX bytes */
	/* lines to send again, from `kept_from` to `kept_end` */
	char *kept;
	size_t kept_from, kept_end, kept_capacity;
	uint64_t lost_definitions; /* definitions that were neither kept nor reported */
	char kept_batch[GPU_WIRE_BATCH_MAX];
};

/*
 * Opens the pipe. `pid` and `instance` (not 0) head each batch: see gpu_event.h. Returns 0 or
 * -errno (-ENXIO: nobody reads the pipe).
 */
int sink_open(struct sink *sink, const char *pipe_path, uint32_t pid, uint64_t instance);

/*
 * Opens or creates a file instead. With an absolute path the file can be opened again after the
 * program has closed it. Returns 0 or -errno. -EINVAL: not a regular file. -ELOOP: a symbolic link.
 * -EEXIST: not the start of a trace.
 */
int sink_open_file(struct sink *sink, const char *path, uint32_t pid, uint64_t instance);

/* Adds an event to the batch, sending the batch first if it is full. Never fails visibly. */
void sink_put(struct sink *sink, const struct gpu_event *event);

/* Counts losses before they became events; sent with the next flush. */
void sink_count_drops(struct sink *sink, const struct gpu_event_drops *drops);

/* Sends the batch, and the drops if there are any. */
void sink_flush(struct sink *sink);

/*
 * Writes an empty batch if nothing was written for SINK_BEAT_MS, so that the reader can tell
 * idleness from death. Only into a pipe that is open.
 */
#define SINK_BEAT_MS 100
void sink_beat(struct sink *sink);

/* Sends the goodbye with the totals, and flushes. */
void sink_goodbye(struct sink *sink);

/* Returns whether the profiler is gone, or the sink was never open. */
bool sink_is_off(struct sink *sink);

/*
 * Returns whether the profiler has stopped reading, so that no thread should wait for it.
 * Lock-free; may be a moment old.
 */
bool sink_is_stalled(const struct sink *sink);

/* Returns whether a thread waits for room in the pipe. Lock-free; may be a moment old. */
bool sink_waits(const struct sink *sink);

/* Turns the sink off if nobody reads the pipe any more, as a write would. */
void sink_look_for_reader(struct sink *sink);

/*
 * Returns 0, or the last -errno because of which a file lacks events. -ENOENT: the file was
 * removed; -ESTALE: another file has its name.
 */
int sink_file_error(struct sink *sink);

/* Closes the pipe. */
void sink_close(struct sink *sink);

/* Frees kept lines of a closed sink, which may then be opened again. */
void sink_start_over(struct sink *sink);

/* Closes silently: in a child after fork, which shares the pipe but is not traced. */
void sink_abandon(struct sink *sink);

#endif
