/* SPDX-License-Identifier: MIT */
/*
 * Judges a difference between two sides, each of one run or several: its bound, and the probability
 * of chance (significance.h).
 *
 * 19 of 20 differences that are only noise lie within the bound, if these assumptions hold:
 *
 *   one run a side    n CPU samples have the standard deviation sqrt(n) (Poisson). GPU operations
 *                     and CUDA calls vary as the timeline shows, by the spread of durations below
 *                     one stack. An operation that ran there once varies, relative to its duration,
 *                     as all others together; if none ran twice, by its whole duration. Work that
 *                     the ends of a time range cut (view.h) varies by all that is left of it; a CPU
 *                     sample, by a whole sample. Differences between runs are not included.
 *   several runs      The spread of the runs, by Student's t. For CPU samples the bound is at least
 *                     that of one run a side.
 *
 * Counts of samples are tested exactly, by their exposures; normalized amounts, as shares of all
 * samples. Nothing is claimed about an operation that ran once a side: it shows no spread.
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
	double bound;          /* noise bound of this difference, at 95 % */
	double p;              /* probability of such a difference by chance */
	double q;              /* false discovery rate among all rows (comparison.h) */
	uint64_t count[SIDES]; /* samples or operations of all runs */
	bool has_bound;        /* the noise is known; else p is 1 */
	bool is_exact;         /* nothing varied: any difference is real */
	bool is_significant;   /* q <= SIGNIFICANCE_LEVEL */
	enum change_unit unit;
};

static inline double change_difference(const struct change *change)
{
	return change->after - change->before;
}

/* The verdict on a difference, in all outputs. */
enum change_verdict {
	CHANGED_NOT,        /* equal */
	CHANGED_BY_CHANCE,  /* not significant */
	CHANGED_PERHAPS,    /* no bound */
	CHANGED_TO_NEW,     /* nothing before */
	CHANGED_TO_NOTHING, /* nothing after */
	CHANGED_TO_MORE,
	CHANGED_TO_LESS,
	CHANGE_VERDICTS
};
enum change_verdict change_verdict(const struct change *change);

/* Returns "same", "noise", "unknown", "new", "gone", "more" or "less". */
const char *change_verdict_word(enum change_verdict verdict);

/* The sum of a side's values. */
struct side_sum {
	double sampled, measured; /* variances: by counting samples; by durations */
	uint64_t count;
	bool is_estimated; /* some time has no whole sample: counts tell less than variances */
};

/* The values by run of a total, or of everything that matches a pattern. */
#define COMPARISON_RUNS_MAX 32 /* runs of a side */
struct run_values {
	uint32_t runs[SIDES];
	double values[SIDES * COMPARISON_RUNS_MAX]; /* side before first */
	struct side_sum sides[SIDES];
	bool is_one_value; /* a run has one value, which shows no spread */
};

/* The runs, time and totals that counts of samples refer to. */
struct change_base {
	uint32_t runs[SIDES];
	/* samples per mean time, in any unit; 0 or less: unknown */
	double exposure[SIDES];
	/* all samples of the kind, to compare shares; 0: compares amounts */
	uint64_t all[SIDES];
};

/* Judges a difference. `values` are by run, side before first; `sides` by side. */
struct change change_of(const struct change_base *base, const double *values,
			const struct side_sum *sides);

/* Sets the change's q, and whether it is significant. */
void change_judge(struct change *change, double q);

#endif
