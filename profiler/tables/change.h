/* SPDX-License-Identifier: MIT */
/*
 * A difference between two sides, each of one run or several, its bound, and how likely it is to be
 * chance (significance.h). 19 of 20 differences that are only noise lie within the bound, where
 * these hold:
 *
 *   one run a side    Of n CPU samples, sqrt(n) is the standard deviation (Poisson). GPU operations
 *                     and CUDA calls vary as the timeline shows: by the spread of the durations
 *                     below one stack. An operation that ran there once is taken to vary, relative
 *                     to its duration, as all others together; where none ran twice, by all of it.
 *                     What the ends of a part of the run (view.h) cut varies by all that is left
 *                     of it, a CPU sample by a whole one. How runs differ from each other is not
 *                     in it.
 *   several runs      The spread of the runs, by Student's t; for CPU samples at least the bound
 *                     above.
 *
 * Counts of samples are tested exactly, by their exposures; with normalized amounts, as shares of
 * all. Nothing is claimed of an operation that ran once a side: it shows no spread.
 */
#ifndef PROFILER_TABLES_CHANGE_H
#define PROFILER_TABLES_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

enum comparison_side { SIDE_BEFORE, SIDE_AFTER, SIDES };

/* The unit of a change's amounts. */
enum change_unit {
	CHANGE_OF_TIME, /* ns; or the weights of folded stacks */
	CHANGE_OF_BYTES,
	CHANGE_OF_ERRORS, /* calls that failed */
	CHANGE_UNITS
};

struct change {
	double before, after;  /* means */
	double bound;          /* of this difference alone, at 95 % */
	double p;              /* how likely chance alone makes such a difference */
	double q;              /* the rate of false discoveries among all rows (comparison.h) */
	uint64_t count[SIDES]; /* samples or operations of all runs together */
	bool has_bound;        /* the noise is known; otherwise nothing is claimed, and p is 1 */
	bool is_exact;         /* nothing varied: any difference is one */
	bool is_significant;   /* q is SIGNIFICANCE_LEVEL at most */
	enum change_unit unit;
};

static inline double change_difference(const struct change *change)
{
	return change->after - change->before;
}

/* The word for a difference, everywhere. */
enum change_verdict {
	CHANGED_NOT,        /* equal */
	CHANGED_BY_CHANCE,  /* not significant */
	CHANGED_PERHAPS,    /* there is no bound */
	CHANGED_TO_NEW,     /* nothing before */
	CHANGED_TO_NOTHING, /* nothing after */
	CHANGED_TO_MORE,
	CHANGED_TO_LESS,
	CHANGE_VERDICTS
};
enum change_verdict change_verdict(const struct change *change);

/* "same", "noise", "unknown", "new", "gone", "more", "less" */
const char *change_verdict_word(enum change_verdict verdict);

/* The sum of a side's values. */
struct side_sum {
	double sampled, measured; /* variances: of counting samples; of durations */
	uint64_t count;
	bool is_estimated; /* some time has no whole sample: counts say less than variances */
};

/* The values of a total, or of all that matches a pattern, by run. */
#define COMPARISON_RUNS_MAX 32 /* a side */
struct run_values {
	uint32_t runs[SIDES];
	double values[SIDES * COMPARISON_RUNS_MAX]; /* those before first */
	struct side_sum sides[SIDES];
	bool is_one_value; /* one a run, which does not show by how much the next differs */
};

/* The runs, time and totals that counts of samples refer to. */
struct change_base {
	uint32_t runs[SIDES];
	/* samples that the same mean time gives, in any unit; not positive: not known */
	double exposure[SIDES];
	/* all samples of the kind; 0: amounts are compared, not shares */
	uint64_t all[SIDES];
};

/* `values` by run, those before first; `sides` by side. */
struct change change_of(const struct change_base *base, const double *values,
			const struct side_sum *sides);

/* Tells what `q` says of the difference. */
void change_judge(struct change *change, double q);

#endif
