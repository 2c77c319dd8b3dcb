/* SPDX-License-Identifier: MIT */
/*
 * The line format between a traced process and the profiler: one JSON object in each line, UTF-8,
 * described field by field in docs/wire-format.md.
 *
 * Keys are short because a busy program sends a million lines a second. Encoding writes into a
 * caller's buffer and never allocates: it runs inside the user's program. Decoding reads one line
 * of untrusted text; anything that is not exactly an event of this format is -EBADMSG and has no
 * effect. Unknown keys are ignored, so that a later minor change does not break an older reader;
 * a change that an older reader would misread increments GPU_WIRE_VERSION.
 *
 * Invariant, held by tests/unit/test_gpu_wire.c: decode(encode(e)) == e for every event e.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_WIRE_H
#define CUPTI_TRACE_WIRE_GPU_WIRE_H

#include <inttypes.h>
#include <stddef.h>
#include "cupti_trace/wire/gpu_event.h"

#define GPU_WIRE_VERSION 2

/* The variable with the path of the named pipe; trace_config.h has what the library is asked for.
 */
#define GPU_WIRE_PIPE_ENV "PROFILE_PIPE"

/* The FIFO beside the pipe into which the profiler writes one byte to answer `wants_ack`. */
#define GPU_WIRE_ACK_PREFIX "ack."
#define GPU_WIRE_ACK_FORMAT GPU_WIRE_ACK_PREFIX "%016" PRIx64 /* the instance */

/* Name of unnamed memory that the library is loaded from in processes that ran already; what
 * follows in it says which library. */
#define GPU_WIRE_MEMORY "profile-library"

/*
 * In a process that already ran: the name by which a copy is known to be at work (active_marker.h).
 * These variables are lines of a text for GPU_WIRE_BEGIN (inject.c).
 */
#define GPU_WIRE_ACTIVE_MARKER "profile-at-work"
#define GPU_WIRE_BEGIN "profile_begin"

/* There: names of the thread that begins; while it looks for CUPTI's files, and in CUPTI. */
#define GPU_WIRE_SEARCHING "profile-begin"
#define GPU_WIRE_IN_CUPTI "profile-cupti"

/* A program waits so long in a row for room in the pipe, then goes on and drops. */
#define GPU_WIRE_TIMEOUT_MS 5000

/*
 * A write() of at most this many bytes to a pipe is never mixed with others (POSIX PIPE_BUF, 4096
 * on Linux), so that is the limit of a batch: a '\n' to end whatever rubbish came before, a "batch"
 * line, then whole lines of one process.
 */
#define GPU_WIRE_BATCH_MAX 4096

/* Longest line: a batch less its own header. Longer strings are cut when encoded. */
#define GPU_WIRE_LINE_MAX 4000

/*
 * "FROM TO", the part of the run that is recorded, in ns by CLOCK_MONOTONIC; 0: from the start, to
 * the end.
 */
#define GPU_WIRE_TIME_RANGE_ENV "PROFILE_WINDOW"

/*
 * The symbolic link beside the pipe that points to the same text, once it has changed: reading it
 * takes no descriptor, and it is replaced as a whole. Libraries look for it every tick if they have
 * the variable, or were brought into their process: there the end of the window asks them to leave.
 */
#define GPU_WIRE_TIME_RANGE_LINK "window"
#define GPU_WIRE_TIME_RANGE_FORMAT "%" PRIu64 " %" PRIu64
#define GPU_WIRE_TIME_RANGE_BYTES 48

/*
 * The parts that are recorded (--range): names of NVTX ranges, as frames have them ("message",
 * "domain:message"), or GPU_WIRE_RANGE_CUDA: from cudaProfilerStart to cudaProfilerStop.
 */
#define GPU_WIRE_RANGES_SEPARATOR "\x1f"
#define GPU_WIRE_RANGE_CUDA "cudaProfilerApi"

/*
 * Writes `event` as one line with its '\n' into buffer[0..size). Returns the length, or -ENOSPC if
 * it does not fit (never for size >= GPU_WIRE_LINE_MAX: strings are cut to fit), or -EINVAL for an
 * unknown type. Invalid UTF-8 and control characters in strings are escaped.
 */
int gpu_wire_encode(const struct gpu_event *event, char *buffer, size_t size);

/*
 * Reads one line (without its '\n'; need not be NUL-terminated) into `event`. Strings are stored in
 * `decoder` and are valid until its next use. 0, -EBADMSG, or -ENOMEM.
 */
struct gpu_wire_decoder;
struct gpu_wire_decoder *gpu_wire_decoder_new(void);
void gpu_wire_decoder_free(struct gpu_wire_decoder *decoder);
int gpu_wire_decode(struct gpu_wire_decoder *decoder, const char *line, size_t length,
		    struct gpu_event *event);

#endif
