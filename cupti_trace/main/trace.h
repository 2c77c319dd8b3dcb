/* SPDX-License-Identifier: MIT */
/*
 * Writes a trace: a file with the library's events, if the program's user asks for it and there is
 * no profiler (INJECTION_TRACE). It contains what a profiler would be sent (gpu_wire.h). One more
 * kind of lines has facts that a profiler would find itself. `profile --from` reads it
 * (profiler/run/trace_reader.h).
 */
#ifndef CUPTI_TRACE_MAIN_TRACE_H
#define CUPTI_TRACE_MAIN_TRACE_H

#include "cupti_trace/core/sink.h"

#define TRACE_ENV "INJECTION_TRACE"

/*
 * Returns the file's name, as the user gave it. NULL: no trace is wanted, there is a profiler, or
 * the program runs with more privilege than its user has.
 */
const char *trace_name(void);

/*
 * Replaces the settings (settings.h) by those of a trace: everything of later interest that costs
 * little, and hardware counters if the user asks for them.
 */
void trace_use_settings(void);

/* Sends facts about the program, with the present time. After the hello. */
void trace_describe_run(struct sink *sink);

/* Sends the present time. */
void trace_send_time(struct sink *sink);

#endif
