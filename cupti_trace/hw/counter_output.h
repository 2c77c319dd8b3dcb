/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters as lines of JSON in a file, for a program that runs with the library but
 * without a profiler (INJECTION_METRICS, INJECTION_OUTPUT): docs/counters.md describes the lines.
 * Each is one write() to the end of the file, so several processes may share one.
 *
 * What cannot be written is lost without a word: the library does not print. (output_path.c
 * says on stderr that there is no file, where INJECTION_VERBOSE is set.) Thread-safe.
 */
#ifndef CUPTI_TRACE_HW_COUNTER_OUTPUT_H
#define CUPTI_TRACE_HW_COUNTER_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

/* Opens the file (output_path.h), which need not exist. 0 or -errno. */
int counter_output_open(const char *name);

/* A launch that was measured. Values that are no number are left out. */
void counter_output_launch(const char *kernel, uint32_t correlation_id, const char *const *metrics,
			   const double *values, uint32_t count);

/* "note", "error" or the like, and a sentence. */
void counter_output_note(const char *key, const char *text);

/* How many launches were not measured, by reason. */
void counter_output_unmeasured(const char *const *reasons, const uint64_t *counts, uint32_t count);

#endif
