/* SPDX-License-Identifier: MIT */
/*
 * Scans lines in exactly the form that gpu_wire_encode writes, without cJSON. Takes the event types
 * up to GPU_EVENT_LAST_SCANNED: those that come by the million (launches, kernels, copies) or have
 * sums that a double cannot hold (goodbyes). These have only numeric fields, at most one list, of
 * WIRE_ROWS, and `with` only as WIRE_SHOWS.
 */
#ifndef CUPTI_TRACE_WIRE_GPU_WIRE_SCAN_H
#define CUPTI_TRACE_WIRE_GPU_WIRE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include "cupti_trace/wire/gpu_event.h"

/*
 * Returns true if the line was such an event in canonical form. Otherwise the line may still be an
 * event, and `*event` is undefined. `*event` must be zero before. The list is stored in `rows`,
 * which has room for the longest.
 */
bool gpu_wire_scan(const char *line, size_t length, struct gpu_event *event, void *rows);

#endif
