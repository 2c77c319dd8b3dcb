/* SPDX-License-Identifier: MIT */
/*
 * The results of two programs, or of one before and after a change, compared: totals, kernels,
 * launch sites, functions, CUDA calls and their errors, launch shapes, allocations, and every
 * stack. Each side is one run or several; amounts are means of a side's runs.
 *
 * Each difference has a bound, and a probability of chance alone (change.h). Of all rows of the
 * tables together, and of all stacks together, false discoveries are controlled: among those called
 * significant, 1 in 20 is not, on average (significance_control). What is known exactly is not part
 * of that, and totals are judged one by one.
 *
 * Normalized, shares are compared: the times of each run are scaled to the same total of their kind
 * (CPU, GPU, waiting, idle GPUs, CUDA calls), which is the mean of the runs after. Totals, memory
 * and errors are as they were.
 *
 * Kernels are compared by their full names; those that only one side has, by what their variants
 * have in common (kernel_match.h), all of a family together. Functions without a name are compared
 * one by one only in files that all runs have alike (unnamed_files.h).
 *
 * Weights of folded stacks have no unit. They are taken as counts of samples.
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

/* "name", "template", "numbers" */
const char *comparison_match_word(enum comparison_match match);

/* A name that an entry stands for. */
struct comparison_name {
	const struct frame_info *frame;
	uint32_t next;     /* COMPARISON_NONE: none */
	bool is_on[SIDES]; /* the sides that have it */
};
#define COMPARISON_NONE UINT32_MAX

struct comparison_entry {
	const struct frame_info *frame; /* of the side after, if it is there */
	struct change change;
	enum comparison_match matched_by;
	uint32_t names;           /* the first of its names, for kernels; else COMPARISON_NONE */
	uint64_t variants[SIDES]; /* how many names each side has, for kernels */
	bool is_on[SIDES];        /* a side that lacks it: it is new, or gone */
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

/* Significant ones first; of these, the largest difference first. */
struct comparison_table {
	struct comparison_entry *entries;
	uint32_t count;
};

enum comparison_total {
	TOTAL_GPU,
	TOTAL_CPU,
	TOTAL_WAITING, /* and timed calls */
	TOTAL_IDLE,    /* of GPUs, with --idle */
	TOTAL_API,     /* CUDA calls: as in COMPARED_CALLS */
	TOTAL_WALL,    /* of the time that is shown */
	TOTAL_PEAK,    /* bytes of memory at the peaks of all kinds, with --alloc */
	TOTAL_LEFT,    /* and never freed */
	TOTAL_ERRORS,  /* of CUDA calls, if all runs have --api */
	COMPARISON_TOTALS
};

enum change_unit comparison_table_unit(enum comparison_tables table);
enum change_unit comparison_total_unit(enum comparison_total total);

/* "gpu": what options and data call it. */
const char *comparison_total_word(enum comparison_total total);

struct comparison {
	bool has_errors;            /* of calls: all runs counted them, over their whole time */
	bool is_weights;            /* of folded stacks; there is no time */
	bool is_normalized;         /* times of rows and stacks are scaled */
	enum comparison_side shown; /* whose times `result` has */
	uint32_t runs[SIDES];
	const struct totals *first[SIDES]; /* of the first run of each side */
	struct comparison_table tables[COMPARISON_TABLES];
	struct change totals[COMPARISON_TOTALS];
	const struct comparison_name *names;
	/*
	 * All stacks of both sides as one result, in which each stack is another path of names,
	 * with the times of one side. Writers of pictures draw it.
	 */
	struct result result;
	const struct change *changes; /* by its stacks: of a stack and all inside it */
	const struct change *own;     /* of the stack alone */
};

struct comparison_options {
	enum comparison_side shown;
	bool is_weights;
	bool is_normalized;
	struct quota *memory; /* what stacks and frames are taken from; NULL: no limit */
};

/*
 * Compares results, which must outlive it; each side has at least one. Timelines are read where
 * results have them. NULL with errno: ENOMEM; E2BIG: more than `memory`; else a timeline cannot be
 * read.
 */
struct comparison *comparison_new(const struct result *const *before, uint32_t before_count,
				  const struct result *const *after, uint32_t after_count,
				  const struct comparison_options *options);
void comparison_free(struct comparison *comparison);

/*
 * Finds a total by which the sides are of another length, so that each row differs for that reason
 * alone. False: there is none.
 */
bool comparison_differs_in_length(const struct comparison *comparison,
				  enum comparison_total *total);

/*
 * Returns a total by run. CPU time of whole runs is that which the kernel charged, if it is known
 * of all: it has no error of sampling.
 */
struct run_values comparison_total(const struct comparison *comparison,
				   enum comparison_total total);

/*
 * Sums up, by run, all entries of a table whose frames match a pattern. Returns the number of them;
 * 0: none, and `values` are all 0.
 *
 * Functions have their share of the samples of the charged CPU time, where that is known as above:
 * runs with more samples than time, by chance, do not count as slower.
 */
uint32_t comparison_matching(const struct comparison *comparison, enum comparison_tables table,
			     const regex_t *pattern, struct run_values *values);

/*
 * Finds the total CPU time of the functions that match a pattern, likewise: of all stacks with at
 * least one of them, once each. `found` is the number of functions. 0, or -ENOMEM.
 */
int comparison_matching_totals(const struct comparison *comparison, const regex_t *pattern,
			       uint32_t *found, struct run_values *values);

#endif
