/* SPDX-License-Identifier: MIT */
/*
 * Does it add up? What the profile holds, by device and kind of work, beside what CUPTI reported by
 * the processes' own sums, and what is known to be missing.
 */
#ifndef PROFILER_REPORT_ACCOUNTS_H
#define PROFILER_REPORT_ACCOUNTS_H

#include <stdbool.h>
#include <stdint.h>
#include "cupti_trace/work_tally.h"
#include "profiler/base/log.h"
#include "profiler/session/session.h"

struct accounts {
	uint64_t matched;   /* operations with a duration that have the stack of their launch */
	uint64_t unmatched; /* that have none, though something launched them */
	uint64_t unmatched_ns;
	uint64_t bad_times; /* without usable timestamps: 0 ns */
	uint64_t sums;      /* (process, device, context, stream, kind) that processes told */
	uint64_t equal;     /* of these, the same in the profile, to the ns and byte */
	uint64_t untold;    /* in the profile, of processes that told none: killed, say */
	struct work_sum first_difference; /* as told; valid if equal < sums */
};

struct accounts accounts_of(const struct work_tally *counted, const struct work_tally *told);

/* One line for each device and kind, then whether CUPTI's sums are the same. */
void accounts_report(struct log *log, const struct accounts *accounts,
		     const struct work_tally *counted);

/*
 * Nothing was lost and nothing is unmatched, as far as can be known; else says what, a line each
 * (for --strict).
 */
bool accounts_are_exact(struct log *log, const struct accounts *accounts,
			const struct session_stats *stats);

#endif
