/* SPDX-License-Identifier: MIT */
/*
 * What a collector answers to a request that it accepts: how much of it it has refused all the same
 * (the field partial_success of an ExportTraceServiceResponse, and of those for other signals).
 */
#ifndef PROFILER_SEND_OTLP_ANSWER_H
#define PROFILER_SEND_OTLP_ANSWER_H

#include <stddef.h>
#include <stdint.h>

/* The refused part of a request, and why: text of `message_size` bytes, in the answer. */
struct otlp_refusal {
	uint64_t count;
	const char *message;
	uint32_t message_size;
};

/* Reads an answer in protocol buffers, which may be anything. */
struct otlp_refusal otlp_answer_read(const void *answer, size_t size);

/* How many items, by an answer in JSON or protocol buffers, which may be anything; 0: none. */
uint64_t otlp_answer_refused(const void *answer, size_t size);

#endif
