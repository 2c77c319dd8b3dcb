/* SPDX-License-Identifier: MIT */
/*
 * What the library sends of a program: the records in CUPTI's buffers, with what the program's
 * threads have logged (tracer_flush), and at the end the rest of it and the goodbye.
 */
#ifndef CUPTI_TRACE_MAIN_OUTFLOW_H
#define CUPTI_TRACE_MAIN_OUTFLOW_H

#include "cupti_trace/core/tracer.h"

/* Has CUPTI hand records over to this tracer, which lives forever. 0, or CUPTI's result. */
int outflow_open(struct tracer *tracer);

/* Takes another point of CUPTI's clock. */
void outflow_measure_clock(struct tracer *tracer);

/*
 * Requests the records of devices once, where they are due (enum tracer_devices), and flushes with
 * CUPTI's `flag`. CUPTI writes them when the driver starts, and documents that it may start too
 * late for that. From a thread that holds no lock.
 */
void outflow_ask_for_devices(struct tracer *tracer, uint32_t flag);

/* Sends everything that there is, but for the goodbye. Then hooks are in TRACER_LEAVING. */
void outflow_send_rest(struct tracer *tracer);

/*
 * Sends the sums, then the totals: both of the same records, whoever sends more meanwhile. Again
 * after records that come later; the last goodbye counts.
 */
void outflow_say_goodbye(struct tracer *tracer);

/* Says on stderr why a trace is not complete, if it is not. */
void outflow_say_what_failed(struct tracer *tracer);

/* Turns off all that costs the application time: the profiler is gone, or wants no more. */
void outflow_turn_off(struct tracer *tracer);

#endif
