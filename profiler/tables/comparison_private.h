/* SPDX-License-Identifier: MIT */
/*
 * Shares a comparison under way among its own files:
 *
 *	comparison.c         orders the work, and makes totals
 *	comparison_tables.c  adds runs to the tables, and judges the changes
 *	comparison_stacks.c  makes one result of the stacks of all runs
 *	comparison_values.c  finds values by run, of totals and patterns
 *
 * The first error stays in `error`. Nothing is added after it.
 */
#ifndef PROFILER_TABLES_COMPARISON_PRIVATE_H
#define PROFILER_TABLES_COMPARISON_PRIVATE_H

#include <errno.h>
#include "profiler/model/unnamed_files.h"
#include "profiler/tables/amounts.h"
#include "profiler/tables/comparison.h"
#include "profiler/tables/duration_spread.h"
#include "symbolize/util/hash_index.h"
#include "symbolize/util/intern.h"
#include "symbolize/util/record_set.h"

/* One run. Runs of the side before come first. */
struct compared_run {
	const struct result *result;
	enum comparison_side side;
	uint32_t number;
	double scale[COMPARISON_TOTALS]; /* factor of its times; 1 unless normalized */
	double charged_cpu;              /* charged CPU time of a whole run, ns; 0: unknown */
	struct duration_spreads spreads; /* used while the run is added */
};

/* A table under way, and its amounts, which comparison_matching reads. */
struct making_table {
	struct hash_index index;
	uint32_t capacity;
	struct amounts amounts; /* by entry before sorting */
	uint32_t *order;        /* number of the amounts, by sorted entry */
};

/* A stack's rows of one kind. */
struct compared_rows {
	uint32_t stack, kind;
};

/* A made-up frame of a table's entry. */
struct made_frame {
	struct made_frame *next;
	struct frame_info frame;
};

struct made_comparison {
	struct comparison comparison; /* shown to the caller; first */
	struct compared_run runs[SIDES * COMPARISON_RUNS_MAX];
	uint32_t run_count; /* runs of both sides */
	struct kernel_matches kernels;
	struct unnamed_files unnamed;
	struct amounts totals; /* by enum comparison_total */
	struct making_table tables[COMPARISON_TABLES];
	struct comparison_name *names;
	struct made_frame *made_frames;
	struct intern made_names; /* names of `made_frames` */
	RECORD_SET(struct frame_info) frames;
	RECORD_SET(struct stack_info) stacks;
	RECORD_SET(struct compared_rows) kinds; /* kinds of the rows of stacks */
	struct amounts row_amounts;             /* by `kinds` */
	struct amounts stack_amounts;           /* by stack: alone, and later with all inside it */
	struct comparison_row *all_rows;
	struct row *rows; /* the result has these */
	struct change *changes, *own;
	bool has_shapes;      /* all runs */
	bool has_charged_cpu; /* all runs */
	struct quota *memory;
	size_t taken; /* bytes taken from `memory` */
	int error;
};

/* Sets the error unless there is one. */
static inline void comparison_fail(struct made_comparison *made, int error)
{
	if (!made->error)
		made->error = error;
}

/* Takes from the quota. Returns false, with the error set, if the quota is exceeded. */
bool comparison_take(struct made_comparison *made, size_t bytes);

/* Adds an amount of a run. */
void comparison_add(struct made_comparison *made, struct amounts *amounts, uint32_t at,
		    const struct compared_run *run, const struct amount *amount);

/* Returns a row's amount, before it is scaled. */
struct amount comparison_amount(const struct made_comparison *made,
				const struct duration_spreads *spreads, const struct row *row);

/* Returns an amount scaled by its run's factor for that total. */
struct amount comparison_scaled(struct amount amount, const struct compared_run *run,
				enum comparison_total total);

/* Returns the total that includes rows of a kind. */
enum comparison_total comparison_total_of_row(uint32_t kind);

/* Returns the base for comparing counts. `total` is the total of their kind. */
struct change_base comparison_base(const struct made_comparison *made, enum comparison_total total);

/* Returns the frame that stands for this one on both sides. */
const struct frame_info *comparison_common_frame(const struct made_comparison *made,
						 const struct frame_info *frame);

/* Returns true if a whole run has sums of calls. */
bool comparison_counts_calls(const struct result *r);

/* Controls false discoveries among changes that may be chance. */
void comparison_control(struct made_comparison *made, struct change *const *list, uint32_t count);

/* ---- tables ---- */

void comparison_add_row(struct made_comparison *made, const struct compared_run *run,
			const struct row *row, const struct amount *whole);

/* Adds a run's calls, errors, launch shapes and memory. */
void comparison_add_tables(struct made_comparison *made, const struct compared_run *run);

/* Judges and sorts the tables, once all runs are added. */
void comparison_finish_tables(struct made_comparison *made);

/* ---- stacks ---- */

/* Adds the root. */
void comparison_begin_stacks(struct made_comparison *made);

/* Adds the stacks of a run. Sets `numbers`, by the run's stack. */
void comparison_add_stacks(struct made_comparison *made, const struct compared_run *run,
			   uint32_t *numbers);

/* Adds a row's scaled amount to stack `at`. */
void comparison_add_to_stack(struct made_comparison *made, const struct compared_run *run,
			     uint32_t at, const struct row *row, const struct amount *amount);

/* Judges all stacks, and makes the rows of the shown side: means of its runs. */
void comparison_finish_stacks(struct made_comparison *made);

#endif
