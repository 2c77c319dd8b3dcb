/* SPDX-License-Identifier: MIT */
/*
 * What a collector answers to a request that it accepts: how much of it it has refused all the same
 * (the field partial_success of an ExportTraceServiceResponse, and of those for other signals).
 */
#ifndef PROFILER_SEND_OTLP_ANSWER_H
#define PROFILER_SEND_OTLP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

/* How many items, by an answer in JSON or protocol buffers, which may be anything; 0: none. */
uint64_t otlp_answer_refused(const void *answer, size_t size);

#endif
