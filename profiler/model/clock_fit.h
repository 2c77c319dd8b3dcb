/* SPDX-License-Identifier: MIT */
/*
 * Estimates the offset between the clocks of two machines from the collectives that both took part
 * in.
 *
 * No rank leaves a collective before the last one has arrived, and all leave almost at once. So a
 * collective's leave times on two machines are one moment, on two clocks. The input does not say
 * which collectives match: it is two sequences with equal intervals. The pairs are found like this:
 * - A candidate pairs one collective of each machine. A few collectives are paired with all
 *   partners that the guess allows, which is the offset of the wall clocks. Further candidates pair
 *   the first and the last ones. From a candidate, the sequences are followed in both directions by
 *   the differences of successive times. So a missing collective is skipped, and drift does not add
 *   up.
 * - The candidate with the most pairs wins. Another may be nearly as good, for example if all steps
 *   take equally long. Then the sequences must have one length, and are paired from their start.
 *   Otherwise the guess must be accurate enough to leave one candidate.
 *
 * The offset is the median of the differences. With many pairs over several seconds, the medians of
 * the first and the last third give the drift.
 *
 * Accuracy: ranks on neither machine can leave before the last rank of the other has arrived. So
 * each collective bounds the offset from both sides. `bound_ns` is the intersection of these
 * intervals, where one collective in a hundred may contradict. An empty intersection is no fit. The
 * interval is narrow if each machine is sometimes the last to arrive at a short collective. A
 * constant skew within the interval cannot be seen: one machine may always leave later, because of
 * network latency. `error_ns` is the spread of the differences plus CLOCK_FIT_SKEW_NS for this
 * skew.
 *
 * Times are untrusted, up to CLOCK_FIT_TIME_MAX. The work is bounded by a budget of steps, and
 * takes a bounded number of steps for each collective.
 */
#ifndef PROFILER_MODEL_CLOCK_FIT_H
#define PROFILER_MODEL_CLOCK_FIT_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_FIT_TIME_MAX (INT64_C(1) << 61)
#define CLOCK_FIT_PAIRS_MIN 20u     /* collectives; fewer could match by chance */
#define CLOCK_FIT_SKEW_NS 50000     /* assumed skew between leave times on two machines */
#define CLOCK_FIT_ERROR_MAX 1000000 /* ns; a wider spread is no fit */
#define CLOCK_FIT_DRIFT_MAX 1e-3

/* A collective on one machine: arrival of the last rank, departure of the first. */
struct clock_visit {
	int64_t came_ns, left_ns;
};

/* Maps times of the `moved` machine to the `fixed` one. */
struct clock_fit {
	int64_t offset_ns; /* added to a time of `at_ns` */
	int64_t at_ns;
	double drift;      /* added per ns after `at_ns` */
	uint64_t error_ns; /* see above; at most bound_ns */
	uint64_t bound_ns;
	uint32_t pairs;
};

/*
 * Two sequences, sorted by leave time. The guess, already added to the times of `moved`, may be off
 * by `guess_error_ns`.
 */
struct clock_pair {
	const struct clock_visit *fixed, *moved;
	uint32_t fixed_count, moved_count;
	int64_t guess_error_ns; /* 0: unknown, and there is no guess */
};

/* Returns false for too few or contradicting collectives, exhausted `*steps`, or lack of memory. */
bool clock_fit(const struct clock_pair *pair, uint64_t *steps, struct clock_fit *fit);

/* Returns the time on the other machine, clamped to 0 ... CLOCK_FIT_TIME_MAX. */
int64_t clock_fit_time(const struct clock_fit *fit, int64_t ns);

#endif
