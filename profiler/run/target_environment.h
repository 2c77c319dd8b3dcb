/* SPDX-License-Identifier: MIT */
/*
 * Makes the environment variables that configure the injection library in the target: its path, the
 * pipe, and what to record (cupti_trace/wire/gpu_wire.h, trace_config.h).
 */
#ifndef PROFILER_RUN_TARGET_ENVIRONMENT_H
#define PROFILER_RUN_TARGET_ENVIRONMENT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include "profiler/base/measure.h"

/* Bytes of the longest configuration; escaping may triple a text. */
#define TARGET_CONFIG_BYTES                                                \
	(512 + 3 * (MEASURE_RANGES_BYTES + COUNTER_REQUEST_METRICS_BYTES + \
		    COUNTER_REQUEST_KERNELS_BYTES))

struct target_environment {
	const char *variables[5]; /* "NAME=value", NULL-terminated */
	char library[PATH_MAX + 64], pipe[PATH_MAX + 64], nvtx[PATH_MAX + 64];
	char config[TARGET_CONFIG_BYTES + 32];
};

struct target_environment_options {
	const char *library; /* the injection library's path */
	const char *pipe;
	struct measure measure;
	struct counter_request counters; /* used if measure.counters is set */
	bool timeline;                   /* launches have durations */
	bool waited;                     /* launches that their thread waits for are marked */
	bool verbose;
	bool leaves_nvtx; /* the user chose another NVTX tool */
};

void target_environment_make(struct target_environment *environment,
			     const struct target_environment_options *options);

/*
 * Writes the variables as lines of a text, for an injected library (inject_process.h). Returns
 * false if `size` is too small.
 */
bool target_environment_text(const struct target_environment *environment, char *text, size_t size);

/* Names NVTX's tool. There can be only one, and the user may have chosen it. */
#define TARGET_ENVIRONMENT_NVTX "NVTX_INJECTION64_PATH"
#define TARGET_ENVIRONMENT_CUDA "CUDA_INJECTION64_PATH"

/* The profiler's credentials (--push), removed from the command's environment. */
#define TARGET_ENVIRONMENT_SECRET "PROFILE_PUSH_HEADERS"

#endif
