/* SPDX-License-Identifier: MIT */
/*
 * The files that the target needs for the run: a private folder (0700) with the injection library
 * and the named pipe, made when we have already become the target's user.
 *
 * The folder must be on a file system from which code can be mapped, and in a folder in which other
 * users cannot rename it; several places are tried. Its name is random. The
 * target can change the folder's contents at any time: files are only ever created, opened and
 * removed relative to the folder's descriptor, never through links, and the pipe is opened once, by
 * us, before the target runs.
 *
 * A profiler that is killed cannot remove its folder; its supervisor does. Where that is killed,
 * too: each folder's owner holds a lock in it, so the next run recognizes abandoned folders and
 * removes them.
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
	int lock;        /* held as long as the folder is in use */
	int pipe;        /* read end, non-blocking */
	int pipe_writer; /* keeps the pipe open until payload_close_writer */
	char path[PAYLOAD_PATH_MAX];
	char library[PAYLOAD_PATH_MAX + 32];
	char pipe_path[PAYLOAD_PATH_MAX + 32];
	char tried[1024]; /* for the error message: places and why not */
};

/* The injection library, as this program carries it. */
const unsigned char *payload_library(size_t *size);

/* Nothing there yet: payload_remove is allowed from here on. */
void payload_init(struct payload *payload);

/* 0 or -errno (-ENOEXEC: no place allows execution; see `tried`). */
int payload_create(struct payload *payload);

/*
 * Removes abandoned folders beside ours, through `calls`: one that takes long goes on beside the
 * run.
 */
void payload_remove_stale(const struct payload *payload, struct bounded_caller *calls);

/* From now on the pipe reports end of file when the last traced process is gone. */
void payload_close_writer(struct payload *payload);

/* Writers get EPIPE from now on; the folder stays. */
void payload_close_pipe(struct payload *payload);

/*
 * Releases a process that waits for us. 0 or -errno; a process that no longer waits is no error. It
 * may have put anything in the place of its FIFO: that is opened through `calls`.
 */
int payload_acknowledge(const struct payload *payload, struct bounded_caller *calls,
			uint64_t instance);

/*
 * Libraries record this window from now on (gpu_wire.h); where it has ended, those that were
 * brought into processes send what they have, and leave. 0 or -errno.
 */
int payload_set_time_range(const struct payload *payload, const struct time_range *time_range);

/* Bytes that are in the pipe and have not been read. */
uint64_t payload_count_left(const struct payload *payload);

/* Removes everything. */
void payload_remove(struct payload *payload);

/* Removes a payload by its path alone: one of another process, which is gone. "" is fine. */
void payload_remove_path(const char *path);

#endif
