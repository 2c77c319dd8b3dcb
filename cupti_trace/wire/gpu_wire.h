/* SPDX-License-Identifier: MIT */
/*
 * Encodes and decodes the lines between a traced process and the profiler: one JSON object in each
 * line, UTF-8. docs/wire-format.md describes each field.
 *
 * Keys are short because a busy program sends a million lines a second. Encoding writes into a
 * caller's buffer and never allocates: it runs inside the user's program. Decoding reads one line
 * of untrusted text. Anything but an event of this format is -EBADMSG and has no effect. Unknown
 * keys are ignored, so that a minor change does not break an older reader. A change that an older
 * reader would misread increments GPU_WIRE_VERSION.
 *
 * Invariant, held by tests/unit/test_gpu_wire.c: decode(encode(e)) == e for every event e.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_WIRE_H
#define CUPTI_TRACE_WIRE_GPU_WIRE_H

#include <inttypes.h>
#include <stddef.h>
#include "cupti_trace/wire/gpu_event.h"

#define GPU_WIRE_VERSION 3
#define GPU_WIRE_OLDEST 2 /* the oldest version that is understood */

/* Variable with the path of the named pipe. trace_config.h has the rest of the configuration. */
#define GPU_WIRE_PIPE_ENV "PROFILE_PIPE"

/* The FIFO beside the pipe into which the profiler writes one byte to answer `wants_ack`. */
#define GPU_WIRE_ACK_PREFIX "ack."
#define GPU_WIRE_ACK_FORMAT GPU_WIRE_ACK_PREFIX "%016" PRIx64 /* the instance */

/*
 * Name of the memfd from which the library is loaded into running processes; a suffix tells which
 * library.
 */
#define GPU_WIRE_MEMORY "profile-library"

/*
 * Names in a running process that the library is injected into. GPU_WIRE_ACTIVE_MARKER shows that a
 * copy is active (active_marker.h). GPU_WIRE_BEGIN takes a text whose lines are these variables
 * (inject.c).
 */
#define GPU_WIRE_ACTIVE_MARKER "profile-at-work"
#define GPU_WIRE_BEGIN "profile_begin"

/*
 * Names of the starting thread in such a process: while it searches for CUPTI's files, and inside
 * CUPTI.
 */
#define GPU_WIRE_SEARCHING "profile-begin"
#define GPU_WIRE_IN_CUPTI "profile-cupti"

/* Timeout of a program that waits for room in the pipe; then it drops events. */
#define GPU_WIRE_TIMEOUT_MS 5000

/*
 * Limit of a batch: a '\n' to end whatever garbage came before, a "batch" line, then whole lines of
 * one process. A write() of up to this many bytes to a pipe is never mixed with others (POSIX
 * PIPE_BUF).
 */
#define GPU_WIRE_BATCH_MAX 4096

/* Longest line: a batch less its own header. Longer strings are cut when encoded. */
#define GPU_WIRE_LINE_MAX 4000

/*
 * "FROM TO" or "FROM TO LEAVE", the recorded part of the run (time_range.h), CLOCK_MONOTONIC in ns.
 * 0 stands for the start or the end.
 */
#define GPU_WIRE_TIME_RANGE_ENV "PROFILE_WINDOW"

/*
 * Symbolic link beside the pipe whose target is the text above, once that has changed. Reading a
 * link takes no descriptor, and a link is replaced atomically. Libraries poll it every tick if they
 * have the variable, or were injected into a running process. An injected library leaves at the end
 * of the range.
 */
#define GPU_WIRE_TIME_RANGE_LINK "window"
#define GPU_WIRE_TIME_RANGE_FORMAT "%" PRIu64 " %" PRIu64
#define GPU_WIRE_TIME_RANGE_LEAVE " %" PRIu64
#define GPU_WIRE_TIME_RANGE_BYTES 72

/*
 * Recorded parts (--range): names of NVTX ranges, as frames have them ("message",
 * "domain:message"). GPU_WIRE_RANGE_CUDA stands for cudaProfilerStart to cudaProfilerStop.
 */
#define GPU_WIRE_RANGES_SEPARATOR "\x1f"
#define GPU_WIRE_RANGE_CUDA "cudaProfilerApi"

/*
 * Writes `event` as one line with its '\n' into buffer[0..size). Returns the length, -EINVAL for an
 * unknown type, or -ENOSPC if the line does not fit. For size >= GPU_WIRE_LINE_MAX it always fits,
 * except for a run of too many steps: strings are cut. Invalid UTF-8 and control characters in
 * strings are escaped.
 */
int gpu_wire_encode(const struct gpu_event *event, char *buffer, size_t size);

/*
 * Writes one character of `length` bytes (0: invalid UTF-8) as JSON has it in a string (RFC 8259).
 * Returns the number of bytes.
 */
size_t gpu_wire_escape(const unsigned char *character, size_t length, char out[6]);

/*
 * Reads one line (without its '\n'; need not be NUL-terminated) into `event`. Returns 0, -EBADMSG
 * or -ENOMEM. Strings are stored in `decoder` and are valid until its next use.
 */
struct gpu_wire_decoder;
struct gpu_wire_decoder *gpu_wire_decoder_new(void);
void gpu_wire_decoder_free(struct gpu_wire_decoder *decoder);
int gpu_wire_decode(struct gpu_wire_decoder *decoder, const char *line, size_t length,
		    struct gpu_event *event);

#endif
