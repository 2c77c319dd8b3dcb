/* SPDX-License-Identifier: MIT */
/*
 * Reads which part of an accepted OTLP request the collector has refused: the field
 * partial_success of ExportTraceServiceResponse, and of the responses for other signals.
 */
#ifndef PROFILER_SEND_OTLP_ANSWER_H
#define PROFILER_SEND_OTLP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

/* Refused items of a request, and the reason: `message_size` bytes within the answer. */
struct otlp_refusal {
	uint64_t count;
	const char *message;
	uint32_t message_size;
};

/* Reads an answer in protocol buffers. Answers are untrusted. */
struct otlp_refusal otlp_answer_read(const void *answer, size_t size);

/*
 * Returns the number of refused items in an answer in JSON or protocol buffers. Answers are
 * untrusted.
 */
uint64_t otlp_answer_refused(const void *answer, size_t size);

#endif
