/* SPDX-License-Identifier: MIT */
/*
 * Compares the results of two programs, or of one before and after a change.
 *
 * Compares totals, kernels, launch sites, functions, CUDA calls and their errors, launch shapes,
 * allocations, and every stack. Each side is one run or several. Amounts are means of a side's
 * runs.
 *
 * Each difference has a bound, and the probability of chance (change.h). False discoveries are
 * controlled among all rows of the tables, and among all stacks: of the differences called
 * significant, 1 in 20 is not, on average (significance_control). Amounts that are known exactly
 * take no part. Totals are judged one by one.
 *
 * Normalized, shares are compared. The times of each run are scaled to one total of their kind
 * (CPU, GPU, waiting, idle GPUs, CUDA calls): the mean of the runs after. Totals, memory and errors
 * are not scaled.
 *
 * Kernels are compared by their full names. Kernels of only one side are compared by what their
 * variants have in common (kernel_match.h), a whole family together. Functions without a name are
 * compared one by one only in files that are equal in all runs (unnamed_files.h).
 *
 * Weights of folded stacks have no unit. They count as numbers of samples.
 */
#ifndef PROFILER_TABLES_COMPARISON_H
#define PROFILER_TABLES_COMPARISON_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "profiler/base/quota.h"
#include "profiler/model/result.h"
#include "profiler/tables/change.h"
#include "profiler/tables/kernel_match.h"

/* Returns "name", "template" or "numbers". */
const char *comparison_match_word(enum comparison_match match);

/* A name that an entry includes. */
struct comparison_name {
	const struct frame_info *frame;
	uint32_t next;     /* next name of the entry; COMPARISON_NONE: none */
	bool is_on[SIDES]; /* the sides that have it */
};
#define COMPARISON_NONE UINT32_MAX

struct comparison_entry {
	const struct frame_info *frame; /* frame of the side after, or else before */
	struct change change;
	enum comparison_match matched_by;
	uint32_t names;           /* first name, for kernels; else COMPARISON_NONE */
	uint64_t variants[SIDES]; /* number of names on each side, for kernels */
	bool is_on[SIDES];        /* sides that have it; otherwise it is new, or gone */
};

enum comparison_tables {
	COMPARED_KERNELS,
	COMPARED_COPIES, /* and other GPU work */
	COMPARED_SITES,
	COMPARED_FUNCTIONS,
	COMPARED_WAITS,
	COMPARED_CALLS,  /* CUDA calls: all with --api, else those that launch or wait */
	COMPARED_SHAPES, /* kernels by their grids and blocks, if all runs have --launch-shapes */
	COMPARED_PEAK,   /* bytes at the peaks by kind and who allocated them, with --alloc */
	COMPARED_LEFT,   /* and those never freed */
	COMPARED_ERRORS, /* calls that failed, by name and error, if all runs have --api */
	COMPARISON_TABLES
};

/* A table: significant differences first, then the largest difference first. */
struct comparison_table {
	struct comparison_entry *entries;
	uint32_t count;
};

enum comparison_total {
	TOTAL_GPU,
	TOTAL_CPU,
	TOTAL_WAITING, /* and timed calls */
	TOTAL_IDLE,    /* idle time of GPUs, with --idle */
	TOTAL_API,     /* CUDA calls of COMPARED_CALLS */
	TOTAL_WALL,    /* the time that is shown */
	TOTAL_PEAK,    /* bytes of memory at the peaks of all kinds, with --alloc */
	TOTAL_LEFT,    /* and never freed */
	TOTAL_ERRORS,  /* failed CUDA calls, if all runs have --api */
	COMPARISON_TOTALS
};

enum change_unit comparison_table_unit(enum comparison_tables table);
enum change_unit comparison_total_unit(enum comparison_total total);

/* Returns the word of a total in options and data: "gpu". */
const char *comparison_total_word(enum comparison_total total);

/* A stack's rows of one kind, of all runs. Normalized, they are scaled. */
struct comparison_row {
	uint32_t stack, kind;         /* stack of `result`; enum row_kind */
	const double *values;         /* ns by run, side before first */
	const struct side_sum *sides; /* by side */
};

struct comparison {
	bool has_errors;    /* all runs counted failed calls, over their whole time */
	bool is_weights;    /* weights of folded stacks, not times */
	bool is_normalized; /* times of rows and stacks are scaled */
	bool is_of_steps;   /* runs are steps of one run: after, the slow ones; before, typical ones
			     */
	enum comparison_side shown; /* whose times `result` has */
	uint32_t runs[SIDES];
	const struct totals *first[SIDES]; /* totals of the first run of each side */
	double sm_mhz[SIDES];              /* mean SM clock while GPUs had work; 0: unknown */
	struct comparison_table tables[COMPARISON_TABLES];
	struct change totals[COMPARISON_TOTALS];
	const struct comparison_name *names;
	/*
	 * All stacks of both sides, with the times of one side. Each stack is a distinct path of
	 * names. Writers of pictures draw this result. Its rows are those of both sides, by stack
	 * and then by kind, without places. What the other side alone has is 0.
	 */
	struct result result;
	const struct comparison_row *rows; /* by row of `result` */
	const struct change *changes;      /* by stack of `result`: the stack and all inside it */
	const struct change *own;          /* by stack of `result`: the stack alone */
};

struct comparison_options {
	enum comparison_side shown;
	bool is_weights;
	bool is_normalized;
	bool is_of_steps;
	struct quota *memory; /* pays for stacks and frames; NULL: no limit */
};

/*
 * Compares results, which must outlive the comparison. Each side has at least one. Reads the
 * timelines that results have. Returns NULL with errno: ENOMEM; E2BIG if `memory` is exceeded; or
 * the error of reading a timeline.
 */
struct comparison *comparison_new(const struct result *const *before, uint32_t before_count,
				  const struct result *const *after, uint32_t after_count,
				  const struct comparison_options *options);
void comparison_free(struct comparison *comparison);

/*
 * Finds a total that shows that the sides differ in length. Then all rows differ for that reason
 * alone. Returns false if there is none, and for steps, which were chosen by their lengths.
 */
bool comparison_differs_in_length(const struct comparison *comparison,
				  enum comparison_total *total);

/*
 * Returns a total by run. CPU time of whole runs is the time that the kernel charged, if that is
 * known for all runs: it has no sampling error.
 */
struct run_values comparison_total(const struct comparison *comparison,
				   enum comparison_total total);

/*
 * Sums up, by run, all entries of a table whose frames match a pattern. Returns their number. If it
 * is 0, all values are 0.
 *
 * Functions get a share of the charged CPU time, if that is known (comparison_total): the share of
 * their samples. So a run with more samples than time, by chance, does not count as slower.
 */
uint32_t comparison_matching(const struct comparison *comparison, enum comparison_tables table,
			     const regex_t *pattern, struct run_values *values);

/*
 * Sums up, by run, the CPU time of all stacks with a function that matches a pattern, once each.
 * Charged time is shared as in comparison_matching. `found` is the number of functions. Returns 0,
 * or -ENOMEM.
 */
int comparison_matching_totals(const struct comparison *comparison, const regex_t *pattern,
			       uint32_t *found, struct run_values *values);

#endif
