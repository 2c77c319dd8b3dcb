/* SPDX-License-Identifier: MIT */
/*
 * A trace: what the library writes to a file where the program's user asks for it and there is no
 * profiler (INJECTION_TRACE). It is what a profiler would be sent (gpu_wire.h), with one more kind
 * of lines, which tell what a profiler would know by itself. `profile --from` reads it
 * (profiler/run/trace_reader.h).
 */
#ifndef CUPTI_TRACE_MAIN_TRACE_H
#define CUPTI_TRACE_MAIN_TRACE_H

#include "cupti_trace/core/sink.h"

#define TRACE_ENV "INJECTION_TRACE"

/*
 * The file's name, as the user gave it; NULL: no trace is wanted, there is a profiler, or the
 * program runs with more privilege than its user has.
 */
const char *trace_name(void);

/*
 * From now on settings (settings.h) are those of a trace: what may be of interest later and costs
 * little, and hardware counters where the user asks for them.
 */
void trace_use_settings(void);

/* Sends what is known of the program, with the present time. After the hello. */
void trace_describe_run(struct sink *sink);

/* Sends the present time. */
void trace_tell_time(struct sink *sink);

#endif
