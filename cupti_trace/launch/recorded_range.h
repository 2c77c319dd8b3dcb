/* SPDX-License-Identifier: MIT */
/*
 * The parts of the program that are recorded where they are chosen by name (--range): while an NVTX
 * range of one of the names is open on any thread, or between cudaProfilerStart and
 * cudaProfilerStop. Several add up: it is recorded while at least one is open.
 *
 * Outside of them the phase has TRACER_IDLE: launches are not logged, and a launch costs no more
 * than outside of a window. Each beginning and end is sent (GPU_EVENT_RANGE), for samples that the
 * kernel takes.
 *
 * Names are numbered once (nvtx_names.h), so a push compares numbers. One instance for the process;
 * any thread may call these. A child of fork is not traced, and nothing changes there.
 */
#ifndef CUPTI_TRACE_LAUNCH_RECORDED_RANGE_H
#define CUPTI_TRACE_LAUNCH_RECORDED_RANGE_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/wire/gpu_wire.h"

struct tracer;

/* Returns whether parts are chosen by these. Reads the setting, once. */
bool recorded_range_has_nvtx(void);
bool recorded_range_has_cuda(void);

/* Returns whether an NVTX range of this name is one of them. */
bool recorded_range_match(uint32_t name);

/* One of them begins, or ends, on whichever thread. */
void recorded_range_enter(void);
void recorded_range_leave(void);

/* cudaProfilerStart has returned, or cudaProfilerStop is called; again has no effect. */
void recorded_range_set_cuda(bool is_on);

/* The hello has been sent: what is open already is sent, and what begins and ends from now on. */
void recorded_range_begin(struct tracer *tracer);

#endif
