/* SPDX-License-Identifier: MIT */
/*
 * The quick way to read the lines that come by the million (launches, kernels, copies) or must be
 * exact beyond a double (goodbyes), in exactly the form that gpu_wire_encode writes: those up to
 * GPU_EVENT_LAST_SCANNED. They have only fields with numbers, and `with` only as WIRE_SHOWS.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_WIRE_SCAN_H
#define CUPTI_TRACE_WIRE_GPU_WIRE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include "cupti_trace/wire/gpu_event.h"

/*
 * True if the line was one of these in canonical form; else it may still be an event, and `*event`
 * holds nothing of use. `*event` is to be zero before.
 */
bool gpu_wire_scan(const char *line, size_t length, struct gpu_event *event);

#endif
