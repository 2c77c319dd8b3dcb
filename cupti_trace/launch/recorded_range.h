/* SPDX-License-Identifier: MIT */
/*
 * Selects recorded parts of the program by name (--range): NVTX ranges open on any thread, or
 * cudaProfilerStart to cudaProfilerStop. Several ranges may overlap: recording ends with the last
 * one.
 *
 * Outside of these parts the phase has TRACER_IDLE: launches are not logged, and cost no more than
 * outside of a time range. Each beginning and end is sent (GPU_EVENT_RANGE), for the kernel's
 * samples.
 *
 * Names are numbered once (nvtx_names.h), so a push compares numbers. One instance for the process;
 * any thread may call. A child of fork is not traced, and nothing changes there.
 */
#ifndef CUPTI_TRACE_LAUNCH_RECORDED_RANGE_H
#define CUPTI_TRACE_LAUNCH_RECORDED_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct tracer;

/* Returns whether the setting has names of NVTX ranges. Reads the setting, once. */
bool recorded_range_has_nvtx(void);
bool recorded_range_has_cuda(void);

/* Returns whether an NVTX range of this name is selected, or of its plain name (nvtx_names.h). */
bool recorded_range_match(uint32_t name);

/* Begins or ends a selected range, on any thread. */
void recorded_range_enter(void);
void recorded_range_leave(void);

/*
 * Notes that cudaProfilerStart has returned, or cudaProfilerStop is called; repeating has no
 * effect.
 */
void recorded_range_set_cuda(bool is_on);

/* Sends the present state after the hello, and changes from now on. */
void recorded_range_begin(struct tracer *tracer);

#endif
