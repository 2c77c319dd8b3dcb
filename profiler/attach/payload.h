/* SPDX-License-Identifier: MIT */
/*
 * Manages the files that the target needs for the run: a private folder (0700) with the injection
 * library and the named pipe. The folder is made after we became the target's user.
 *
 * The folder must be on a file system that allows mapping code. Its parent must keep other users
 * from renaming it. Several parents are tried; the name is random. The target can change the
 * folder's content at any time. So files are created, opened and removed only relative to the
 * folder's descriptor, never through links. The pipe is opened once, by us, before the target runs.
 *
 * A killed profiler leaves its folder to its supervisor. If that is killed, too, the next run
 * removes the folder: each owner holds a lock in its folder, so abandoned ones are recognized.
 */
#ifndef PROFILER_ATTACH_PAYLOAD_H
#define PROFILER_ATTACH_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>
#include "cupti_trace/wire/time_range.h"
#include "symbolize/util/bounded_call.h"

#define PAYLOAD_PATH_MAX 512
#define PAYLOAD_LIBRARY_NAME "libprofile_cupti.so"

struct payload {
	int folder;      /* descriptor; -1: none */
	int lock;        /* descriptor of the locked file */
	int pipe;        /* read end, non-blocking */
	int pipe_writer; /* keeps the pipe open until payload_close_writer */
	char path[PAYLOAD_PATH_MAX];
	char library[PAYLOAD_PATH_MAX + 32];
	char pipe_path[PAYLOAD_PATH_MAX + 32];
	char tried[1024]; /* parents and reasons, for the error message */
};

/* Returns the injection library that is part of this program. */
const unsigned char *payload_library(size_t *size);

/* Initialises the struct. payload_remove is allowed from here on. */
void payload_init(struct payload *payload);

/* Makes folder, library and pipe. Returns 0 or -errno; -ENOEXEC: see `tried`. */
int payload_create(struct payload *payload);

/*
 * Removes abandoned folders next to ours, through `calls`. A slow removal goes on during the run.
 */
void payload_remove_stale(const struct payload *payload, struct bounded_caller *calls);

/* Makes the pipe report end of file once the last traced process is gone. */
void payload_close_writer(struct payload *payload);

/* Closes the pipe: writers get EPIPE. The folder stays. */
void payload_close_pipe(struct payload *payload);

/*
 * Releases a process that waits for the acknowledgement. Returns 0, also if it no longer waits, or
 * -errno. Opens the FIFO through `calls`, since the process may have replaced it.
 */
int payload_acknowledge(const struct payload *payload, struct bounded_caller *calls,
			uint64_t instance);

/*
 * Publishes the time range that libraries are to record (gpu_wire.h). If the range has ended,
 * injected libraries send their data and leave. Returns 0 or -errno.
 */
int payload_set_time_range(const struct payload *payload, const struct time_range *time_range);

/* Returns the unread bytes in the pipe. */
uint64_t payload_count_left(const struct payload *payload);

/* Removes the folder and closes all descriptors. */
void payload_remove(struct payload *payload);

/* Removes the folder of a process that is gone, by path. "" is allowed. */
void payload_remove_path(const char *path);

#endif
