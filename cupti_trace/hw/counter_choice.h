/* SPDX-License-Identifier: MIT */
/*
 * Which launches have their hardware counters read: of each kernel, by its mangled name, the first
 * launch, the second, the fourth, the eighth and so on, up to a limit. So a program that launches a
 * kernel a million times pays for few of them, and these are not all from its start.
 *
 * Never those that talk to other GPUs while they run (NCCL's, NVSHMEM's): a kernel whose counters
 * are read runs by itself, several times, and such a kernel would wait for its peers forever.
 *
 * Not thread-safe: the caller locks. Bounded by what names.h keeps; kernels beyond are not
 * measured.
 */
#ifndef CUPTI_TRACE_HW_COUNTER_CHOICE_H
#define CUPTI_TRACE_HW_COUNTER_CHOICE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/core/names.h"

#define COUNTER_CHOICE_TRIES 8 /* of one kernel, that fail in a row */

struct counter_choice {
	struct names names;
	struct counter_kernel {
		uint64_t launched, due; /* the launch to measure, or the next one that can be */
		uint32_t measured, failed;
		bool is_wanted, is_left_out;
	} * kernels; /* by name id, less one */
	uint32_t count, capacity;
	bool has_pattern;
	regex_t pattern;
	uint32_t limit; /* of measured launches; 0: all */
};

/* `pattern`: an extended regular expression; NULL: all kernels. 0, or -EINVAL. */
int counter_choice_init(struct counter_choice *choice, const char *pattern, uint32_t limit);
void counter_choice_release(struct counter_choice *choice);

enum counter_verdict { COUNTER_PASS, COUNTER_MEASURE, COUNTER_LEFT_OUT };

/* A kernel is launched. *kernel is its number for counter_choice_done. */
enum counter_verdict counter_choice_launch(struct counter_choice *choice, const char *name,
					   uint32_t *kernel);

/* Its launch has been measured, or could not be: then the next one is due. */
void counter_choice_done(struct counter_choice *choice, uint32_t kernel, bool is_measured);

#endif
