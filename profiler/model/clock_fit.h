/* SPDX-License-Identifier: MIT */
/*
 * How far the clocks of two machines are apart, by the collectives that both took part in.
 *
 * No rank leaves a collective before the last one has come, and all leave nearly together: so the
 * times of leaving are one time, on two clocks. Which of them are one collective is not known, only
 * that there are two sequences with the same intervals. It is found thus:
 *  - Candidates pair a few collectives of one machine with those of the other that the guess, that
 *    of the wall clocks, allows; and the first of both, and the last of both. From such a pair on
 *    the sequences are followed in both directions, by the differences of successive times alone:
 *    what is missing in one is skipped, and drift does not add up.
 *  - The candidate with most pairs wins. With another one nearly as good, as of a program whose
 *    steps all take exactly as long, the sequences must be equally long, and are paired from their
 *    begin on; or the error of the guess must leave but one of them.
 * The median of the differences is the offset. Where the pairs are many and span seconds, the
 * medians of their first and last third give the drift.
 *
 * How good it is: each collective bounds the offset from both sides, for its ranks on either
 * machine cannot leave before the last one of the other has come. All of them together leave an
 * interval: `bound_ns` (one in a hundred may contradict; an interval that is empty is no fit). It
 * is narrow if each of the machines sometimes comes last to short collectives. A constant skew
 * within it cannot be known: one machine might always leave later, by the network's latency.
 * CLOCK_FIT_SKEW_NS are assumed for that: `error_ns` adds it to the spread of the differences.
 *
 * Times may be anything up to CLOCK_FIT_TIME_MAX. Takes steps from a budget, a bounded number for
 * each time in both sequences.
 */
#ifndef PROFILER_MODEL_CLOCK_FIT_H
#define PROFILER_MODEL_CLOCK_FIT_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_FIT_TIME_MAX (INT64_C(1) << 61)
#define CLOCK_FIT_PAIRS_MIN 20u     /* collectives; of fewer, a match is chance */
#define CLOCK_FIT_SKEW_NS 50000     /* between the machines' leaving, assumed */
#define CLOCK_FIT_ERROR_MAX 1000000 /* ns: a wider spread is no fit */
#define CLOCK_FIT_DRIFT_MAX 1e-3

/* A collective on one machine: when its last rank came, and its first one left. */
struct clock_visit {
	int64_t came_ns, left_ns;
};

/* From one machine's time to the other's. */
struct clock_fit {
	int64_t offset_ns; /* to be added to a time of `at_ns` */
	int64_t at_ns;
	double drift;      /* to be added for each ns after that */
	uint64_t error_ns; /* see above; at most bound_ns */
	uint64_t bound_ns;
	uint32_t pairs;
};

/* Two sequences by the time of leaving; the guess is what to add to those of `moved`. */
struct clock_pair {
	const struct clock_visit *fixed, *moved;
	uint32_t fixed_count, moved_count;
	int64_t guess_error_ns; /* 0: unknown; the guess is 0 */
};

/* False: too few collectives, contradicting ones, `*steps` used up, or no memory. */
bool clock_fit(const struct clock_pair *pair, uint64_t *steps, struct clock_fit *fit);

/* The time on the other machine, from 0 to CLOCK_FIT_TIME_MAX. */
int64_t clock_fit_time(const struct clock_fit *fit, int64_t ns);

#endif
