/* SPDX-License-Identifier: MIT */
/*
 * Writes hardware counters as lines of JSON to a file, for a program without a profiler
 * (INJECTION_METRICS, INJECTION_OUTPUT). docs/counters.md describes the lines. Each line is one
 * appending write(), so several processes may share a file.
 *
 * Write errors are silent: the library does not print. (With INJECTION_VERBOSE output_path.c
 * complains on stderr if there is no file.) Thread-safe.
 */
#ifndef CUPTI_TRACE_HW_COUNTER_OUTPUT_H
#define CUPTI_TRACE_HW_COUNTER_OUTPUT_H

#include <stdint.h>

/* Opens or creates the file (output_path.h). Returns 0 or -errno. */
int counter_output_open(const char *name);

/* Writes a measured launch. Values that are NAN are left out. */
void counter_output_launch(const char *kernel, uint32_t correlation_id, const char *const *metrics,
			   const double *values, uint32_t count);

/* Writes a sentence under a key: "note", "error" or the like. */
void counter_output_note(const char *key, const char *text);

/* Writes the numbers of launches that were not measured, by reason. */
void counter_output_unmeasured(const char *const *reasons, const uint64_t *counts, uint32_t count);

#endif
