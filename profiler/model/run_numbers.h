/* SPDX-License-Identifier: MIT */
/*
 * Lists the numbers of a run by a permanent field number: totals, options, and the counts of the
 * ledger.
 *
 * Captures store them by field number, and merging compares options.
 */
#ifndef PROFILER_MODEL_RUN_NUMBERS_H
#define PROFILER_MODEL_RUN_NUMBERS_H

#include <stddef.h>
#include <stdint.h>
#include "profiler/model/result.h"

struct run_numbers {
	struct totals totals;
	struct ledger ledger;
	struct unnamed unnamed;

	/* numbers of texts */
	uint32_t command, shown, unreadable_path, first_malformed, first_refused, first_python,
		folder, host, unread_path, links;
	uint64_t counters_not_kept;
};

struct run_number {
	uint16_t offset;
	uint8_t size; /* 1, 2, 4 or 8 bytes */
};

/*
 * The field number is the position, from 1 on, and never changes. A new number is
 * LEDGER_NEXT_NUMBER (ledger_counts.h).
 */
extern const struct run_number run_numbers[];
extern const uint32_t run_number_count;

#endif
