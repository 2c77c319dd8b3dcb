/* SPDX-License-Identifier: MIT */
/*
 * Selects the launches whose hardware counters are read. For each kernel name these are the first,
 * second, fourth, eighth launch and so on, up to a limit. So a program that launches a kernel a
 * million times pays for few of them. They are not all from its start.
 *
 * Kernels that talk to other GPUs (NCCL's, NVSHMEM's) are never selected. A measured kernel runs by
 * itself, several times, and would wait for its peers forever.
 *
 * Not thread-safe: the caller locks. Bounded by the limits of names.h; kernels beyond are not
 * measured.
 */
#ifndef CUPTI_TRACE_HW_COUNTER_CHOICE_H
#define CUPTI_TRACE_HW_COUNTER_CHOICE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/names.h"

#define COUNTER_CHOICE_TRIES 8 /* failed tries of a kernel in a row */

struct counter_choice {
	struct names names;
	struct counter_kernel {
		uint64_t launched,
			due; /* launches so far; the launch to measure, or the earliest next one */
		uint32_t measured, failed;
		bool is_wanted, is_left_out;
	} * kernels; /* by name id, less one */
	uint32_t count, capacity;
	bool has_pattern;
	regex_t pattern;
	uint32_t limit; /* limit of measured launches of a kernel; 0: all */
};

/*
 * Initialises. `pattern` is an extended regular expression; NULL: all kernels. Returns 0 or
 * -EINVAL.
 */
int counter_choice_init(struct counter_choice *choice, const char *pattern, uint32_t limit);
void counter_choice_release(struct counter_choice *choice);

enum counter_verdict { COUNTER_PASS, COUNTER_MEASURE, COUNTER_LEFT_OUT };

/* Decides about a launch. *kernel is its number for counter_choice_done. */
enum counter_verdict counter_choice_launch(struct counter_choice *choice, const char *name,
					   uint32_t *kernel);

/* Notes that the launch has been measured, or could not be, and makes the next one due. */
void counter_choice_done(struct counter_choice *choice, uint32_t kernel, bool is_measured);

#endif
