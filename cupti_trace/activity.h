/* SPDX-License-Identifier: MIT */
/*
 * CUPTI activity records -> gpu_events. The only module that knows record layouts (cupti_abi.h).
 */
#ifndef CUPTI_TRACE_ACTIVITY_H
#define CUPTI_TRACE_ACTIVITY_H

#include "cupti_trace/clock.h"
#include "cupti_trace/cupti_api.h"
#include "cupti_trace/names.h"
#include "cupti_trace/sink.h"

/*
 * Sends every record of a completed buffer, new kernel names first. `names` is the process's table;
 * the caller makes sure that only one thread is in here at a time.
 */
void activity_send_buffer(const struct cupti_api *api, const struct clock_map *clock,
			  struct names *names, struct sink *sink, uint8_t *buffer,
			  size_t valid_size);

#endif
