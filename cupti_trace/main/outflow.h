/* SPDX-License-Identifier: MIT */
/*
 * Sends a program's data: the records in CUPTI's buffers, with the logs of the program's threads
 * (tracer_flush). At the end it sends the rest, and the goodbye.
 */
#ifndef CUPTI_TRACE_MAIN_OUTFLOW_H
#define CUPTI_TRACE_MAIN_OUTFLOW_H

#include "cupti_trace/core/tracer.h"

/* Has CUPTI deliver records to this tracer, which lives forever. Returns 0 or CUPTI's result. */
int outflow_open(struct tracer *tracer);

/* Measures CUPTI's clock again. */
void outflow_measure_clock(struct tracer *tracer);

/*
 * Requests the records of devices once, when they are due (enum tracer_devices), and flushes with
 * CUPTI's `flag`. CUPTI writes these records when the driver starts, and documents that it may
 * start too late for that. Call from a thread that holds no lock.
 */
void outflow_ask_for_devices(struct tracer *tracer, uint32_t flag);

/* Sends everything except the goodbye. Then hooks are in TRACER_LEAVING. */
void outflow_send_rest(struct tracer *tracer);

/*
 * Sends the sums, then the totals: both of an equal set of records, even if other threads send
 * meanwhile. May be repeated after later records; the last goodbye counts.
 */
void outflow_send_goodbye(struct tracer *tracer);

/* Explains on stderr why a trace is incomplete, if it is. */
void outflow_report_failure(struct tracer *tracer);

/* Turns off everything that costs the application time: the profiler is gone, or wants no more. */
void outflow_turn_off(struct tracer *tracer);

#endif
