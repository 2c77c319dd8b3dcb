/* SPDX-License-Identifier: MIT */
/*
 * A comparison while it is made; for its own files:
 *
 *	comparison.c         the order of the work, and totals
 *	comparison_tables.c  what each run adds to the tables, and which changes are significant
 *	comparison_stacks.c  the stacks of all runs as one result
 *	comparison_values.c  values by run, of totals and of what matches a pattern
 *
 * The first error stays in `error`; nothing is added after it.
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

/* One run; those of the side before come first. */
struct compared_run {
	const struct result *result;
	enum comparison_side side;
	uint32_t number;
	double scale[COMPARISON_TOTALS]; /* of its times, 1 unless they are normalized */
	double charged_cpu;              /* ns, of a whole run; 0: not known */
	struct duration_spreads spreads; /* while it is added */
};

/* While it is made; and the amounts, for comparison_matching. */
struct making_table {
	struct hash_index index;
	uint32_t capacity;
	struct amounts amounts; /* by entry, before they were sorted */
	uint32_t *order;        /* by entry: the amounts' number */
};

/* The times of the side that is shown. */
struct shown_times {
	double ns[ROW_KINDS];
	uint64_t count[ROW_KINDS];
};

/* A frame that no result has, of a table's entry. */
struct made_frame {
	struct made_frame *next;
	struct frame_info frame;
};

struct made_comparison {
	struct comparison comparison; /* what the caller sees */
	struct compared_run runs[SIDES * COMPARISON_RUNS_MAX];
	uint32_t run_count; /* of both sides */
	struct kernel_matches kernels;
	struct unnamed_files unnamed;
	struct amounts totals; /* by enum comparison_total */
	struct making_table tables[COMPARISON_TABLES];
	struct comparison_name *names;
	struct made_frame *made_frames;
	struct intern made_names; /* of these */
	RECORD_SET(struct frame_info) frames;
	RECORD_SET(struct stack_info) stacks;
	struct amounts stack_amounts; /* by stack, alone and then with all inside it */
	struct shown_times *times;    /* by stack */
	uint32_t time_count, time_capacity;
	struct row *rows;
	struct change *changes, *own;
	bool has_shapes;      /* all runs */
	bool has_charged_cpu; /* all runs */
	struct quota *memory;
	size_t taken; /* from it */
	int error;
};

/* Sets the error unless there is one. */
static inline void comparison_fail(struct made_comparison *made, int error)
{
	if (!made->error)
		made->error = error;
}

/* Takes from the quota. False: it would be more than there is, and the error is set. */
bool comparison_take(struct made_comparison *made, size_t bytes);

/* Adds an amount of a run. */
void comparison_add(struct made_comparison *made, struct amounts *amounts, uint32_t at,
		    const struct compared_run *run, const struct amount *amount);

/* Returns what a row adds, before it is scaled. */
struct amount comparison_amount(const struct made_comparison *made,
				const struct duration_spreads *spreads, const struct row *row);

/* Returns what an amount is after its run's scale of that total. */
struct amount comparison_scaled(struct amount amount, const struct compared_run *run,
				enum comparison_total total);

/* Returns the total that rows of a kind are part of. */
enum comparison_total comparison_total_of_row(uint32_t kind);

/* Returns what counts are compared by: `total` is that of their kind. */
struct change_base comparison_base(const struct made_comparison *made, enum comparison_total total);

/* Returns the frame that stands for this one on both sides. */
const struct frame_info *comparison_common_frame(const struct made_comparison *made,
						 const struct frame_info *frame);

/* Tells whether a whole run has sums of calls. */
bool comparison_counts_calls(const struct result *r);

/* Controls false discoveries among changes that may be chance. `list` is by pointer. */
void comparison_control(struct made_comparison *made, struct change *const *list, uint32_t count);

/* ---- tables ---- */

void comparison_add_row(struct made_comparison *made, const struct compared_run *run,
			const struct row *row, const struct amount *whole);

/* Adds what a run has beside its rows: calls, errors, launch shapes, memory. */
void comparison_add_tables(struct made_comparison *made, const struct compared_run *run);

/* Judges and sorts them, once all runs were added. */
void comparison_finish_tables(struct made_comparison *made);

/* ---- stacks ---- */

/* Adds the root. */
void comparison_begin_stacks(struct made_comparison *made);

/* Adds the stacks of a run: `numbers` has room for those of all. */
void comparison_add_stacks(struct made_comparison *made, const struct compared_run *run,
			   uint32_t *numbers);

/* Adds a row's amount, scaled, to the stack of this number. */
void comparison_add_to_stack(struct made_comparison *made, const struct compared_run *run,
			     uint32_t at, const struct row *row, const struct amount *amount);

/* Judges all stacks, and makes the rows of the side that is shown: means of its runs. */
void comparison_finish_stacks(struct made_comparison *made);

#endif
