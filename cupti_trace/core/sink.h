/* SPDX-License-Identifier: MIT */
/*
 * Output from the target: events -> whole lines -> one write() per batch into the named pipe.
 *
 * A batch is at most GPU_WIRE_BATCH_MAX bytes, so the kernel keeps it in one piece whatever other
 * processes write. The pipe is non-blocking; when the profiler does not keep up, sink_put waits for
 * room (backpressure), but never longer than SINK_TIMEOUT_MS in a row: then the batch is given up,
 * its work and launches are counted, and nobody waits until the profiler reads again. The
 * profiler's death (EPIPE) turns the sink off for good, without a signal to the application.
 *
 * Later events need what others defined (names, stacks, code, nodes of graphs and the like). So
 * lines of a batch that was given up are kept, unless they are of work, launches or waits, and are
 * sent before anything else when there is room. They take SINK_KEPT_MAX bytes at most; a notice
 * says how many more there were.
 *
 * A program may close all descriptors, ours too, and open a file of its own under the number. So
 * before each write, also after waiting for room, the descriptor is compared with the pipe, and the
 * pipe is opened again if it is another file; as long as that fails, batches are given up. (A
 * thread that opens a file between the two calls is not noticed.) For a while it is then opened
 * apart, for each write (guest.h). A thread with a root folder or mounts of its own may not find
 * the pipe: that says nothing about the profiler, and only its batches are given up.
 *
 * A child that was made without fork's handlers has a copy of all this, and writes nothing.
 *
 * Or, where there is no profiler, into a file (a trace), to whose end each batch goes, so that
 * several programs may share one. There nobody waits: what finds no room is given up at once, and
 * tried again are only the lines that others need. Where a part of a batch was written, what of it
 * is whole lines counts as sent, and the rest as given up. A file that grows too large for the
 * program's limit (RLIMIT_FSIZE) causes no signal.
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

#define SINK_TIMEOUT_MS GPU_WIRE_TIMEOUT_MS
#define SINK_PATH_MAX 1024
#define SINK_KEPT_MAX (16u << 20)
#define SINK_HEADER_MAX (GPU_WIRE_BATCH_MAX - GPU_WIRE_LINE_MAX)

struct sink {
	pthread_mutex_t lock;
	bool is_on;
	int fd;       /* among the program's descriptors; -1: closed, and opened for each write */
	bool is_file; /* not a pipe: a trace; said below of pipes, it goes for both */
	int error;    /* of a file, the last one: errno; 0: none */
	dev_t device; /* of the pipe, with its inode */
	ino_t inode;
	struct guest_root root; /* in which the path leads there */
	char path[SINK_PATH_MAX];
	uint32_t pid;
	pid_t owner; /* the process that opened it */
	uint64_t instance;
	bool stalled; /* the last write was given up; do not wait again until one succeeds */
	bool waits;   /* a thread is waiting for room */
	bool broken;  /* no reader any more */
	size_t used;  /* bytes in batch, with the room for its header */
	uint64_t sequence;
	uint64_t written_ns;                /* when the last batch was written */
	struct gpu_event_drops batch_drops; /* in the batch; taken back if it is given up */
	struct gpu_event_drops drops;       /* not yet sent */
	struct gpu_event_goodbye totals;    /* of all that was handed in, sent or given up */
	char batch[GPU_WIRE_BATCH_MAX];     /* lines, behind SINK_HEADER_MAX bytes */
	/* lines to send again, from `kept_from` to `kept_end` */
	char *kept;
	size_t kept_from, kept_end, kept_capacity;
	uint64_t lost_definitions; /* that were not kept, and not reported */
	char kept_batch[GPU_WIRE_BATCH_MAX];
};

/*
 * Opens the pipe. 0 or -errno (-ENXIO: nobody reads it). `pid` and `instance` (not 0) head each
 * batch: see gpu_event.h.
 */
int sink_open(struct sink *sink, const char *pipe_path, uint32_t pid, uint64_t instance);

/*
 * Opens a file instead, or makes it; with its absolute path it is opened again where the program
 * has closed it. 0 or -errno. -EINVAL: it is no regular file. -ELOOP: it is a symbolic link.
 * -EEXIST: it is something else than a trace, or the first bytes of one.
 */
int sink_open_file(struct sink *sink, const char *path, uint32_t pid, uint64_t instance);

/* Adds an event to the batch, sending the batch first if it is full. Never fails visibly. */
void sink_put(struct sink *sink, const struct gpu_event *event);

/* Counts what was lost before it became an event; sent with the next flush. */
void sink_count_drops(struct sink *sink, const struct gpu_event_drops *drops);

/* Sends what is in the batch, and the drops if there are any. */
void sink_flush(struct sink *sink);

/*
 * Writes an empty batch if nothing was written for SINK_BEAT_MS: the reader then knows that silence
 * is idleness. Only into a pipe that is open.
 */
#define SINK_BEAT_MS 100
void sink_beat(struct sink *sink);

/* Sends the goodbye with the totals, and flushes. */
void sink_goodbye(struct sink *sink);

/* The profiler is gone, or the sink was never open. */
bool sink_is_off(struct sink *sink);

/* The profiler has stopped reading and nobody should wait for it. Lock-free, may be a moment old.
 */
bool sink_is_stalled(const struct sink *sink);

/* A thread waits for room in the pipe. Lock-free, may be a moment old. */
bool sink_waits(const struct sink *sink);

/* Turns the sink off if nobody reads the pipe any more, which a write would notice. */
void sink_look_for_reader(struct sink *sink);

/*
 * Why a file does not have, or will not keep, all that was put: 0 or the last -errno. -ENOENT: it
 * was removed, -ESTALE: another file has its name.
 */
int sink_file_error(struct sink *sink);

/* Closes the pipe. */
void sink_close(struct sink *sink);

/* Frees what was kept, of a closed one: it may be opened again. */
void sink_start_over(struct sink *sink);

/* Closes silently: in a child after fork, which shares the pipe but is not traced. */
void sink_abandon(struct sink *sink);

#endif
