/* SPDX-License-Identifier: MIT */
/*
 * Turns notices of the injection library into messages for the user. Each kind is shown once, and
 * each unknown function once, however many processes send it. Texts from the target are untrusted:
 * they are cut, and log makes them printable.
 */
#ifndef PROFILER_ATTACH_NOTICES_H
#define PROFILER_ATTACH_NOTICES_H

#include <stdint.h>
#include "cupti_trace/wire/gpu_event.h"
#include "profiler/base/log.h"

/* The substitute for missing GPU time. */
enum notices_fallback {
	FALLBACK_NONE,
	FALLBACK_TIMES_CALLS,
	FALLBACK_NEEDS_SUDO, /* calls would be timed with sudo */
	FALLBACK_NEEDS_ROOT, /* calls would be timed with --as-root */
};

#define NOTICES_FUNCTIONS_MAX 16
#define NOTICES_COUNTERS_MAX 8

struct notices {
	struct log *log;
	uint32_t seen[GPU_NOTICES];                /* notices by kind */
	char functions[NOTICES_FUNCTIONS_MAX][64]; /* names shown for GPU_NOTICE_NEW_FUNCTION */
	uint32_t function_count;
	uint32_t counters[NOTICES_COUNTERS_MAX]; /* hashes of texts shown for GPU_NOTICE_COUNTERS */
	uint32_t counters_count;
	enum notices_fallback fallback;
};

void notices_init(struct notices *notices, struct log *log);
void notices_add(struct notices *notices, uint32_t pid, const struct gpu_event_notice *notice);

#endif
