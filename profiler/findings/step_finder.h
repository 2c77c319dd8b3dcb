/* SPDX-License-Identifier: MIT */
/*
 * Finds the steps of a program: the work that it does again and again, such as training steps,
 * tokens or requests.
 *
 * The input is the order of launches. Each launch has a token. Launches of equal work from equal
 * stacks have equal tokens. Steps are the outermost level of repetition that fulfils all of these:
 *  - it repeats at least STEPS_MIN times;
 *  - most steps are alike: most of their launches are those of a typical step;
 *  - the wall times of steps do not scatter like those of random arrivals: half of them are within
 *    45 percent of their median;
 *  - launches of a typical step are at least STEPS_COVERED_MIN percent of those from the first step
 *    to the last one's end, and of those after the start-up. A start-up of more than 4096 launches
 *    may not be longer than the rest.
 * A step may have a few launches of its own. It may have a varying number of repetitions inside.
 * Other work may be done between steps, such as an evaluation after an epoch. Random orders have no
 * steps. A level that adds a few launches to each 9 or more steps is none: such launches are a
 * report, or the reading of the loss.
 *
 * A step begins with the first launch of its loop's body, not at an arbitrary point of the cycle
 * (step_phase.h). Incomplete steps at the start and the end of the run are left out.
 *
 * Each thread is examined by itself. Threads of a process that step together, one step of one in
 * each step of the other, are one series: that of the thread that begins each step. So the threads
 * on which PyTorch runs the backward pass belong to the series of the main thread. A step may have
 * several backward passes. Launches of all threads count for the coverage of a series. Independent
 * loops of several threads are several series.
 *
 * Pure: no I/O, no clock, no names. Times are in ns, of one clock.
 */
#ifndef PROFILER_FINDINGS_STEP_FINDER_H
#define PROFILER_FINDINGS_STEP_FINDER_H

#include <stdint.h>

#define STEPS_MIN 8u
#define STEPS_COVERED_MIN 80u /* percent */

struct step_launch {
	uint64_t start_ns;
	uint32_t token;  /* any number */
	uint32_t thread; /* index into the threads */
};

/* The steps of one loop. Step i is from starts_ns[i] to starts_ns[i + 1]. */
struct step_series {
	uint32_t thread; /* the thread that begins the steps */
	uint32_t count;
	/*
	 * `count` + 1 times: the first launch of each step, and the end of the last step. That end
	 * is just after the last launch of the step. If there is other work between two steps, the
	 * earlier step has it.
	 */
	uint64_t *starts_ns;
	uint32_t warm_up;  /* leading steps that took much longer than those that follow */
	uint64_t launches; /* in the steps, by all threads of the series */
	uint64_t of;       /* all launches of these threads */
};

struct step_list {
	struct step_series *list; /* the series with most launches first */
	uint32_t count;
};

/*
 * Finds the steps. `launches` are in order of time. `kinds` has the kind of each token: launches of
 * equal kinds are alike. NULL: each token is a kind. `process_of` has the process of each of
 * `thread_count` threads; launches of other threads are left out. Takes time proportional to the
 * number of launches, and for each at most 12 bytes if tokens are small numbers. Returns 0, or
 * -ENOMEM with an empty list: also for more than 2^31 launches. The caller calls
 * step_list_release().
 */
int steps_find(const struct step_launch *launches, uint64_t count, const uint32_t *kinds,
	       const uint32_t *process_of, uint32_t thread_count, struct step_list *steps);
void step_list_release(struct step_list *steps);

#endif
